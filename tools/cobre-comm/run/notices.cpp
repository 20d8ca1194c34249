#include "notices.hpp"

#include <csignal>
#include <sstream>

#include "comm/core/format.hpp"
#include "secret.hpp"

namespace cobre::command {
namespace {

constexpr std::string_view failed = "a rank has failed";
constexpr std::string_view verdict_on = "verdict";
constexpr std::string_view listens_at = "port";

}  // namespace

std::string Notice::line(std::string_view mark) const {
  if (port != 0) return comm::core::format("{} {} {}\n", mark, listens_at, port);
  if (!verdict) return comm::core::format("{} {}\n", mark, failed);
  return comm::core::format("{} {} {} {} {}\n", mark, verdict_on, ending.code, ending.signal, words);
}

std::optional<Notice> Notice::parse(std::string_view text) {
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (text == failed) return Notice{};
  std::istringstream in{std::string(text)};
  std::string kind;
  in >> kind;
  if (kind == listens_at) {
    Notice notice;
    return in >> notice.port && notice.port != 0 ? std::optional(notice) : std::nullopt;
  }
  Notice notice{.verdict = true};
  in >> notice.ending.code >> notice.ending.signal;
  const bool possible = notice.ending.code >= 0 && notice.ending.code <= 255 && notice.ending.signal >= 0 &&
                        notice.ending.signal <= SIGRTMAX && notice.ending.failed();
  if (!in || kind != verdict_on || !possible) return std::nullopt;
  (void)in.get();  // the space
  std::getline(in, notice.words);
  return notice;
}

std::string make_mark() {
  return comm::core::format("cobre-comm: agent {}:", make_secret());
}

}  // namespace cobre::command
