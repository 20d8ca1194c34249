#include "comm/core/fork_guard.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <new>

namespace cobre::comm::core {
namespace {

constexpr std::size_t page = 4096;

// By descriptor: the socket that is not for children, told by its inode, so that nobody has to take it back when the
// number comes to mean another file. Nothing else is published through these words. A child reads them in its only
// thread, and what a thread of the parent was storing at that moment is a socket that it has just got.
constexpr int most_descriptors = 1 << 16;
std::array<std::atomic<ino_t>, most_descriptors> not_for_children{};
std::atomic<int> highest{-1};

void close_sockets_of_parent() noexcept {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int descriptor = 0; descriptor <= highest.load(std::memory_order_relaxed); ++descriptor) {
    const ino_t inode = not_for_children[static_cast<std::size_t>(descriptor)].exchange(0, std::memory_order_relaxed);
    struct stat status {};
    if (inode == 0 || fstat(descriptor, &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_ino != inode) continue;
    if (nothing >= 0) {
      (void)dup3(nothing, descriptor, O_CLOEXEC);
    } else {
      (void)close(descriptor);
    }
  }
  if (nothing >= 0) (void)close(nothing);
}

}  // namespace

void throw_in_child(const Where& where) {
  throw InvalidCommunicator(where, "this process was forked from the one that is this rank; only that one may use it");
}

void close_in_children(int socket) noexcept {
  static const int told = pthread_atfork(nullptr, nullptr, close_sockets_of_parent);
  struct stat status {};
  if (told != 0 || socket < 0 || socket >= most_descriptors || fstat(socket, &status) != 0) return;
  not_for_children[static_cast<std::size_t>(socket)].store(status.st_ino, std::memory_order_relaxed);
  for (int known = highest.load(std::memory_order_relaxed); known < socket;) {
    if (highest.compare_exchange_weak(known, socket, std::memory_order_relaxed)) break;
  }
}

ForkGuard::ForkGuard() {
  void* const mapped = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  (void)madvise(mapped, page, MADV_WIPEONFORK);
  marker_ = static_cast<volatile std::uint32_t*>(mapped);
  *marker_ = 1;
}

ForkGuard::~ForkGuard() {
  munmap(const_cast<std::uint32_t*>(marker_), page);
}

}  // namespace cobre::comm::core
