// One turn of the loop: whatever can be read, written or obeyed.

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "supervisor.hpp"

namespace cobre::command {

void Job::wait_for_something() {
  std::vector<pollfd> entries;
  const auto watch = [&](int descriptor, short events) {
    entries.push_back({descriptor, events, 0});
    return entries.size() - 1;
  };
  const auto happened = [&](std::size_t entry) { return entries[entry].revents != 0; };
  const std::size_t signals = watch(signals_.descriptor(), POLLIN);
  const std::size_t reports = watch(reports_.read.get(), POLLIN);
  const std::size_t view = watch(witness_.descriptor(), POLLIN);
  const bool reads_on = !is_relay() || outboxes_.front().has_room();
  const std::size_t reading = watch(reads_on ? input_.wants_read() : -1, POLLIN);
  const std::size_t writing = watch(input_.wants_write(), POLLOUT);
  const auto has_the_word = [&](const Stream& stream, const Stream& other) {
    return stream.pending() && !(one_file_ && other.within_line());
  };
  const std::size_t output = watch(has_the_word(output_, errors_) ? output_.descriptor() : -1, POLLOUT);
  const std::size_t errors = watch(has_the_word(errors_, output_) ? errors_.descriptor() : -1, POLLOUT);
  const std::size_t orders = watch(orders_ != nullptr ? STDIN_FILENO : -1, POLLIN);
  const std::size_t first_outbox = entries.size();
  for (const Outbox& outbox : outboxes_) watch(outbox.wants_write(), POLLOUT);
  const std::size_t first_source = entries.size();
  for (const Source& source : sources_) {
    watch(source.pipe && source.stream->has_room() ? source.pipe.get() : -1, POLLIN);
  }

  (void)poll(entries.data(), entries.size(), milliseconds_to_wait());
  if (happened(output)) output_.write_some();
  if (happened(errors) && has_the_word(errors_, output_)) errors_.write_some();  // the other one may have just begun
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
    if (is_relay() && i % 2 == 1) hear_agent(i / 2);
  }
  if (happened(reports)) read_reports();
  if (happened(signals)) {
    for (const int signal : signals_.take()) heed(signal);
  }
}

int Job::milliseconds_to_wait() const {
  std::optional<Clock::time_point> next = deadline_;
  const auto sooner = [&](Clock::time_point time) { next = next ? std::min(*next, time) : time; };
  if (failed_at_ && !blamed_ && !is_relay()) sooner(*failed_at_ + verdict_within);
  if (next_pressure_) sooner(*next_pressure_);
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now());
  return static_cast<int>(std::clamp<long>(left.count(), 0, 60'000));
}

void Job::relay_input() {
  if (input_told_) return;
  const std::string bytes = input_.take();
  if (!bytes.empty()) outboxes_.front().add(packed(FrameKind::Input, bytes));
  if (!input_.ended()) return;
  outboxes_.front().add(packed(FrameKind::EndOfInput, ""));
  input_told_ = true;
}

void Job::follow_orders() {
  while (const auto frame = orders_->next()) {
    if (frame->kind == FrameKind::Input) input_.feed(frame->bytes);
    if (frame->kind == FrameKind::EndOfInput) input_.end();
    if (frame->kind == FrameKind::Failure) begin_to_end();
    if (frame->kind == FrameKind::Signal) heed(std::atoi(frame->bytes.c_str()));
  }
}

void Job::heed_orders() {
  const auto state = orders_->read_some(STDIN_FILENO);
  follow_orders();
  if (state == FrameReader::State::Open) return;
  orders_ = nullptr;  // the launcher is gone, and with it who wants to know
  exit_code_ = 128 + SIGKILL;
  asked_twice_ = true;
  signal_all(SIGKILL);
}

// False where there is nothing more for now.
bool Job::read_once(Source& source) {
  std::array<char, 65536> part;  // NOLINT(cppcoreguidelines-pro-type-member-init): read fills it
  const ssize_t count = read(source.pipe.get(), part.data(), part.size());
  if (count > 0) {
    source.bytes += static_cast<std::size_t>(count);
    source.lines.feed({part.data(), static_cast<std::size_t>(count)}, *source.stream);
    return true;
  }
  if (count == 0) {
    source.lines.finish(*source.stream);
    source.pipe = {};
  }
  return false;
}

void Job::read_from(Source& source) {
  if (!source.stream->closed()) {
    (void)read_once(source);
  } else {
    source.pipe = {};  // nobody reads us, so the rank hears of it as it would without us in between
  }
}

// What is there now: something that the rank has left behind may go on writing.
void Job::drain(Source& source) {
  int waiting = 0;
  if (source.pipe) (void)ioctl(source.pipe.get(), FIONREAD, &waiting);
  for (const auto before = source.bytes; source.pipe && source.bytes - before < static_cast<std::size_t>(waiting);) {
    if (!read_once(source)) return;
  }
}

void Job::read_reports() {
  if (!reports_.read) return;
  StartFailure failure{};
  while (read(reports_.read.get(), &failure, sizeof failure) == sizeof failure) {
    if (not_started_) continue;
    not_started_ = true;
    say(comm::core::format("cannot execute {}: {}", comm::core::quoted(plan_.program), std::strerror(failure.error)));
  }
  // Closed once every rank has become its program.
  pollfd entry{.fd = reports_.read.get(), .events = POLLIN, .revents = 0};
  if (poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) == 0) reports_.read = {};
}

void Job::heed(int signal) {
  switch (signal) {
    case SIGCHLD: break;  // look_for_endings() follows
    case SIGTSTP:
      signal_all(SIGTSTP);
      for (Outbox& outbox : outboxes_) outbox.write_some();  // while we can
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

}  // namespace cobre::command
