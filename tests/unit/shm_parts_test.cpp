// Every way in which shm gathers, scatters, exchanges and folds, forced one after the other on the same data.

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ShmBackend;
using cobre::comm::ShmConfig;
using cobre::comm::SingleCopy;
using test::run_threads;
using test::shm_configs;
using Numbers = std::vector<std::uint64_t>;

struct Path {
  const char* name;
  std::function<void(ShmConfig&)> force;
};

const std::vector<Path>& paths() {
  static const std::vector<Path> all{
      {"as tuned", [](ShmConfig&) {}},
      {"shown", [](ShmConfig& c) { c.tuning.exposed_bytes = 1 << 20; }},
      {"exposed", [](ShmConfig& c) { c.tuning = {.one_shot_bytes = {}, .exposed_bytes = 0, .piece_bytes = 4096}; }},
      {"through rings",
       [](ShmConfig& c) {
         c.tuning.exposed_bytes = 0;
         c.single_copy = SingleCopy::Off;
       }},
      {"through tiny rings",
       [](ShmConfig& c) {
         c.tuning.exposed_bytes = 0;
         c.single_copy = SingleCopy::Off;
         c.segment_bytes = c.size * (std::size_t{48} << 10);
       }},
  };
  return all;
}

std::uint64_t value(std::size_t from, std::size_t to, std::size_t i) {
  return cobre::comm::detail::mix((from * 64 + to) * 1'000'003 + i);
}

// Neither commutes nor associates: any other tree than the canonical one gives another number.
std::uint64_t hash_pair(std::uint64_t left, std::uint64_t right) {
  return cobre::comm::detail::mix(3 * left + 1) ^ (5 * right);
}

Numbers folded(std::size_t ranks, std::size_t first, std::size_t count) {
  std::vector<Numbers> all(ranks, Numbers(count));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i) all[rank][i] = value(rank, 0, first + i);
  }
  for (std::size_t bit = 1; bit < ranks; bit *= 2) {
    for (std::size_t rank = 0; rank + bit < ranks; rank += 2 * bit) {
      for (std::size_t i = 0; i < count; ++i) all[rank][i] = hash_pair(all[rank][i], all[rank + bit][i]);
    }
  }
  return all[0];
}

TEST(ShmParts, AreTheSameOnEveryPathWhetherEqualOrNot) {
  for (const std::size_t size : {2U, 3U, 5U}) {
    for (const std::size_t most : {1U, 3U, 100U, 9'001U}) {
      for (const bool equal : {true, false}) {
        const auto count_of = [&](std::size_t from, std::size_t to) {
          return equal ? most : (from + 2 * to) % 3 * most / 2;
        };
        for (const Path& path : paths()) {
          run_threads(shm_configs(size, path.force), [&](const ShmBackend& comm) {
            const std::size_t rank = comm.rank();
            Numbers out;
            std::vector<std::size_t> counts;
            for (std::size_t to = 0; to < size; ++to) {
              counts.push_back(count_of(rank, to));
              for (std::size_t i = 0; i < counts.back(); ++i) out.push_back(value(rank, to, i));
            }
            const auto expected_from = [&](std::size_t from) {
              Numbers part(count_of(from, rank));
              for (std::size_t i = 0; i < part.size(); ++i) part[i] = value(from, rank, i);
              return part;
            };
            Numbers expected;
            for (std::size_t from = 0; from < size; ++from) {
              const Numbers part = expected_from(from);
              expected.insert(expected.end(), part.begin(), part.end());
            }
            const std::string what = std::string(path.name) + ", " + std::to_string(size) + " ranks, " +
                                     std::to_string(most) + (equal ? " each" : " at most");
            EXPECT_EQ(comm.alltoallv(out, counts).values, expected) << what;
            if (equal) {
              Numbers recv(out.size());
              comm.alltoall(out, recv);
              EXPECT_EQ(recv, expected) << what;
            }
            for (std::size_t root = 0; root < size; ++root) {
              Numbers mine(count_of(rank, root));
              for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = value(rank, root, i);
              EXPECT_EQ(comm.gatherv(mine, root).values, rank == root ? expected : Numbers()) << what;
              EXPECT_EQ(comm.scatterv(out, counts, root), expected_from(root)) << what;
              if (!equal) continue;
              Numbers all(rank == root ? expected.size() : 0);
              comm.gather(mine, all, root);
              EXPECT_EQ(all, rank == root ? expected : Numbers()) << what;
              Numbers own(most);
              comm.scatter(rank == root ? out : Numbers(), own, root);
              EXPECT_EQ(own, expected_from(root)) << what;
            }
          });
        }
      }
    }
  }
}

TEST(ShmReductions, GiveTheSameBitsOnEveryPath) {
  for (const std::size_t size : {2U, 3U, 5U, 8U}) {
    for (const std::size_t count : {1U, 7U, 200U, 9'001U}) {
      for (const Path& path : paths()) {
        run_threads(shm_configs(size, path.force), [&](const ShmBackend& comm) {
          const std::size_t rank = comm.rank();
          Numbers send(count * size);
          for (std::size_t i = 0; i < send.size(); ++i) send[i] = value(rank, 0, i);
          const auto front = std::span(send).first(count);
          const std::string what =
              std::string(path.name) + ", " + std::to_string(size) + " ranks, " + std::to_string(count);
          Numbers recv(count, 1);
          comm.scan(front, recv, hash_pair);
          EXPECT_EQ(recv, folded(rank + 1, 0, count)) << what;
          recv.assign(count, 1);
          comm.exscan(front, recv, hash_pair);
          EXPECT_EQ(recv, rank == 0 ? Numbers(count, 1) : folded(rank, 0, count)) << what;
          for (std::size_t root = 0; root < size; ++root) {
            Numbers result(rank == root ? count : 0);
            comm.reduce(front, result, hash_pair, root);
            EXPECT_EQ(result, rank == root ? folded(size, 0, count) : Numbers()) << what;
          }
          comm.reduce_scatter_block(send, recv, hash_pair);
          EXPECT_EQ(recv, folded(size, rank * count, count)) << what;
        });
      }
    }
  }
}

// Larger than any buffer of the backend.
struct Huge {
  std::array<std::uint64_t, 40'000> words;
};

TEST(ShmReductions, TakeElementsThatFitIntoNoBuffer) {
  for (const Path& path : paths()) {
    run_threads(shm_configs(3, path.force), [&](const ShmBackend& comm) {
      const auto join = [](const Huge& a, const Huge& b) {
        Huge result;
        for (std::size_t i = 0; i < result.words.size(); ++i) result.words[i] = 10 * a.words[i] + b.words[i];
        return result;
      };
      const auto send = std::make_unique<std::array<Huge, 3>>();
      for (std::size_t i = 0; i < 3; ++i) (*send)[i].words.fill(comm.rank() + 1 + 3 * i);
      const auto recv = std::make_unique<std::array<Huge, 3>>();
      const std::array<std::uint64_t, 3> of_all{123, 456, 789};
      comm.reduce_scatter_block(*send, std::span(*recv).first(1), join);
      EXPECT_EQ((*recv)[0].words.back(), of_all[comm.rank()]) << path.name;
      comm.reduce(*send, *recv, join, 1);
      if (comm.rank() == 1) {
        EXPECT_EQ((*recv)[2].words.front(), 789U) << path.name;
      }
      comm.scan(*send, *recv, join);
      const std::array<std::uint64_t, 3> of_first{1, 12, 123};
      EXPECT_EQ((*recv)[0].words.back(), of_first[comm.rank()]) << path.name;
    });
  }
}

TEST(ShmReductions, RethrowOnTheRankWhoseCallableThrewAndTellTheOthers) {
  for (const std::size_t count : {1U, 1000U, 50'000U}) {
    auto ranks = test::start_ranks(shm_configs(3), [&](const ShmBackend& comm) -> std::string {
      std::vector<double> send(count, 1.0);
      std::vector<double> recv(count);
      try {
        comm.reduce(
            send, recv, [](double, double) -> double { throw std::runtime_error("no"); }, 1);
        comm.barrier();
      } catch (const cobre::comm::CommError&) {
        return "told";
      } catch (const std::runtime_error&) {
        return "rethrown; " + test::outcome_of([&] { comm.barrier(); });
      }
      return "fine";
    });
    EXPECT_EQ(ranks[1].words(), "rethrown; InvalidCommunicator");
    EXPECT_EQ(ranks[0].words(), "told");
    EXPECT_EQ(ranks[2].words(), "told");
  }
}

}  // namespace
