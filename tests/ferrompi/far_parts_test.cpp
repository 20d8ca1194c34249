// Parts that lie further apart than an int counts, though there is little of them: in every form of the v-operations,
// with elements of which all travels and with such of which some stays.
#include <sys/mman.h>

#include "ferrompi/ranks.hpp"

#include <stdexcept>

using namespace ferrompi;

namespace {

// As long as it says, of memory that is there where it is touched.
class Vast {
 public:
  explicit Vast(std::size_t length)
      : length_(length),
        base_(mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (base_ == MAP_FAILED) throw std::runtime_error("mmap failed");
  }
  ~Vast() { munmap(base_, length_); }
  Vast(const Vast&) = delete;
  Vast& operator=(const Vast&) = delete;

  template <class T>
  [[nodiscard]] std::span<T> elements() const {
    return {static_cast<T*>(base_), length_ / sizeof(T)};
  }

 private:
  std::size_t length_;
  void* base_;
};

// Of this only one member travels.
struct Marked {
  std::uint8_t value;
  std::uint8_t mark;
};

template <class T>
std::uint8_t& value_of(T& element) {
  if constexpr (std::is_same_v<T, Marked>) {
    return element.value;
  } else {
    return element;
  }
}

// Every part has three elements, but for every fourth, which has none. On one rank alone a part lies beyond what an int
// counts, and so do empty ones everywhere; the buffer goes on behind each part, untouched.
template <class T>
class FarParts : public Ranks {
 protected:
  static constexpr std::size_t far = (std::size_t{1} << 31) + 7;
  static constexpr std::size_t length = far + 4096;

  FarParts() {
    for (std::size_t r = 0; r < ranks; ++r) {
      all_counts.push_back(r % 4 == 3 ? 0 : 3);
      all_places.push_back(static_cast<std::int64_t>(5 * r + 1));
      if (all_counts[r] == 0) all_places[r] = std::int64_t{1} << 40;
    }
    if (rank == size / 2) all_places[far_part] = static_cast<std::int64_t>(far);
  }

  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(all_counts[self]); }
  [[nodiscard]] std::span<T> part(std::size_t r) const {
    if (all_counts[r] == 0) return {};
    return whole.subspan(static_cast<std::size_t>(all_places[r]), static_cast<std::size_t>(all_counts[r]));
  }
  static std::uint8_t told(int from, int to, std::size_t i, int round) {
    return static_cast<std::uint8_t>(1 + from * 50 + to * 9 + static_cast<int>(i) + 3 * round);
  }
  static void write(std::span<T> to, int from, int target, int round) {
    for (std::size_t i = 0; i < to.size(); ++i) value_of(to[i]) = told(from, target, i, round);
  }
  static void expect(std::span<T> in, int from, int target, int round) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      EXPECT_EQ(value_of(in[i]), told(from, target, i, round)) << "from " << from << " in round " << round;
    }
  }

  // All parts and the element behind each, with a mark where they have one.
  void clear() const {
    for (std::size_t r = 0; r < ranks; ++r) {
      if (all_counts[r] == 0) continue;
      for (T& element : std::span(part(r).data(), part(r).size() + 1)) {
        value_of(element) = 0;
        if constexpr (std::is_same_v<T, Marked>) element.mark = static_cast<std::uint8_t>(200 + r);
      }
    }
  }
  void expect_clear_around() const {
    for (std::size_t r = 0; r < ranks; ++r) {
      if (all_counts[r] == 0) continue;
      EXPECT_EQ(value_of(*(part(r).data() + part(r).size())), 0) << "behind part " << r;
      if constexpr (std::is_same_v<T, Marked>) {
        for (const T& element : part(r)) EXPECT_EQ(element.mark, 200 + r) << "in part " << r;
      }
    }
  }

  // Blocking, nonblocking and three times persistent.
  template <class Before, class After, class B, class I, class P>
  static void in_every_form(Before before, After after, B blocking, I nonblocking, P persistent) {
    before(0);
    blocking();
    after(0);
    before(1);
    nonblocking().wait();
    after(1);
    auto plan = persistent();
    for (int round = 2; round < 5; ++round) {
      before(round);
      plan.start();
      plan.wait();
      after(round);
    }
    before(5);
    { auto dropped = nonblocking(); }
    after(5);
  }

  const std::size_t far_part = size > 1 ? 1 : 0;
  const Vast memory{length * sizeof(T)};
  const std::span<T> whole = memory.elements<T>();
  std::vector<int> all_counts;
  std::vector<std::int64_t> all_places;
};

using FarElements = testing::Types<std::uint8_t, Marked>;
TYPED_TEST_SUITE(FarParts, FarElements);

}  // namespace

FERROMPI_DATATYPE(Marked, value);

#define FAR_IN_EVERY_FORM(before, after, name, suffix, ...)          \
  this->in_every_form(                                               \
      before, after, [&] { this->world.name##suffix(__VA_ARGS__); }, \
      [&] { return this->world.i##name##suffix(__VA_ARGS__); },      \
      [&] { return this->world.name##_init##suffix(__VA_ARGS__); })

TYPED_TEST(FarParts, AreGatheredEverywhere) {
  const auto& counts = this->all_counts;
  const auto& places = this->all_places;
  std::vector<TypeParam> mine(this->own());
  const auto before = [&](int round) {
    this->clear();
    this->write(mine, this->rank, 0, round);
  };
  const auto after = [&](int round) {
    for (int r = 0; r < this->size; ++r) this->expect(this->part(static_cast<std::size_t>(r)), r, 0, round);
    this->expect_clear_around();
  };
  const auto before_in_place = [&](int round) {
    this->clear();
    this->write(this->part(this->self), this->rank, 0, round);
  };
  FAR_IN_EVERY_FORM(before, after, allgatherv, , mine, this->whole, counts, places);
  FAR_IN_EVERY_FORM(before_in_place, after, allgatherv, _inplace, this->whole, counts, places);
  const std::vector<std::size_t> wide(counts.begin(), counts.end());
  FAR_IN_EVERY_FORM(before, after, allgatherv, , mine, this->whole, wide, places);
  FAR_IN_EVERY_FORM(before_in_place, after, allgatherv, _inplace, this->whole, wide, places);
}

TYPED_TEST(FarParts, AreGatheredOnTheRootAndScatteredFromIt) {
  const auto& counts = this->all_counts;
  const auto& places = this->all_places;
  const int root = this->size / 2;
  const bool is_root = this->rank == root;
  std::vector<TypeParam> mine(this->own());
  const auto before = [&](int round) {
    this->clear();
    this->write(mine, this->rank, 0, round);
  };
  const auto after = [&](int round) {
    if (!is_root) return;
    for (int r = 0; r < this->size; ++r) this->expect(this->part(static_cast<std::size_t>(r)), r, 0, round);
    this->expect_clear_around();
  };
  FAR_IN_EVERY_FORM(before, after, gatherv, , mine, this->whole, counts, places, root);
  const auto both = is_root ? this->whole : std::span(mine);
  const auto before_in_place = [&](int round) {
    this->clear();
    this->write(is_root ? this->part(this->self) : std::span(mine), this->rank, 0, round);
  };
  FAR_IN_EVERY_FORM(before_in_place, after, gatherv, _inplace, both, counts, places, root);
  const auto fill = [&](int round) {
    this->clear();
    std::ranges::fill(mine, TypeParam{});
    if (!is_root) return;
    for (int r = 0; r < this->size; ++r) this->write(this->part(static_cast<std::size_t>(r)), root, r, round);
  };
  const auto scattered = [&](int round) { this->expect(mine, root, this->rank, round); };
  FAR_IN_EVERY_FORM(fill, scattered, scatterv, , this->whole, counts, places, mine, root);
  const auto kept = [&](int round) {
    this->expect(is_root ? this->part(this->self) : std::span(mine), root, this->rank, round);
  };
  FAR_IN_EVERY_FORM(fill, kept, scatterv, _inplace, both, counts, places, root);
}

TYPED_TEST(FarParts, AreExchanged) {
  // As much from every rank as goes to it: three elements, but to and from those that have none.
  auto counts = this->all_counts;
  if (this->own() == 0) std::ranges::fill(counts, 0);
  auto places = this->all_places;
  for (std::size_t r = 0; r < this->ranks; ++r) {
    if (counts[r] == 0) places[r] = std::int64_t{1} << 40;
  }
  const auto displs = displacements(counts);
  std::vector<TypeParam> send(3 * this->ranks);
  const auto sent = [&](std::size_t r) {
    return std::span(send).subspan(static_cast<std::size_t>(displs[r]), static_cast<std::size_t>(counts[r]));
  };
  const auto part = [&](std::size_t r) { return counts[r] == 0 ? std::span<TypeParam>() : this->part(r); };
  const auto before = [&](int round) {
    this->clear();
    for (std::size_t r = 0; r < this->ranks; ++r) this->write(sent(r), this->rank, static_cast<int>(r), round);
  };
  const auto after = [&](int round) {
    for (std::size_t r = 0; r < this->ranks; ++r) this->expect(part(r), static_cast<int>(r), this->rank, round);
    this->expect_clear_around();
  };
  const std::vector<std::int64_t> near(displs.begin(), displs.end());
  FAR_IN_EVERY_FORM(before, after, alltoallv, , send, counts, near, this->whole, counts, places);
  const auto before_in_place = [&](int round) {
    this->clear();
    for (std::size_t r = 0; r < this->ranks; ++r) this->write(part(r), this->rank, static_cast<int>(r), round);
  };
  FAR_IN_EVERY_FORM(before_in_place, after, alltoallv, _inplace, this->whole, counts, places);
}
