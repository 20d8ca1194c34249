// What an operation in flight must hold on to until it is over.
#pragma once

#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/reduction.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace ferrompi::detail {

/// Buffers that were moved into an operation. On the heap, so that moving the request does not move them.
struct HeldBuffers {
  HeldBuffers() = default;
  HeldBuffers(const HeldBuffers&) = delete;
  HeldBuffers& operator=(const HeldBuffers&) = delete;
  virtual ~HeldBuffers() = default;
  /// The Held that is for a Pending to hand back.
  [[nodiscard]] virtual const void* handed_back() const noexcept = 0;
};

template <class R>
struct Held final : HeldBuffers {
  /// Made of its parts where it lies: until there is memory for it, they stay with the caller.
  template <class... Part>
  explicit Held(std::in_place_t, Part&&... parts) : value(std::forward<Part>(parts)...) {}
  [[nodiscard]] const void* handed_back() const noexcept override { return this; }
  R value;
};

/// How a request that nobody waits for is brought to its end: a receive is cancelled, anything else completed.
enum class OnDrop { Complete, Cancel };

struct Hold {
  Hold() = default;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold();

  /// The operation has finished: does what remains to be done and throws what a callable threw.
  void completed();
  /// The same for an operation that nobody waited for, so that there is nobody to tell of errors either.
  void dropped() noexcept;

  std::vector<MPI_Datatype> types;  // made for this operation, freed with it
  std::vector<int> narrow;          // arrays that MPI reads until the end: counts, displacements, datatypes
  std::vector<MPI_Count> wide;
  std::vector<MPI_Datatype> handles;
  std::unique_ptr<std::byte[]> copy;  // of what is sent from a buffer that is received into
  std::unique_ptr<Reduction> reduction;
  std::unique_ptr<HeldBuffers> buffers;
  std::function<void()> finish;
};

using HoldPtr = std::unique_ptr<Hold>;

/// Makes the hold when the first thing needs holding.
inline Hold& ensure(HoldPtr& hold) {
  if (!hold) hold = std::make_unique<Hold>();
  return *hold;
}

}  // namespace ferrompi::detail
