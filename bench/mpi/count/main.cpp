// What FerrompiBackend adds to a collective, in instructions: checks of all arguments, of the communicator and of MPI,
// and the way from any element type to one call of MPI. Nothing is timed, so the numbers are the same on every run.
//
//     mpirun -n 4 bench_mpi_count <program>
#include "../../ferrompi/count/tracer.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

namespace {

// Most of it are checks that plain C leaves out. Of a buffer of run-time length it is looked whether it can be there at
// all, and where there is a count for each rank, each is looked at.
constexpr long ranks = 4;
constexpr long most = 150;
constexpr long most_for_two_buffers = 40;
constexpr long most_for_a_rank = 100;

bool prints() {
  for (const char* const rank : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* const value = std::getenv(rank)) return std::strcmp(value, "0") == 0;
  }
  return true;
}

bool report(const std::vector<Counted>& counted) {
  bool passed = !counted.empty();
  if (prints()) {
    std::printf("instructions per call on %ld ranks, MPI replaced by a function that returns at once\n\n", ranks);
    std::printf("%-28s %8s %16s %8s\n", "operation", "plain C", "FerrompiBackend", "allocs");
  }
  for (std::size_t i = 0; i + 1 < counted.size(); i += 2) {
    const auto& plain = counted[i];
    const auto& ours = counted[i + 1];
    const long added = ours.instructions - plain.instructions;
    const std::string_view operation = plain.record.operation;
    const bool counts = operation.starts_with("allgatherv");
    const bool buffers = counts || operation == "allreduce of counts";
    const long bar = most + (buffers ? most_for_two_buffers : 0) + (counts ? ranks * most_for_a_rank : 0);
    const bool good = added <= bar && ours.record.allocations == 0 && ours.record.mpi_calls == plain.record.mpi_calls;
    passed = passed && good;
    if (!prints()) continue;
    std::printf("%-28s %8ld %8ld %+7ld %8lu%s\n", plain.record.operation, plain.instructions, ours.instructions, added,
                static_cast<unsigned long>(ours.record.allocations), good ? "" : "  <- misses its bar");
  }
  if (prints()) {
    std::printf(
        "\nbars: at most +%ld, +%ld more where two buffers have a run-time length, and +%ld more for each rank that "
        "has a "
        "count; no allocation, the same calls of MPI\n",
        most, most_for_two_buffers, most_for_a_rank);
  }
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s <program>\n", argv[0]);
    return 2;
  }
  try {
    return report(count_instructions(argv[1])) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_mpi_count: %s\n", error.what());
    return 2;
  }
}
