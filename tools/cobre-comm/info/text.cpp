#include "text.hpp"

#include <algorithm>

#include "comm/core/format.hpp"

namespace cobre::command {
namespace {

std::string value_text(const Facts& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "unknown";
  return value.dump();
}

bool is_plain(const Facts& value) {
  return !value.is_object() && !(value.is_array() && !value.empty() && value.front().is_object());
}

// Keys are written with underscores, for programs.
std::string label(std::string key) {
  std::ranges::replace(key, '_', ' ');
  return key;
}

std::string plain_text(const Facts& value) {
  if (!value.is_array()) return value_text(value);
  std::string text;
  for (const Facts& item : value) text += (text.empty() ? "" : ", ") + value_text(item);
  return text.empty() ? "none" : text;
}

void print(const Facts& facts, std::size_t depth, std::string& text) {
  std::size_t width = 0;
  for (const auto& [key, value] : facts.items()) {
    if (is_plain(value)) width = std::max(width, key.size());
  }
  for (const auto& [key, value] : facts.items()) {
    const std::string indent(2 * depth, ' ');
    if (is_plain(value)) {
      text += comm::core::format("{}{:<{}}  {}\n", indent, label(key), width, plain_text(value));
    } else if (value.is_array()) {
      text += comm::core::format("{}{}\n", indent, label(key));
      for (const Facts& item : value) {
        // The first value of an item is what it is called, or its number.
        std::string words;
        for (const auto& [name, part] : item.items()) {
          if (!words.empty()) {
            words += comm::core::format("  {} {}", label(name), plain_text(part));
          } else {
            words = part.is_number() ? comm::core::format("{} {:<3}", label(name), plain_text(part))
                                     : comm::core::format("{:<6}", plain_text(part));
          }
        }
        text += comm::core::format("{}  {}", indent, words);
        text += "\n";
      }
    } else {
      text += comm::core::format("{}{}\n", indent, label(key));
      print(value, depth + 1, text);
    }
  }
}

}  // namespace

std::string as_text(const Facts& facts) {
  std::string text;
  print(facts, 0, text);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace cobre::command
