// Ranks that call different things, and what is expected of the backends that find it out.
#pragma once

#include <gtest/gtest.h>

#include <cobre/comm.hpp>

#include <string>
#include <vector>

#include "fault/mismatch_table.hpp"
#include "fault/on_backends.hpp"

namespace mismatch {

class OnEveryBackend : public fault::OnBackends {
 protected:
  // All ranks do `usual` but `odd_one`; every one of them must say the same.
  static void expect_mismatch(std::size_t size, std::size_t odd_one, const Call& usual, const Call& odd,
                              const std::string& expected) {
    auto ranks = start(size, [&](const CommBackend& comm) -> std::string {
      for (int i = 0; i < 5; ++i) comm.barrier();
      const std::string first = test::outcome_of([&] {
        (comm.rank() == odd_one ? odd : usual)(comm);
        comm.barrier();  // what a rank that only sends cannot be told at once, the next synchronising call does
      });
      return first + "; " + test::outcome_of([&] { comm.barrier(); });
    });
    for (std::size_t rank = 0; rank < size; ++rank) {
      EXPECT_EQ(ranks[rank].words(), "CollectiveMismatch " + expected + "; InvalidCommunicator")
          << "rank " << rank << " of " << size;
    }
  }
};

}  // namespace mismatch
