#include "comm/backends/shm/messages.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "comm/backends/shm/rendezvous.hpp"
#include "comm/core/format.hpp"
#include "comm/core/waiting.hpp"

namespace cobre::comm::shm {
namespace {

constexpr std::size_t most_descriptors = largest_group + 1;

struct alignas(cmsghdr) Control {
  std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> bytes;
};

}  // namespace

Hello hello_of(const ShmConfig& config) {
  Hello hello;
  hello.name_check = name_check(config.name);
  hello.rank = static_cast<std::uint32_t>(config.rank);
  hello.size = static_cast<std::uint32_t>(config.size);
  hello.process = this_process();
  hello.cpus = core::allowed_cpus();
  hello.cpu_quota = core::cpu_quota();
  hello.fences = core::join_heavy_fences() ? 1 : 0;
  return hello;
}

core::Descriptor process_to_watch() {
  core::Descriptor process = open_process(getpid());
  if (!process) {
    throw InitializationFailed("shm", core::format("this process cannot be watched ({}); the shm backend needs Linux "
                                                   "5.3 and pidfd_open",
                                                   std::strerror(errno)));
  }
  return process;
}

void Reply::say(std::string_view words) noexcept {
  const std::size_t length = std::min(words.size(), text.size() - 1);
  std::memcpy(text.data(), words.data(), length);
  text[length] = '\0';
}

std::string Reply::words() const {
  std::string words(text.data(), strnlen(text.data(), text.size()));
  std::ranges::replace_if(
      words, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return words;
}

bool is_sensible(const Reply& reply, std::size_t size) noexcept {
  if (reply.magic != protocol_magic || reply.kind > ReplyKind::NoMemory) return false;
  const bool names_one = reply.rank >= 0 && static_cast<std::size_t>(reply.rank) < size;
  return reply.kind != ReplyKind::Died || names_one;
}

bool send_bytes(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors) noexcept {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control{};
  if (!descriptors.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  for (int attempt = 0; attempt < 2000; ++attempt) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(bytes.size())) return true;
    // Too many descriptors under way to all receivers together, or a full socket: both pass as others read.
    if (errno != ETOOMANYREFS && errno != EAGAIN && errno != EINTR) return false;
    (void)poll(nullptr, 0, 1);
  }
  return false;
}

Received receive_bytes(int socket, std::span<std::byte> bytes, std::vector<core::Descriptor>& descriptors) {
  iovec part{bytes.data(), bytes.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received < 0) return errno == EAGAIN || errno == EINTR ? Received::Nothing : Received::Closed;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(fd);
    }
  }
  if (received == 0) return Received::Closed;
  const bool cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  return cut || received != static_cast<ssize_t>(bytes.size()) ? Received::Malformed : Received::Message;
}

}  // namespace cobre::comm::shm
