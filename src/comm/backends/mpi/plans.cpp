#include "comm/backends/mpi/plans.hpp"

namespace cobre::comm::mpi {

Plans::Plan* Plans::find(std::uint64_t signature) noexcept {
  for (std::size_t i = 0; i < most; ++i) {
    if (signatures_[i] != signature) continue;
    if (calls_[i] < worth_a_plan) ++calls_[i];
    return calls_[i] == worth_a_plan ? &plans_[i] : nullptr;
  }
  // A place without a plan, in turns. Plans are not given up: setting one up costs more than it saves for a long time,
  // and signatures that drive each other out would pay that at every call.
  for (std::size_t tried = 0; tried < most; ++tried) {
    const std::size_t i = next_;
    next_ = (next_ + 1) % most;
    if (calls_[i] == worth_a_plan) continue;
    signatures_[i] = signature;
    calls_[i] = 1;
    break;
  }
  return nullptr;
}

}  // namespace cobre::comm::mpi
