#define FMT_HEADER_ONLY  // no user of the library needs fmt's

#include "comm/core/format.hpp"

#include <fmt/format.h>

namespace cobre::comm::core {

std::string format_all(fmt::string_view text, fmt::format_args arguments) {
  return fmt::vformat(text, arguments);
}

}  // namespace cobre::comm::core
