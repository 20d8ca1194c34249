// Moving the bytes of operations between ranks, by the thread that calls.
//
// A message is a header and its payload, given to the kernel in one call and taken from it in one call, straight out of
// and into the user's buffers. The header says which operation the payload belongs to and stands for everything that
// its sender did before, so a rank that is in another one is found out by whoever hears from it first.
#pragma once

#include <cobre/comm/errors.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "comm/backends/tcp/opening.hpp"
#include "comm/backends/tcp/rendezvous.hpp"
#include "comm/backends/tcp/sentinel.hpp"
#include "comm/core/waiting.hpp"

namespace cobre::comm::tcp {

struct Header {
  std::uint32_t magic = 0x44636363U;
  std::uint32_t from = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;  // the how-manieth operation of this communicator
  std::uint64_t chain = 0;     // hash of all operations up to this one
};
static_assert(sizeof(Header) == 32);

/// Whether what came is what was expected.
enum class Fit { Yes, AnotherOperation, AnotherLength, Nonsense };
[[nodiscard]] Fit compare(const Header& expected, const Header& received) noexcept;

class Wire {
 public:
  Wire(std::size_t rank, const Gathering& gathering, Sentinel& sentinel, const core::WaitPolicy& policy,
       std::chrono::milliseconds host_timeout);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return links_.size(); }

  /// Which operation the messages from now on belong to.
  void begin(const Where& where, const detail::OperationRecord& record, std::uint64_t chain) noexcept {
    where_ = where;
    record_ = record;
    sequence_ = record.sequence;
    chain_ = chain;
  }

  void send(std::size_t peer, const void* data, std::size_t bytes);
  void recv(std::size_t peer, void* data, std::size_t bytes);
  void exchange(std::size_t to, const void* out, std::size_t out_bytes, std::size_t from, void* in,
                std::size_t in_bytes);

  /// Opens the connection to a peer, where this rank is the one to do so: the higher rank goes to the lower. The reason
  /// where that is impossible. Without a deadline (`max()`) the job runs: a peer that nobody finds is then waited for
  /// until the watch must have heard that its machine has vanished.
  [[nodiscard]] std::optional<std::string> open(std::size_t peer, Clock::time_point deadline,
                                                const std::function<bool()>& pointless = {});
  /// The other half: takes the connection that a higher rank has opened. False where it is not there in time.
  [[nodiscard]] bool take(std::size_t peer, Clock::time_point deadline);
  /// Where that rank takes in links.
  [[nodiscard]] std::string door_of(std::size_t rank) const { return addresses_[rank].text(); }
  /// Waits until the peers' machines have everything that was sent, or there is a verdict, at most until the deadline.
  void drain(Clock::time_point deadline) noexcept;
  /// A connection for the sentinel.
  struct Control {
    core::Descriptor socket;
    std::string problem;
  };
  [[nodiscard]] Control open_control(std::size_t peer, Clock::time_point deadline,
                                     const std::function<bool()>& pointless = {});
  /// A connection for messages between the two ranks.
  [[nodiscard]] Control open_mail(std::size_t peer, Clock::time_point deadline,
                                  const std::function<bool()>& pointless = {});
  /// The same, without waiting for it.
  [[nodiscard]] Opening begin_mail(std::size_t peer) const;
  /// What to say where that failed.
  [[nodiscard]] std::string cannot_reach(std::size_t peer, const std::string& problem) const;

 private:
  class Outgoing;
  class Incoming;

  /// The way to one peer, and what came over it before it was asked for: short messages are taken from the kernel
  /// together, because whoever is behind (a leaf of a broadcast, a rank without a core) finds many of them.
  struct Link {
    core::Descriptor socket;
    std::unique_ptr<std::byte[]> early;  // the part that nobody asked for yet:
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  [[nodiscard]] Link& link(std::size_t peer) {
    if (!links_[peer].socket) [[unlikely]]
      open_in_operation(peer);
    return links_[peer];
  }
  void open_in_operation(std::size_t peer);
  void wait_for(Outgoing* out, Incoming* in);
  void join(std::size_t peer, core::Descriptor socket);
  [[nodiscard]] Control connect_to(std::size_t peer, Purpose purpose, Clock::time_point deadline,
                                   const std::function<bool()>& pointless = {});
  [[noreturn]] void lost(std::size_t peer);
  [[noreturn]] void refuse(std::size_t peer, const Header& received, std::size_t expected);

  std::size_t rank_;
  std::vector<Link> links_;  // by rank
  std::vector<Address> addresses_;
  std::optional<Address> source_;
  Key link_key_;
  Sentinel& sentinel_;
  core::WaitPolicy policy_;
  std::chrono::milliseconds host_timeout_;
  Where where_;
  detail::OperationRecord record_;
  std::uint64_t sequence_ = 0;
  std::uint64_t chain_ = 0;
};

}  // namespace cobre::comm::tcp
