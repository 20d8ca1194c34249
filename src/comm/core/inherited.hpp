// Descriptors that a process inherits from its launcher, named in the environment.
#pragma once

#include <string>

namespace cobre::comm::core {

/// "5:12:1234" for our descriptor 5: a number alone might mean another file by the time it is used.
[[nodiscard]] std::string inherited_text(int descriptor);
/// The descriptor that such a text means in this process, or -1 where that is not the same file any more.
[[nodiscard]] int inherited_descriptor(const std::string& text) noexcept;

}  // namespace cobre::comm::core
