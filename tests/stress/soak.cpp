#include "stress/soak.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "comm/core/sanitizers.hpp"
#include "stress/soak_movements.hpp"
#include "stress/soak_plans.hpp"
#include "stress/soak_reductions.hpp"

namespace stress {
namespace {

using cobre::comm::CommBackend;

#ifdef COBRE_ADDRESS_SANITIZER
constexpr std::size_t allowed_growth = std::size_t{512} << 20;  // what is freed is kept for a while, to find its users
#else
constexpr std::size_t allowed_growth = std::size_t{8} << 20;
#endif

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
    // One fewer is a door of tcp that has closed behind the last rank that could come: its thread does so in its own
    // time.
    if (after.descriptors > before.descriptors) {
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
    plans_.reset();
    part_.reset();
    world_.barrier();
  }

  void turn() {
    // Few parts and plans: each is a rendezvous of its own.
    if (draw_() % 700 == 0) part_ = world_.split(color_of(world_.rank(), draw_() % 3), static_cast<int>(draw_() % 2));
    const CommBackend& comm = part_ && draw_() % 2 == 0 ? *part_ : world_;
    const bool anew = draw_() % 1500 == 0;
    if (anew || (plans_ == nullptr && draw_() % 40 == 0)) return plan(comm);
    if (draw_() % 40 == 0 && plans_ != nullptr) return plans_->run(draw_());
    if (draw_() % 200 == 0) return region(comm);
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
  Draw draw_for(const CommBackend& comm) {
    Draw draw;
    draw.salt = draw_();
    const std::uint64_t of = draw_() % 100;
    draw.count = of == 0 ? draw_() % 30'000 : of < 10 ? draw_() % 1'000 : draw_() % 40;
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
  std::unique_ptr<Plans> plans_;
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
