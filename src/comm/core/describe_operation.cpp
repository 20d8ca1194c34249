#include "comm/core/describe_operation.hpp"

#include <algorithm>
#include <vector>

#include "comm/core/format.hpp"

namespace cobre::comm::core {
namespace {

std::string elements_of(const detail::OperationRecord& record) {
  return record.type == ElementType::Opaque ? core::format("{} elements of {} bytes", record.count, record.element_size)
                                            : core::format("{} x {}", record.count, to_string(record.type));
}

std::string reduction_of(const detail::OperationRecord& record) {
  return record.reduction == detail::callable_reduction ? "a callable"
                                                        : to_string(static_cast<ReduceOp>(record.reduction));
}

// The record that most ranks have; of equally many, the one of the lowest rank.
const detail::OperationRecord& usual_record(std::span<const detail::OperationRecord> records) {
  const auto votes = [&](const detail::OperationRecord& record) { return std::ranges::count(records, record); };
  return *std::ranges::max_element(records, {}, votes);
}

}  // namespace

std::string describe(const detail::OperationRecord& record) {
  using detail::Operation;
  switch (record.operation) {
    case Operation::Broadcast: return core::format("broadcast of {} from root {}", elements_of(record), record.root);
    case Operation::Allreduce:
      return core::format("allreduce of {} with {}", elements_of(record), reduction_of(record));
    case Operation::Allgatherv:
      return record.type == ElementType::Opaque
                 ? core::format("allgatherv of elements of {} bytes", record.element_size)
                 : core::format("allgatherv of {}", to_string(record.type));
    case Operation::CreateRegion:
      return core::format("create_shared_region of {} elements of {} bytes", record.count, record.element_size);
    case Operation::Barrier:
    case Operation::Fence:
    case Operation::Split:
    case Operation::Duplicate:
    case Operation::Node: break;
  }
  return to_string(record.operation);
}

void require_agreement(const Where& where, std::span<const detail::OperationRecord> records) {
  const auto& usual = usual_record(records);
  std::vector<std::size_t> differing;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    if (records[rank] != usual) differing.push_back(rank);
  }
  if (differing.empty()) return;
  const std::size_t odd_one = differing.front();
  const auto usual_rank = static_cast<std::size_t>(&usual - records.data());
  if (records.size() == 2) differing = {0, 1};
  throw CollectiveMismatch(where, detail::differing_field(usual, records[odd_one]), differing,
                           core::format("rank {} is in {}, rank {} in {}", usual_rank, describe(usual), odd_one,
                                        describe(records[odd_one])));
}

}  // namespace cobre::comm::core
