// Operations that were planned once and are started again and again, on data that is new each time.
#pragma once

#include "stress/soak_data.hpp"

namespace stress {

class Plans {
 public:
  Plans(const cobre::comm::CommBackend& comm, const Draw& draw)
      : rank_(comm.rank()),
        size_(comm.size()),
        root_(draw.root),
        given_(draw.count),
        sums_(draw.count),
        table_(draw.count),
        lengths_(draw.count, size_),
        mine_(draw.count + rank_),
        all_(lengths_.total),
        summing_(comm.allreduce_init(given_, sums_, cobre::comm::ReduceOp::Sum)),
        telling_(comm.broadcast_init(table_, root_)),
        gathering_(comm.allgatherv_init(mine_, all_, lengths_.counts, lengths_.places)) {}
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  void run(std::uint64_t salt) {
    const std::size_t count = given_.size();
    for (std::size_t i = 0; i < count; ++i) given_[i] = element<std::uint64_t>(salt, rank_, i);
    for (std::size_t i = 0; i < mine_.size(); ++i) mine_[i] = element<std::uint64_t>(salt, rank_, i);
    for (std::size_t i = 0; i < count; ++i) table_[i] = rank_ == root_ ? element<std::uint64_t>(salt, root_, i) : 0;
    summing_.start();
    telling_.start();
    gathering_.start();
    gathering_.wait();
    telling_.wait();
    summing_.wait();
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t sum = 0;
      for (std::size_t rank = 0; rank < size_; ++rank) sum += element<std::uint64_t>(salt, rank, i);
      require(sums_[i] == sum, "plan of allreduce");
      require(table_[i] == element<std::uint64_t>(salt, root_, i), "plan of broadcast");
    }
    for (std::size_t rank = 0; rank < size_; ++rank) {
      for (std::size_t i = 0; i < lengths_.counts[rank]; ++i) {
        require(all_[lengths_.places[rank] + i] == element<std::uint64_t>(salt, rank, i), "plan of allgatherv");
      }
    }
  }

 private:
  std::size_t rank_;
  std::size_t size_;
  std::size_t root_;
  std::vector<std::uint64_t> given_, sums_, table_;
  LengthsThatGrow lengths_;
  std::vector<std::uint64_t> mine_, all_;
  cobre::comm::PersistentRequest summing_, telling_, gathering_;
};

}  // namespace stress
