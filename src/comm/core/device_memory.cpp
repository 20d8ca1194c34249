#include <cobre/comm/detail/device_memory.hpp>

#ifdef __linux__
#include <dlfcn.h>
#include <link.h>
#endif

#include <climits>
#include <mutex>
#include <string_view>

namespace cobre::comm::detail {

// Zero-initialised but for the first, where zero would be the null pointer's.
constexpr std::uintptr_t none_in_first = 1;
std::array<std::atomic<std::uintptr_t>, 256> host_stretches{{{none_in_first}}};

namespace {

// The one function of the CUDA driver that is asked, and the numbers of its interface, which do not change.
using PointerGetAttribute = int (*)(void* value, int attribute, unsigned long long pointer);
constexpr int success = 0;
constexpr int memory_type = 2;
constexpr int is_managed = 8;
constexpr unsigned host_type = 1;

#ifdef __linux__

struct Search {
  unsigned long long known_loads;
  unsigned long long loads = 0;
  char driver[PATH_MAX] = {};  // no allocation: the dynamic linker's lock is held
};

int look_at(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  search.loads = object->dlpi_adds;
  if (search.loads == search.known_loads) return 1;  // nothing was loaded since the last look
  const std::string_view path = object->dlpi_name;
  if (!path.substr(path.rfind('/') + 1).starts_with("libcuda.so.1") || path.size() >= sizeof search.driver) return 0;
  search.driver[path.copy(search.driver, path.size())] = '\0';
  return 1;
}

// What the driver offers, once this process has loaded it; never loads it.
PointerGetAttribute driver_in_process() {
  static std::mutex lock;
  static unsigned long long known_loads = 0;
  static PointerGetAttribute found = nullptr;
  const std::lock_guard guard(lock);
  if (found != nullptr) return found;
  Search search{.known_loads = known_loads};
  dl_iterate_phdr(look_at, &search);
  if (search.driver[0] != '\0') {
    // Held for good: a driver does not leave a process that has used it.
    if (void* const driver = dlopen(search.driver, RTLD_NOLOAD | RTLD_LAZY); driver != nullptr) {
      found = reinterpret_cast<PointerGetAttribute>(dlsym(driver, "cuPointerGetAttribute"));
    }
  }
  known_loads = search.loads;
  return found;
}

#else

PointerGetAttribute driver_in_process() {
  return nullptr;
}

#endif

bool is_device_alone(PointerGetAttribute ask, const void* data) {
  const auto address = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(data));
  unsigned type = host_type;
  // What the driver does not know is the host's own.
  if (ask(&type, memory_type, address) != success || type == host_type) return false;
  unsigned managed = 0;  // memory that wanders to who reads it
  return ask(&managed, is_managed, address) != success || managed == 0;
}

}  // namespace

bool is_on_device(const void* data) noexcept {
  if (const PointerGetAttribute ask = driver_in_process(); ask != nullptr) {
    // From now on every buffer is asked for.
    for (auto& stretch : host_stretches) stretch.store(0, std::memory_order_relaxed);
    host_stretches.front().store(none_in_first, std::memory_order_relaxed);
    return is_device_alone(ask, data);
  }
  const std::uintptr_t stretch = reinterpret_cast<std::uintptr_t>(data) >> stretch_bits;
  host_stretches[stretch % host_stretches.size()].store(stretch, std::memory_order_relaxed);
  return false;
}

}  // namespace cobre::comm::detail
