// Shared regions: rank 0 makes the memory, hands it over the links of the rendezvous, and all agree that they have it.

#include <cobre/comm/detail/region_record.hpp>

#include <string>

#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/perform.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/core/moved_from.hpp"

namespace cobre::comm::shm {

Endpoint::NewRegion Endpoint::create_region(const Where& where, const detail::OperationRecord& record,
                                            std::size_t bytes, const RegionOptions& options) {
  barrier(record);  // everyone asks for the same
  Reply reply;
  reply.kind = ReplyKind::Welcome;
  reply.bytes = bytes;
  core::Descriptor memory;
  if (rank_ == 0) {
    try {
      memory = create_memory(where, bytes, options);
    } catch (const AllocationFailed& error) {
      reply.kind = ReplyKind::NoMemory;
      reply.say(reason_in(error));
    }
    core::crash_point<"shm.region_made">();
    const int fd = memory.get();
    for (std::size_t rank = 1; rank < size_; ++rank) {
      // A peer that cannot be told is dead, which the next step finds out.
      (void)send_message(links_[rank], reply, memory ? std::span(&fd, 1) : std::span<const int>());
      core::crash_point<"shm.region_handed">();
    }
  }
  barrier(record);  // the answer of rank 0 lies in every link

  Regions::Region region;
  bool mapped = false;
  std::vector<core::Descriptor> received;
  const bool told = rank_ == 0 || receive_message(links_[0], reply, received) == Received::Message;
  if (told && reply.kind == ReplyKind::Welcome) {
    if (rank_ != 0 && !received.empty()) memory = std::move(received.front());
    try {
      region.writable = Mapping(where, memory, bytes, Access::ReadWrite);
      if (rank_ != 0) region.readable = Mapping(where, memory, bytes, Access::Read);
      mapped = true;
    } catch (const AllocationFailed& error) {
      reply.say(reason_in(error));
    }
  }
  core::crash_point<"shm.region_mapped">();
  const auto outcomes = exchange(record, Word{mapped});
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (outcomes[rank] != 0) continue;
    const bool leader_failed = rank == 0 && told && reply.kind == ReplyKind::NoMemory;
    throw AllocationFailed(where, bytes,
                           leader_failed ? reply.words()
                                         : core::format("rank {} could not map the region; see its limits of address "
                                                        "space and of open files",
                                                        channel_.name_of(rank)));
  }
  const void* const readable = rank_ == 0 ? region.writable.data() : region.readable.data();
  void* const writable = region.writable.data();
  return {regions_.add(std::move(region)), readable, writable};
}

void Endpoint::fence(const detail::OperationRecord& record) {
  if (!alone_) return barrier(record);
  fences_->begin(record);
  channel_.set_patience(alone_->timeout, alone_->warn_after);
  try {
    barrier(record);
  } catch (...) {
    channel_.set_patience(settings_.timeout, settings_.warn_after);
    // Whoever is in an operation of all has it judged by all, and it takes more than the ranks of a host to say who is
    // the odd one.
    channel_.await_judgement_of_all(where("fence"));
    throw;
  }
  channel_.set_patience(settings_.timeout, settings_.warn_after);
}

RegionBlock::RegionBlock(std::shared_ptr<Endpoint> endpoint, std::size_t count, std::size_t element_size,
                         const RegionOptions& options)
    : endpoint_(std::move(endpoint)) {
  (void)core::require_owned(endpoint_, "create_shared_region");
  rank_ = endpoint_->rank();
  ranks_ = endpoint_->size();
  const Where where = endpoint_->where("create_shared_region");
  bytes_ = detail::region_bytes(where, count, element_size);
  const auto made =
      endpoint_->create_region(where, detail::region_record(count, element_size, options), bytes_, options);
  serial_ = made.serial;
  readable_ = made.readable;
  writable_ = made.writable;
}

RegionBlock::RegionBlock(RegionBlock&& other) noexcept
    : endpoint_(std::move(other.endpoint_)),
      serial_(other.serial_),
      bytes_(std::exchange(other.bytes_, 0)),
      rank_(other.rank_),
      ranks_(other.ranks_),
      readable_(std::exchange(other.readable_, nullptr)),
      writable_(std::exchange(other.writable_, nullptr)) {}

RegionBlock& RegionBlock::operator=(RegionBlock&& other) noexcept {
  std::swap(endpoint_, other.endpoint_);
  std::swap(serial_, other.serial_);
  std::swap(bytes_, other.bytes_);
  std::swap(rank_, other.rank_);
  std::swap(ranks_, other.ranks_);
  std::swap(readable_, other.readable_);
  std::swap(writable_, other.writable_);
  return *this;
}

RegionBlock::~RegionBlock() {
  if (endpoint_ != nullptr) endpoint_->drop_region(static_cast<std::uint32_t>(serial_));
}

void RegionBlock::fence() const {
  if (endpoint_ == nullptr) core::throw_region_moved_from({"fence", rank_, ranks_});
  endpoint_->fence({.operation = detail::Operation::Fence, .count = serial_});
}

}  // namespace cobre::comm::shm
