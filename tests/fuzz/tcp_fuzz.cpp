// Everything that is read from the network, fed with whatever the fuzzer likes. The first byte chooses the parser.

#include <cobre/comm/warnings.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>
#include <variant>
#include <vector>

#include "comm/algorithms/calibrate.hpp"
#include "comm/algorithms/mailroom.hpp"
#include "comm/algorithms/tuning.hpp"
#include "comm/backends/tcp/address.hpp"
#include "comm/backends/tcp/arbiter.hpp"
#include "comm/backends/tcp/credential.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/hosts.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/neighbours.hpp"
#include "comm/backends/tcp/notices.hpp"
#include "comm/backends/tcp/part_doors.hpp"
#include "comm/backends/tcp/verdict.hpp"
#include "comm/backends/tcp/wire.hpp"
#include "tcp_gathering.hpp"
#include "tcp_parsers.hpp"
#include "tcp_rank.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;

constexpr std::size_t job_size = fuzz::job_size;

template <class Body>
Body body_from(std::span<const std::byte> bytes) {
  Body body;
  std::memset(static_cast<void*>(&body), 0, sizeof body);
  std::memcpy(static_cast<void*>(&body), bytes.data(), std::min(bytes.size(), sizeof body));
  return body;
}

// A stranger at the door, its bytes in pieces of any length.
void accept(std::span<const std::byte> bytes) {
  static const Key key = key_from_secret("fuzz");
  Acceptance acceptance(key);
  while (!bytes.empty() && acceptance.state() == Acceptance::State::Reading) {
    const auto room = acceptance.wanted();
    const std::size_t take = std::min({bytes.size(), room.size(), std::size_t{1} + (bytes.size() % 17)});
    std::memcpy(room.data(), bytes.data(), take);
    (void)acceptance.advance(take);
    bytes = bytes.subspan(take);
  }
  if (acceptance.state() == Acceptance::State::Trusted) __builtin_trap();  // it does not know the key
}

// A door that says what an honest one would, changed by what the fuzzer likes, and hangs up where that ends.
void introduce_at_a_door(std::span<const std::byte> bytes) {
  static const Key key = key_from_secret("fuzz");
  constexpr std::size_t whole = sizeof(Response) + sizeof(Admission);
  bytes = bytes.first(std::min(bytes.size(), whole));
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) __builtin_trap();
  core::Descriptor near(ends[0]);
  const core::Descriptor far(ends[1]);
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  std::thread door([&, changes = bytes]() mutable {
    Acceptance acceptance(key);
    const auto say = [&](std::span<const std::byte> frame) {
      std::vector<std::byte> said(frame.begin(), frame.end());
      said.resize(std::min(said.size(), changes.size()));
      for (std::size_t i = 0; i < said.size(); ++i) said[i] ^= changes[i];
      changes = changes.subspan(said.size());
      return send_all(far.get(), said, deadline) && !changes.empty();
    };
    const auto hear = [&] {
      const auto frame = acceptance.wanted();
      if (!receive_all(far.get(), frame, deadline)) return false;
      return acceptance.advance(frame.size()) != Acceptance::State::Failed;
    };
    if (hear() && say(acceptance.answer()) && hear()) (void)say(raw(acceptance.admission()));
    (void)shutdown(far.get(), SHUT_WR);
  });
  const Introduction met = introduce(near.get(), key, Purpose::Join, 1, 0, deadline);
  near = core::Descriptor();
  door.join();
  const bool honest = bytes.size() == whole && std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{}; });
  if ((met.refusal == Refusal::None) != honest) __builtin_trap();
}

// What a peer sends as its credential, and what MUNGE may find in one.
void vouch(std::span<const std::byte> bytes) {
  const auto vouching = body_from<fuzz::Vouching>(bytes);
  if (const auto text = text_of(vouching.credential)) {
    const std::string_view said(text->data(), strnlen(text->data(), text->size()));
    if (said.size() != vouching.credential.bytes || !said.starts_with("MUNGE:")) __builtin_trap();
  }
  bytes = bytes.subspan(std::min(bytes.size(), sizeof vouching));
  const std::vector<std::byte> payload(bytes.begin(), bytes.end());  // on its own: nothing behind it may be read
  const auto secret = secret_in(payload, vouching.writer, fuzz::user);
  const bool expected = vouching.writer == fuzz::user && payload.size() == sizeof(Bytes32);
  if (secret.has_value() != expected) __builtin_trap();
  if (secret && !std::ranges::equal(raw(*secret), payload)) __builtin_trap();
}

// A rank that presents itself, and a table.
void join(std::span<const std::byte> bytes) {
  const auto member = body_from<Member>(bytes);
  (void)problem_with(member, job_size);
  (void)member.host_name.words();
  std::vector<Member> table(job_size);
  std::memcpy(static_cast<void*>(table.data()), bytes.data(), std::min(bytes.size(), sizeof(Member) * job_size));
  if (!is_table(table)) return;
  for (std::size_t rank = 0; rank < job_size; ++rank) {
    (void)Address::from_wire(table[rank].door)->text();
    if (find_hosts(table, rank).list.empty()) __builtin_trap();
  }
}

void reply(std::span<const std::byte> bytes) {
  (void)body_from<Reply>(bytes).text.words();
  (void)body_from<Outcome>(bytes).text.words();
}

void judge(const Verdict& verdict) {
  (void)explain(verdict);
  try {
    throw_verdict({"barrier", 0, job_size}, verdict);
  } catch (const CommError&) {
  }
}

// What a neighbour in the control tree that has gone mad makes the root believe, at moments that a clock would take
// long to come to.
void listen(std::span<const std::byte> bytes) {
  NoticeReader reader;
  Arbiter arbiter(job_size);
  const auto now = Clock::now();
  const Arbiter::Tree everyone{
      .expects = [](std::size_t) { return true; },
      .parent_of = [](std::size_t rank) { return parent_of(rank, job_size, [](std::size_t) { return false; }); },
      .silent = {}};
  while (!bytes.empty()) {
    const auto room = reader.wanted();
    const std::size_t take = std::min(bytes.size(), room.size());
    std::memcpy(room.data(), bytes.data(), take);
    bytes = bytes.subspan(take);
    switch (reader.advance(take)) {
      case NoticeReader::Found::Nonsense: return;
      case NoticeReader::Found::Nothing: continue;
      case NoticeReader::Found::Notice: break;
    }
    const auto heard = understand(reader.kind(), reader.body(), job_size);
    if (!heard) continue;
    if (const auto* verdict = std::get_if<Verdict>(&*heard)) judge(*verdict);
    if (const auto* report = std::get_if<Report>(&*heard)) judge(report->verdict);
    if (const auto* inquiry = std::get_if<Inquiry>(&*heard)) arbiter.ask(*inquiry, now);
    if (const auto* testimony = std::get_if<Testimony>(&*heard)) arbiter.hear(*testimony);
    if (const auto* warning = std::get_if<Warning>(&*heard)) (void)warning->line.words();
    const bool answers = std::holds_alternative<Testimony>(*heard);
    (void)arbiter.rule(answers ? now + std::chrono::seconds(2) : now, everyone);
  }
}

void header(std::span<const std::byte> bytes) {
  const auto received = body_from<Header>(bytes);
  const Header expected{.from = 1, .bytes = 8, .sequence = 3, .chain = 77};
  if (compare(expected, received) == Fit::Yes && received.bytes != expected.bytes) __builtin_trap();
}

// What a peer writes into the stream of its messages, in pieces of any length.
class FuzzPipes {
 public:
  explicit FuzzPipes(std::vector<std::byte> stream) : stream_(std::move(stream)) {}

  static void enter(const Where&) {}
  [[nodiscard]] static bool usable() { return true; }
  static bool reach(const Where&, std::size_t, std::chrono::nanoseconds) { return true; }
  [[nodiscard]] static bool unfinished() { return false; }
  static std::size_t push(std::size_t, std::span<const std::byte>, std::span<const std::byte>) { return 0; }
  std::size_t pull(std::size_t peer, std::byte* into, std::size_t most) {
    if (peer != 1) return 0;
    const std::size_t take = std::min({most, stream_.size() - begin_, 1 + begin_ % 23});
    if (take > 0) std::memcpy(into, stream_.data() + begin_, take);
    begin_ += take;
    return take;
  }
  static void break_off(std::size_t) {}
  static void let_go(std::size_t) {}
  static void check(const Where&, std::size_t) {}
  template <class Look>
  static void sleep(Look&&, std::chrono::nanoseconds) {}
  [[nodiscard]] const algorithms::MailSettings& settings() const { return settings_; }
  static algorithms::MailNote& note() {
    static algorithms::MailNote note{};
    return note;
  }

 private:
  std::vector<std::byte> stream_;
  std::size_t begin_ = 0;
  algorithms::MailSettings settings_;
};

void messages(std::span<const std::byte> bytes) {
  std::vector<std::byte> stream = fuzz::with_believable_letters(bytes);
  const std::size_t length = stream.size();
  algorithms::Mailroom<FuzzPipes> room(0, job_size, FuzzPipes(std::move(stream)));
  fuzz::receive_letters(room, length);
}

void address(std::span<const std::byte> bytes) {
  const auto parsed = parse_host_and_port({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (parsed && (parsed->host.empty() || parsed->port == 0)) __builtin_trap();
}

// What each rank says that it has opened for its parts, and where one of them is known to be.
void part_doors(std::span<const std::byte> bytes) {
  std::array<std::size_t, job_size> lengths{};
  std::memcpy(lengths.data(), bytes.data(), std::min(bytes.size(), sizeof lengths));
  bytes = bytes.subspan(std::min(bytes.size(), sizeof lengths));
  const auto known = body_from<Address::Wire>(bytes);
  bytes = bytes.subspan(std::min(bytes.size(), sizeof known));
  if (const auto liar = who_claims_too_many(lengths)) {
    if (lengths.at(*liar) < largest_job) __builtin_trap();
    return;
  }
  // As much as would be taken for them.
  std::vector<Address::Wire> all(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), std::min(bytes.size(), all.size() * sizeof all[0]));
  auto begin = all.begin();
  for (const std::size_t length : lengths) {
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    const auto door = door_among({begin, end}, known);
    if (door && (door->bytes != known.bytes || door->scope != known.scope)) __builtin_trap();
    begin = end;
  }
}

// Rank 0 that conducts the measurement of costs, and what it says that they are.
struct Conductor {
  static std::size_t rank() noexcept { return 1; }
  static std::size_t size() noexcept { return 2; }
  static void send(std::size_t, const void*, std::size_t) {}
  void recv(std::size_t, void* in, std::size_t bytes) {
    if (stream.size() < bytes) throw CollectiveFailed({"barrier", 1, 2}, 0, "the end");
    std::memcpy(in, stream.data(), bytes);
    stream = stream.subspan(bytes);
  }
  // The lengths are those of buffers: the sanitizer looks at every byte.
  void exchange(std::size_t, const void* out, std::size_t out_bytes, std::size_t, void* in, std::size_t in_bytes) {
    const std::vector<std::byte> sent(static_cast<const std::byte*>(out),
                                      static_cast<const std::byte*>(out) + out_bytes);
    std::memset(in, 1, in_bytes);
  }
  std::span<const std::byte> stream;
};

void calibrate_with(std::span<const std::byte> bytes) {
  Conductor conductor{bytes};
  algorithms::Tuning tuning;
  std::vector<std::byte> out(algorithms::calibration::longest);
  std::vector<std::byte> in(algorithms::calibration::longest);
  try {
    algorithms::calibration::answer(conductor, out, in);
    conductor.recv(0, &tuning.costs, sizeof tuning.costs);
  } catch (const CommError&) {
    return;
  }
  if (!algorithms::is_sensible(tuning.costs)) return;
  for (const std::size_t length : {std::size_t{8}, std::size_t{100'000}, std::size_t{1} << 30}) {
    constexpr std::size_t longest_piece = std::size_t{16} << 20;
    const std::size_t piece = algorithms::reduction_piece_bytes(job_size, tuning);
    const std::size_t link = algorithms::chain_piece_bytes(job_size, length, tuning);
    if (piece == 0 || piece > longest_piece || link == 0 || link > longest_piece) __builtin_trap();
    (void)algorithms::choose_broadcast(job_size, length, tuning);
    (void)algorithms::choose_allreduce(job_size, length, false, tuning);
    (void)algorithms::choose_allgatherv(job_size, length, tuning);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = (set_warning_sink([](std::string_view) {}), true);
  (void)quiet;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  switch (static_cast<fuzz::Parser>(data[0] % fuzz::parser_count)) {
    case fuzz::Parser::Accept: accept(bytes); break;
    case fuzz::Parser::Join: join(bytes); break;
    case fuzz::Parser::Reply: reply(bytes); break;
    case fuzz::Parser::Listen: listen(bytes); break;
    case fuzz::Parser::Header: header(bytes); break;
    case fuzz::Parser::Address: address(bytes); break;
    case fuzz::Parser::Messages: messages(bytes); break;
    case fuzz::Parser::Introduce: introduce_at_a_door(bytes); break;
    case fuzz::Parser::Vouch: vouch(bytes); break;
    case fuzz::Parser::Watch: fuzz::watch(bytes); break;
    case fuzz::Parser::Receive: fuzz::receive(bytes); break;
    case fuzz::Parser::Coordinator: fuzz::coordinate_visitors(bytes); break;
    case fuzz::Parser::Joiner: fuzz::join_a_job(bytes); break;
    case fuzz::Parser::PartDoors: part_doors(bytes); break;
    case fuzz::Parser::Calibrate: calibrate_with(bytes); break;
    case fuzz::Parser::Mail: fuzz::receive_mail(bytes); break;
  }
  return 0;
}
