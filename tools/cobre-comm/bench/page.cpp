#include "page.hpp"

#include <page_parts.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace cobre::command::bench {
namespace {

// Text in a page must not end the element that it stands in; in JSON and in a string of a script this means the same.
std::string escaped(const std::string& json) {
  std::string text;
  for (const char c : json) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

}  // namespace

std::string as_page(const Document& document) {
  const std::string data = escaped(document.dump());
  const std::array<std::pair<std::string_view, std::string_view>, 5> parts{{{"@library_style@", page::library_style},
                                                                            {"@style@", page::style},
                                                                            {"@data@", data},
                                                                            {"@library@", page::library},
                                                                            {"@script@", page::script}}};
  std::string text;
  std::string_view rest = page::frame;
  // From left to right, so that nothing is looked for in what was put in.
  for (const auto& [mark, part] : parts) {
    const auto at = rest.find(mark);
    text.append(rest.substr(0, at)).append(part);
    rest.remove_prefix(at + mark.size());
  }
  return text.append(rest);
}

}  // namespace cobre::command::bench
