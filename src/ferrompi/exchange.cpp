#include <ferrompi/detail/exchange.hpp>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <memory>

namespace ferrompi::detail {

namespace {

// Elements from a byte offset on, as one datatype that knows both.
MPI_Datatype placed_type(const char* operation, MPI_Datatype element, std::size_t count, MPI_Aint offset) {
  MPI_Datatype whole = make_contiguous_type(element, count);
  MPI_Datatype placed = MPI_DATATYPE_NULL;
  const int one = 1;
  const int code = MPI_Type_create_hindexed(1, &one, &offset, whole, &placed);
  MPI_Type_free(&whole);
  check(code, operation);
  check(MPI_Type_commit(&placed), operation);
  return placed;
}

struct Part {
  std::size_t count;
  std::size_t offset;  // in elements
};

Part part_of(const ExchangeSide& side, const Group& group, int peer) {
  if (side.skip_self && peer == group.rank) return {0, 0};
  switch (side.kind) {
    case ExchangeSide::Kind::Nothing: return {0, 0};
    case ExchangeSide::Kind::One: return {peer == side.peer ? side.count : 0, 0};
    case ExchangeSide::Kind::All: return {side.count, 0};
    case ExchangeSide::Kind::Parts: break;
  }
  const auto r = static_cast<std::size_t>(peer);
  return {static_cast<std::size_t>(at(side.parts.counts, r)), static_cast<std::size_t>(at(side.parts.displs, r))};
}

}  // namespace

ExchangeArgs plan_exchange(const char* operation, const Group& group, const ExchangeSide& send,
                           const ExchangeSide& recv, MPI_Datatype type, LayoutStorage storage) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check(MPI_Type_get_extent(type, &lower, &extent), operation);
  const auto size = static_cast<std::size_t>(group.size);
  storage.narrow.assign(4 * size, 0);
  storage.handles.assign(2 * size, type);

  const auto fill = [&](const ExchangeSide& side, std::size_t at_int, std::size_t at_type) -> ExchangeArgs::Side {
    int* counts = storage.narrow.data() + at_int;
    int* displs = counts + size;
    MPI_Datatype* types = storage.handles.data() + at_type;
    for (std::size_t r = 0; r < size; ++r) {
      const auto part = part_of(side, group, static_cast<int>(r));
      if (part.count == 0) continue;
      const auto offset = static_cast<MPI_Aint>(part.offset) * extent;
      if (part.count <= INT_MAX && offset <= INT_MAX) {
        counts[r] = static_cast<int>(part.count);
        displs[r] = static_cast<int>(offset);
      } else {
        types[r] = storage.types.emplace_back(placed_type(operation, type, part.count, offset));
        counts[r] = 1;
      }
    }
    void* buffer = side.buffer;
    // Open MPI 4.1 takes the displacement for elements instead of bytes where a rank is alone: there is one part, so
    // its place can be in the address.
    if (size == 1 && displs[0] != 0) {
      buffer = static_cast<std::byte*>(buffer) + displs[0];
      displs[0] = 0;
    }
    return {buffer, counts, displs, types};
  };

  ExchangeArgs args{fill(send, 0, 0), fill(recv, 2 * size, size), type, group.native};
  // Open MPI 4.1 takes equal addresses for MPI_IN_PLACE in its nonblocking call. A rank that sends the front of what it
  // receives into says so by an address that is a byte off.
  if (send.kind == ExchangeSide::Kind::All && send.buffer == recv.buffer && size > 1) {
    args.send.buffer = static_cast<std::byte*>(send.buffer) - 1;
    for (std::size_t r = 0; r < size; ++r) storage.narrow[size + r] = 1;
  }
  if (miscounts_without_parts) {
    const auto& numbers = storage.narrow;
    bool has_part = false;
    for (std::size_t r = 0; r < size; ++r) has_part = has_part || numbers[r] != 0 || numbers[2 * size + r] != 0;
    if (!has_part && send.buffer != MPI_IN_PLACE) {
      args.send.buffer = const_cast<char*>(&nowhere);
    } else if (!has_part) {
      // A part for itself stays where it is, so it is as good as none; but there must be one, because ranks that are
      // half of all apart exchange messages in place even if there is nothing in them.
      storage.narrow[2 * size + static_cast<std::size_t>(group.rank)] = 1;
    }
  }
  return args;
}

void CopiedExchangeArgs::copy() const {
  for (std::size_t i = 0; i < count; ++i) {
    const auto offset = parts[2 * i];
    std::memcpy(static_cast<std::byte*>(send.buffer) + offset, static_cast<const std::byte*>(recv.buffer) + offset,
                static_cast<std::size_t>(parts[2 * i + 1]));
  }
}

CopiedExchangeArgs plan_copied_exchange(const char* operation, const Group& group, void* buffer, const Segments& parts,
                                        MPI_Datatype type, Hold& hold) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check(MPI_Type_get_extent(type, &lower, &extent), operation);
  auto recv = ExchangeSide::each(buffer, parts);
  recv.skip_self = true;  // a rank's part for itself stays
  std::size_t end = 0;
  hold.wide.clear();
  for (int r = 0; r < group.size; ++r) {
    const auto part = part_of(recv, group, r);
    if (part.count == 0) continue;
    const auto bytes = static_cast<std::size_t>(extent);
    hold.wide.push_back(static_cast<MPI_Count>(part.offset * bytes));
    hold.wide.push_back(static_cast<MPI_Count>(part.count * bytes));
    end = std::max(end, (part.offset + part.count) * bytes);
  }
  // At the same offsets as in the buffer: what lies between the parts is never touched, and so takes no memory.
  hold.copy = std::make_unique_for_overwrite<std::byte[]>(end);
  auto send = recv;
  send.buffer = hold.copy.get();
  return {plan_exchange(operation, group, send, recv, type, storage_of(hold)), hold.wide.data(), hold.wide.size() / 2};
}

}  // namespace ferrompi::detail
