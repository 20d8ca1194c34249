// One call at a time, for the tracer to count: a program hands each pair of functions to `measure`. Included once by
// each program that is counted.
#pragma once

#include "probe.hpp"

#include <mpi.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// What a careful C program keeps.
struct Plain {
  MPI_Comm comm;
  int rank;
  int size;
};

[[noreturn, gnu::cold, gnu::noinline]] void fail(int code) {
  std::fprintf(stderr, "MPI error %d\n", code);
  std::abort();
}

inline void checked(int code) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    fail(code);
  }
}

// The tracer counts from the signal to here.
[[gnu::noinline]] void end_of_region() {
  __asm__ volatile("");
}

template <class Context>
[[gnu::noinline]] void region(void (*function)(const Context&), const Context& context) {
  raise(SIGSTOP);
  function(context);
  end_of_region();
}

void write(const probe::Record& record) {
  if (::write(STDOUT_FILENO, &record, sizeof record) != sizeof record) std::abort();
}

template <class Context>
void measure(const char* name, const char* side, probe::Kind kind, void (*function)(const Context&),
             const Context& context) {
  probe::Record record{};
  std::strncpy(record.operation, name, sizeof record.operation - 1);
  std::strncpy(record.side, side, sizeof record.side - 1);
  record.kind = kind;
  for (int i = 0; i < 3; ++i) function(context);  // first calls may set something up once
  const auto allocations = probe::allocations;
  const auto calls = probe::mpi_calls;
  function(context);
  record.allocations = probe::allocations - allocations;
  record.mpi_calls = probe::mpi_calls - calls;
  region(function, context);
  write(record);
}

/// Tells the tracer where regions end, and what an empty one costs.
template <class Context>
void begin(const Context& context) {
  probe::Record header{};
  header.end_address = reinterpret_cast<std::uint64_t>(&end_of_region);
  write(header);
  measure<Context>(
      "", "none", probe::Kind::Fixed, [](const Context&) {}, context);
}

}  // namespace
