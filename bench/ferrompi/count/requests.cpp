// What is started and waited for: nonblocking receives, alone and several at once, and a persistent one. Run under the
// tracer.
#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>
#include <ferrompi/request_set.hpp>

#include "regions.hpp"

#include <array>
#include <optional>

using ferrompi::Communicator;
using ferrompi::Request;

constexpr int len = 8;
constexpr int several = 4;

// Visible outside of this file, so that the compiler cannot know what they hold.
std::array<double, len> data;
int finished = 0;
int source = 0;

namespace {

struct PlainRequests {
  MPI_Comm comm;
  MPI_Request plan;
};

struct OurRequests {
  const Communicator& comm;
  ferrompi::PersistentRequest& plan;
};

void start(const PlainRequests& c, std::array<MPI_Request, several>& requests) {
  for (auto& request : requests) checked(MPI_Irecv(data.data(), len, MPI_DOUBLE, 1, 7, c.comm, &request));
}

std::array<Request, several> start(const OurRequests& c) {
  return {c.comm.irecv(data, 1, 7), c.comm.irecv(data, 1, 7), c.comm.irecv(data, 1, 7), c.comm.irecv(data, 1, 7)};
}

struct Operation {
  const char* name;
  void (*plain)(const PlainRequests&);
  void (*ours)(const OurRequests&);
};

const Operation operations[] = {
    {"irecv and wait",
     [](const PlainRequests& c) {
       MPI_Request request;
       MPI_Status status;
       checked(MPI_Irecv(data.data(), len, MPI_DOUBLE, 1, 7, c.comm, &request));
       checked(MPI_Wait(&request, &status));
       source = status.MPI_SOURCE;
     },
     [](const OurRequests& c) { source = c.comm.irecv(data, 1, 7).wait().source(); }},
    {"start and wait",
     [](const PlainRequests& c) {
       MPI_Request request = c.plan;
       MPI_Status status;
       checked(MPI_Start(&request));
       checked(MPI_Wait(&request, &status));
       source = status.MPI_SOURCE;
     },
     [](const OurRequests& c) {
       c.plan.start();
       source = c.plan.wait().source();
     }},
    {"four of irecv and wait_all",
     [](const PlainRequests& c) {
       std::array<MPI_Request, several> requests;
       std::array<MPI_Status, several> statuses;
       start(c, requests);
       checked(MPI_Waitall(several, requests.data(), statuses.data()));
     },
     [](const OurRequests& c) {
       auto requests = start(c);
       ferrompi::wait_all(requests);
     }},
    {"four of irecv and wait_any in turn",
     [](const PlainRequests& c) {
       std::array<MPI_Request, several> requests;
       MPI_Status status;
       start(c, requests);
       for (int place = 0; place != MPI_UNDEFINED;) {
         checked(MPI_Waitany(several, requests.data(), &place, &status));
         finished = place;
       }
     },
     [](const OurRequests& c) {
       auto requests = start(c);
       while (const auto place = ferrompi::wait_any(requests)) finished = static_cast<int>(*place);
     }},
    {"four of irecv and wait_some",
     [](const PlainRequests& c) {
       std::array<MPI_Request, several> requests;
       std::array<MPI_Status, several> statuses;
       std::array<int, several> places;
       start(c, requests);
       checked(MPI_Waitsome(several, requests.data(), &finished, places.data(), statuses.data()));
     },
     [](const OurRequests& c) {
       auto requests = start(c);
       finished = static_cast<int>(ferrompi::wait_some(requests).size());
     }},
};

}  // namespace

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  auto plan = world.recv_init(data, 1, 7);
  const PlainRequests plain{world.native(), plan.native()};
  const OurRequests ours{world, plan};

  begin(plain);
  for (const auto& operation : operations) {
    measure(operation.name, "plain", probe::Kind::Request, operation.plain, plain);
    measure(operation.name, "ours", probe::Kind::Request, operation.ours, ours);
  }
  std::_Exit(EXIT_SUCCESS);
}
