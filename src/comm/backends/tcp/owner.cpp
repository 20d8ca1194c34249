#include "comm/backends/tcp/owner.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "comm/backends/tcp/address.hpp"
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
    // A socket that was closed belongs to nobody any more, and is shown as root's.
    if (!fields || state != established) return std::nullopt;
    return owner;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uid_t> owner_of_other_end(int socket) {
  // Seen from there, the far end is the near one.
  const Address near = Address::peer_of(socket);
  const Address far = Address::local_of(socket);
  // Whichever kind ours is: a socket of IPv6 may talk to one of IPv4.
  if (const auto owner = look_up("/proc/net/tcp6", entry_of(near, 0), entry_of(far, 0))) return owner;
  if (!is_ipv4(near)) return std::nullopt;
  return look_up("/proc/net/tcp", entry_of(near, 3), entry_of(far, 3));
}

}  // namespace cobre::comm::tcp
