// A job in which rank 1 goes wrong in the middle of its work, while the others are inside a collective.
//
//   failing_job kill | throw

#include <cobre/comm.hpp>

#include <csignal>
#include <string_view>

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  return cobre::comm::run([how](const auto& comm) {
    for (int i = 0; i < 100; ++i) {
      if (i == 50 && comm.rank() == 1 && how == "kill") std::raise(SIGKILL);
      if (i == 50 && comm.rank() == 1 && how == "throw") throw std::runtime_error("the sky fell");
      (void)comm.allreduce(i, cobre::comm::ReduceOp::Sum);
    }
  });
}
