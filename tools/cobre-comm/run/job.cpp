#include "job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <system_error>

#include "comm/core/text.hpp"
#include "comm/topology/host.hpp"
#include "endings.hpp"
#include "input.hpp"
#include "keeper.hpp"
#include "lines.hpp"
#include "signals.hpp"
#include "spawn.hpp"
#include "witness.hpp"

namespace cobre::command {
namespace {

using Clock = std::chrono::steady_clock;
using comm::core::Descriptor;
using namespace std::chrono_literals;

// After a failure: how long the ranks that are left may end by themselves, when they are asked to, and when not any
// more. The last comes early enough for everything to be over within two seconds.
constexpr auto asked_after = 1000ms;
constexpr auto killed_after = 1600ms;
// How long to wait for the rank that the others hold responsible. An aborting rank ends after its peers.
constexpr auto verdict_within = 400ms;

constexpr int timed_out = 124;  // as timeout(1) has it
constexpr int not_started = 2;

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// One stream of one rank.
struct Source {
  Descriptor pipe;
  LineCutter lines;
  Stream* stream = nullptr;
};

class Job {
 public:
  explicit Job(const JobPlan& plan)
      : plan_(plan), host_(comm::topology::host_name()), endings_(plan.ranks()), reports_(make_pipe()) {}

  int run() {
    try {
      start();
    } catch (...) {
      end_all();
      throw;
    }
    // Who asks twice does not want to wait for a reader of our output either.
    while (running_ > 0 || (!asked_twice_ && (output_.pending() || errors_.pending()))) {
      wait_for_something();
      look_for_endings();
      decide_who_failed();
      press_on();
    }
    end_all();
    return exit_code_;
  }

 private:
  // Whatever the ranks have started and left behind; then the zombies that kept their numbers.
  void end_all() const {
    signal_all(SIGKILL);
    for (const pid_t rank : pids_) (void)waitpid(rank, nullptr, 0);
  }

  void start() {
    const std::size_t ranks = plan_.ranks();
    const bool alone = ranks == 1 && !plan_.tag;
    const std::size_t width = std::to_string(ranks - 1).size();
    sources_.reserve(2 * ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      Pipe output = make_pipe();
      Pipe errors = make_pipe();
      RankStart start{.program = plan_.program,
                      .arguments = plan_.arguments,
                      .environment = plan_.environments[rank],
                      .input = rank == 0 ? input_.for_rank_0() : input_.for_others(),
                      .output = output.write.get(),
                      .errors = errors.write.get(),
                      .cpus = plan_.cpus[rank],
                      .signals = signals_.original_mask()};
      if (rank == 0 && plan_.witnessed) {
        start.inherited = witness_.for_rank_0();
        start.environment.push_back(witness_.variable());
      }
      pids_.push_back(spawn(start, reports_.write.get()));
      keeper_.watch(pids_.back());
      ++running_;
      sources_.push_back({std::move(output.read), {tag(rank, width, plan_.colour_output), alone}, &output_});
      sources_.push_back({std::move(errors.read), {tag(rank, width, plan_.colour_errors), alone}, &errors_});
    }
    input_.let_go();
    witness_.let_go();
    reports_.write = {};
    if (plan_.timeout) deadline_ = Clock::now() + *plan_.timeout;
  }

  [[nodiscard]] std::string tag(std::size_t rank, std::size_t width, bool colour) const {
    if (!plan_.tag) return "";
    constexpr std::array colours{36, 33, 32, 35, 34, 31};
    const std::string text = fmt::format("[{:>{}}]", rank, width);
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m ", colours[rank % colours.size()], text) : text + " ";
  }

  void say(std::string_view words) { errors_.add(fmt::format("cobre-comm: {}\n", words)); }

  void wait_for_something() {
    std::vector<pollfd> entries;
    const auto watch = [&](int descriptor, short events) {
      entries.push_back({descriptor, events, 0});
      return entries.size() - 1;
    };
    const auto happened = [&](std::size_t entry) { return entries[entry].revents != 0; };
    const std::size_t signals = watch(signals_.descriptor(), POLLIN);
    const std::size_t reports = watch(reports_.read.get(), POLLIN);
    const std::size_t view = watch(witness_.descriptor(), POLLIN);
    const std::size_t reading = watch(input_.wants_read(), POLLIN);
    const std::size_t writing = watch(input_.wants_write(), POLLOUT);
    const std::size_t output = watch(output_.pending() ? output_.descriptor() : -1, POLLOUT);
    const std::size_t errors = watch(errors_.pending() ? errors_.descriptor() : -1, POLLOUT);
    const std::size_t first_source = entries.size();
    for (const Source& source : sources_) {
      watch(source.pipe && source.stream->has_room() ? source.pipe.get() : -1, POLLIN);
    }

    (void)poll(entries.data(), entries.size(), milliseconds_to_wait());
    if (happened(output)) output_.write_some();
    if (happened(errors)) errors_.write_some();
    if (happened(reading)) input_.read_some();
    if (happened(writing)) input_.write_some();
    if (happened(view)) witness_.take();
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (happened(first_source + i)) read_from(sources_[i]);
    }
    if (happened(reports)) read_reports();
    if (happened(signals)) heed_signals();
  }

  [[nodiscard]] int milliseconds_to_wait() const {
    std::optional<Clock::time_point> next = deadline_;
    const auto sooner = [&](Clock::time_point time) { next = next ? std::min(*next, time) : time; };
    if (failed_at_ && !blamed_) sooner(*failed_at_ + verdict_within);
    if (next_pressure_) sooner(*next_pressure_);
    if (!next) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now());
    return static_cast<int>(std::clamp<long>(left.count(), 0, 60'000));
  }

  // False where there is nothing more for now.
  static bool read_once(Source& source) {
    std::array<char, 65536> part;  // NOLINT(cppcoreguidelines-pro-type-member-init): read fills it
    const ssize_t count = read(source.pipe.get(), part.data(), part.size());
    if (count > 0) {
      source.lines.feed({part.data(), static_cast<std::size_t>(count)}, *source.stream);
      return true;
    }
    if (count == 0) {
      source.lines.finish(*source.stream);
      source.pipe = {};
    }
    return false;
  }

  static void read_from(Source& source) {
    if (!source.stream->closed()) {
      (void)read_once(source);
    } else {
      source.pipe = {};  // nobody reads us, so the rank hears of it as it would without us in between
    }
  }

  void read_reports() {
    if (!reports_.read) return;
    StartFailure failure{};
    while (read(reports_.read.get(), &failure, sizeof failure) == sizeof failure) {
      if (not_started_) continue;
      not_started_ = true;
      say(fmt::format("cannot execute {}: {}", comm::core::quoted(plan_.program), std::strerror(failure.error)));
    }
    // Closed once every rank has become its program.
    pollfd entry{.fd = reports_.read.get(), .events = POLLIN, .revents = 0};
    if (poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) == 0) reports_.read = {};
  }

  void heed_signals() {
    for (const int signal : signals_.take()) {
      switch (signal) {
        case SIGCHLD: break;  // look_for_endings() follows
        case SIGTSTP:
          signal_all(SIGTSTP);
          (void)raise(SIGSTOP);
          break;
        case SIGINT:
        case SIGTERM:
        case SIGHUP:
        case SIGQUIT:
          // The ranks may take their time to end; who asks twice does not want to wait.
          asked_twice_ = std::exchange(asked_to_end_, true);
          signal_all(asked_twice_ ? SIGKILL : signal);
          break;
        default: signal_all(signal);
      }
    }
  }

  void signal_all(int signal) const {
    for (const pid_t rank : pids_) (void)kill(-rank, signal);
  }

  void look_for_endings() {
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      if (endings_[rank]) continue;
      endings_[rank] = look_at(pids_[rank]);
      if (!endings_[rank]) continue;
      endings_[rank]->place = ended_++;
      --running_;
      // All that it wrote is in the pipes; who else holds their other ends is not waited for.
      for (Source* const source : {&sources_[2 * rank], &sources_[2 * rank + 1]}) {
        while (source->pipe && read_once(*source)) continue;
        source->lines.finish(*source->stream);
        source->pipe = {};
      }
      if (endings_[rank]->failed() && !failed_at_) {
        failed_at_ = Clock::now();
        if (!plan_.keep_going && !next_pressure_) next_pressure_ = *failed_at_ + asked_after;
      }
    }
  }

  void decide_who_failed() {
    if (!failed_at_ || blamed_) return;
    read_reports();
    witness_.take();
    const auto known = witness_.first_to_fail();
    const bool known_ended = known && endings_[*known];
    // Without a view into the group there is nobody to ask.
    const bool settled = running_ == 0 || known_ended || !witness_.sees();
    if (!settled && Clock::now() < *failed_at_ + verdict_within) return;
    blamed_ = first_failure(endings_, known);
    if (not_started_ || exit_code_ != 0) {
      if (exit_code_ == 0) exit_code_ = not_started;
      return;
    }
    const Ending& ending = *endings_[*blamed_];
    exit_code_ = ending.exit_code();
    if (output_.closed() && ending.signal == SIGPIPE) return;  // as for any program whose reader has gone
    const std::string where = witness_.whereabouts(*blamed_);
    const std::string rest = running_ == 0      ? ""
                             : plan_.keep_going ? "; the others go on"
                                                : fmt::format("; ending the other {}", running_);
    say(fmt::format("rank {} of {} (pid {} on {}) {}{}{}", *blamed_, plan_.ranks(), pids_[*blamed_], host_,
                    ending.words(), where.empty() ? "" : " " + where, rest));
  }

  void press_on() {
    const auto now = Clock::now();
    if (deadline_ && now >= *deadline_) {
      deadline_.reset();
      if (running_ == 0) return;
      exit_code_ = timed_out;
      say(fmt::format("{} of {} ranks still run after {} s (--timeout): {}; ending them", running_, plan_.ranks(),
                      std::chrono::duration<double>(*plan_.timeout).count(), whereabouts_of_running()));
      next_pressure_ = now;
    }
    if (!next_pressure_ || now < *next_pressure_) return;
    signal_all(pressed_ ? SIGKILL : SIGTERM);
    if (pressed_) {
      next_pressure_.reset();
    } else {
      next_pressure_ = now + (killed_after - asked_after);
    }
    pressed_ = true;
  }

  // "rank 3 before its first operation, ranks 0, 1 and 2 in barrier".
  [[nodiscard]] std::string whereabouts_of_running() const {
    std::map<std::string, std::vector<std::size_t>> places;
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      if (!endings_[rank]) places[witness_.whereabouts(rank)].push_back(rank);
    }
    std::vector<std::pair<std::string, std::vector<std::size_t>>> by_number(places.begin(), places.end());
    std::ranges::stable_sort(by_number, {}, [](const auto& place) { return place.second.size(); });
    std::vector<std::string> parts;
    for (const auto& [place, ranks] : by_number) {
      parts.push_back(comm::core::rank_list(ranks) + (place.empty() ? "" : " " + place));
    }
    return comm::core::joined(parts, ", ");
  }

  const JobPlan& plan_;
  std::string host_;
  Signals signals_;
  Keeper keeper_;  // before any rank
  Input input_;
  GroupView witness_;
  Stream output_{STDOUT_FILENO};
  Stream errors_{STDERR_FILENO};
  std::vector<pid_t> pids_;
  std::vector<Source> sources_;  // two a rank
  std::vector<std::optional<Ending>> endings_;
  Pipe reports_;
  std::size_t running_ = 0;
  std::size_t ended_ = 0;
  bool not_started_ = false;
  bool asked_to_end_ = false;
  bool asked_twice_ = false;
  bool pressed_ = false;
  std::optional<Clock::time_point> deadline_;       // of the whole job
  std::optional<Clock::time_point> failed_at_;      // the first failure that was noticed
  std::optional<Clock::time_point> next_pressure_;  // on the ranks that are left
  std::optional<std::size_t> blamed_;
  int exit_code_ = 0;
};

}  // namespace

int run_job(const JobPlan& plan) {
  return Job(plan).run();
}

}  // namespace cobre::command
