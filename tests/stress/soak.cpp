#include "stress/soak.hpp"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "comm/core/sanitizers.hpp"
#include "stress/soak_movements.hpp"
#include "stress/soak_plans.hpp"
#include "stress/soak_reductions.hpp"

#if defined(COBRE_ADDRESS_SANITIZER) || defined(COBRE_THREAD_SANITIZER)
#include <sanitizer/allocator_interface.h>
#endif

namespace stress {
namespace {

using cobre::comm::CommBackend;

using namespace std::chrono_literals;

constexpr std::size_t most_elements = 30'000;  // of one rank in one operation
constexpr int lanes = 4;                       // in which nonblocking operations go round
constexpr int most_halves = 5;

// What was allocated and not freed is the same to a few hundred bytes, whatever the number of operations, but for what
// the allocator keeps at hand for each thread: the tests tell it to keep nothing. What is resident is more: stacks, and
// what the allocator itself has.
constexpr std::size_t allowed_in_use = std::size_t{16} << 10;
#ifdef COBRE_ADDRESS_SANITIZER
constexpr std::size_t allowed_resident = std::size_t{512} << 20;  // what is freed is kept, to find its users
#else
constexpr std::size_t allowed_resident = std::size_t{8} << 20;
#endif

std::size_t bytes_in_use() {
#if defined(COBRE_ADDRESS_SANITIZER) || defined(COBRE_THREAD_SANITIZER)
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
#endif
}

std::size_t bytes_resident() {
  std::size_t pages = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

std::size_t shared_mappings() {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t access = line.find(' ');
    count += access != std::string::npos && line.size() > access + 4 && line[access + 4] == 's' ? 1 : 0;
  }
  return count;
}

// Of a rank whose parts and plans are gone. Threads of theirs may still be at it, and so may doors of tcp that close
// behind the last rank that could come: whatever grew is looked at again for a while.
struct Footprint {
  std::size_t in_use = bytes_in_use();
  std::size_t resident = bytes_resident();
  std::size_t descriptors = open_descriptors();
  std::size_t mappings = shared_mappings();

  [[nodiscard]] std::string opened_since(const Footprint& before) const {
    if (descriptors > before.descriptors) return grew("descriptors", before.descriptors, descriptors);
    if (mappings > before.mappings) return grew("shared mappings", before.mappings, mappings);
    return "";
  }
  [[nodiscard]] std::string memory_growth_since(const Footprint& before) const {
    if (in_use > before.in_use + allowed_in_use) return grew("bytes in use", before.in_use, in_use);
    if (resident > before.resident + allowed_resident) return grew("resident bytes", before.resident, resident);
    return "";
  }

 private:
  static std::string grew(const char* what, std::size_t from, std::size_t to) {
    return std::to_string(from) + " " + what + " have become " + std::to_string(to);
  }
};

Footprint settled() {
  Footprint one;
  for (int looks = 0; looks < 100; ++looks) {
    std::this_thread::sleep_for(20ms);
    const Footprint next;
    const bool same = next.in_use == one.in_use && next.descriptors == one.descriptors && next.mappings == one.mappings;
    one = next;
    if (same) break;
  }
  return one;
}

class Soak {
 public:
  Soak(const CommBackend& world, std::uint64_t seed) : world_(world), draw_(seed) {}

  std::string run(std::size_t operations) {
    // Before the first look, all has been taken that is taken once: lanes, rings, links, and what is kept for the next
    // time, which is kept for the largest.
    take_the_most();
    const std::size_t half = operations - operations / 2;
    turns(half);
    std::string opened;
    std::string grown;
    // Which operation needs most of what is kept hangs on the ways that measured costs choose, so it may come later:
    // ever more rarely. What leaks does so in every half.
    for (int halves = 0; halves < most_halves; ++halves) {
      const Footprint before = settled();
      turns(half);
      const Footprint after = settled();
      if (opened.empty()) opened = after.opened_since(before);
      grown = after.memory_growth_since(before);
      if (world_.agree(grown.empty())) return opened.empty() ? "right" : opened;
    }
    return "in each of " + std::to_string(most_halves) + " halves memory of a rank grew; of this one, " +
           (grown.empty() ? "not in the last" : grown);
  }

 private:
  void take_the_most() {
    Draw draw{.which = 0, .op = 0, .salt = 7, .count = most_elements, .root = 0};
    const auto in_every_lane = [](const auto& operation) {
      for (int i = 0; i < lanes; ++i) operation();
    };
    for (; draw.which < movements; ++draw.which) in_every_lane([&] { Movement<Cell>(world_, draw).run(); });
    for (draw.which = 0; draw.which < reductions; ++draw.which) {
      in_every_lane([&] { reduction<Cell>(world_, draw); });
      in_every_lane([&] { reduction<double>(world_, draw); });
    }
  }
  void turns(std::size_t count) {
    for (; count > 0; --count) {
      try {
        turn();
      } catch (const std::runtime_error& error) {
        throw std::runtime_error("operation " + std::to_string(done_) + ": " + error.what());
      }
      ++done_;
    }
    plans_.reset();
    part_.reset();
    world_.barrier();
  }

  void turn() {
    // Few parts and plans: each is a rendezvous of its own.
    if (draw_() % 500 == 0) part_ = make_part();
    if (draw_() % 700 == 0) return split_local(world_);
    const CommBackend& comm = part_ && draw_() % 2 == 0 ? *part_ : world_;
    const bool anew = draw_() % 1500 == 0;
    if (anew || (plans_ == nullptr && draw_() % 40 == 0)) return plan(comm);
    if (draw_() % 40 == 0 && plans_ != nullptr) return plans_->run(draw_());
    if (draw_() % 200 == 0) return region(comm);
    switch (draw_() % 6) {
      case 0: return operation<std::uint8_t>(comm);
      case 1: return operation<std::int32_t>(comm);
      case 2: return operation<double>(comm);
      case 3: return operation<Cell>(comm);
      case 4: return operation<Place>(comm);
      default: return operation<std::uint64_t>(comm);
    }
  }
  // In turn, so that a short run comes to each of them.
  std::optional<CommBackend> make_part() {
    const int key = static_cast<int>(draw_() % 2);
    switch (parts_made_++ % 5) {
      case 0: return world_.duplicate();
      case 1: return world_.node();
      case 2: return world_.split(static_cast<int>(world_.rank() % 2), key);
      case 3: return world_.split(static_cast<int>(world_.rank() / 2), key);
      default: return world_.split(0, key);
    }
  }
  static void split_local(const CommBackend& comm) {
    const auto local = comm.split_local();
    require(local->rank() < local->size() && local->size() <= comm.size(), "split_local");
    local->barrier();
  }

  // The parts of one division draw the same numbers, so all sizes are of the whole.
  Draw draw_for(const CommBackend& comm) {
    Draw draw;
    draw.salt = draw_();
    const std::uint64_t of = draw_() % 100;
    draw.count = of == 0 ? draw_() % most_elements : of < 10 ? draw_() % 1'000 : draw_() % 40;
    draw.root = draw_() % world_.size() % comm.size();
    draw.op = draw_();
    draw.which = draw_();
    return draw;
  }

  template <class T>
  void operation(const CommBackend& comm) {
    const Draw draw = draw_for(comm);
    if (draw_() % 3 == 0) return reduction<T>(comm, draw);
    Movement<T>(comm, draw).run();
  }

  void plan(const CommBackend& comm) {
    const Draw draw = draw_for(comm);
    plans_.reset();
    plans_ = std::make_unique<Plans>(comm, draw);
    plans_->run(draw.salt);
  }

  void region(const CommBackend& comm) {
    const std::size_t count = 1 + draw_() % 20'000;
    const std::uint64_t salt = draw_();
    auto region = comm.create_shared_region<std::uint64_t>(count);
    const auto fill = [&](std::span<std::uint64_t> part, std::size_t first) {
      for (std::size_t i = 0; i < part.size(); ++i) part[i] = element<std::uint64_t>(salt, 0, first + i);
    };
    if (draw_() % 2 == 0) {
      fill(region.as_mut_span(), 0);
    } else {
      // All of them together. A rank that shares with nobody has the whole of it.
      const auto part = region.as_partition_span();
      const cobre::comm::BlockDistribution shares(count, comm.size());
      fill(part, part.size() == count ? 0 : shares.start(comm.rank()));
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
  std::unique_ptr<Plans> plans_;
  std::size_t parts_made_ = 0;
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
