#include "comm/backends/tcp/opening.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

// The door was open before anybody heard of it: who refuses now will refuse later. But a full queue may look the same,
// and where a process has died it takes the others a moment to hear of it.
constexpr auto patience_with_refusal = 1s;
// A kernel whose queue is full says nothing, and is asked again after 1, 2, 4, … seconds: too rarely in a crowd.
constexpr auto patience_with_silence = 2s;

// Whether a machine that has vanished looks like that to who asks its neighbours.
bool is_unknown_there(int error) {
  return error == EHOSTUNREACH || error == EHOSTDOWN || error == ENETUNREACH;
}

}  // namespace

Opening::State Opening::advance() {
  const auto now = Clock::now();
  if (step_ == Step::Pause && now >= until_) set_out(now);
  if (step_ == Step::Connecting) look_at_connection(now);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the step says that there is one
  if (step_ == Step::Introducing && introducing_->advance(socket_.get())) introduced(now);
  return state();
}

Opening::State Opening::state() const noexcept {
  if (step_ != Step::Over) return State::UnderWay;
  return failed_ ? State::Failed : State::Open;
}

void Opening::set_out(Clock::time_point now) {
  introducing_.reset();
  Opened opened = begin_connection(visit_.target, visit_.source);
  if (!opened.socket) return miss(opened.error, now);
  socket_ = std::move(opened.socket);
  until_ = std::min(vanished_by(), now + patience_with_silence);
  step_ = Step::Connecting;
}

void Opening::look_at_connection(Clock::time_point now) {
  pollfd ready = entry();
  if (poll(&ready, 1, 0) <= 0) {
    if (now >= until_) miss(ETIMEDOUT, now);
    return;
  }
  if (const int error = outcome_of_connection(socket_.get(), visit_.target)) return miss(error, now);
  hurry(socket_.get());
  introducing_.emplace(visit_.key, visit_.purpose, visit_.from, visit_.to);
  step_ = Step::Introducing;
}

void Opening::introduced(Clock::time_point now) {
  switch (introducing_->result().refusal) {  // NOLINT(bugprone-unchecked-optional-access): as above
    case Refusal::None: step_ = Step::Over; return;
    case Refusal::Stranger: return try_again(begin_ + patience_with_refusal, now);
    case Refusal::Silent:
    case Refusal::NotAdmitted:
      // Who hangs up is there, and had no place for this rank in a crowd of others, or this one did not come by for too
      // long to say who it is.
      begin_ = now;
      return try_again(Clock::time_point::max(), now);
  }
}

// Where a machine has vanished the watch says so before that, and nobody waits for it any more. Who is not reached
// later either is cut off from this rank alone.
void Opening::miss(int error, Clock::time_point now) {
  error_ = error;
  const bool silent = error == ETIMEDOUT || is_unknown_there(error);
  try_again(silent ? vanished_by() : begin_ + patience_with_refusal, now);
}

void Opening::try_again(Clock::time_point give_up, Clock::time_point now) {
  socket_ = {};
  failed_ = now >= give_up;
  step_ = failed_ ? Step::Over : Step::Pause;
  until_ = std::min(give_up, now + pauses_.next());
}

std::string Opening::problem() const {
  return introducing_ ? describe(introducing_->result().refusal) : std::strerror(error_);
}

pollfd Opening::entry() const noexcept {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): as above
  const bool receives = step_ == Step::Introducing && !introducing_->sends();
  return {socket_.get(), static_cast<short>(receives ? POLLIN : POLLOUT), 0};
}

}  // namespace cobre::comm::tcp
