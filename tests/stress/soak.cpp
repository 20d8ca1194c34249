#include "stress/soak.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "comm/core/sanitizers.hpp"

namespace stress {
namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;

struct Cell {
  std::uint64_t id;
  double value;
  std::int32_t row;
  std::int32_t column;
  bool operator==(const Cell&) const = default;
};

#ifdef COBRE_ADDRESS_SANITIZER
constexpr std::size_t allowed_growth = std::size_t{512} << 20;  // what is freed is kept for a while, to find its users
#else
constexpr std::size_t allowed_growth = std::size_t{8} << 20;
#endif

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9E3779B97F4A7C15U;
  return value ^ (value >> 29);
}

// Small whole numbers, so that sums are exact in every type.
template <class T>
T element(std::uint64_t salt, std::size_t rank, std::size_t index) {
  const std::uint64_t number = mixed(salt + 1000003 * rank + index) % 100;
  if constexpr (std::same_as<T, Cell>) {
    return {number, static_cast<double>(rank), static_cast<std::int32_t>(index), static_cast<std::int32_t>(salt)};
  } else {
    return static_cast<T>(number);
  }
}

template <class T>
std::vector<T> elements(std::uint64_t salt, std::size_t rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = element<T>(salt, rank, i);
  return values;
}

void require(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

struct Footprint {
  std::size_t bytes = 0;
  std::size_t descriptors = 0;
};
Footprint footprint() {
  std::size_t pages = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  const auto descriptors =
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  return {resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), static_cast<std::size_t>(descriptors)};
}

class Soak {
 public:
  Soak(const CommBackend& world, std::uint64_t seed) : world_(world), draw_(seed) {}

  std::string run(std::size_t operations) {
    // The first tenth takes what is taken once: lanes, rings, links, heaps.
    turns(operations / 10);
    const Footprint before = footprint();
    turns(operations - operations / 10);
    const Footprint after = footprint();
    if (after.descriptors != before.descriptors) {
      return std::to_string(before.descriptors) + " descriptors have become " + std::to_string(after.descriptors);
    }
    if (after.bytes > before.bytes + allowed_growth) {
      return std::to_string(before.bytes) + " bytes have become " + std::to_string(after.bytes);
    }
    return "right";
  }

 private:
  void turns(std::size_t count) {
    for (; count > 0; --count) {
      try {
        turn();
      } catch (const std::runtime_error& error) {
        throw std::runtime_error("operation " + std::to_string(done_) + ": " + error.what());
      }
      ++done_;
    }
    part_.reset();
    world_.barrier();
  }

  void turn() {
    // Few parts: each is a rendezvous of its own.
    if (draw_() % 700 == 0) part_ = world_.split(color_of(world_.rank(), draw_() % 3), static_cast<int>(draw_() % 2));
    if (draw_() % 200 == 0) return region(world_);
    const CommBackend& comm = part_ && draw_() % 2 == 0 ? *part_ : world_;
    switch (draw_() % 5) {
      case 0: return operation<std::uint8_t>(comm);
      case 1: return operation<std::int32_t>(comm);
      case 2: return operation<double>(comm);
      case 3: return operation<Cell>(comm);
      default: return operation<std::uint64_t>(comm);
    }
  }
  static int color_of(std::size_t rank, std::uint64_t way) {
    return way == 0 ? 0 : static_cast<int>(way == 1 ? rank % 2 : rank / 2);
  }

  // The parts of one division draw the same numbers, so all sizes are of the whole.
  template <class T>
  void operation(const CommBackend& comm) {
    const std::uint64_t salt = draw_();
    const std::uint64_t of = draw_() % 100;
    const std::size_t count = of == 0 ? draw_() % 30'000 : of < 10 ? draw_() % 1'000 : draw_() % 40;
    const std::size_t root = draw_() % world_.size() % comm.size();
    const std::uint64_t which = draw_() % 12;
    if constexpr (!std::same_as<T, Cell> && !std::same_as<T, std::uint8_t>) {
      if (which < 6) return reduction<T>(comm, which, salt, count, root);
    }
    movement<T>(comm, which, salt, count, root);
  }

  template <class T>
  void reduction(const CommBackend& comm, std::uint64_t which, std::uint64_t salt, std::size_t count,
                 std::size_t root) {
    const auto sum_of = [&](std::size_t ranks, std::size_t index) {
      T sum{};
      for (std::size_t rank = 0; rank < ranks; ++rank) sum = static_cast<T>(sum + element<T>(salt, rank, index));
      return sum;
    };
    const auto require_sums = [&](const std::vector<T>& values, std::size_t ranks, std::size_t first,
                                  const char* what) {
      for (std::size_t i = 0; i < values.size(); ++i) require(values[i] == sum_of(ranks, first + i), what);
    };
    const auto own = elements<T>(salt, comm.rank(), count);
    std::vector<T> result(count);
    switch (which) {
      case 0: comm.allreduce(own, result, ReduceOp::Sum); return require_sums(result, comm.size(), 0, "allreduce");
      case 1:
        result = own;
        comm.allreduce_inplace(result, ReduceOp::Sum);
        return require_sums(result, comm.size(), 0, "allreduce_inplace");
      case 2:
        comm.reduce(own, result, ReduceOp::Sum, root);
        if (comm.rank() == root) require_sums(result, comm.size(), 0, "reduce");
        return;
      case 3: comm.scan(own, result, ReduceOp::Sum); return require_sums(result, comm.rank() + 1, 0, "scan");
      case 4:
        comm.reduce_scatter_block(elements<T>(salt, comm.rank(), count * comm.size()), result, ReduceOp::Sum);
        return require_sums(result, comm.size(), comm.rank() * count, "reduce_scatter_block");
      default:
        require(comm.allreduce(element<T>(salt, comm.rank(), 0), ReduceOp::Sum) == sum_of(comm.size(), 0), "sum");
    }
  }

  template <class T>
  void movement(const CommBackend& comm, std::uint64_t which, std::uint64_t salt, std::size_t count, std::size_t root) {
    const auto own = elements<T>(salt, comm.rank(), count + comm.rank());
    switch (which) {
      case 0: return comm.barrier();
      case 1: return exchange<T>(comm, salt, count);
      case 2:
      case 3:
      case 6:
      case 7: {
        auto data = comm.rank() == root ? elements<T>(salt, root, count) : std::vector<T>(count);
        comm.broadcast(data, root);
        return require(data == elements<T>(salt, root, count), "broadcast");
      }
      case 4:
      case 8: {
        const auto all = comm.allgatherv(own);
        return require_gathered<T>(all.values, comm.size(), salt, count, "allgatherv");
      }
      case 9: {
        const auto all = comm.gatherv(own, root);
        if (comm.rank() == root) require_gathered<T>(all.values, comm.size(), salt, count, "gatherv");
        return;
      }
      case 10: {
        std::vector<T> all;
        std::vector<std::size_t> counts(comm.size());
        for (std::size_t rank = 0; rank < comm.size() && comm.rank() == root; ++rank) {
          const auto theirs = elements<T>(salt, rank, count + rank);
          all.insert(all.end(), theirs.begin(), theirs.end());
          counts[rank] = theirs.size();
        }
        return require(comm.scatterv(all, counts, root) == own, "scatterv");
      }
      case 5: {
        // Everyone has the same for everyone.
        std::vector<T> all;
        const std::vector<std::size_t> counts(comm.size(), own.size());
        for (std::size_t rank = 0; rank < comm.size(); ++rank) all.insert(all.end(), own.begin(), own.end());
        return require_gathered<T>(comm.alltoallv(all, counts).values, comm.size(), salt, count, "alltoallv");
      }
      default: return messages<T>(comm, salt, count);
    }
  }

  template <class T>
  static void require_gathered(const std::vector<T>& values, std::size_t ranks, std::uint64_t salt, std::size_t count,
                               const char* what) {
    std::size_t place = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t i = 0; i < count + rank; ++i, ++place) {
        require(place < values.size() && values[place] == element<T>(salt, rank, i), what);
      }
    }
    require(place == values.size(), what);
  }

  template <class T>
  static void exchange(const CommBackend& comm, std::uint64_t salt, std::size_t count) {
    const std::size_t next = (comm.rank() + 1) % comm.size();
    const std::size_t previous = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<T> data(count);
    comm.sendrecv(elements<T>(salt, comm.rank(), count), next, data, previous);
    require(data == elements<T>(salt, previous, count), "sendrecv");
  }

  template <class T>
  static void messages(const CommBackend& comm, std::uint64_t salt, std::size_t count) {
    const std::size_t next = (comm.rank() + 1) % comm.size();
    const std::size_t previous = (comm.rank() + comm.size() - 1) % comm.size();
    const auto to = comm.channel(next, static_cast<std::int64_t>(salt % 5));
    const auto from = comm.channel(previous, static_cast<std::int64_t>(salt % 5));
    auto coming = from.irecv(std::vector<T>(count));
    auto going = to.isend(elements<T>(salt, comm.rank(), count));
    require(coming.get() == elements<T>(salt, previous, count), "message");
    (void)going.get();
  }

  void region(const CommBackend& comm) {
    const std::size_t count = 1 + draw_() % 20'000;
    const std::uint64_t salt = draw_();
    auto region = comm.create_shared_region<std::uint64_t>(count);
    if (comm.is_leader()) {
      for (std::size_t i = 0; i < count; ++i) region.as_mut_span()[i] = element<std::uint64_t>(salt, 0, i);
    }
    region.fence();
    for (std::size_t i = 0; i < count; ++i) {
      require(region.as_span()[i] == element<std::uint64_t>(salt, 0, i), "region");
    }
    region.fence();
  }

  const CommBackend& world_;
  std::mt19937_64 draw_;  // the same on every rank
  std::optional<CommBackend> part_;
  std::size_t done_ = 0;
};

}  // namespace

std::string soak(const CommBackend& world, std::size_t operations, std::uint64_t seed) {
  return Soak(world, seed).run(operations);
}

std::size_t soak_operations() {
  return std::getenv("COBRE_TEST_FULL") != nullptr ? 1'000'000 : 10'000;
}

}  // namespace stress
