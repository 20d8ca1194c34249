// Zero overhead, proven: what each blocking operation costs through ferrompi and as a plain call of MPI, in
// instructions and allocations. Nothing is timed, so the numbers are the same on every run.
//
//     ferrompi_count <programs without checks>... <the same with checks>... [--json]
#include "tracer.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

// The bars: without argument checks at most 2 % more than plain C; with them at most 40 instructions more for an
// operation whose arguments do not grow with the number of ranks; no allocation but those of plain C for the container
// of the result, and the same calls of MPI. A window looks at its epochs in the library, which is compiled once and
// with its checks: there the second bar stands for both, for each call of MPI; and for what makes none, once.
// Requests are no blocking operations: their instructions are told, and held to nothing but calls and allocations.
constexpr double most_ratio = 1.02;
constexpr long most_with_checks = 40;

struct Row {
  std::string operation;
  probe::Kind kind;
  long plain;
  long unchecked;
  long checked;
  unsigned long allocations;
  unsigned long plain_allocations;
  unsigned long calls;  // of MPI
  bool same_calls;

  [[nodiscard]] double ratio() const { return static_cast<double>(unchecked) / static_cast<double>(plain); }
  [[nodiscard]] bool passes() const {
    if (allocations > plain_allocations || !same_calls) return false;
    if (kind == probe::Kind::Request) return true;
    if (kind == probe::Kind::Window)
      return checked - plain <= most_with_checks * std::max(static_cast<long>(calls), 1L);
    return ratio() <= most_ratio && (kind == probe::Kind::Counts || checked - plain <= most_with_checks);
  }
};

void add_rows(std::vector<Row>& rows, const std::vector<Counted>& unchecked, const std::vector<Counted>& checked) {
  for (std::size_t i = 0; i + 1 < unchecked.size(); i += 2) {
    const auto& plain = unchecked[i];
    const auto& without = unchecked[i + 1];
    const auto& with = checked.at(i + 1);
    const auto calls = plain.record.mpi_calls;
    rows.push_back({plain.record.operation, plain.record.kind, plain.instructions, without.instructions,
                    with.instructions, std::max(without.record.allocations, with.record.allocations),
                    plain.record.allocations, calls,
                    without.record.mpi_calls == calls && with.record.mpi_calls == calls});
  }
}

void print_table(const std::vector<Row>& rows) {
  std::printf("instructions per call, MPI replaced by a function that returns at once\n\n");
  std::printf("%-36s %8s %14s %16s %8s\n", "operation", "plain C", "checks off", "checks on", "allocs");
  for (const auto& row : rows) {
    std::printf("%-36s %8ld %6ld %+6.1f%% %8ld %+7ld %8lu%s\n", row.operation.c_str(), row.plain, row.unchecked,
                (row.ratio() - 1) * 100, row.checked, row.checked - row.plain, row.allocations,
                row.passes() ? "" : "  <- misses its bar");
  }
  std::printf(
      "\nbars: checks off at most +%.0f %% (not for windows, whose checks are in the library), checks on at most +%ld "
      "(not where there is a count for each rank; windows for each call of MPI), neither for requests; no allocation "
      "but those of plain C for the result, the same calls of MPI\n",
      (most_ratio - 1) * 100, most_with_checks);
}

void print_json(const std::vector<Row>& rows) {
  std::printf("[");
  const char* separator = "\n";
  for (const auto& row : rows) {
    std::printf(
        "%s  {\"operation\": \"%s\", \"plain\": %ld, \"unchecked\": %ld, \"checked\": %ld, \"allocations\": %lu, "
        "\"passes\": %s}",
        separator, row.operation.c_str(), row.plain, row.unchecked, row.checked, row.allocations,
        row.passes() ? "true" : "false");
    separator = ",\n";
  }
  std::printf("\n]\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> programs(argv + 1, argv + argc);
  const bool json = !programs.empty() && programs.back() == "--json";
  if (json) programs.pop_back();
  const auto half = programs.size() / 2;
  if (half == 0 || programs.size() % 2 != 0) {
    std::fprintf(stderr, "usage: %s <programs without checks>... <the same with checks>... [--json]\n", argv[0]);
    return 2;
  }
  try {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < half; ++i) {
      add_rows(rows, count_instructions(programs[i]), count_instructions(programs[half + i]));
    }
    json ? print_json(rows) : print_table(rows);
    bool passed = !rows.empty();
    for (const auto& row : rows) passed = passed && row.passes();
    return passed ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ferrompi_count: %s\n", error.what());
    return 2;
  }
}
