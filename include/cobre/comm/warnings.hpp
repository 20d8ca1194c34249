// Warnings: the only thing that the library ever prints by itself, and where to send it instead.
#pragma once

#include <functional>
#include <string_view>

namespace cobre::comm {

/// Receives one warning, a line without its end. May be called from any thread that is inside a collective, one call
/// at a time; it must not call back into the communicator.
using WarningSink = std::function<void(std::string_view line)>;

/// From now on the warnings of this process go to `sink`; an empty one restores the default, a line on stderr.
void set_warning_sink(WarningSink sink);

}  // namespace cobre::comm
