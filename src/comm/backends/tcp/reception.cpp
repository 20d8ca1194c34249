#include "comm/backends/tcp/reception.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "comm/backends/tcp/owner.hpp"
#include "comm/core/fork_guard.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 2s;              // from connecting to having proved everything
constexpr auto pause = 100ms;              // where there is no descriptor left
constexpr int most_accepted_at_once = 32;  // between two looks at everybody else

}  // namespace

Reception::Reception(const Key& key, std::vector<core::Descriptor> listeners, std::size_t places, Trust trust,
                     std::string step)
    : key_(key), listeners_(std::move(listeners)), places_(places), trust_(trust), step_(std::move(step)) {}

void Reception::close() noexcept {
  listeners_.clear();
  visitors_.clear();
}

void Reception::watch(std::vector<pollfd>& entries) const {
  if (Clock::now() >= closed_until_) {
    for (const auto& listener : listeners_) entries.push_back({listener.get(), POLLIN, 0});
  }
  for (const auto& visitor : visitors_) entries.push_back({visitor.socket.get(), POLLIN, 0});
}

std::vector<Guest> Reception::serve() {
  std::vector<Guest> guests;
  // Those who are in first: they may have said who they are, and lose their place to somebody who comes now.
  hear(guests);
  if (Clock::now() < closed_until_) return guests;
  for (const auto& listener : listeners_) {
    // What a rank has to say is often here with it.
    if (accept_from(listener)) hear(guests);
  }
  return guests;
}

void Reception::hear(std::vector<Guest>& guests) {
  const auto now = Clock::now();
  for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
    const bool stays = listen_to(*visitor) && now < visitor->deadline;
    if (visitor->acceptance.state() == Acceptance::State::Trusted) {
      const Admission admission = visitor->acceptance.admission();
      guests.push_back({std::move(visitor->socket), visitor->acceptance.session(), admission});
    } else if (stays) {
      ++visitor;
      continue;
    } else {
      ++strangers_;
      last_stranger_ = Address::peer_of(visitor->socket.get());
    }
    visitor = visitors_.erase(visitor);
  }
}

bool Reception::accept_from(const core::Descriptor& listener) {
  bool any = false;
  for (int count = 0; count < most_accepted_at_once; ++count) {
    core::Descriptor connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) {
      // Out of descriptors: as where no place is left.
      if (errno != EMFILE && errno != ENFILE) return any;
      if (visitors_.empty()) {
        closed_until_ = Clock::now() + pause;
        return any;
      }
      make_room();
      continue;
    }
    if (!lets_in(connection.get())) continue;
    core::close_in_children(connection.get());
    // What follows is many small frames, and one that waited for the last to be acknowledged would wait 40 ms.
    hurry(connection.get());
    if (visitors_.size() >= places_) make_room();
    visitors_.emplace_back(std::move(connection), key_, Clock::now() + patience);
    any = true;
  }
  return any;
}

// The oldest of those who have more than half of the places: who has not said anything yet, or who has. A crowd of
// either kind leaves room for the other, and a rank is of both kinds, each for the time of one message.
void Reception::make_room() {
  const auto has_spoken = [](const Visitor& visitor) { return visitor.acceptance.challenged(); };
  const auto spoken = static_cast<std::size_t>(std::ranges::count_if(visitors_, has_spoken));
  const bool of_the_spoken = spoken > places_ / 2 || spoken == visitors_.size();
  visitors_.erase(std::ranges::find(visitors_, of_the_spoken, has_spoken));
}

bool Reception::lets_in(int connection) {
  if (trust_ != Trust::SameUser) return true;
  const auto owner = owner_of_other_end(connection);
  if (owner && *owner != geteuid()) other_user_ = owner;
  return owner == geteuid();
}

// Where MUNGE stands in for a key: what the visitor has is the first half of one, ours is the second.
bool Reception::take_credential(Visitor& visitor) {
  const int socket = visitor.socket.get();
  const auto bytes = std::as_writable_bytes(std::span(&visitor.credential, 1));
  const Moved moved = receive_some(socket, bytes, visitor.got);
  if (moved != Moved::All) return moved != Moved::Closed;
  const auto theirs = read_credential(visitor.credential);
  if (!theirs) return false;
  const Bytes32 ours = random_bytes();
  Written answer = try_to_write_credential(ours);
  if (!answer.credential) {
    // A moment ago it could read. Who is turned away comes again; those who are here need not hear of it.
    munge_problem_ = std::move(answer.problem);
    return false;
  }
  std::size_t sent = 0;
  if (send_some(socket, raw(*answer.credential), sent) != Moved::All) return false;
  visitor.acceptance = Acceptance(key_between(*theirs, ours, step_));
  visitor.vouched = true;
  return true;
}

bool Reception::listen_to(Visitor& visitor) {
  const int socket = visitor.socket.get();
  if (trust_ == Trust::Munge && !visitor.vouched) {
    if (!take_credential(visitor)) return false;
    if (!visitor.vouched) return true;
  }
  while (visitor.acceptance.state() == Acceptance::State::Reading) {
    std::size_t got = 0;
    const Moved moved = receive_some(socket, visitor.acceptance.wanted(), got);
    if (moved == Moved::Closed) return false;
    if (visitor.acceptance.advance(got) == Acceptance::State::Failed) return false;
    std::size_t sent = 0;
    // A fresh socket has room for one answer; one that has not is no honest one's.
    if (send_some(socket, visitor.acceptance.answer(), sent) != Moved::All) return false;
    if (moved != Moved::All) return true;
  }
  return true;
}

}  // namespace cobre::comm::tcp
