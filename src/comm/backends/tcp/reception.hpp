// The door of a rank: takes in connections, lets strangers prove who they are, and hands on those who could.
//
// Whoever knows nothing can do little: it gets one fixed-size answer, no memory beyond its place, two seconds, and a
// place only until newer visitors need it. Half of the places are for those who have said something that makes sense:
// a crowd that says nothing cannot push out a rank that does.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "comm/backends/tcp/credential.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/sockets.hpp"

namespace cobre::comm::tcp {

/// Someone who knows the key.
struct Guest {
  core::Descriptor socket;
  Session session;
  Admission admission;
};

/// How visitors prove to belong here: they know the key, MUNGE vouches for them, or, where there is no secret and so
/// everyone knows the key, the kernel says that they are the same user's.
enum class Trust { Secret, Munge, SameUser };

class Reception {
 public:
  /// `step`: where MUNGE vouches for the user, which step of Slurm a visitor must be of.
  Reception(const Key& key, std::vector<core::Descriptor> listeners, std::size_t places, Trust trust = Trust::Secret,
            std::string step = {});

  [[nodiscard]] bool open() const noexcept { return !listeners_.empty(); }
  /// Nobody comes any more, and nobody who is not trusted yet ever will be.
  void close() noexcept;

  /// Adds what has to be polled.
  void watch(std::vector<pollfd>& entries) const;
  /// Does all that can be done without waiting.
  [[nodiscard]] std::vector<Guest> serve();

  /// How many were turned away because they did not know the key, and the last of them.
  [[nodiscard]] std::size_t strangers() const noexcept { return strangers_; }
  [[nodiscard]] const std::optional<Address>& last_stranger() const noexcept { return last_stranger_; }
  /// The last one who was turned away because another user started it.
  [[nodiscard]] const std::optional<uid_t>& other_user() const noexcept { return other_user_; }
  /// Why the last one was turned away for whom MUNGE should have vouched, and did not answer; empty where it always
  /// did.
  [[nodiscard]] const std::string& munge_problem() const noexcept { return munge_problem_; }

 private:
  struct Visitor {
    Visitor(core::Descriptor connection, const Key& key, Clock::time_point until)
        : socket(std::move(connection)), acceptance(key), deadline(until) {}
    core::Descriptor socket;
    Acceptance acceptance;
    Clock::time_point deadline;
    bool vouched = false;
    Credential credential;
    std::size_t got = 0;
  };

  /// Whether anybody came in.
  bool accept_from(const core::Descriptor& listener);
  void make_room();
  /// Takes what the visitors have said; those who are trusted leave them and become guests.
  void hear(std::vector<Guest>& guests);
  [[nodiscard]] bool lets_in(int connection);
  /// False where the visitor has to go.
  [[nodiscard]] bool listen_to(Visitor& visitor);
  [[nodiscard]] bool take_credential(Visitor& visitor);

  Key key_;
  std::vector<core::Descriptor> listeners_;
  std::size_t places_;
  Trust trust_;
  std::string step_;
  std::list<Visitor> visitors_;  // oldest first; each stays where it is, because its answer points into it
  Clock::time_point
      closed_until_{};  // where no descriptor is left: a door that stays ready would be looked at for ever
  std::size_t strangers_ = 0;
  std::optional<Address> last_stranger_;
  std::optional<uid_t> other_user_;
  std::string munge_problem_;
};

}  // namespace cobre::comm::tcp
