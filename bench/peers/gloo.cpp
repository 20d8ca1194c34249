// Gloo's side of the comparison, over its TCP transport on this machine: `peer <ranks> <batch> <total>
// <operation> <sizes>`.

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

#include "collectives.hpp"
#include "processes.hpp"

namespace {

struct Ranks {
  std::shared_ptr<gloo::Context> context;
  int rank = context->rank;
  int size = context->size;

  explicit Ranks(std::shared_ptr<gloo::Context> connected) : context(std::move(connected)) {}

  void barrier() const {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
  }
  void allreduce(std::span<const double> send, std::span<double> recv) const {
    reduce(send, recv,
           [](void* into, const void* a, const void* b, std::size_t n) { gloo::sum<double>(into, a, b, n); });
  }
  void broadcast(std::span<double> buffer) const {
    gloo::BroadcastOptions options(context);
    options.setOutput(buffer.data(), buffer.size());
    options.setRoot(0);
    gloo::broadcast(options);
  }
  void allgatherv(std::span<const double> send, std::span<double> recv, const bench::Parts& parts) const {
    gloo::AllgathervOptions options(context);
    options.setInput(const_cast<double*>(send.data()), send.size());
    options.setOutput(recv.data(), parts.counts);
    gloo::allgatherv(options);
  }
  void slowest(std::span<double> times) const {
    const std::vector<double> own(times.begin(), times.end());
    reduce(own, times,
           [](void* into, const void* a, const void* b, std::size_t n) { gloo::max<double>(into, a, b, n); });
  }

 private:
  template <class Function>
  void reduce(std::span<const double> send, std::span<double> recv, Function function) const {
    gloo::AllreduceOptions options(context);
    options.setInput(const_cast<double*>(send.data()), send.size());
    options.setOutput(recv.data(), recv.size());
    options.setReduceFunction(function);
    gloo::allreduce(options);
  }
};

int run_rank(int rank, int size, const std::string& meeting_place, const bench::Task& task) {
  bench::pin(rank, size);
  gloo::transport::tcp::attr attributes;
  attributes.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(meeting_place);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(store, device);
  Ranks ranks(context);
  bench::compete(ranks, task);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto words = std::span(argv, static_cast<std::size_t>(argc));
  const std::size_t size = argc > 1 ? std::stoul(words[1]) : 0;
  const bench::Task task = bench::read_task(words.subspan(2));
  // mkdtemp() writes a name of its own over the last six letters.
  std::string meeting_place = (std::filesystem::temp_directory_path() / "bench-gloo-").string().append(6, 'X');
  if (mkdtemp(meeting_place.data()) == nullptr) return 1;
  const int worst = bench::run_ranks(size, [&](std::size_t rank) {
    return run_rank(static_cast<int>(rank), static_cast<int>(size), meeting_place, task);
  });
  std::filesystem::remove_all(meeting_place);
  return worst;
}
