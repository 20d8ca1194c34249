#include "endings.hpp"

#include <sys/wait.h>

#include <csignal>
#include <tuple>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::command {

std::string Ending::words() const {
  return signal != 0 ? comm::core::format("was killed by signal {}", comm::core::signal_name(signal))
                     : comm::core::format("ended with code {}", code);
}

bool Ending::asked() const noexcept {
  return signal == SIGTERM || signal == SIGPIPE;
}

Ending Ending::of_a_rank() const noexcept {
  if (code <= 128 || code > 128 + SIGRTMAX) return *this;
  return {.code = 0, .signal = code - 128, .place = place};
}

std::optional<Ending> look_at(pid_t child) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  Ending ending;
  (info.si_code == CLD_EXITED ? ending.code : ending.signal) = info.si_status;
  return ending;
}

std::optional<std::size_t> first_failure(std::span<const std::optional<Ending>> endings,
                                         std::optional<std::size_t> known) {
  const auto failed = [&](std::size_t rank) { return endings[rank] && endings[rank]->failed(); };
  if (known && *known < endings.size() && failed(*known)) return known;
  std::optional<std::size_t> first;
  const auto order = [&](std::size_t rank) { return std::tuple(endings[rank]->asked(), endings[rank]->place); };
  for (std::size_t rank = 0; rank < endings.size(); ++rank) {
    if (failed(rank) && (!first || order(rank) < order(*first))) first = rank;
  }
  return first;
}

}  // namespace cobre::command
