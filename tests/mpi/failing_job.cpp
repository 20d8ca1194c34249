// A job in which rank 1 goes wrong in the middle of its work, while the others are inside a collective.
//
//   failing_job kill | throw | drop     drop: by an exception that meets a message which nobody receives

#include <cobre/comm.hpp>

#include <csignal>
#include <stdexcept>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  return cobre::comm::run([how](const auto& comm) {
    for (int i = 0; i < 100; ++i) {
      if (i == 50 && comm.rank() == 1 && how == "kill") std::raise(SIGKILL);
      if (i == 50 && comm.rank() == 1 && how == "throw") throw std::runtime_error("the sky fell");
      if (i == 50 && comm.rank() == 1 && how == "drop") {
        const std::vector<double> message(1'000'000);
        const auto sending = comm.channel(0, 1).isend(message);
        throw std::runtime_error("the sky fell");
      }
      (void)comm.allreduce(i, cobre::comm::ReduceOp::Sum);
    }
  });
}
