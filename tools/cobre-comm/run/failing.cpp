// What went wrong, who is to blame, and how the rest is made to end.

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "supervisor.hpp"

namespace cobre::command {
namespace {

using namespace std::chrono_literals;

// After a failure: how long the ranks that are left may end by themselves, when they are asked to, and when not any
// more. The last comes early enough for everything to be over within two seconds.
constexpr auto asked_after = 1000ms;
constexpr auto killed_after = 1600ms;
// When the launcher stops to wait for agents, which do the same on their hosts.
constexpr auto cut_after = 1850ms;

constexpr int timed_out = 124;  // as timeout(1) has it
constexpr int not_started = 2;

}  // namespace

void Job::look_for_endings() {
  for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
    if (endings_[rank]) continue;
    std::optional<Ending> ending = look_at(pids_[rank]);
    if (!ending) continue;
    --running_;
    // All that it wrote is in the pipes; who else holds their other ends is not waited for.
    for (Source* const source : {&sources_[2 * rank], &sources_[2 * rank + 1]}) {
      drain(*source);
      source->lines.finish(*source->stream);
      source->pipe = {};
    }
    if (is_relay()) hear_agent(rank);
    const auto told = is_relay() ? heard_[rank].place : std::nullopt;
    ending->place = told ? *told : ended_++;
    endings_[rank] = ending;
    if (!ending->failed()) continue;
    if (!failed_at_) {
      failed_at_ = Clock::now();
      made_to_end_ = pressed_;
      tell_launcher({});
    }
    begin_to_end();
  }
}

// Of the ranks here; decide_which_host_failed() does it for relays.
void Job::decide_who_failed() {
  if (!failed_at_ || blamed_) return;
  read_reports();
  witness_.take();
  const auto named = witness_.first_to_fail();
  const bool elsewhere = named && *named - plan_.first_rank >= plan_.children();
  const auto known = named && !elsewhere ? std::optional(*named - plan_.first_rank) : std::nullopt;
  const bool known_ended = known && endings_[*known];
  // Without a view into the group there is nobody to ask.
  const bool settled = running_ == 0 || known_ended || elsewhere || !witness_.sees();
  if (!settled && Clock::now() < *failed_at_ + verdict_within) return;
  const std::size_t blamed = first_failure(endings_, known).value_or(0);
  blamed_ = blamed;
  if (exit_code_ != 0) return;
  if (not_started_) {
    exit_code_ = not_started;
    return;
  }
  if (elsewhere || made_to_end_) {
    // The agent there tells what happened; to the launcher, the ranks here were made to end.
    exit_code_ = 128 + SIGTERM;
    return tell_launcher({.verdict = true, .ending = {.signal = SIGTERM}});
  }
  const Ending ending = endings_[blamed].value_or(Ending{});
  exit_code_ = ending.exit_code();
  if (output_.closed() && ending.signal == SIGPIPE) return;  // as for any program whose reader has gone
  const std::string where = witness_.whereabouts(blamed);
  const std::string words = comm::core::format("rank {} of {} (pid {} on {}) {}{}", rank_of(blamed), plan_.job_ranks,
                                               pids_[blamed], host_, ending.words(), where.empty() ? "" : " " + where);
  if (orders_ != nullptr && !plan_.mark.empty()) {
    return tell_launcher({.verdict = true, .ending = ending, .words = words});
  }
  const std::string rest = running_ == 0      ? ""
                           : plan_.keep_going ? "; the others go on"
                                              : comm::core::format("; ending the other {}", running_);
  say(words + rest);
}

// The first failure is known here; the second one and those that follow change nothing.
void Job::begin_to_end() {
  if (plan_.keep_going || next_pressure_ || pressed_) return;
  if (is_relay()) {
    for (Outbox& outbox : outboxes_) outbox.add(packed(FrameKind::Failure, ""));
    pressed_ = true;  // what is left is to cut the lines
  }
  next_pressure_ = Clock::now() + (is_relay() ? cut_after : asked_after);
}

void Job::press_on() {
  const auto now = Clock::now();
  if (deadline_ && now >= *deadline_) {
    deadline_.reset();
    if (running_ == 0) return;
    exit_code_ = timed_out;
    say(comm::core::format("{} of {} {} still run after {} s (--timeout): {}; ending them", running_, plan_.children(),
                           is_relay() ? "hosts" : "ranks",
                           std::chrono::duration<double>(plan_.timeout.value_or(0ms)).count(),
                           whereabouts_of_running()));
    next_pressure_ = now;
  }
  if (!next_pressure_ || now < *next_pressure_) return;
  signal_all(pressed_ ? SIGKILL : SIGTERM);
  if (pressed_) {
    next_pressure_.reset();
    cut_ = true;
  } else {
    next_pressure_ = now + (killed_after - asked_after);
  }
  pressed_ = true;
}

// "rank 3 before its first operation, ranks 0-2 in barrier".
std::string Job::whereabouts_of_running() const {
  std::map<std::string, std::vector<std::size_t>> places;
  if (is_relay()) return "their agents have told where their ranks are";
  for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
    if (!endings_[rank]) places[witness_.whereabouts(rank)].push_back(rank_of(rank));
  }
  std::vector<std::pair<std::string, std::vector<std::size_t>>> by_number(places.begin(), places.end());
  std::ranges::sort(by_number, {}, [](const auto& place) { return std::pair(place.second.size(), place.second); });
  std::vector<std::string> parts;
  parts.reserve(by_number.size());
  for (const auto& [place, ranks] : by_number) {
    parts.push_back(comm::core::rank_list(ranks) + (place.empty() ? "" : " " + place));
  }
  return comm::core::joined(parts, ", ");
}

}  // namespace cobre::command
