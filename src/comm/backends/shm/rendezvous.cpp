#include "comm/backends/shm/rendezvous.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "comm/core/format.hpp"
#include "comm/core/hash.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::shm {
namespace {

struct Address {
  sockaddr_un socket{};
  socklen_t length = 0;
};

Address abstract_address(const std::string& name) {
  Address address;
  address.socket.sun_family = AF_UNIX;
  std::memcpy(address.socket.sun_path + 1, name.data(), name.size());  // the leading zero: no file system involved
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

}  // namespace

std::string socket_name(const std::string& group) {
  return core::format("cobre-comm/{}/{:016x}", geteuid(), core::hash(group, 1));
}

std::uint64_t name_check(const std::string& group) {
  return core::hash(group, 2);
}

core::Descriptor open_socket() {
  core::Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) {
    throw InitializationFailed("shm", core::format("no socket could be opened ({}); raise the limit of open files "
                                                   "(ulimit -n)",
                                                   std::strerror(errno)));
  }
  return socket;
}

Owner owner_of(const core::Descriptor& socket) {
  ucred owner{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t length = sizeof(owner);
  (void)getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &owner, &length);
  return {.uid = owner.uid, .pid = owner.pid};
}

int bind_to(const core::Descriptor& socket, const std::string& name) {
  const Address address = abstract_address(name);
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.socket), address.length) == 0 ? 0 : errno;
}

int connect_to(const core::Descriptor& socket, const std::string& name) {
  const Address address = abstract_address(name);
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.socket), address.length) == 0 ? 0 : errno;
}

void throw_foreign_owner(const std::string& group, unsigned uid) {
  throw InitializationFailed(
      "shm", core::format("the name {} is held by a process of user {}, not of this user ({}); choose another "
                          "COBRE_SHM_NAME, one that nobody can guess",
                          core::quoted(group), uid, geteuid()));
}

Gathering gather_group(const ShmConfig& config, const Check& check) {
  return config.rank == 0 ? coordinate(config, check) : join(config, check);
}

}  // namespace cobre::comm::shm
