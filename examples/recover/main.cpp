// A rank dies, and nothing is lost: the work is saved after each step, the others are told who died instead of waiting
// for ever, and the same command goes on where the last save left off.
//
//   recover FILE [rank that dies in step 5]
#include <cobre/comm.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

struct Work {
  std::uint64_t step = 0, sum = 0;
};

Work load(const std::filesystem::path& file) {
  Work work;
  std::ifstream(file) >> work.step >> work.sum;  // where there is no file the work begins
  return work;
}

void save(const std::filesystem::path& file, const Work& work) {
  const std::filesystem::path beside = file.string() + ".new";
  std::ofstream(beside) << work.step << ' ' << work.sum << std::endl;
  std::filesystem::rename(beside, file);  // a reader sees the old file or the new one, never a half
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: recover FILE [rank that dies]\n"), 2;
  return cobre::comm::run([&](const auto& comm) {
    const std::size_t doomed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : comm.size();
    Work work = comm.broadcast(comm.rank() == 0 ? load(argv[1]) : Work{}, 0);
    if (work.step > 0 && comm.rank() == 0) std::printf("going on after step %d\n", static_cast<int>(work.step));
    try {
      while (work.step < 10) {
        if (work.step == 5 && comm.rank() == doomed) std::raise(SIGKILL);
        const std::uint64_t mine = comm.rank() == work.step % comm.size() ? work.step : 0;
        work.sum += comm.allreduce(mine, cobre::comm::ReduceOp::Sum);
        ++work.step;
        if (comm.rank() == 0) save(argv[1], work);
        comm.barrier();  // nobody begins the next step before this one is safe
      }
    } catch (const cobre::comm::PeerFailed& error) {
      std::fprintf(stderr, "rank %zu: rank %zu died, step %d is saved; run me again\n", comm.rank(), error.rank(),
                   static_cast<int>(work.step));
      return 1;
    }
    if (comm.rank() == 0) std::printf("0 + 1 + ... + 9 = %d\n", static_cast<int>(work.sum));
    return 0;
  });
}
