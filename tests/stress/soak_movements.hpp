// One random operation that moves elements from rank to rank, with every one of them checked where it arrives.
#pragma once

#include <optional>
#include <thread>

#include "stress/soak_data.hpp"

namespace stress {

inline constexpr std::uint64_t movements = 23;

/// What the ranks of one communicator do to each other in one operation.
template <class T>
class Movement {
 public:
  Movement(const cobre::comm::CommBackend& comm, const Draw& draw) : comm_(comm), draw_(draw) {}

  void run() const {
    switch (draw_.which % movements) {
      case 0: return comm_.barrier();
      case 1: return comm_.ibarrier().wait();
      case 2: return exchange();
      case 3:
      case 4: return messages();
      case 5:
      case 6:
      case 7: return broadcast();
      case 8: return ibroadcast();
      case 9: return require_lengths_that_grow(comm_.allgatherv(own(comm_.rank())).values, "allgatherv");
      case 10: return allgather();
      case 11: return iallgatherv();
      case 12: return gatherv();
      case 13: return gather();
      case 14: return scatterv();
      case 15: return scatter();
      case 16: return alltoallv();
      case 17: return allgatherv_inplace();
      case 18: return broadcast_resized();
      case 19:
      case 20: return messages_of_any_length();
      case 21: return plain_messages();
      default: return alltoall();
    }
  }

 private:
  // As many of each rank, or one more of each than of the one before.
  [[nodiscard]] std::vector<T> of(std::size_t rank) const { return elements<T>(draw_.salt, rank, draw_.count); }
  [[nodiscard]] std::vector<T> own(std::size_t more) const {
    return elements<T>(draw_.salt, comm_.rank(), draw_.count + more);
  }
  [[nodiscard]] std::vector<T> room() const { return std::vector<T>(draw_.count * comm_.size()); }
  [[nodiscard]] bool is_root() const { return comm_.rank() == draw_.root; }
  [[nodiscard]] std::size_t next() const { return (comm_.rank() + 1) % comm_.size(); }
  [[nodiscard]] std::size_t previous() const { return (comm_.rank() + comm_.size() - 1) % comm_.size(); }

  void require_all(const std::vector<T>& values, const auto& length_of, const char* what) const {
    std::size_t place = 0;
    for (std::size_t rank = 0; rank < comm_.size(); ++rank) {
      for (std::size_t i = 0; i < length_of(rank); ++i, ++place) {
        require(place < values.size() && values[place] == element<T>(draw_.salt, rank, i), what);
      }
    }
    require(place == values.size(), what);
  }
  void require_lengths_that_grow(const std::vector<T>& values, const char* what) const {
    require_all(
        values, [&](std::size_t rank) { return draw_.count + rank; }, what);
  }
  void require_equal_lengths(const std::vector<T>& values, const char* what) const {
    require_all(
        values, [&](std::size_t) { return draw_.count; }, what);
  }

  [[nodiscard]] std::vector<T> before_broadcast() const {
    return is_root() ? of(draw_.root) : std::vector<T>(draw_.count);
  }
  void broadcast() const {
    auto data = before_broadcast();
    comm_.broadcast(data, draw_.root);
    require(data == of(draw_.root), "broadcast");
  }
  void broadcast_resized() const {
    auto data = own(comm_.rank());  // of another length elsewhere
    comm_.broadcast_resized(data, draw_.root);
    require(data == elements<T>(draw_.salt, draw_.root, draw_.count + draw_.root), "broadcast_resized");
  }
  void ibroadcast() const {
    auto data = before_broadcast();
    auto request = comm_.ibroadcast(data, draw_.root);
    comm_.barrier();
    request.wait();
    require(data == of(draw_.root), "ibroadcast");
  }

  void allgather() const {
    auto all = room();
    comm_.allgather(of(comm_.rank()), all);
    require_equal_lengths(all, "allgather");
  }
  void iallgatherv() const {
    const LengthsThatGrow lengths(draw_.count, comm_.size());
    const auto mine = own(comm_.rank());
    std::vector<T> all(lengths.total);
    auto request = comm_.iallgatherv(mine, all, lengths.counts, lengths.places);
    comm_.barrier();
    request.wait();
    require_lengths_that_grow(all, "iallgatherv");
  }
  void allgatherv_inplace() const {
    const LengthsThatGrow lengths(draw_.count, comm_.size());
    std::vector<T> all(lengths.total);
    std::ranges::copy(own(comm_.rank()), all.begin() + static_cast<std::ptrdiff_t>(lengths.places[comm_.rank()]));
    comm_.allgatherv_inplace(all, lengths.counts, lengths.places);
    require_lengths_that_grow(all, "allgatherv_inplace");
  }

  void gather() const {
    auto all = is_root() ? room() : std::vector<T>();
    comm_.gather(of(comm_.rank()), all, draw_.root);
    if (is_root()) require_equal_lengths(all, "gather");
  }
  void gatherv() const {
    const auto all = comm_.gatherv(own(comm_.rank()), draw_.root);
    if (is_root()) require_lengths_that_grow(all.values, "gatherv");
  }
  void scatter() const {
    std::vector<T> all;
    for (std::size_t rank = 0; rank < comm_.size() && is_root(); ++rank) append(all, of(rank));
    std::vector<T> mine(draw_.count);
    comm_.scatter(all, mine, draw_.root);
    require(mine == of(comm_.rank()), "scatter");
  }
  void scatterv() const {
    std::vector<T> all;
    std::vector<std::size_t> counts(comm_.size());
    for (std::size_t rank = 0; rank < comm_.size() && is_root(); ++rank) {
      counts[rank] = draw_.count + rank;
      append(all, elements<T>(draw_.salt, rank, counts[rank]));
    }
    require(comm_.scatterv(all, counts, draw_.root) == own(comm_.rank()), "scatterv");
  }

  // Everyone has the same for everyone.
  void alltoallv() const {
    std::vector<T> all;
    const auto mine = own(comm_.rank());
    const std::vector<std::size_t> counts(comm_.size(), mine.size());
    for (std::size_t rank = 0; rank < comm_.size(); ++rank) append(all, mine);
    require_lengths_that_grow(comm_.alltoallv(all, counts).values, "alltoallv");
  }
  void alltoall() const {
    std::vector<T> all;
    for (std::size_t rank = 0; rank < comm_.size(); ++rank) append(all, of(comm_.rank()));
    auto received = room();
    comm_.alltoall(all, received);
    require_equal_lengths(received, "alltoall");
  }
  static void append(std::vector<T>& all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  void exchange() const {
    std::vector<T> data(draw_.count);
    comm_.sendrecv(of(comm_.rank()), next(), data, previous());
    require(data == of(previous()), "sendrecv");
  }
  void messages() const {
    const auto tag = static_cast<std::int64_t>(draw_.salt % 5);
    const auto to = comm_.channel(next(), tag);
    const auto from = comm_.channel(previous(), tag);
    auto coming = from.irecv(std::vector<T>(draw_.count));
    auto going = to.isend(of(comm_.rank()));
    require(coming.get() == of(previous()), "message");
    (void)going.get();
  }
  // Each sends as much as belongs to its rank; the receiver has room for more.
  void messages_of_any_length() const {
    const auto tag = static_cast<std::int64_t>(draw_.salt % 5);
    const auto to = comm_.channel(next(), tag);
    const auto from = comm_.channel(previous(), tag);
    std::vector<T> room(draw_.count + comm_.size());
    auto going = to.isend(own(comm_.rank()));
    std::optional<std::size_t> came;
    if (draw_.op % 2 == 0) {
      came = from.recv_some(room);
    } else {
      while (!(came = from.try_recv(room))) std::this_thread::yield();
    }
    room.resize(came.value());
    require(room == elements<T>(draw_.salt, previous(), draw_.count + previous()), "message of any length");
    (void)going.get();
  }
  // In pairs, in which one receives first: both calls may wait for the other rank.
  void plain_messages() const {
    const std::size_t other = comm_.rank() ^ 1U;
    if (other >= comm_.size()) return;
    std::vector<T> data(draw_.count);
    if (comm_.rank() < other) comm_.send(of(comm_.rank()), other);
    comm_.recv(data, other);
    if (comm_.rank() > other) comm_.send(of(comm_.rank()), other);
    require(data == of(other), "plain message");
  }

  const cobre::comm::CommBackend& comm_;
  const Draw& draw_;
};

}  // namespace stress
