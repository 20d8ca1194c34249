// One job of a few processes, one of which falls at a place that was chosen before; and what the others have to say.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/core/crash_point.hpp"
#include "crash/program.hpp"
#include "support/processes.hpp"

namespace crash {

using cobre::comm::core::CrashPoint;
using test::Clock;

constexpr std::size_t most_ranks = 5;

/// How the ranks are connected.
enum class Setup : std::uint8_t { Shm, ShmThroughBuffers, Tcp, TcpSharingMemory, TcpOnTwoHosts };
[[nodiscard]] const char* to_string(Setup setup);

enum class Action : std::uint8_t { Kill, StopAndGoOn, Exit, ExitInSteps, Throw, ThrowAndStay, KillFromOutside, None };
[[nodiscard]] const char* to_string(Action action);
constexpr int code_of_exit = 42;

/// How often each rank came by each point in each step. Points are numbered as in their list.
struct Visits {
  static constexpr std::size_t most_steps = 48;
  static constexpr std::size_t most_points = 96;
  std::atomic<std::uint32_t> of[most_ranks][most_steps][most_points];
};

/// What each rank measured of the machine, in that order: by it operations choose their way.
struct Measured {
  static constexpr std::size_t most_values = 32;
  static constexpr std::size_t most_bytes = 32;
  std::array<std::atomic<std::size_t>, most_ranks> count{};
  std::array<std::array<std::array<std::byte, most_bytes>, most_values>, most_ranks> values{};
  std::array<std::array<std::atomic<bool>, Visits::most_steps>, most_ranks> in_step{};
};

/// Who falls, where and how.
struct Plan {
  Setup setup = Setup::Shm;
  std::size_t size = 2;
  Action action = Action::None;
  std::size_t victim = 0;
  // The how-manieth visit of which point in which step; from outside, after how long instead.
  std::size_t step = 0;
  const CrashPoint* point = nullptr;
  std::uint32_t visit = 0;
  std::shared_ptr<const Measured> measured{};  // by the job that found the point, to go the same way
  std::chrono::microseconds delay{0};
  bool once_begun = false;  // that long after the victim has come to the group

  [[nodiscard]] std::string text() const;
};

enum class Ending : std::uint8_t { None, Fine, PeerFailed, InitializationFailed, Threw, Other };

/// What a rank says when it is over.
struct Report {
  Ending ending = Ending::None;
  std::size_t named = 0;  // by PeerFailed
  int signal = 0;
  int exit_code = -1;
  Clock::rep at = 0;
  bool left_something = false;  // a descriptor, a thread or a mapping, after its communicator had gone
  char words[400] = {};
};

/// What all processes of a job see.
struct Board {
  std::array<std::atomic<std::size_t>, most_ranks> step{};
  std::array<Report, most_ranks> reports{};
  std::atomic<Clock::rep> fell{0};
  Visits visits{};
  Measured measured{};
};

/// Runs it, without waiting: `advance` as often as possible.
class Job {
 public:
  explicit Job(const Plan& plan);

  /// True once every process has ended, or was ended because it took too long.
  bool advance();

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Board& board() const { return *board_; }
  /// For the plans that follow from it.
  [[nodiscard]] std::shared_ptr<const Measured> measured() const { return {board_owner_, &board_->measured}; }
  /// Whether anybody fell.
  [[nodiscard]] bool fell() const { return board_->fell.load() != 0; }
  /// What is not as it should be; empty where all is well.
  [[nodiscard]] std::string problems() const;
  /// Whether that is nothing but that somebody knew too late.
  [[nodiscard]] bool was_only_late() const;
  /// How long after the fall each of the others knew; nothing of a job that was stopped as a whole meanwhile.
  [[nodiscard]] std::vector<Clock::duration> detection_times() const;

 private:
  struct Rank {
    pid_t pid = 0;
    std::optional<int> status;
  };
  [[nodiscard]] std::string problem_at(std::size_t rank) const;
  [[nodiscard]] std::string problem_of(std::size_t rank) const;
  [[nodiscard]] std::string problem_of_victim() const;
  [[nodiscard]] int signal_of_victim() const;
  [[nodiscard]] int exit_code_of_victim() const;
  [[nodiscard]] bool lethal() const { return plan_.action != Action::StopAndGoOn && plan_.action != Action::None; }

  Plan plan_;
  std::shared_ptr<test::Shared<Board>> board_owner_;
  Board* board_;
  std::string name_;
  std::vector<Rank> ranks_;
  Clock::time_point begun_;
  Clock::time_point looked_ = begun_;
  std::optional<Clock::time_point> stopped_;
  std::optional<Clock::time_point> in_program_;  // the victim, since
  bool killed_ = false;
  bool hung_ = false;
  bool paused_ = false;
};

}  // namespace crash
