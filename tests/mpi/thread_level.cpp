// A program that first asks MPI for a low thread level, then for more: refused, and nothing else is harmed.

#include <cobre/comm/mpi.hpp>

#include <cstdio>
#include <string>

int main() {
  using cobre::comm::FerrompiBackend;
  using ferrompi::ThreadLevel;
  const auto modest = FerrompiBackend::init(ThreadLevel::Single);
  std::string words = "no error";
  try {
    (void)FerrompiBackend::init(ThreadLevel::Multiple);
  } catch (const cobre::comm::InitializationFailed& error) {
    words = error.backend() + ": " + error.what();
  }
  const bool right = words.starts_with("mpi: ") &&
                     words.find("MPI runs at thread level Single, but Multiple is asked for") != std::string::npos;
  if (!right) std::fprintf(stderr, "rank %zu: %s\n", modest.rank(), words.c_str());
  const bool works = modest.allreduce(std::size_t{1}, cobre::comm::ReduceOp::Sum) == modest.size();
  return right && works ? 0 : 1;
}
