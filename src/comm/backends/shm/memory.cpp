#include "comm/backends/shm/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "comm/core/format.hpp"
#include "comm/core/memory_limits.hpp"
#include "comm/core/page_placement.hpp"

namespace cobre::comm::shm {
namespace {

[[noreturn]] void refuse(const Where& where, std::size_t bytes, std::string_view what) {
  throw AllocationFailed(where, bytes, core::format("{} ({})", what, std::strerror(errno)));
}

int reserve(int fd, std::size_t bytes) {
  int result = 0;
  do {
    result = fallocate(fd, 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

core::Descriptor create_memory(const Where& where, std::size_t bytes, const RegionOptions& options) {
  if (const auto lack = core::lack_of_memory(bytes)) throw AllocationFailed(where, bytes, *lack);
  core::Descriptor memory(memfd_create("cobre-comm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) refuse(where, bytes, "the kernel gave no memory file");
  if (ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) refuse(where, bytes, "the memory file cannot grow");
  if (bytes > 0) {
    // The policy belongs to the file, not to this mapping, and decides where the reservation takes its pages.
    const Mapping placed(where, memory, bytes, Access::ReadWrite);
    core::place_pages(placed.data(), bytes, options);
    if (reserve(memory.get(), bytes) != 0) refuse(where, bytes, "the kernel refused the pages");
  }
  if (fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    refuse(where, bytes, "the memory file cannot be sealed");
  }
  return memory;
}

std::string reason_in(const AllocationFailed& error) {
  const std::string words = error.what();
  constexpr std::string_view before = "could not be had: ";
  const auto begin = words.find(before);
  return begin == std::string::npos ? words : words.substr(begin + before.size());
}

// Who has which file mapped already. Never destroyed: a static communicator may let go of its pages after main().
class Mapping::Registry {
 public:
  using Key = std::tuple<dev_t, ino_t, Access>;

  static Registry& instance() {
    static auto* const registry = new Registry;
    return *registry;
  }

  template <class Map>
  std::shared_ptr<Pages> find_or_map(const Key& key, Map&& map) {
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    auto pages = known_[key].lock();
    if (!pages) known_[key] = pages = map();
    return pages;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<Pages>> known_;
};

Mapping::Mapping(const Where& where, const core::Descriptor& memory, std::size_t bytes, Access access) {
  struct stat status {};
  if (fstat(memory.get(), &status) != 0) refuse(where, bytes, "the memory file is gone");
  if (static_cast<std::size_t>(status.st_size) != bytes) {
    throw AllocationFailed(where, bytes,
                           core::format("the memory file has {} bytes; do all ranks run the same version of this "
                                        "library?",
                                        status.st_size));
  }
  if (bytes == 0) return;
  pages_ = Registry::instance().find_or_map({status.st_dev, status.st_ino, access}, [&] {
    const int protection = access == Access::Read ? PROT_READ : PROT_READ | PROT_WRITE;
    void* const address = mmap(nullptr, bytes, protection, MAP_SHARED, memory.get(), 0);
    if (address == MAP_FAILED) refuse(where, bytes, "the kernel refused the mapping");
    return std::make_shared<Pages>(static_cast<std::byte*>(address), bytes);
  });
}

Mapping::Pages::~Pages() {
  if (address != nullptr) munmap(address, bytes);
}

void Mapping::keep_from_children() const noexcept {
  if (pages_) (void)madvise(pages_->address, pages_->bytes, MADV_DONTFORK);
}

}  // namespace cobre::comm::shm
