// How the ranks of a job find each other: rank 0 listens where everybody knows, the others come, and all leave with the
// addresses of all. What becomes of the first attempt to reach each other is told to everyone too.
#pragma once

#include <cobre/comm/tcp.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/backends/tcp/messages.hpp"
#include "comm/core/descriptor.hpp"

namespace cobre::comm::tcp {

struct Gathering {
  std::vector<Member> members;          // by rank; the address of each as this rank reaches it
  Bytes32 job{};                        // drawn by rank 0: no other job has it
  Key link_key{};                       // proves that a link belongs to this job
  std::vector<core::Descriptor> doors;  // where links to this rank come in
  std::optional<Address> source;        // where links from this rank go out
  Clock::time_point deadline;           // for everything to be up
};

class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  virtual ~Rendezvous() = default;

  /// Collective. Throws InitializationFailed, or PeerFailed where a rank died after it had come.
  [[nodiscard]] virtual Gathering gather() = 0;
  /// Throws where rank 0 has called everything off.
  virtual void check() = 0;
  /// Collective. Throws InitializationFailed on every rank where any rank is not content.
  virtual void confirm(const Outcome& outcome) = 0;
};

[[nodiscard]] std::unique_ptr<Rendezvous> open_rendezvous(const TcpConfig& config);

// The two sides, and what both need.
[[nodiscard]] std::unique_ptr<Rendezvous> coordinate(const TcpConfig& config);
[[nodiscard]] std::unique_ptr<Rendezvous> join(const TcpConfig& config);

/// This process as a member, but for its address.
[[nodiscard]] Member present(const TcpConfig& config);
/// Ranks for which this is the same can share memory: one kernel, one network namespace, one user.
[[nodiscard]] Bytes32 host_identity();
[[nodiscard]] Key link_key_of(const Key& job_key, const Bytes32& job);
/// The addresses of the coordinator, protected or loopback. Asks again until the deadline where the resolver may know
/// more later.
[[nodiscard]] std::vector<Address> coordinator_addresses(const TcpConfig& config, Clock::time_point deadline);
/// A door for links at this address, any port.
[[nodiscard]] core::Descriptor open_door(Address address);
/// The address to bind to, where the user named one.
[[nodiscard]] std::optional<Address> bind_address_of(const TcpConfig& config, int family, Clock::time_point deadline);

}  // namespace cobre::comm::tcp
