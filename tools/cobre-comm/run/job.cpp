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
#include <cstdlib>
#include <cstring>
#include <map>
#include <system_error>

#include "comm/core/text.hpp"
#include "comm/topology/host.hpp"
#include "endings.hpp"
#include "input.hpp"
#include "keeper.hpp"
#include "lines.hpp"
#include "outbox.hpp"
#include "secret.hpp"
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
  Job(const JobPlan& plan, FrameReader* orders)
      : plan_(plan),
        orders_(orders),
        host_(comm::topology::host_name()),
        input_(orders != nullptr     ? Input::Way::Fed
               : plan.relays.empty() ? Input::Way::HandedOver
                                     : Input::Way::Relayed),
        endings_(plan.children()),
        reports_(make_pipe()) {}

  int run() {
    try {
      start();
    } catch (...) {
      end_all();
      throw;
    }
    if (orders_ != nullptr) follow_orders();  // those that came together with the plan
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
  void end_all() {
    signal_all(SIGKILL);
    for (const pid_t rank : pids_) (void)waitpid(rank, nullptr, 0);
  }

  void start() {
    const std::size_t children = plan_.children();
    // A rank that has the streams to itself may print as it likes, prompts included.
    const bool alone = plan_.job_ranks == 1 && !plan_.tag;
    const SecretFile secret(plan_.secret);
    sources_.reserve(2 * children);
    for (std::size_t child = 0; child < children; ++child) {
      Pipe output = make_pipe();
      Pipe errors = make_pipe();
      RankStart start{.program = plan_.program,
                      .arguments = plan_.arguments,
                      .environment = {},
                      .input = rank_of(child) == 0 ? input_.for_rank_0() : input_.for_others(),
                      .output = output.write.get(),
                      .errors = errors.write.get(),
                      .inherited = {},
                      .cpus = {},
                      .signals = signals_.original_mask()};
      Outbox outbox;
      if (is_relay()) {
        start.arguments = plan_.relays[child].command;
        outbox = Outbox(plan_.relays[child].plan);
        start.input = outbox.far();
      } else {
        prepare_rank(start, child, secret);
      }
      pids_.push_back(spawn(start, reports_.write.get()));
      keeper_.watch(pids_.back());
      ++running_;
      outbox.let_go();
      outboxes_.push_back(std::move(outbox));
      sources_.push_back({std::move(output.read), {tag(child, plan_.colour_output), alone}, &output_});
      sources_.push_back({std::move(errors.read), {tag(child, plan_.colour_errors), alone}, &errors_});
    }
    input_.let_go();
    witness_.let_go();
    reports_.write = {};
    if (plan_.timeout) deadline_ = Clock::now() + *plan_.timeout;
  }

  void prepare_rank(RankStart& start, std::size_t child, const SecretFile& secret) const {
    start.environment = plan_.environments[child];
    start.cpus = plan_.cpus[child];
    if (secret) {
      start.inherited.push_back(secret.descriptor());
      start.environment.push_back(secret.variable());
    }
    if (child == 0 && plan_.witnessed) {
      start.inherited.push_back(witness_.for_rank_0());
      start.environment.push_back(witness_.variable());
    }
  }

  [[nodiscard]] bool is_relay() const noexcept { return !plan_.relays.empty(); }
  [[nodiscard]] std::size_t rank_of(std::size_t child) const noexcept { return plan_.first_rank + child; }

  [[nodiscard]] std::string tag(std::size_t child, bool colour) const {
    if (!plan_.tag || is_relay()) return "";  // an agent has put its tags on already
    const std::size_t rank = rank_of(child);
    const std::size_t width = std::to_string(plan_.job_ranks - 1).size();
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
    const std::size_t orders = watch(orders_ != nullptr ? STDIN_FILENO : -1, POLLIN);
    const std::size_t first_outbox = entries.size();
    for (const Outbox& outbox : outboxes_) watch(outbox.wants_write(), POLLOUT);
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
    for (std::size_t i = 0; i < outboxes_.size(); ++i) {
      if (happened(first_outbox + i)) outboxes_[i].write_some();
    }
    if (is_relay()) relay_input();
    if (happened(orders)) heed_orders();
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

  void relay_input() {
    if (input_told_) return;
    const std::string bytes = input_.take();
    if (!bytes.empty()) outboxes_.front().add(packed(FrameKind::Input, bytes));
    if (!input_.ended()) return;
    outboxes_.front().add(packed(FrameKind::EndOfInput, ""));
    input_told_ = true;
  }

  void follow_orders() {
    while (const auto frame = orders_->next()) {
      if (frame->kind == FrameKind::Input) input_.feed(frame->bytes);
      if (frame->kind == FrameKind::EndOfInput) input_.end();
      if (frame->kind == FrameKind::Signal) heed(std::atoi(frame->bytes.c_str()));
    }
  }

  void heed_orders() {
    const auto state = orders_->read_some(STDIN_FILENO);
    follow_orders();
    if (state == FrameReader::State::Open) return;
    orders_ = nullptr;  // the launcher is gone, and with it who wants to know
    exit_code_ = 128 + SIGKILL;
    asked_twice_ = true;
    signal_all(SIGKILL);
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
    for (const int signal : signals_.take()) heed(signal);
  }

  void heed(int signal) {
    switch (signal) {
      case SIGCHLD: break;  // look_for_endings() follows
      case SIGTSTP:
        signal_all(SIGTSTP);
        if (orders_ == nullptr) (void)raise(SIGSTOP);
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

  void signal_all(int signal) {
    // An agent passes signals on to its ranks, and kills them when its line is cut.
    for (std::size_t child = 0; child < pids_.size(); ++child) {
      if (is_relay() && signal != SIGKILL) {
        outboxes_[child].add(packed(FrameKind::Signal, std::to_string(signal)));
      } else {
        (void)kill(-pids_[child], signal);
      }
    }
  }

  void look_for_endings() {
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      if (endings_[rank]) continue;
      endings_[rank] = look_at(pids_[rank]);
      if (!endings_[rank]) continue;
      endings_[rank]->place = ended_++;
      // As an agent gives on what a signal did to a rank.
      if (is_relay() && endings_[rank]->code > 128 && endings_[rank]->code <= 128 + SIGRTMAX) {
        endings_[rank] = Ending{.code = 0, .signal = endings_[rank]->code - 128, .place = endings_[rank]->place};
      }
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
    // Without a view into the group there is nobody to ask; agents end when their ranks have.
    const bool settled = running_ == 0 || known_ended || !(witness_.sees() || is_relay());
    if (!settled && Clock::now() < *failed_at_ + verdict_within) return;
    blamed_ = first_failure(endings_, known);
    if (not_started_ || exit_code_ != 0) {
      if (exit_code_ == 0) exit_code_ = not_started;
      return;
    }
    const Ending& ending = *endings_[*blamed_];
    exit_code_ = ending.exit_code();
    if (output_.closed() && ending.signal == SIGPIPE) return;  // as for any program whose reader has gone
    const std::string rest = running_ == 0      ? ""
                             : plan_.keep_going ? "; the others go on"
                                                : fmt::format("; ending the other {}", running_);
    if (is_relay()) {
      // What became of a rank its agent has told, but for this signal. Remote shells end with 255 where they could not
      // do their work, and shells with 126 and 127 where there is no agent to start.
      const std::string& host = plan_.relays[*blamed_].host;
      const bool unheard = ending.code == 255 || ending.code == 126 || ending.code == 127;
      if (unheard) say(fmt::format("the agent on host {} {}{}", host, ending.words(), rest));
      if (ending.signal == SIGTERM) say(fmt::format("a rank on host {} {}{}", host, ending.words(), rest));
      return;
    }
    // A rank that fails asks its peers to end. Whether that happened on another host the launcher knows.
    if (orders_ != nullptr && ending.signal == SIGTERM) return;
    const std::string where = witness_.whereabouts(*blamed_);
    say(fmt::format("rank {} of {} (pid {} on {}) {}{}{}", rank_of(*blamed_), plan_.job_ranks, pids_[*blamed_], host_,
                    ending.words(), where.empty() ? "" : " " + where, rest));
  }

  void press_on() {
    const auto now = Clock::now();
    if (deadline_ && now >= *deadline_) {
      deadline_.reset();
      if (running_ == 0) return;
      exit_code_ = timed_out;
      say(fmt::format("{} of {} {} still run after {} s (--timeout): {}; ending them", running_, plan_.children(),
                      is_relay() ? "hosts" : "ranks", std::chrono::duration<double>(*plan_.timeout).count(),
                      whereabouts_of_running()));
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
    if (is_relay()) return "their agents have told where their ranks are";
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      if (!endings_[rank]) places[witness_.whereabouts(rank)].push_back(rank_of(rank));
    }
    std::vector<std::pair<std::string, std::vector<std::size_t>>> by_number(places.begin(), places.end());
    std::ranges::sort(by_number, {}, [](const auto& place) { return std::pair(place.second.size(), place.second); });
    std::vector<std::string> parts;
    for (const auto& [place, ranks] : by_number) {
      parts.push_back(comm::core::rank_list(ranks) + (place.empty() ? "" : " " + place));
    }
    return comm::core::joined(parts, ", ");
  }

  const JobPlan& plan_;
  FrameReader* orders_;  // of the launcher, where this is an agent and the line is open
  std::string host_;
  Signals signals_;
  Keeper keeper_;  // before any rank
  Input input_;
  GroupView witness_;
  Stream output_{STDOUT_FILENO};
  Stream errors_{STDERR_FILENO};
  std::vector<pid_t> pids_;
  std::vector<Source> sources_;   // two a child
  std::vector<Outbox> outboxes_;  // one a child; in use where children are relays
  bool input_told_ = false;
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
  return Job(plan, nullptr).run();
}

int run_job(const JobPlan& plan, FrameReader& orders) {
  return Job(plan, &orders).run();
}

}  // namespace cobre::command
