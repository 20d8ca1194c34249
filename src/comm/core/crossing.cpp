#include "comm/core/crossing.hpp"

#include <algorithm>

#include "comm/core/describe_operation.hpp"

namespace cobre::comm::core {
namespace {

// The number is one of another count than the others', so it is no part of what differs.
detail::OperationRecord what_is_begun(const Standing& standing, std::uint64_t number) {
  detail::OperationRecord record = standing.beside[number % Aside::depth];
  const bool nonblocking = record.operation != detail::Operation::Fence;
  record.sequence = 0;
  return nonblocking ? beside(record) : record;
}

}  // namespace

Standing::Standing(std::uint64_t operations, const detail::OperationRecord& last_of_them, const Aside& aside) noexcept
    : entered(operations), last(last_of_them), begun(aside.begun()) {
  for (std::uint64_t back = 0; back < Aside::depth && back < begun; ++back) {
    const std::uint64_t number = begun - back;
    beside[number % Aside::depth] = aside.record(number).value_or(detail::OperationRecord{});
  }
}

std::optional<std::vector<std::optional<detail::OperationRecord>>> crossing(
    std::span<const std::optional<Standing>> standings) {
  for (const auto& inside : standings) {
    for (const auto& aside : standings) {
      if (!inside || !aside || inside->entered <= aside->entered || inside->begun >= aside->begun) continue;
      const std::uint64_t missed = aside->entered + 1;
      const std::uint64_t begun = inside->begun + 1;
      std::vector<std::optional<detail::OperationRecord>> records(standings.size());
      for (std::size_t rank = 0; rank < standings.size(); ++rank) {
        const auto& one = standings[rank];
        if (!one || (one->entered >= missed) == (one->begun >= begun)) continue;
        records[rank] = one->entered >= missed ? one->last : what_is_begun(*one, begun);
        records[rank]->sequence = 0;
      }
      return records;
    }
  }
  return std::nullopt;
}

}  // namespace cobre::comm::core
