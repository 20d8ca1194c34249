// What a group tries out when it begins, because no machine tells it: whether ranks can copy from each other's memory,
// and which way of copying is sooner done.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

#include "comm/backends/shm/endpoint.hpp"
#include "comm/backends/shm/perform.hpp"
#include "comm/core/measured.hpp"

namespace cobre::comm::shm {
namespace {

using Clock = std::chrono::steady_clock;

// What peers aim at when they try out whether they may write here. Lives as long as the process, so that a late one
// does no harm.
constinit Word target_practice = 0;

// Whether an operation takes at most so many percent of its time where `way` is true, of several calls after each
// `barrier`.
template <class Barrier, class Call>
bool helps(bool& way, int calls, int percent, Barrier&& barrier, Call&& operation) {
  std::array<Clock::duration, 2> best{Clock::duration::max(), Clock::duration::max()};
  for (int round = 0; round < 8; ++round) {
    way = round % 2 == 1;
    barrier();
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) operation();
    best[way ? 1 : 0] = std::min(best[way ? 1 : 0], Clock::now() - begin);
  }
  return best[1] < best[0] * percent / 100;
}

}  // namespace

// Single copy is used where every rank can reach every other: who chooses an algorithm must not have to ask.
void Endpoint::try_single_copy(bool wanted) {
  struct Aim {
    Word readable;
    Word expected;
    Word writable;
  };
  const Word cookie = detail::mix(reinterpret_cast<Word>(this) + rank_);
  const detail::OperationRecord record{.operation = detail::Operation::Barrier};
  const auto aims =
      exchange(record, Aim{reinterpret_cast<Word>(&cookie), cookie, reinterpret_cast<Word>(&target_practice)});
  bool works = wanted;
  for (std::size_t step = 1; step < size_ && works; ++step) {
    const Aim& aim = aims[channel_.peer(step)];
    works = reach_.kernel_helps(channel_.peer(step), aim.readable, aim.expected, aim.writable);
  }
  const auto verdicts = exchange(record, Word{works});
  single_copy_ = std::ranges::all_of(verdicts, [](Word verdict) { return verdict != 0; });
  mailroom_.pipes().use_single_copy(single_copy_);
}

// Which stores reach a reader sooner depends on where the cores sit and on whether the writer goes on meanwhile: the
// wrong kind costs up to five times as much on either side, and nothing that a machine tells about itself says which it
// is. Nor does it say whether the kernel is sooner done with its pages than two copies through a ring. So it is tried
// out once, for each kind of operations; all ranks take the same opinion, and no result depends on it. Where ranks
// share cores they share caches, and ordinary stores are right.
void Endpoint::try_ways() {
  if (size_ == 1 || size_ > agreement_.cpus) return;
  const auto meet = [&] { barrier({.operation = detail::Operation::Barrier}); };
  constexpr std::size_t bytes = 16384;
  const std::size_t exchanged = single_copy_ ? std::min<std::size_t>(agreement_.exposed_bytes, 64U << 10) : 0;
  std::vector<std::byte> send(bytes);
  std::vector<std::byte> recv(std::max(bytes, exchanged * size_));
  const detail::OperationRecord broadcasting{
      .operation = detail::Operation::Broadcast, .element_size = 1, .count = bytes};
  const detail::OperationRecord reducing{.operation = detail::Operation::Allreduce, .element_size = 1, .count = bytes};
  const detail::AllreduceCall call{send.data(), recv.data(),           bytes,
                                   1,           ElementType::UInt8,    ReduceOp::BitwiseOr,
                                   nullptr,     Reproducible::Default, nullptr};
  const detail::OperationRecord gathering{
      .operation = detail::Operation::Allgatherv, .element_size = 1, .count = exchanged};
  const std::vector<std::size_t> counts(size_, exchanged);
  std::vector<std::size_t> displs(size_);
  for (std::size_t rank = 0; rank < size_; ++rank) displs[rank] = rank * exchanged;
  struct Opinion {
    bool rooted;
    bool symmetric;
    bool exchanged;
  };
  Opinion own{};
  // What is not faster by a tenth is not worth it past the caches, where who wrote it finds nothing of it later.
  own.rooted = helps(stream_rooted_, 8, 90, meet, [&] { broadcast(broadcasting, {send.data(), bytes, 0}); });
  own.symmetric = helps(stream_symmetric_, 8, 90, meet, [&] { allreduce(reducing, call); });
  stream_symmetric_ = own.symmetric;
  if (exchanged > 0) {
    // In place: what a rank copies for itself takes as long either way, and would only hide the difference.
    const detail::AllgathervCall in_place{recv.data() + displs[rank_], recv.data(), counts, displs, 1, true};
    own.exchanged = helps(kernel_exchanges_, 4, 100, meet, [&] { allgatherv(gathering, in_place); });
  }
  // As the first reader sees it: the root has sent long before its readers have read.
  auto opinion = exchange({.operation = detail::Operation::Barrier}, own)[1];
  core::measured(opinion);
  stream_rooted_ = opinion.rooted;
  stream_symmetric_ = opinion.symmetric;
  kernel_exchanges_ = opinion.exchanged;
  mailroom_.pipes().use_streaming(stream_rooted_);
}

}  // namespace cobre::comm::shm
