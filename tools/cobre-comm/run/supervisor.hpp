// The supervisor of a job's children: ranks, or relays to hosts. Its work is in three files: job.cpp starts and ends,
// watching.cpp moves bytes and signals, failing.cpp finds out what went wrong, and
// agents.cpp does so where the children are relays.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/core/descriptor.hpp"
#include "endings.hpp"
#include "frames.hpp"
#include "input.hpp"
#include "job.hpp"
#include "keeper.hpp"
#include "lines.hpp"
#include "notices.hpp"
#include "outbox.hpp"
#include "secret.hpp"
#include "signals.hpp"
#include "spawn.hpp"
#include "witness.hpp"

namespace cobre::command {

// How long to wait for the rank that the others hold responsible. An aborting rank ends after its peers.
inline constexpr std::chrono::milliseconds verdict_within{400};

struct Pipe {
  comm::core::Descriptor read;
  comm::core::Descriptor write;
};

/// One stream of one child.
struct Source {
  comm::core::Descriptor pipe;
  LineCutter lines;
  Stream* stream = nullptr;
  std::size_t bytes = 0;  // read so far
};

class Job {
 public:
  /// `orders` for an agent.
  Job(const JobPlan& plan, FrameReader* orders);

  int run();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_relay() const noexcept { return !plan_.relays.empty(); }
  [[nodiscard]] std::size_t rank_of(std::size_t child) const noexcept { return plan_.first_rank + child; }
  void say(std::string_view words) {
    errors_.add("cobre-comm: ");
    errors_.add(words);
    errors_.add("\n");
  }

  // job.cpp
  void start();
  void prepare_rank(RankStart& start, std::size_t child, const SecretFile& secret) const;
  [[nodiscard]] std::string tag(std::size_t child, bool colour) const;
  void end_all();
  void signal_all(int signal);

  // watching.cpp
  void wait_for_something();
  [[nodiscard]] int milliseconds_to_wait() const;
  void relay_input();
  void follow_orders();
  void heed_orders();
  static bool read_once(Source& source);
  static void read_from(Source& source);
  static void drain(Source& source);
  void read_reports();
  void heed(int signal);

  // agents.cpp
  void tell_launcher(const Notice& notice);
  void hear_agent(std::size_t child);
  void decide_which_host_failed();
  [[nodiscard]] std::string words_on_host(std::size_t child) const;

  // failing.cpp
  void look_for_endings();
  void decide_who_failed();
  void begin_to_end();
  void press_on();
  [[nodiscard]] std::string whereabouts_of_running() const;

  const JobPlan& plan_;
  FrameReader* orders_;  // of the launcher, where this is an agent and the line is open
  std::string host_;
  Signals signals_;
  Keeper keeper_;  // before any rank
  Input input_;
  GroupView witness_;
  Stream output_{STDOUT_FILENO};
  Stream errors_{STDERR_FILENO};
  const bool one_file_ = same_file(output_, errors_);
  std::vector<pid_t> pids_;
  std::vector<Source> sources_;   // two a child
  std::vector<Outbox> outboxes_;  // one a child; in use where children are relays
  bool input_told_ = false;
  std::vector<std::optional<Ending>> endings_;
  std::vector<Heard> heard_;  // one an agent
  Pipe reports_;
  std::size_t running_ = 0;
  std::size_t ended_ = 0;
  bool not_started_ = false;
  bool asked_to_end_ = false;
  bool asked_twice_ = false;
  bool pressed_ = false;
  bool made_to_end_ = false;                        // no rank here had failed before
  bool cut_ = false;                                // the lines to agents that did not end in time
  std::optional<Clock::time_point> deadline_;       // of the whole job
  std::optional<Clock::time_point> failed_at_;      // the first failure that was noticed or told
  std::optional<Clock::time_point> next_pressure_;  // on the ranks that are left
  std::optional<std::size_t> blamed_;
  int exit_code_ = 0;
};

}  // namespace cobre::command
