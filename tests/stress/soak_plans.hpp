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
        summing_(comm.allreduce_init(given_, sums_, cobre::comm::ReduceOp::Sum)),
        telling_(comm.broadcast_init(table_, root_)) {}
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  void run(std::uint64_t salt) {
    const std::size_t count = given_.size();
    for (std::size_t i = 0; i < count; ++i) given_[i] = element<std::uint64_t>(salt, rank_, i);
    for (std::size_t i = 0; i < count; ++i) table_[i] = rank_ == root_ ? element<std::uint64_t>(salt, root_, i) : 0;
    summing_.start();
    telling_.start();
    telling_.wait();
    summing_.wait();
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t sum = 0;
      for (std::size_t rank = 0; rank < size_; ++rank) sum += element<std::uint64_t>(salt, rank, i);
      require(sums_[i] == sum, "plan of allreduce");
      require(table_[i] == element<std::uint64_t>(salt, root_, i), "plan of broadcast");
    }
  }

 private:
  std::size_t rank_;
  std::size_t size_;
  std::size_t root_;
  std::vector<std::uint64_t> given_, sums_, table_;
  cobre::comm::PersistentRequest summing_, telling_;
};

}  // namespace stress
