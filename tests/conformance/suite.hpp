// One suite that every backend faces. A case is a sentence and a body that all ranks run with their communicator; a
// world knows how to start ranks of one backend. `join<World>("Name", suite)` registers every case at every rank count
// of the world.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

template <class C>
struct Case {
  std::string group;
  std::string sentence;
  std::function<void(const C&)> body;
  bool on_fresh_ranks = false;  // nobody has used them before, and nobody will
};

template <class C>
class Suite {
 public:
  class Group {
   public:
    Group(Suite& suite, std::string name) : suite_(suite), name_(std::move(name)) {}
    void add(std::string sentence, std::function<void(const C&)> body) {
      suite_.cases_.push_back({name_, std::move(sentence), std::move(body)});
    }
    void add_on_fresh_ranks(std::string sentence, std::function<void(const C&)> body) {
      suite_.cases_.push_back({name_, std::move(sentence), std::move(body), true});
    }

   private:
    Suite& suite_;
    std::string name_;
  };

  Group group(std::string name) { return Group(*this, std::move(name)); }
  const std::vector<Case<C>>& cases() const { return cases_; }

 private:
  std::vector<Case<C>> cases_;
};

/// How many random operations a case does with so many ranks.
using RandomOperations = int (*)(std::size_t ranks);

inline int ten_thousand_operations(std::size_t) {
  return 10'000;
}

/// A world starts ranks:
///   using Communicator = …;
///   static std::vector<std::size_t> rank_counts();
///   static void run(std::size_t ranks, const std::function<void(const Communicator&)>& body);
/// `run` returns when every rank has ended, and turns what went wrong on any of them into a failure of the test. A
/// world may also have `run_kept`, of the same form, whose ranks stay for the next case.
template <class World>
class ConformanceTest : public testing::Test {
 public:
  using OneCase = Case<typename World::Communicator>;
  ConformanceTest(std::size_t ranks, const OneCase& one) : ranks_(ranks), case_(one) {}
  void TestBody() override {
    if constexpr (requires { World::run_kept(ranks_, case_.body); }) {
      if (!case_.on_fresh_ranks) return World::run_kept(ranks_, case_.body);
    }
    World::run(ranks_, case_.body);
  }

 private:
  std::size_t ranks_;
  const OneCase& case_;
};

template <class World>
bool join(const std::string& backend, const Suite<typename World::Communicator>& suite) {
  // For as long as the program runs: ranks that are forked know a case by its address.
  static std::vector<std::unique_ptr<const Suite<typename World::Communicator>>> joined;
  const auto& cases = joined.emplace_back(std::make_unique<Suite<typename World::Communicator>>(suite))->cases();
  for (const std::size_t ranks : World::rank_counts()) {
    for (const auto& one : cases) {
      const std::string group = backend + "/" + std::to_string(ranks) + "ranks/" + one.group;
      testing::RegisterTest(group.c_str(), one.sentence.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [ranks, &one]() -> testing::Test* { return new ConformanceTest<World>(ranks, one); });
    }
  }
  return true;
}

}  // namespace conformance
