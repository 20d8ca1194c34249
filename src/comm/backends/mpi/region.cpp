// Regions: the leader's segment of a shared window, which the other ranks of the node map with none of their own.

#include <cobre/comm/detail/region_record.hpp>
#include <cobre/comm/mpi.hpp>
#include <ferrompi/communicator.hpp>
#include <ferrompi/window.hpp>

#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "comm/backends/mpi/perform.hpp"
#include "comm/backends/mpi/state.hpp"
#include "comm/core/format.hpp"
#include "comm/core/memory_limits.hpp"
#include "comm/core/moved_from.hpp"
#include "comm/core/page_placement.hpp"

namespace cobre::comm::detail {

class MpiRegionBlock {
 public:
  MpiRegionBlock(const MpiState& state, ferrompi::SharedWindow<std::byte> window)
      : mpi_(state.mpi),
        node_(state.node),
        gate_(state.gate),
        checker_(state.node_checker),
        serial_(++state.regions),
        window_(std::move(window)) {}

  void fence() {
    if (checker_) checker_->compare({.operation = Operation::Fence, .count = serial_});
    window_.fence();
  }

  [[nodiscard]] ferrompi::SharedWindow<std::byte>& window() noexcept { return window_; }
  [[nodiscard]] mpi::Gate& gate() const noexcept { return *gate_; }

 private:
  // The window goes before the communicator that it was made on, and MPI last.
  std::shared_ptr<ferrompi::Mpi> mpi_;
  std::shared_ptr<ferrompi::Communicator> node_;
  std::shared_ptr<mpi::Gate> gate_;
  std::shared_ptr<mpi::CollectiveChecker> checker_;
  std::uint64_t serial_;
  ferrompi::SharedWindow<std::byte> window_;
};

void MpiRegionDeleter::operator()(MpiRegionBlock* block) const noexcept {
  delete block;
}

namespace {

constexpr std::size_t any_process_can_address = std::numeric_limits<std::ptrdiff_t>::max();

/// What the ranks of all nodes say of one step, as the largest value of each.
struct Agreement {
  std::size_t failures = 0;  // more than 0 where somebody cannot go on
  std::size_t count = 0;
  std::size_t inverted_count = 0;  // its maximum is the minimum of the counts
};

Agreement agree(const MpiState& state, bool fails, std::size_t count) {
  std::array<std::size_t, 3> values{fails ? 1U : 0U, count, ~count};
  state.world.allreduce_inplace(values, ReduceOp::Max);
  return {values[0], values[1], values[2]};
}

// A follower that believed in a longer region than the leader made would read beyond its end.
void require_same_count(const Where& where, std::size_t count, const Agreement& agreed) {
  if (agreed.count == count && agreed.inverted_count == ~count) return;
  throw CollectiveMismatch(
      where, "count", {where.rank},
      core::format("this rank asks for {} elements, others for {} to {}", count, ~agreed.inverted_count, agreed.count));
}

}  // namespace

MpiRegionHandle::MpiRegionHandle(const MpiState& state, std::size_t count, std::size_t element_size,
                                 const RegionOptions& options)
    : leads_(state.node->rank() == 0),
      node_rank_(static_cast<std::size_t>(state.node->rank())),
      node_size_(static_cast<std::size_t>(state.node->size())) {
  const Where where = state.where("create_shared_region");
  const bool addressable = count <= any_process_can_address / element_size;
  const std::size_t bytes = addressable ? count * element_size : std::numeric_limits<std::size_t>::max();
  std::string refusal;
  mpi::perform(
      *state.gate,
      [&] {
        return mpi::CallFacts{where, 0, count, bytes};
      },
      [&] {
        if (state.checker) state.checker->compare(region_record(count, element_size, options));
        std::string problem;  // of this rank
        const auto all_can = [&] {
          const auto agreed = agree(state, !problem.empty(), count);
          require_same_count(where, count, agreed);
          if (agreed.failures == 0) return true;
          refusal = problem.empty() ? "it could not be had on another rank" : problem;
          return false;
        };
        if (leads_ || !addressable) problem = core::lack_of_memory(bytes).value_or("");
        if (!all_can()) return;
        std::optional<ferrompi::SharedWindow<std::byte>> window;
        try {
          window.emplace(ferrompi::SharedWindow<std::byte>::allocate(*state.node, leads_ ? bytes : 0));
        } catch (const ferrompi::Error& error) {
          problem = error.what();
        }
        if (!all_can()) return;

        block_.reset(new MpiRegionBlock(state, std::move(*window)));
        data_ = block_->window().remote(0).data();
        if (leads_ && bytes > 0) {
          core::place_pages(data_, bytes, options);
          std::memset(data_, 0, bytes);
        }
        block_->window().fence();
      });
  // Agreed by all, so the communicator is as good as before.
  if (!refusal.empty()) throw AllocationFailed(where, bytes, refusal);
}

void MpiRegionHandle::fence() const {
  if (!block_) core::throw_region_moved_from({"fence", node_rank_, node_size_});
  mpi::perform(
      block_->gate(),
      [&] {
        return mpi::CallFacts{{"fence", node_rank_, node_size_}};
      },
      [&] { block_->fence(); });
}

}  // namespace cobre::comm::detail
