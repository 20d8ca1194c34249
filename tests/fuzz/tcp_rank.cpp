#include "tcp_rank.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "comm/backends/tcp/mail.hpp"
#include "comm/backends/tcp/sentinel.hpp"
#include "comm/backends/tcp/verdict.hpp"
#include "comm/backends/tcp/wire.hpp"
#include "input.hpp"
#include "tcp_parsers.hpp"

namespace fuzz {
namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;
using namespace std::chrono_literals;

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) __builtin_trap();
    near = core::Descriptor(ends[0]);
    far = core::Descriptor(ends[1]);
  }
  core::Descriptor near;
  core::Descriptor far;
};

const Key& link_key() {
  static const Key key = key_from_secret("fuzz");
  return key;
}

std::vector<Member> members() {
  std::vector<Member> all(job_size);
  for (std::uint32_t rank = 0; rank < job_size; ++rank) {
    all[rank].rank = rank;
    all[rank].host[0] = static_cast<std::uint8_t>(rank / 2);
    all[rank].host_name.say("node");
    all[rank].pid = static_cast<std::int32_t>(100 + rank);
  }
  return all;
}

Sentinel::Settings settings_of(std::size_t rank) {
  return {.rank = rank,
          .size = job_size,
          .link_key = link_key(),
          .timeout = 0ms,
          .warn_after = 10s,
          .host_timeout = 10s,
          .members = members()};
}

detail::OperationRecord operation(bool pairwise, std::uint64_t sequence) {
  return {.operation = pairwise ? detail::Operation::Alltoallv : detail::Operation::Broadcast,
          .type = ElementType::Double,
          .element_size = 8,
          .count = 1,
          .sequence = sequence};
}

// What another rank aborts would end this process: the only notice that is changed, into this rank's own.
std::vector<std::byte> harmless(std::span<const std::byte> stream, std::size_t rank) {
  std::vector<std::byte> bytes(stream.begin(), stream.end());
  NoticeReader reader;
  for (std::size_t place = 0; place < bytes.size();) {
    const auto room = reader.wanted();
    const std::size_t count = std::min(room.size(), bytes.size() - place);
    std::memcpy(room.data(), bytes.data() + place, count);
    place += count;
    switch (reader.advance(count)) {
      case NoticeReader::Found::Nonsense: return bytes;
      case NoticeReader::Found::Nothing: continue;
      case NoticeReader::Found::Notice: break;
    }
    if (reader.kind() != NoticeKind::Abort) continue;
    auto abort = read_body<Abort>(reader.body());
    abort.rank = static_cast<std::uint32_t>(rank);
    std::memcpy(bytes.data() + place - sizeof abort, &abort, sizeof abort);
  }
  return bytes;
}

// Takes the answers, up to the end of the connection.
void await_end(const core::Descriptor& socket) {
  std::array<std::byte, 4096> answers{};
  for (;;) {
    pollfd entry{.fd = socket.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::chrono::milliseconds(longest).count()));
    if (ready < 0 && errno == EINTR) continue;  // the fuzzer's own clock
    if (ready <= 0) __builtin_trap();
    if (recv(socket.get(), answers.data(), answers.size(), MSG_DONTWAIT) <= 0) return;
  }
}

core::Descriptor open_unix_socket() {
  core::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) __builtin_trap();
  return socket;
}

// A door under a name that the kernel makes up, and the way to it.
struct Door {
  Door() : listener(open_unix_socket()) {
    address.sun_family = AF_UNIX;
    if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t)) != 0) __builtin_trap();
    if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) __builtin_trap();
    if (listen(listener.get(), 4) != 0) __builtin_trap();
  }
  [[nodiscard]] core::Descriptor go_there() const {
    core::Descriptor socket = open_unix_socket();
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) __builtin_trap();
    return socket;
  }
  core::Descriptor listener;
  sockaddr_un address{};
  socklen_t length = sizeof address;
};

}  // namespace

void watch(std::span<const std::byte> bytes) {
  const auto chosen = take_front<Watching>(bytes);
  const std::size_t rank = chosen.rank % 2 == 0 ? 0 : 2;
  const std::array<std::size_t, 2> peers =
      rank == 0 ? std::array<std::size_t, 2>{1, 2} : std::array<std::size_t, 2>{0, 3};
  Ledger ledger(-1);
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) ledger.journal().enter(operation(false, sequence));
  ledger.journal().leave(2);
  std::array<Pair, 2> pairs;
  Pair& talking = pairs[chosen.peer % 2];
  Sentinel sentinel(settings_of(rank), {}, ledger);
  const auto said = harmless(bytes, rank);
  if (!send_all(talking.far.get(), said, Clock::now() + longest)) __builtin_trap();
  (void)shutdown(talking.far.get(), SHUT_WR);
  sentinel.adopt_link(peers[1 - chosen.peer % 2], std::move(pairs[1 - chosen.peer % 2].near));
  sentinel.adopt_link(peers[chosen.peer % 2], std::move(talking.near));
  await_end(talking.far);
  if (sentinel.finished()) {
    const Verdict verdict = sentinel.verdict();
    if (!is_sensible(verdict, job_size)) __builtin_trap();
    (void)explain(verdict);
  }
  pairs = {};  // nobody is there for last words
}

std::vector<std::byte> with_believable_letters(std::span<const std::byte> bytes) {
  using algorithms::Letter;
  std::vector<std::byte> stream(bytes.begin(), bytes.end());
  std::uint64_t number = 0;
  for (std::size_t place = 0; place + sizeof(Letter) <= stream.size();) {
    Letter letter;
    std::memcpy(&letter, stream.data() + place, sizeof letter);
    letter.bytes %= 512;
    if (letter.magic % 8 != 0) {
      letter = {.from = 1, .realm = letter.realm, .tag = letter.tag % 4, .bytes = letter.bytes, .number = number++};
    }
    std::memcpy(stream.data() + place, &letter, sizeof letter);
    place += sizeof letter + letter.bytes;
  }
  return stream;
}

void receive_mail(std::span<const std::byte> bytes) {
  constexpr std::size_t peer = 1;
  const std::vector<std::byte> stream = with_believable_letters(bytes);
  Ledger ledger(-1);
  Sentinel sentinel(settings_of(0), {}, ledger);
  Gathering gathering;
  gathering.members = members();
  gathering.link_key = link_key();
  const auto policy = core::wait_policy(job_size, 1);
  Wire wire(0, gathering, sentinel, policy, 10s);
  Pair pair;
  if (!send_all(pair.far.get(), stream, Clock::now() + longest)) __builtin_trap();
  (void)shutdown(pair.far.get(), SHUT_WR);
  // As above: its end is known.
  sentinel.adopt_link(peer, Pair().near);
  algorithms::MailNote note{};
  const core::ForkGuard guard;
  std::vector<core::Descriptor> connected(job_size);
  connected[peer] = std::move(pair.near);
  Mailroom room(
      0, job_size,
      MailPipes(std::move(connected), wire, sentinel, note, guard, {policy, std::chrono::milliseconds(longest), 10s}));
  receive_letters(room, stream.size());
}

void receive(std::span<const std::byte> bytes) {
  const auto begin = take_front<Received>(bytes);
  const bool pairwise = begin.pairwise % 2 != 0;
  const Where where{"alltoallv", 0, job_size};
  constexpr std::size_t peer = 1;
  constexpr std::uint64_t chain = 77;

  std::vector<Receiving> messages;
  while (!bytes.empty() && messages.size() < most_messages) messages.push_back(take_front<Receiving>(bytes));
  std::vector<std::byte> stream;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::size_t length = lengths[messages[i].length % lengths.size()];
    const Header header{.from = peer, .bytes = length, .sequence = 1 + i, .chain = chain};
    const auto honest = std::as_bytes(std::span(&header, 1));
    for (std::size_t k = 0; k < honest.size(); ++k) stream.push_back(honest[k] ^ std::byte{messages[i].change[k]});
    stream.insert(stream.end(), length, static_cast<std::byte>(i + 1));
  }
  stream.resize(stream.size() - std::min<std::size_t>(stream.size(), begin.missing));

  Ledger ledger(-1);
  Door door;
  std::vector<core::Descriptor> doors;
  doors.push_back(std::move(door.listener));
  Sentinel sentinel(settings_of(0), std::move(doors), ledger);
  const auto deadline = Clock::now() + longest;
  const core::Descriptor link = door.go_there();
  const Introduction met = introduce(link.get(), link_key(), Purpose::Data, peer, 0, deadline);
  if (met.refusal != Refusal::None) __builtin_trap();
  Gathering gathering;
  gathering.members = members();
  gathering.link_key = link_key();
  Wire wire(0, gathering, sentinel, core::wait_policy(job_size, 1), 10s);
  if (!wire.take(peer, deadline)) __builtin_trap();
  if (!send_all(link.get(), stream, deadline)) __builtin_trap();
  (void)shutdown(link.get(), SHUT_WR);
  // The end of the peer is known before its messages are read, so that nobody waits for a reason.
  sentinel.adopt_link(peer, Pair().near);

  std::size_t available = stream.size();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::size_t length = lengths[messages[i].length % lengths.size()];
    const bool honest = std::ranges::all_of(messages[i].change, [](std::uint8_t change) { return change == 0; });
    const bool whole = available >= sizeof(Header) + length;
    std::vector<std::byte> buffer(length);
    bool came = false;
    try {
      wire.begin(where, operation(pairwise, 1 + i), chain);
      wire.recv(peer, buffer.data(), length);
      came = true;
    } catch (const CommError&) {
    }
    if (came != (honest && whole)) __builtin_trap();
    if (!came) return;
    if (std::ranges::any_of(buffer, [&](std::byte b) { return b != static_cast<std::byte>(i + 1); })) __builtin_trap();
    available -= sizeof(Header) + length;
  }
}

}  // namespace fuzz
