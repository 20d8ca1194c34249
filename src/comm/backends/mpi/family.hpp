// The communicators behind one: its requests and plans run on duplicates of it, its fences on the ranks of the node.
// Who waits on one of them for a rank that announced itself on another waits in vain: they begin things in another
// order.
#pragma once

#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/errors.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/core/disagreement.hpp"

namespace cobre::comm::mpi {

class CollectiveChecker;

/// What runs there.
enum class Purpose { Calls, Requests, Fences };

/// On one rank, which may come by on several threads.
class Family {
 public:
  using Records = std::vector<std::optional<detail::OperationRecord>>;  // by rank of the communicator itself

  explicit Family(std::size_t size) noexcept : size_(size) {}
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void add(std::weak_ptr<CollectiveChecker> checker, Purpose purpose);

  /// Fills in what ranks that nothing is known of have announced elsewhere than to `asker`. Nobody will miss what is
  /// taken here: a rank that is found makes all of this family useless.
  void look_for(const CollectiveChecker& asker, Records& records);

  /// Throws what look_for() led to, here and whenever anything of this family is called again.
  [[noreturn]] void break_off(const Where& where, const Records& records);
  void require_whole(const Where& where) const;

 private:
  struct Member {
    std::weak_ptr<CollectiveChecker> checker;
    Purpose purpose;
  };

  std::size_t size_;
  mutable std::mutex mutex_;
  std::vector<Member> members_;
  std::optional<core::Disagreement> crossed_;
};

}  // namespace cobre::comm::mpi
