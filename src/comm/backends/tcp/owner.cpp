#include "comm/backends/tcp/owner.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "comm/core/descriptor.hpp"
#include "comm/core/format.hpp"

namespace cobre::comm::tcp {
namespace {

/// An address of IPv4 in the form in which a socket of IPv6 knows it.
std::array<std::uint8_t, 16> mapped(const Address& address) {
  const Address::Wire wire = address.to_wire();
  if (wire.family != 4) return wire.bytes;
  std::array<std::uint8_t, 16> bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::memcpy(bytes.data() + 12, wire.bytes.data(), 4);
  return bytes;
}

bool is_ipv4(const Address& address) {
  const auto bytes = mapped(address);
  constexpr std::array<std::uint8_t, 12> prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(bytes.data(), prefix.data(), prefix.size()) == 0;
}

// What the kernel answers about one connection; nothing where it knows none, or will not be asked.
std::optional<inet_diag_msg> ask_kernel(const Address& near, const Address& far) {
  const core::Descriptor kernel(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!kernel) return std::nullopt;
  struct {
    nlmsghdr head;
    inet_diag_req_v2 body;
  } question{};
  question.head = {sizeof question, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0};
  const bool v4 = is_ipv4(near) && is_ipv4(far);
  question.body.sdiag_family = v4 ? AF_INET : AF_INET6;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_states = ~0U;
  inet_diag_sockid& id = question.body.id;
  id.idiag_sport = htons(near.port());
  id.idiag_dport = htons(far.port());
  const std::size_t skipped = v4 ? 12 : 0;  // of IPv4 the last four bytes
  std::memcpy(id.idiag_src, mapped(near).data() + skipped, 16 - skipped);
  std::memcpy(id.idiag_dst, mapped(far).data() + skipped, 16 - skipped);
  id.idiag_if = near.to_wire().scope;
  std::ranges::fill(id.idiag_cookie, INET_DIAG_NOCOOKIE);
  if (send(kernel.get(), &question, sizeof question, 0) != sizeof question) return std::nullopt;

  // The kernel has answered when the question is sent.
  alignas(nlmsghdr) std::array<std::byte, 1024> answer{};
  const ssize_t length = recv(kernel.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  nlmsghdr head{};
  inet_diag_msg found{};
  if (length < static_cast<ssize_t>(NLMSG_LENGTH(sizeof found))) return std::nullopt;
  std::memcpy(&head, answer.data(), sizeof head);
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
  // Where there is no such connection it may offer whoever listens there.
  if (found.id.idiag_sport != id.idiag_sport || found.id.idiag_dport != id.idiag_dport) return std::nullopt;
  return found;
}

// The tables show the words of an address as the network has them, read as numbers of this machine.
std::string entry_of(const Address& address, std::size_t first_word) {
  const auto bytes = mapped(address);
  std::string text;
  for (std::size_t i = first_word; i < 4; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + i * sizeof(word), sizeof(word));
    text += core::format("{:08X}", word);
  }
  return text + core::format(":{:04X}", address.port());
}

constexpr const char* established = "01";

std::optional<uid_t> look_up(const char* file, const std::string& near, const std::string& far) {
  std::ifstream table(file);
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string skipped;
    std::string local;
    std::string remote;
    std::string state;
    uid_t owner = 0;
    //     number     local    remote    state    queues     timer      timeouts   owner
    fields >> skipped >> local >> remote >> state >> skipped >> skipped >> skipped >> owner;
    if (local != near || remote != far) continue;
    // A socket that was closed belongs to nobody any more, and is shown as root's: here, and in the kernel's answer.
    if (!fields || state != established) return std::nullopt;
    return owner;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uid_t> owner_in_tables(const Address& near, const Address& far) {
  // Whichever kind ours is: a socket of IPv6 may talk to one of IPv4.
  if (const auto owner = look_up("/proc/net/tcp6", entry_of(near, 0), entry_of(far, 0))) return owner;
  if (!is_ipv4(near)) return std::nullopt;
  return look_up("/proc/net/tcp", entry_of(near, 3), entry_of(far, 3));
}

std::optional<uid_t> owner_of_other_end(int socket) {
  // Seen from there, the far end is the near one.
  const Address near = Address::peer_of(socket);
  const Address far = Address::local_of(socket);
  // Asking for one connection costs the same however many there are. Reading the tables through for every link was most
  // of the start-up of a job with many ranks on a host.
  if (const auto found = ask_kernel(near, far)) {
    return found->idiag_state == TCP_ESTABLISHED ? std::optional<uid_t>(found->idiag_uid) : std::nullopt;
  }
  return owner_in_tables(near, far);
}

}  // namespace cobre::comm::tcp
