// The results as a page for a browser: one file, which loads nothing.
#pragma once

#include <string>

#include "document.hpp"

namespace cobre::command::bench {

[[nodiscard]] std::string as_page(const Document& document);

}  // namespace cobre::command::bench
