// Short reductions that come again and again, as persistent requests where the MPI library is faster at those.
//
// A persistent request is made by all ranks together, so all must decide alike. That a rank passes the same buffers
// again is nothing that the others know: they may wait in the blocking call for a rank that sets a request up. What is
// the same on all ranks by contract is the sequence of operations on a communicator, with type, operation and count of
// each. So a plan belongs to such a signature, works on buffers of its own, and is made or not by the sequence alone.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>
#include <ferrompi/communicator.hpp>
#include <ferrompi/persistent.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace cobre::comm::mpi {

/// The plans of one communicator. Their number, and with it their memory, is bounded; it is all allocated at once,
/// because a rank that had none left later could not tell the others.
class Plans {
 public:
  static constexpr std::size_t most = 8;
  /// The signature's how-manieth call sets its plan up: what comes twice is often a check, or a first and a last time.
  static constexpr unsigned worth_a_plan = 3;

  /// True where a plan did it; false where the plain call is to do it. On all ranks the same.
  template <class T>
  bool allreduce(const ferrompi::Communicator& world, const T* send, std::span<T> recv, ReduceOp op) {
    if constexpr (std::is_arithmetic_v<T>) {
      if (!ferrompi::is_faster_again(recv.size(), sizeof(T), world.size())) return false;
      Plan* const plan = find(signature_of(element_type_v<T>, op, recv.size()));
      if (plan == nullptr) return false;
      if (!plan->request) {
        plan->request.emplace(
            world.allreduce_init(std::span<const T>(reinterpret_cast<const T*>(plan->send.data()), recv.size()),
                                 std::span<T>(reinterpret_cast<T*>(plan->recv.data()), recv.size()), op));
      }
      std::memcpy(plan->send.data(), send, recv.size_bytes());
      plan->request->start();
      plan->request->wait();
      std::memcpy(recv.data(), plan->recv.data(), recv.size_bytes());
      return true;
    } else {
      return false;  // reduced by functions of ours, for which the library's choice is another
    }
  }

 private:
  using Bytes = std::array<std::byte, ferrompi::faster_again_up_to>;
  struct Plan {
    std::optional<ferrompi::PersistentRequest> request;
    alignas(64) Bytes send;
    alignas(64) Bytes recv;
  };

  // A count that has a plan is not 0, so no signature is 0.
  [[nodiscard]] static constexpr std::uint64_t signature_of(ElementType type, ReduceOp op, std::size_t count) noexcept {
    return std::uint64_t{count} << 16 | static_cast<std::uint64_t>(op) << 8 | static_cast<std::uint64_t>(type);
  }

  /// Counts the call. Null where there is no plan for it, and it is not time for one.
  [[nodiscard]] Plan* find(std::uint64_t signature) noexcept;

  std::array<std::uint64_t, most> signatures_{};
  std::array<unsigned, most> calls_{};  // up to worth_a_plan: who got there keeps the place
  std::size_t next_ = 0;                // the place that was given away last, and one more
  std::array<Plan, most> plans_;
};

}  // namespace cobre::comm::mpi
