// What the launcher of several hosts hears from its agents, and which of them it believes. The first that it hears is
// the port that the agent of rank 0 found free on its host; the others wait for it. What happens after a failure:
//
//   agent, a rank ended badly   tells the launcher at once; gives its ranks a second, then SIGTERM, then SIGKILL
//   agent, knows who did it     tells that too: the launcher says it once, whoever else has something to say
//   launcher, heard of it       tells all agents at once, by which the second begins on their hosts as well
//   agent, was told             does the same to its ranks; those that end only then were made to
//   launcher, after 1.85 s      cuts the lines that are still open; an agent whose line ends kills its ranks
//
// With --keep-going nobody is told, and every host goes on.

#include <algorithm>
#include <csignal>

#include "comm/core/format.hpp"
#include "supervisor.hpp"

namespace cobre::command {

void Job::tell_launcher(const Notice& notice) {
  if (orders_ != nullptr && !plan_.mark.empty()) errors_.add(notice.line(plan_.mark));
}

void Job::hear_agent(std::size_t child) {
  Heard& heard = heard_[child];
  for (const std::string& text : sources_[2 * child + 1].lines.take_marked()) {
    auto notice = Notice::parse(text);
    if (!notice) continue;
    if (notice->port != 0) {
      for (std::size_t other = 1; other < outboxes_.size(); ++other) {
        outboxes_[other].add(packed(FrameKind::Port, std::to_string(notice->port)));
      }
      continue;
    }
    const std::size_t place = heard.place ? *heard.place : ended_++;
    heard.place = place;
    if (!failed_at_) failed_at_ = Clock::now();
    begin_to_end();
    if (!notice->verdict) continue;
    // Who points elsewhere comes after all that point at themselves.
    notice->ending.place = place + (notice->words.empty() ? heard_.size() : 0);
    heard.verdict = std::move(notice);
  }
}

void Job::decide_which_host_failed() {
  if (!failed_at_ || blamed_) return;
  std::vector<std::optional<Ending>> known(endings_.size());
  bool awaited = false;  // somebody knows more, and will say so
  for (std::size_t child = 0; child < heard_.size(); ++child) {
    if (const auto& ending = endings_[child]) known[child] = ending->of_a_rank();
    if (const auto& verdict = heard_[child].verdict) known[child] = verdict->ending;
    awaited = awaited || (heard_[child].place && !known[child]);
  }
  const auto first = first_failure(known, std::nullopt);
  if (!first) return;
  const Ending ending = known[*first].value_or(Ending{});
  // Who was asked to end says nothing about why; a host that does not answer any more may be the reason.
  if (running_ > 0 && (awaited || ending.asked())) return;
  blamed_ = first;
  if (exit_code_ != 0) return;
  exit_code_ = ending.exit_code();
  if (output_.closed() && ending.signal == SIGPIPE) return;  // as for any program whose reader has gone
  const std::string rest = running_ == 0 ? "" : plan_.keep_going ? "; the others go on" : "; ending the others";
  const std::string words = words_on_host(*first);
  if (!words.empty() && !asked_twice_) say(words + rest);
}

// Empty where the agent has said it itself.
std::string Job::words_on_host(std::size_t child) const {
  const auto& verdict = heard_[child].verdict;
  if (verdict && !verdict->words.empty()) return verdict->words;
  const std::string& host = plan_.relays[child].host;
  if (verdict) return comm::core::format("a rank on host {} {}", host, verdict->ending.words());
  const Ending ending = endings_[child].value_or(Ending{});
  if (cut_ && ending.signal == SIGKILL)
    return comm::core::format("the agent on host {} does not answer any more", host);
  // Remote shells end with 255 where they could not do their work, and shells with 126 and 127 where there is no agent
  // to start.
  const bool unheard = ending.code == 255 || ending.code == 126 || ending.code == 127 || ending.signal != 0;
  return unheard ? comm::core::format("the agent on host {} {}", host, ending.words()) : "";
}

}  // namespace cobre::command
