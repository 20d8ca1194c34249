// The parts of the tcp backend that need no other rank.

#include <gtest/gtest.h>

#include <cobre/comm.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <utility>
#include <vector>

#include "comm/backends/tcp/address.hpp"
#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/control_link.hpp"
#include "comm/backends/tcp/credential.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/hosts.hpp"
#include "comm/backends/tcp/ledger.hpp"
#include "comm/backends/tcp/neighbours.hpp"
#include "comm/backends/tcp/notices.hpp"
#include "comm/backends/tcp/wire.hpp"
#include "comm/core/fiber.hpp"
#include "comm/core/inherited.hpp"
#include "comm/core/make_ledger_file.hpp"
#include "comm/core/progress.hpp"
#include "support/environment.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;
using namespace std::chrono_literals;

// ---- addresses ----------------------------------------------------------------------------------------------------

TEST(TcpAddress, IsReadAsHostHostAndPortOrBracketedIpv6) {
  EXPECT_EQ(parse_host_and_port("node1"), (HostAndPort{"node1", {}}));
  EXPECT_EQ(parse_host_and_port("node1:4000"), (HostAndPort{"node1", 4000}));
  EXPECT_EQ(parse_host_and_port("10.0.0.1:29500"), (HostAndPort{"10.0.0.1", 29500}));
  EXPECT_EQ(parse_host_and_port("::1"), (HostAndPort{"::1", {}}));
  EXPECT_EQ(parse_host_and_port("[::1]"), (HostAndPort{"::1", {}}));
  EXPECT_EQ(parse_host_and_port("[fe80::1%eth0]:5"), (HostAndPort{"fe80::1%eth0", 5}));
}

TEST(TcpAddress, IsRefusedWhereItMeansNothing) {
  for (const char* const text : {"", ":", ":80", "host:", "host:0", "host:65536", "host:8x", "host:-1", "[::1", "[]:1",
                                 "[node]:1", "[::1]80", "a b", "a/b", "host:80:90x y"}) {
    EXPECT_FALSE(parse_host_and_port(text)) << text;
  }
}

TEST(TcpAddress, SurvivesTheWire) {
  for (const char* const host : {"127.0.0.1", "::1"}) {
    const auto found = resolve(host, 1234);
    ASSERT_FALSE(found.addresses.empty()) << found.problem;
    const auto again = Address::from_wire(found.addresses.front().to_wire());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->text(), found.addresses.front().text());
    EXPECT_TRUE(again->is_loopback());
  }
  EXPECT_FALSE(Address::from_wire({}));
  EXPECT_FALSE(Address::from_wire({.family = 5, .port = 1, .scope = 0, .bytes = {}}));
}

TEST(TcpAddress, ThatNeedsAnInterfaceGetsThatOfWhoHearsOfIt) {
  const auto said = [](std::uint8_t second_byte) {
    return Address::Wire{.family = 6, .port = 1, .scope = 3, .bytes = {0xfe, second_byte}};
  };
  const Address here = Address::from_wire({.family = 6, .port = 2, .scope = 7, .bytes = {0xfe, 0x80}}).value();
  EXPECT_EQ(Address::as_seen_from(here, said(0x80)).scope, 7U);
  EXPECT_EQ(Address::as_seen_from(here, said(0xbf)).scope, 7U);
  EXPECT_EQ(Address::as_seen_from(here, said(0xc0)).scope, 0U) << "not link-local";
  EXPECT_EQ(Address::as_seen_from(Address(), said(0x80)).scope, 0U);
  EXPECT_EQ(Address::as_seen_from(here, said(0x80)).port, 1);
}

// ---- configuration ------------------------------------------------------------------------------------------------

TEST(TcpConfigTest, ReadsEverythingFromTheEnvironment) {
  test::ScopedEnvironment environment;
  environment.set("COBRE_TCP_COORDINATOR", "node7:4100");
  environment.set("COBRE_TCP_RANK", "3");
  environment.set("COBRE_TCP_SIZE", "8");
  environment.set("COBRE_TCP_PORT", "4200");
  environment.set("COBRE_TCP_BIND_ADDR", "10.1.2.3");
  environment.set("COBRE_TCP_CONNECT_TIMEOUT_MS", "1500");
  environment.set("COBRE_TCP_HOST_TIMEOUT_MS", "2500");
  environment.set("COBRE_TCP_SHARED_MEMORY", "0");
  environment.set("COBRE_TCP_SECRET", "s3cret");
  environment.set("COBRE_COMM_TIMEOUT_SECS", "9");
  const auto config = TcpConfig::from_environment();
  EXPECT_EQ(config.coordinator, "node7:4100");
  EXPECT_EQ(config.rank, 3U);
  EXPECT_EQ(config.size, 8U);
  EXPECT_EQ(config.port, 4200);
  EXPECT_EQ(config.bind_address, "10.1.2.3");
  EXPECT_EQ(config.connect_timeout, 1500ms);
  EXPECT_EQ(config.host_timeout, 2500ms);
  EXPECT_FALSE(config.shared_memory);
  EXPECT_EQ(config.secret.value, "s3cret");
  EXPECT_EQ(config.timeout, 9s);
}

TEST(TcpConfigTest, NamesEverythingThatIsMissingAtOnce) {
  try {
    (void)TcpConfig::from_environment();
    FAIL();
  } catch (const MissingConfiguration& error) {
    EXPECT_EQ(error.missing_vars(),
              (std::vector<std::string>{"COBRE_TCP_COORDINATOR", "COBRE_TCP_RANK", "COBRE_TCP_SIZE"}));
  }
}

TEST(TcpConfigTest, RefusesASecretThatIsEmpty) {
  test::ScopedEnvironment environment;
  environment.set("COBRE_TCP_COORDINATOR", "127.0.0.1");
  environment.set("COBRE_TCP_RANK", "0");
  environment.set("COBRE_TCP_SIZE", "2");
  environment.set("COBRE_TCP_SECRET", "");
  try {
    (void)TcpConfig::from_environment();
    FAIL();
  } catch (const InvalidConfiguration& error) {
    EXPECT_EQ(error.variable(), "COBRE_TCP_SECRET");
  }
}

TEST(TcpConfigTest, TakesFromASlurmStepWhatIsNotSet) {
  test::ScopedEnvironment environment;
  environment.set("SLURM_STEP_NUM_TASKS", "6");
  environment.set("SLURM_PROCID", "2");
  environment.set("SLURM_STEP_NODELIST", "node[07-09,12]-ib,other");
  environment.set("SLURM_JOB_ID", "123");
  environment.set("SLURM_STEP_ID", "0");
  const auto config = TcpConfig::from_environment();
  EXPECT_EQ(config.coordinator, "node07-ib");
  EXPECT_EQ(config.rank, 2U);
  EXPECT_EQ(config.size, 6U);
  EXPECT_EQ(config.munge, has_munge());
  environment.set("SLURM_STEP_ID", "1");
  EXPECT_NE(TcpConfig::from_environment().port, config.port);
  const auto unreserved = TcpConfig::from_environment().port;
  for (const char* const nonsense : {"-", "0-3", "65536", "x"}) {
    environment.set("SLURM_STEP_RESV_PORTS", nonsense);
    EXPECT_EQ(TcpConfig::from_environment().port, unreserved) << nonsense;
  }
  for (const char* const ports : {"12003", "12003-12006", "12003,12010-12011"}) {
    environment.set("SLURM_STEP_RESV_PORTS", ports);
    EXPECT_EQ(TcpConfig::from_environment().port, 12003) << ports;
  }
  environment.set("COBRE_TCP_SECRET", "s3cret");
  EXPECT_FALSE(TcpConfig::from_environment().munge);
  environment.set("COBRE_TCP_PORT", "4711");
  EXPECT_EQ(TcpConfig::from_environment().port, 4711);
}

TEST(TcpConfigTest, FindsTheFirstNodeOfAFoldedList) {
  EXPECT_EQ(first_node("n1"), "n1");
  EXPECT_EQ(first_node("n1,n2"), "n1");
  EXPECT_EQ(first_node("n[1-3,7]"), "n1");
  EXPECT_EQ(first_node("n[003]"), "n003");
  EXPECT_EQ(first_node("rack[2-3]-a,x"), "rack2-a");
  EXPECT_EQ(first_node("rack[0-1]node[0-3]"), "rack0node0");
  EXPECT_EQ(first_node("r[1,4]n[07-09]-ib,x[1-2]"), "r1n07-ib");
  EXPECT_EQ(first_node("r[1-2]n[3"), "r1n3");
}

TcpConfig alone() {
  TcpConfig config;
  config.coordinator = "127.0.0.1";
  return config;
}

TEST(TcpConfigTest, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    auto config = alone();
    change(config);
    EXPECT_THROW((void)TcpBackend::connect(config), InitializationFailed);
  };
  refused([](TcpConfig& config) { config.coordinator = "a b"; });
  refused([](TcpConfig& config) { config.port = 0; });
  refused([](TcpConfig& config) { config.size = 0; });
  refused([](TcpConfig& config) { config.rank = 1; });
  refused([](TcpConfig& config) { config.size = largest_job + 1; });
  refused([](TcpConfig& config) { config.connect_timeout = 0ms; });
  refused([](TcpConfig& config) {
    config.secret.file = "x";
    config.secret.value = "y";
  });
}

TEST(TcpSecretFile, MustBePrivateReadableAndNotEmpty) {
  const std::string file = "tcp-secret-" + std::to_string(getpid());
  const auto outcome = [&](const std::string& content, mode_t mode) -> std::string {
    std::ofstream(file) << content;
    chmod(file.c_str(), mode);
    auto config = alone();
    config.rank = 1;
    config.size = 2;
    config.secret.file = file;
    config.connect_timeout = 1ms;
    try {
      (void)TcpBackend::connect(config);
    } catch (const InvalidConfiguration& error) {
      EXPECT_EQ(std::string(error.what()).find("top"), std::string::npos);  // the secret itself is never said
      return error.variable();
    } catch (const InitializationFailed&) {
      return "read";
    }
    return "connected";
  };
  EXPECT_EQ(outcome("top secret\n", 0600), "read");
  EXPECT_EQ(outcome("top secret\n", 0640), "COBRE_TCP_SECRET_FILE");
  EXPECT_EQ(outcome("top secret\n", 0604), "COBRE_TCP_SECRET_FILE");
  EXPECT_EQ(outcome("\n", 0600), "COBRE_TCP_SECRET_FILE");
  EXPECT_EQ(outcome("top" + std::string(5000, 'x'), 0600), "COBRE_TCP_SECRET_FILE");
  std::remove(file.c_str());
}

// ---- keys ---------------------------------------------------------------------------------------------------------

TEST(TcpKeys, AreHmacSha256) {
  // RFC 4231, test case 2, with the key padded to 32 bytes, which HMAC does not tell apart.
  Key key{};
  std::ranges::copy(std::string_view("Jefe"), key.begin());
  const Mac mac = authenticate(key, {label("what do ya want "), label("for nothing?")});
  const Mac expected{0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7,
                     0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
  EXPECT_EQ(mac, expected);
  EXPECT_TRUE(same(mac, expected));
  EXPECT_NE(random_bytes(), random_bytes());
}

// ---- what the ranks tell each other -------------------------------------------------------------------------------

TEST(TcpNotices, AreFoundInAStreamHoweverItIsCut) {
  std::vector<std::byte> stream = notice(NoticeKind::Farewell, Farewell{.rank = 3, .left = 99});
  const auto second = notice(NoticeKind::RollCall, RollCall{7});
  stream.insert(stream.end(), second.begin(), second.end());
  for (std::size_t cut = 1; cut < 20; ++cut) {
    NoticeReader reader;
    std::vector<NoticeKind> found;
    for (std::size_t at = 0; at < stream.size();) {
      const auto room = reader.wanted();
      ASSERT_FALSE(room.empty());
      const std::size_t take = std::min({cut, room.size(), stream.size() - at});
      std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), take, room.begin());
      at += take;
      if (reader.advance(take) == NoticeReader::Found::Notice) found.push_back(reader.kind());
    }
    EXPECT_EQ(found, (std::vector{NoticeKind::Farewell, NoticeKind::RollCall})) << "cut " << cut;
  }
}

TEST(TcpNotices, OfAnUnknownKindEndTheStream) {
  NoticeReader reader;
  const NoticeHead head{.kind = static_cast<NoticeKind>(77)};
  std::memcpy(reader.wanted().data(), &head, sizeof head);
  EXPECT_EQ(reader.advance(sizeof head), NoticeReader::Found::Nonsense);
}

TEST(TcpHeader, IsComparedFieldByField) {
  const Header usual{.from = 1, .bytes = 8, .sequence = 5, .chain = 42};
  EXPECT_EQ(compare(usual, usual), Fit::Yes);
  const auto changed = [&](auto change) {
    Header other = usual;
    change(other);
    return compare(usual, other);
  };
  EXPECT_EQ(changed([](Header& header) { header.magic ^= 1; }), Fit::Nonsense);
  EXPECT_EQ(changed([](Header& header) { header.from = 2; }), Fit::Nonsense);
  EXPECT_EQ(changed([](Header& header) { header.bytes = 9; }), Fit::AnotherLength);
  EXPECT_EQ(changed([](Header& header) { header.sequence = 6; }), Fit::AnotherOperation);
  EXPECT_EQ(changed([](Header& header) { header.chain = 43; }), Fit::AnotherOperation);
}

// ---- the ledger ---------------------------------------------------------------------------------------------------

TEST(TcpLedger, TellsTheLauncherWhereTheRankIsAndWhomItBlames) {
  const core::Descriptor file = core::make_ledger_file();
  const auto mapped = core::map_ledger_file(file.get());
  ASSERT_NE(mapped, nullptr);
  const LedgerView view(*mapped);
  EXPECT_FALSE(view.sees());
  EXPECT_EQ(view.sighting().words, "");
  Ledger ledger(file.get());
  EXPECT_FALSE(view.sees());  // ranks of one machine never open it
  ledger.open();
  EXPECT_TRUE(view.sees());
  EXPECT_EQ(view.sighting().words, "while the job gathered");
  const auto perform = [&](detail::Operation operation, std::uint64_t sequence) {
    ledger.journal().enter({.operation = operation, .sequence = sequence});
  };
  perform(detail::Operation::Barrier, 1);
  ledger.journal().leave(1);
  ledger.note_start(1);
  EXPECT_EQ(view.sighting().words, "before its first operation");
  perform(detail::Operation::Barrier, 2);
  EXPECT_EQ(view.sighting().words, "in barrier");
  ledger.journal().leave(2);
  EXPECT_EQ(view.sighting().words, "after barrier");
  EXPECT_FALSE(view.blamed(3));
  ledger.blame(0);
  EXPECT_EQ(view.blamed(3), 0U);
  ledger.blame(2);  // because of the first one
  EXPECT_EQ(view.blamed(3), 0U);
  ledger.note_end();
  EXPECT_EQ(view.sighting().words, "after it had left the job");
}

TEST(TcpLedger, NamesNobodyWhoIsNotOfTheJobAndShowsNothingThatIsNotAWord) {
  const core::Descriptor file = core::make_ledger_file();
  const auto mapped = core::map_ledger_file(file.get());
  ASSERT_NE(mapped, nullptr);
  const LedgerView view(*mapped);
  Ledger ledger(file.get());
  ledger.open();
  ledger.note_start(1);
  auto& page = reinterpret_cast<LedgerPage&>(mapped->first);
  for (const std::uint32_t painted : {0xffff'ffffU, 4U}) {
    page.blamed = painted;
    EXPECT_FALSE(view.blamed(3)) << painted;
  }
  EXPECT_EQ(view.blamed(4), 3U);
  page.mail.peer = 2 * (1 + 1);
  EXPECT_EQ(view.sighting().words, "in a message from rank 1 with tag 0");
  page.mail.name[0] = 0x1b;
  EXPECT_EQ(view.sighting().words, "in a message from rank 1 with tag 0");
}

TEST(TcpLedger, OfASecondCommunicatorDoesNotMixWithThatOfTheFirst) {
  const core::Descriptor file = core::make_ledger_file();
  const auto mapped = core::map_ledger_file(file.get());
  ASSERT_NE(mapped, nullptr);
  const LedgerView view(*mapped);
  Ledger first(file.get());
  first.open();
  first.note_start(1);
  {
    Ledger second(file.get());
    second.open();
    second.note_start(1);
    second.journal().enter({.operation = detail::Operation::Barrier, .sequence = 2});
    EXPECT_EQ(first.journal().entered(), 0U);
    EXPECT_EQ(view.sighting().words, "before its first operation");
  }
  first.journal().enter({.operation = detail::Operation::Broadcast, .sequence = 2});
  EXPECT_EQ(first.journal().entered(), 2U);
}

TEST(TcpLedger, IsTheRanksOwnWhereTheFileIsNotWhatItSeems) {
  const core::Descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  Ledger ledger(file.get());
  ledger.journal().enter({.operation = detail::Operation::Barrier, .sequence = 1});
  EXPECT_EQ(ledger.journal().entered(), 1U);
}

TEST(InheritedDescriptor, IsFoundByTheSameFileAlone) {
  core::Descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const std::string text = core::inherited_text(file.get());
  EXPECT_EQ(core::inherited_descriptor(text), file.get());
  EXPECT_EQ(core::inherited_descriptor(text + "0"), -1);
  for (const char* const nonsense : {"", "x", "3", "3:", "3:4", "3:4:", "3:4:x", ":::", "99999999999999999999:1:1"}) {
    EXPECT_EQ(core::inherited_descriptor(nonsense), -1) << nonsense;
  }
  file = {};
  EXPECT_EQ(core::inherited_descriptor(text), -1);
}

// ---- neighbours ---------------------------------------------------------------------------------------------------

TEST(TcpNeighbours, KnowEachOtherFromBothSides) {
  for (std::size_t size = 1; size <= 40; ++size) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      for (const std::size_t peer : neighbours(rank, size)) {
        EXPECT_TRUE(peer < size && neighbours(peer, size).contains(rank)) << rank << " and " << peer;
      }
      for (const std::size_t peer : usual_peers(rank, size)) {
        EXPECT_TRUE(peer < size && usual_peers(peer, size).contains(rank)) << rank << " and " << peer;
      }
    }
  }
}

TEST(TcpNeighbours, LeadToTheLowestRankWhoeverHasLeft) {
  for (std::size_t size = 2; size <= 40; ++size) {
    for (std::size_t gone = 0; gone <= size; ++gone) {
      const auto has_left = [&](std::size_t rank) { return rank == gone; };
      for (std::size_t rank = 0; rank < size; ++rank) {
        if (has_left(rank)) continue;
        std::size_t root = rank;
        while (const auto up = parent_of(root, size, has_left)) {
          ASSERT_LT(*up, root);
          ASSERT_TRUE(neighbours(root, size).contains(*up));
          root = *up;
        }
        EXPECT_EQ(root, gone == 0 ? 1U : 0U) << "rank " << rank << " of " << size << " without " << gone;
      }
    }
  }
}

// ---- connections --------------------------------------------------------------------------------------------------

// A machine that takes no connection and does not say so either: its queue is full.
struct Silence {
  Silence() {
    listener = open_listener(resolve("127.0.0.1", 0).addresses.front(), 0).socket;
    address = Address::local_of(listener.get());
    for (;;) {
      Opened opened = open_connection(address, {}, Clock::now() + 300ms);
      if (!opened.socket) return;
      queue.push_back(std::move(opened.socket));
    }
  }
  core::Descriptor listener;
  Address address;
  std::vector<core::Descriptor> queue;
};

TEST(TcpConnection, ThatNobodyTakesIsGivenUpWhenItIsPointless) {
  const Silence there;
  const auto begin = Clock::now();
  int asked = 0;
  EXPECT_FALSE(open_connection(there.address, {}, begin + 20s, [&] { return ++asked == 3; }).socket);
  EXPECT_LT(Clock::now() - begin, 5s);
}

TEST(TcpConnection, ThatNobodyTakesLetsTheCallerOfAFiberGoOn) {
  const Silence there;
  const auto begin = Clock::now();
  std::function<void()> body = [&] {
    (void)open_connection(there.address, {}, begin + 500ms, [] {
      (void)core::give_way();
      return false;
    });
  };
  core::Fiber fiber;
  fiber.start([](void* argument) { (*static_cast<std::function<void()>*>(argument))(); }, &body);
  Clock::duration longest{};
  int turns = 0;
  for (; !fiber.done(); ++turns) {
    const auto resumed = Clock::now();
    fiber.resume();
    longest = std::max(longest, Clock::now() - resumed);
  }
  EXPECT_GT(turns, 10);
  EXPECT_LT(longest, 400ms);
}

// ---- control links ------------------------------------------------------------------------------------------------

struct Connection {
  Connection() {
    Opened listener = open_listener(resolve("127.0.0.1", 0).addresses.front(), 1);
    const Address there = Address::local_of(listener.socket.get());
    Opened opened = open_connection(there, {}, Clock::now() + 5s);
    near = std::move(opened.socket);
    far = core::Descriptor(accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  }
  core::Descriptor near;
  core::Descriptor far;
};

// The reader is behind, so that much of it is still with the sender; and something that nobody has read lies there too,
// because of which a mere close would throw away the rest.
TEST(TcpControlLink, HasSaidItsLastWordsBeforeItEnds) {
  Connection connection;
  constexpr std::size_t lines = 4000;  // more than the kernel takes before anybody reads
  std::size_t heard = 0;
  std::optional<NoticeKind> last;
  ControlLink reader(std::move(connection.far), 1);
  reader.send(notice(NoticeKind::Alive, Alive{}));
  {
    ControlLink speaker(std::move(connection.near), 0);
    for (std::size_t i = 0; i < lines; ++i) speaker.send(notice(NoticeKind::Warning, Warning{}));
    speaker.send(notice(NoticeKind::Verdict, Verdict{}));
    EXPECT_FALSE(speaker.parted());
    const auto deadline = Clock::now() + 10s;
    const auto hear = [&] {
      reader.receive([&](NoticeKind kind, auto, auto) {
        ++heard;
        last = kind;
      });
    };
    while (!speaker.parted() && Clock::now() < deadline) hear();
    EXPECT_LT(Clock::now(), deadline);
    while (!reader.lost() && Clock::now() < deadline) hear();
  }
  EXPECT_EQ(heard, lines + 1);
  EXPECT_EQ(last, NoticeKind::Verdict);
}

TEST(TcpControlLink, IsNotHeldUpByAPeerThatIsStopped) {
  Connection connection;
  ControlLink speaker(std::move(connection.near), 0);
  speaker.send(notice(NoticeKind::Verdict, Verdict{}));
  const auto deadline = Clock::now() + 10s;
  while (!speaker.parted() && Clock::now() < deadline) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(speaker.parted());  // nobody has read it, but its kernel has it
}

TEST(TcpControlLink, IsNotLostForAPeerThatReadsNothing) {
  Connection connection;
  ControlLink speaker(std::move(connection.near), 0);
  speaker.look_at_machine(Clock::now(), false, 100ms);
  for (int i = 0; i < 20; ++i) {
    speaker.send(notice(NoticeKind::Alive, Alive{}));
    std::this_thread::sleep_for(10ms);
    speaker.look_at_machine(Clock::now(), false, 100ms);
  }
  EXPECT_FALSE(speaker.lost());
}

// ---- hosts --------------------------------------------------------------------------------------------------------

Hosts hosts_of(const std::vector<int>& host_of, std::size_t rank) {
  std::vector<Member> members(host_of.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].rank = static_cast<std::uint32_t>(i);
    members[i].host[0] = static_cast<std::uint8_t>(host_of[i]);
    members[i].shares_memory = 1;
    members[i].cpu_quota = 8;
    members[i].cpus[0] = std::uint64_t{1} << i % 64;
  }
  return find_hosts(members, rank);
}

TEST(TcpHosts, AreOneRankEachWhereTheyFormWholeBranchesOfTheTree) {
  EXPECT_EQ(hosts_of({0, 0, 1, 1, 2, 2}, 3).step, 2U);
  EXPECT_EQ(hosts_of({0, 0, 0, 0, 1, 1, 1, 1, 2}, 3).step, 4U);  // the last may have fewer
  EXPECT_EQ(hosts_of({0, 0, 0, 1, 1, 1}, 3).step, 1U);           // three ranks are no branch
  EXPECT_EQ(hosts_of({0, 1, 0, 1}, 3).step, 1U);
  EXPECT_EQ(hosts_of({0, 0, 1, 1, 1, 1}, 3).step, 1U);
  const Hosts hosts = hosts_of({0, 0, 1, 1}, 3);
  EXPECT_EQ(hosts.own, 1U);
  EXPECT_EQ(hosts.place, 1U);
  EXPECT_EQ(hosts.cpus, 2U);
}

TEST(TcpHosts, HaveOneRankThatSpeaksForThemWhereverTheirRanksAre) {
  for (const std::vector<int>& layout :
       {std::vector{0, 0, 1, 1}, {0, 0, 0, 1, 1, 1}, {0, 1, 0, 1}, {0, 1, 1}, {0, 0}}) {
    EXPECT_TRUE(hosts_of(layout, 0).one_speaks);
  }
  EXPECT_FALSE(hosts_of({0, 1, 2}, 0).one_speaks);  // each for itself
  const Hosts hosts = hosts_of({0, 1, 0, 1, 1}, 4);
  EXPECT_EQ(hosts.place, 2U);
  EXPECT_EQ(hosts.place_of(2), 1U);
  EXPECT_EQ(hosts.place_of(1), 0U);
}

TEST(TcpHosts, KnowWhoTalksToWhomFromBothSides) {
  for (const std::vector<int>& layout :
       {std::vector{0, 0, 1, 1, 2, 2, 3, 3}, {0, 0, 0, 1, 1, 1, 2}, {0, 1, 2, 0, 1, 2, 0}, {0, 1, 2, 3, 4}}) {
    const Hosts hosts = hosts_of(layout, 0);
    for (std::size_t rank = 0; rank < layout.size(); ++rank) {
      EXPECT_FALSE(usual_peers(rank, hosts).contains(rank));
      for (const std::size_t peer : usual_peers(rank, hosts)) {
        EXPECT_TRUE(usual_peers(peer, hosts).contains(rank)) << rank << " and " << peer;
      }
    }
  }
  EXPECT_TRUE(usual_peers(1, hosts_of({0, 0, 1, 1}, 0)).empty());  // another one speaks for it
  EXPECT_TRUE(usual_peers(0, hosts_of({0, 0, 0, 1, 1, 1}, 0)).contains(3));
}

TEST(TcpHosts, WithMoreRanksThanCanShareMemoryAreManyToTheNetwork) {
  EXPECT_EQ(hosts_of(std::vector<int>(128, 0), 3).step, 128U);
  const Hosts crowded = hosts_of(std::vector<int>(256, 0), 3);
  EXPECT_FALSE(crowded.all_share);
  EXPECT_FALSE(crowded.one_speaks);
  EXPECT_EQ(crowded.step, 1U);
}

}  // namespace
