// Gloo's side of the comparison, over its TCP transport on this machine: `bench_tcp_peer_gloo <ranks> <effort>
// [operation [bytes]]`.

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <filesystem>
#include <memory>

#include "measure.hpp"
#include "processes.hpp"

namespace {

struct Ranks {
  std::shared_ptr<gloo::Context> context;
  int rank = context->rank;
  int size = context->size;
  std::vector<std::size_t> counts = std::vector<std::size_t>(static_cast<std::size_t>(size));

  explicit Ranks(std::shared_ptr<gloo::Context> connected) : context(std::move(connected)) {}

  void barrier() const {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
  }
  void allreduce(const double* send, double* recv, std::size_t n) const {
    reduce(send, recv, n,
           [](void* into, const void* a, const void* b, std::size_t count) { gloo::sum<double>(into, a, b, count); });
  }
  void broadcast(double* buffer, std::size_t n) const {
    gloo::BroadcastOptions options(context);
    options.setOutput(buffer, n);
    options.setRoot(0);
    gloo::broadcast(options);
  }
  void allgatherv(const double* send, double* recv, std::size_t each) {
    std::fill(counts.begin(), counts.end(), each);
    gloo::AllgathervOptions options(context);
    options.setInput(const_cast<double*>(send), each);
    options.setOutput(recv, counts);
    gloo::allgatherv(options);
  }
  double maximum(double value) const {
    double result = 0;
    reduce(&value, &result, 1,
           [](void* into, const void* a, const void* b, std::size_t count) { gloo::max<double>(into, a, b, count); });
    return result;
  }

 private:
  template <class Function>
  void reduce(const double* send, double* recv, std::size_t n, Function function) const {
    gloo::AllreduceOptions options(context);
    options.setInput(const_cast<double*>(send), n);
    options.setOutput(recv, n);
    options.setReduceFunction(function);
    gloo::allreduce(options);
  }
};

int run_rank(int rank, int size, const std::string& meeting_place, int argc, char** argv) {
  bench::pin(rank, size);
  gloo::transport::tcp::attr attributes;
  attributes.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(meeting_place);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(store, device);
  Ranks ranks(context);
  return bench::compare(ranks, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2;
  std::string meeting_place = (std::filesystem::temp_directory_path() / "bench-gloo-XXXXXX").string();
  if (mkdtemp(meeting_place.data()) == nullptr) return 1;
  const int worst = bench::run_ranks(size, [&](std::size_t rank) {
    return run_rank(static_cast<int>(rank), static_cast<int>(size), meeting_place, argc - 1, argv + 1);
  });
  std::filesystem::remove_all(meeting_place);
  return worst;
}
