#include "comm/core/describe_operation.hpp"

#include "comm/core/format.hpp"

namespace cobre::comm::core {
namespace {

std::string elements_of(const detail::OperationRecord& record) {
  return record.type == ElementType::Opaque ? core::format("{} elements of {} bytes", record.count, record.element_size)
                                            : core::format("{} x {}", record.count, to_string(record.type));
}

std::string kind_of(const detail::OperationRecord& record) {
  return record.type == ElementType::Opaque ? core::format("elements of {} bytes", record.element_size)
                                            : to_string(record.type);
}

std::string reduction_of(const detail::OperationRecord& record) {
  return record.reduction == detail::callable_reduction ? "a callable"
                                                        : to_string(static_cast<ReduceOp>(record.reduction));
}

}  // namespace

std::string describe(const detail::OperationRecord& record) {
  using enum detail::Operation;
  std::string name = (is_beside(record) ? "nonblocking " : "") + std::string(to_string(record.operation));
  switch (record.operation) {
    case Broadcast:
    case Scatter: return core::format("{} of {} from root {}", name, elements_of(record), record.root);
    case Gather: return core::format("{} of {} to root {}", name, elements_of(record), record.root);
    case BroadcastResized:
    case Scatterv: return core::format("{} of {} from root {}", name, kind_of(record), record.root);
    case Gatherv: return core::format("{} of {} to root {}", name, kind_of(record), record.root);
    case Allgather:
    case Alltoall: return core::format("{} of {}", name, elements_of(record));
    case Allgatherv:
    case ReproducibleSum:
    case Alltoallv: return core::format("{} of {}", name, kind_of(record));
    case Reduce:
      return core::format("{} of {} with {} to root {}", name, elements_of(record), reduction_of(record), record.root);
    case Allreduce:
    case Scan:
    case Exscan:
    case ReduceScatterBlock: return core::format("{} of {} with {}", name, elements_of(record), reduction_of(record));
    case CreateRegion: return core::format("{} of {} elements of {} bytes", name, record.count, record.element_size);
    case Fence: return core::format("{} of region {}", name, record.count);  // the how-manieth that was made
    case Barrier:
    case Split:
    case Duplicate:
    case Node: break;
  }
  return name;
}

}  // namespace cobre::comm::core
