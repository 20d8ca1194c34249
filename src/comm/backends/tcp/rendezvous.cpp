#include "comm/backends/tcp/rendezvous.hpp"

#include <netdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/resolver.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "comm/topology/host.hpp"

namespace cobre::comm::tcp {

using namespace std::chrono_literals;

std::unique_ptr<Rendezvous> open_rendezvous(const TcpConfig& config) {
  return config.rank == 0 ? coordinate(config) : join(config);
}

Bytes32 host_identity() {
  // The name alone says little: clones share it. A kernel that was booted once does not lie; but one kernel may carry
  // several hosts, which have networks or names of their own.
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (boot.empty()) return random_bytes();  // not to be told: shares with nobody
  struct stat network {};
  (void)stat("/proc/self/ns/net", &network);
  const std::string who = core::format("{} {} {} {}", boot, network.st_ino, geteuid(), topology::host_name());
  return key_from_secret(who);
}

Member present(const TcpConfig& config) {
  Member member;
  member.rank = static_cast<std::uint32_t>(config.rank);
  member.size = static_cast<std::uint32_t>(config.size);
  member.host = host_identity();
  member.host_name.say(topology::host_name());
  member.pid = getpid();
#ifdef COBRE_COMM_HAS_SHM
  member.shares_memory = config.shared_memory ? 1 : 0;
#endif
  member.cpus = core::allowed_cpus();
  member.cpu_quota = core::cpu_quota();
  member.placement = topology::placement_here();
  return member;
}

Key link_key_of(const Key& job_key, const Bytes32& job) {
  return authenticate(job_key, {label("cobre-comm tcp: links of job"), raw(job)});
}

std::vector<Address> coordinator_addresses(const TcpConfig& config, Clock::time_point deadline) {
  const HostAndPort coordinator = coordinator_of(config);
  for (;;) {
    Resolution found = resolve_by(coordinator.host, coordinator.port.value_or(config.port), deadline);
    if (!found.addresses.empty()) {
      for (const Address& address : found.addresses) require_protection(config, address);
      return found.addresses;
    }
    if (!found.may_change || Clock::now() + 100ms >= deadline) {
      throw InitializationFailed("tcp", core::format("the host {} of COBRE_TCP_COORDINATOR is not known: {}",
                                                     core::quoted(coordinator.host), found.problem));
    }
    std::this_thread::sleep_for(100ms);
  }
}

core::Descriptor open_door(Address address) {
  address.set_port(0);
  Opened opened = open_listener(address, 256);
  if (!opened.socket) {
    throw InitializationFailed("tcp", core::format("no port can be opened at {}: {}; COBRE_TCP_BIND_ADDR names another "
                                                   "address of this machine",
                                                   address.text(), std::strerror(opened.error)));
  }
  return std::move(opened.socket);
}

std::optional<Address> bind_address_of(const TcpConfig& config, int family, Clock::time_point deadline) {
  if (config.bind_address.empty()) return std::nullopt;
  const auto named = parse_host_and_port(config.bind_address);
  const Resolution found = named && !named->port ? resolve_by(named->host, 0, deadline) : Resolution{};
  for (const Address& address : found.addresses) {
    if (address.family() != family) continue;
    require_protection(config, address);
    return address;
  }
  throw InvalidConfiguration("tcp", "COBRE_TCP_BIND_ADDR", config.bind_address,
                             core::format("an address of this machine, {} as that of the coordinator, without a port",
                                          family == AF_INET6 ? "IPv6" : "IPv4"));
}

}  // namespace cobre::comm::tcp
