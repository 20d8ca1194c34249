// A program of someone else's, who has installed cobre-comm. It calls what is a template and what is compiled.
#include <cobre/comm.hpp>

#include <cstdio>
#include <string>
#include <vector>

int main() {
  return cobre::comm::run([](const auto& comm) {
    std::string backends;
    for (const std::string& backend : cobre::comm::available_backends()) backends += " " + backend;
    const std::vector<double> mine(3, static_cast<double>(comm.rank() + 1));
    std::vector<double> sum(3);
    comm.allreduce(mine, sum, cobre::comm::ReduceOp::Sum);
    const bool right = sum[2] == static_cast<double>(comm.size() * (comm.size() + 1)) / 2.0;
    if (comm.rank() == 0) {
      std::printf("cobre-comm %s with%s: %s\n", COBRE_COMM_VERSION, backends.c_str(), right ? "consumed" : "wrong");
    }
    return right ? 0 : 1;
  });
}
