#include "ferrompi/mpi_main.hpp"

#include <ferrompi/ferrompi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

ferrompi::Mpi* environment = nullptr;

// Rank 0 speaks as always; the others say only what failed, and where.
class FailurePrinter : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override { test_ = &test; }

  // GoogleTest holds its lock here, so it must not be asked for the current test.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s.%s\n%s:%d: %s\n", rank_, test_ != nullptr ? test_->test_suite_name() : "-",
                 test_ != nullptr ? test_->name() : "-", result.file_name() != nullptr ? result.file_name() : "-",
                 result.line_number(), result.message());
  }

  int rank_;
  const testing::TestInfo* test_ = nullptr;
};

// A rank that failed half-way through a test may have left the others inside a collective call; none of them would
// come back. So the first failed test ends the job, after its message was printed.
class AbortAfterFailure : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& info) override {
    if (!info.result()->Failed()) return;
    std::fflush(stdout);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
};

}  // namespace

ferrompi::Mpi& test_mpi() {
  return *environment;
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool threads = std::any_of(argv, argv + argc, [](std::string_view arg) { return arg == "--thread-multiple"; });
  auto mpi = ferrompi::Mpi::init_thread(threads ? ferrompi::ThreadLevel::Multiple : ferrompi::ThreadLevel::Single);
  environment = &mpi;

  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  const int rank = mpi.world().rank();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter(rank));
  }
  listeners.Append(new AbortAfterFailure);
  return RUN_ALL_TESTS();
}
