#include "comm/backends/shm/reach.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>

namespace cobre::comm::shm {
namespace {

// One system call moves no more than this: in between, a failure elsewhere gets noticed.
constexpr std::size_t largest_transfer = std::size_t{4} << 20;
constexpr std::size_t largest_store = std::size_t{512} << 10;

iovec remote(Word address, std::size_t bytes) noexcept {
  return {reinterpret_cast<void*>(address), bytes};
}

}  // namespace

Reading::Reading(Channel& channel, const Peers& peers)
    : channel_(channel),
      peers_(peers),
      announced_(2 * channel.sequence() + 1),
      exceptions_(std::uncaught_exceptions()) {
  std::atomic<Word>& word = channel_.block_of(channel_.rank()).reading.value;
  word.store(announced_, std::memory_order_seq_cst);
  try {
    channel_.check_verdict();
  } catch (...) {
    word.store(announced_ + 1, std::memory_order_release);
    throw;
  }
}

Reading::~Reading() {
  // Release: pairs with the acquire below, on the rank whose buffers were read.
  channel_.block_of(channel_.rank()).reading.value.store(announced_ + 1, std::memory_order_release);
  if (std::uncaught_exceptions() == exceptions_) return;
  channel_.finish("an operation failed on this rank");
  for (std::size_t step = 1; step < channel_.size(); ++step) {
    const std::size_t peer = channel_.peer(step);
    const std::atomic<Word>& theirs = channel_.block_of(peer).reading.value;
    while (peers_[peer].same_process && theirs.load(std::memory_order_seq_cst) == announced_) std::this_thread::yield();
  }
}

std::uint32_t Regions::add(Region region) {
  const std::lock_guard lock(mutex_);
  regions_.emplace(++created_, std::move(region));
  return created_;
}

void Regions::remove(std::uint32_t serial) noexcept {
  const std::lock_guard lock(mutex_);
  regions_.erase(serial);
}

Place Regions::locate(const void* begin, std::size_t bytes) const noexcept {
  const auto first = reinterpret_cast<Word>(begin);
  const auto inside = [&](const Mapping& mapping) {
    const auto base = reinterpret_cast<Word>(mapping.data());
    return mapping.data() != nullptr && first >= base && first - base <= mapping.bytes() &&
           bytes <= mapping.bytes() - (first - base);
  };
  const std::lock_guard lock(mutex_);
  for (const auto& [serial, region] : regions_) {
    for (const Mapping* mapping : {&region.readable, &region.writable}) {
      if (inside(*mapping)) return {first, first - reinterpret_cast<Word>(mapping->data()), serial};
    }
  }
  return {first, 0, 0};
}

std::byte* Regions::base(std::uint32_t serial) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(serial);
  return found == regions_.end() ? nullptr : found->second.writable.data();
}

Word Regions::live() const noexcept {
  const std::lock_guard lock(mutex_);
  Word bits = 0;
  for (const auto& [serial, region] : regions_) {
    if (created_ - serial < 64) bits |= Word{1} << serial % 64;
  }
  return bits;
}

bool Regions::in(Word live, std::uint32_t serial) const noexcept {
  const std::lock_guard lock(mutex_);
  return serial != 0 && created_ - serial < 64 && (live >> serial % 64 & 1) != 0;
}

std::byte* Reach::pointer(std::size_t peer, Place place) const noexcept {
  if (place.region != 0) return regions_.base(place.region) + place.offset;
  return peers_[peer].same_process ? reinterpret_cast<std::byte*>(place.address) : nullptr;
}

const std::byte* Reach::view(std::size_t peer, Place place, std::size_t offset, std::size_t bytes, std::byte* scratch) {
  if (const std::byte* const direct = pointer(peer, place)) return direct + offset;
  fetch(peer, place, offset, scratch, bytes);
  return scratch;
}

void Reach::fetch(std::size_t peer, Place place, std::size_t offset, void* into, std::size_t bytes) {
  if (const int refusal = load(peer, place, offset, into, bytes)) channel_.throw_unreachable(peer, refusal);
  // Its owner may have left by exception meanwhile, and what was read is garbage. It wrote a verdict before it gave the
  // buffer up, and a system call has ended since the bytes were read: who has garbage sees the verdict.
  channel_.check_verdict();
}

int Reach::load(std::size_t peer, Place place, std::size_t offset, void* into, std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  if (const std::byte* const direct = pointer(peer, place)) {
    std::memcpy(into, direct + offset, bytes);
    return 0;
  }
  auto* target = static_cast<std::byte*>(into);
  while (bytes > 0) {
    const std::size_t wanted = std::min(bytes, largest_transfer);
    const iovec local{target, wanted};
    const iovec source = remote(place.address + offset, wanted);
    const ssize_t moved = process_vm_readv(peers_[peer].pid, &local, 1, &source, 1, 0);
    if (moved <= 0) return moved < 0 ? errno : EFAULT;
    target += moved;
    offset += static_cast<std::size_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return 0;
}

bool Reach::store(std::size_t peer, Place place, std::size_t offset, const void* from, std::size_t bytes) noexcept {
  if (std::byte* const direct = pointer(peer, place)) {
    std::memcpy(direct + offset, from, bytes);
    return true;
  }
  auto* source = static_cast<std::byte*>(const_cast<void*>(from));
  while (bytes > 0) {
    // A number may be given to another process once its owner is gone: never write to one that is not known to live.
    if (!peers_.alive(peer)) return false;
    const std::size_t wanted = std::min(bytes, largest_store);
    const iovec local{source, wanted};
    const iovec target = remote(place.address + offset, wanted);
    const ssize_t moved = process_vm_writev(peers_[peer].pid, &local, 1, &target, 1, 0);
    if (moved <= 0) return false;
    source += moved;
    offset += static_cast<std::size_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

bool Reach::kernel_helps(std::size_t peer, Word address, Word expected, Word writable_address) const noexcept {
  if (peers_[peer].same_process) return true;
  if (peers_[peer].pid == 0) return false;
  Word found = 0;
  const iovec local{&found, sizeof(found)};
  const iovec source = remote(address, sizeof(found));
  if (process_vm_readv(peers_[peer].pid, &local, 1, &source, 1, 0) != sizeof(found) || found != expected) return false;
  const iovec target = remote(writable_address, sizeof(found));
  return process_vm_writev(peers_[peer].pid, &local, 1, &target, 1, 0) == sizeof(found);
}

}  // namespace cobre::comm::shm
