// Messages of a rank to itself: the mailroom keeps them, and there is nothing for pipes to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "comm/algorithms/mailroom.hpp"

namespace cobre::comm::algorithms {

class NoPipes {
 public:
  static void enter(const Where&) noexcept {}
  static bool reach(const Where&, std::size_t, std::chrono::nanoseconds) noexcept { return true; }
  [[nodiscard]] static bool unfinished() noexcept { return false; }
  static std::size_t push(std::size_t, std::span<const std::byte>, std::span<const std::byte>) noexcept { return 0; }
  static std::size_t pull(std::size_t, std::byte*, std::size_t) noexcept { return 0; }
  [[nodiscard]] static bool usable() noexcept { return true; }
  static void break_off(std::size_t) noexcept {}
  static void let_go(std::size_t) noexcept {}
  static void check(const Where&, std::size_t) noexcept {}
  template <class Look>
  static void sleep(Look&&, std::chrono::nanoseconds) noexcept {}
  [[nodiscard]] const MailSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] static MailNote& note() noexcept {  // nothing is waited for
    static MailNote note{};
    return note;
  }

 private:
  MailSettings settings_;
};

using SelfMail = Mailroom<NoPipes>;

}  // namespace cobre::comm::algorithms
