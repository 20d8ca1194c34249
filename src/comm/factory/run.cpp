#include <cobre/comm/run.hpp>

#include <cstdio>
#include <string>

namespace cobre::comm::detail {
namespace {

// The exception in flight and what it wraps, outermost first, on one line.
std::string describe_current_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    std::string text = error.what();
    for (char& c : text) {
      if (c == '\n' || c == '\r') c = ' ';
    }
    try {
      std::rethrow_if_nested(error);
    } catch (...) {
      text += "; caused by: " + describe_current_exception();
    }
    return text;
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

// One write, so that lines of several ranks do not mix.
void print_line(const std::string& line) noexcept {
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace

void report_failure(std::size_t rank, std::size_t size) noexcept try {
  print_line("cobre-comm: rank " + std::to_string(rank) + " of " + std::to_string(size) +
             " failed: " + describe_current_exception() + "\n");
} catch (...) {
  print_line("cobre-comm: a rank failed, and there was no memory to say why\n");
}

void report_start_failure() noexcept try {
  print_line("cobre-comm: no communicator: " + describe_current_exception() + "\n");
} catch (...) {
  print_line("cobre-comm: no communicator, and there was no memory to say why\n");
}

}  // namespace cobre::comm::detail
