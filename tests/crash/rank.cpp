#include "crash/rank.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <thread>

#include "comm/core/measured.hpp"
#include "support/cores.hpp"
#include "support/shm_ranks.hpp"
#include "support/tcp_ranks.hpp"

namespace crash {
namespace {

using namespace std::chrono_literals;

constexpr auto stay = 300ms;  // far longer than the others need to end
constexpr auto longest_courtesy = std::chrono::milliseconds(1s);

struct Thrown : std::runtime_error {
  Thrown() : std::runtime_error("thrown at a crash point") {}
};

// Of this process, which is one rank.
const Plan* plan_here = nullptr;
Board* board_here = nullptr;
std::size_t rank_here = 0;
std::atomic<std::uint32_t> visits_here{0};

Clock::rep now() {
  return Clock::now().time_since_epoch().count();
}

std::size_t number_of(const CrashPoint& point) {
  std::size_t number = 0;
  for (const CrashPoint* one = CrashPoint::first(); one != &point; one = one->next()) ++number;
  return number;
}

void fall() {
  board_here->fell = now();
  switch (plan_here->action) {
    case Action::Kill: raise(SIGKILL); break;
    case Action::StopAndGoOn: raise(SIGSTOP); break;
    case Action::Exit: _exit(code_of_exit);
    case Action::ExitInSteps:
      (void)close_range(STDERR_FILENO + 1, ~0U, 0);
      std::this_thread::sleep_for(stay);
      _exit(code_of_exit);
    case Action::Throw:
    case Action::ThrowAndStay: throw Thrown();
    case Action::KillFromOutside:
    case Action::None: break;
  }
}

// Two ranks copy the same, piece by piece, and who comes first may have taken all pieces before the other one wakes up.
// Where the giver shall fall over one, the taker lets it have that.
void let_giver_come_first(const CrashPoint& point, std::size_t step) {
  const bool takes = point.name() == std::string_view("shm.parts_open") && rank_here != plan_here->victim;
  if (!takes || step != plan_here->step || plan_here->point == nullptr) return;
  if (plan_here->point->name() != std::string_view("shm.piece_claimed")) return;
  (void)test::eventually([] { return board_here->fell != 0; }, longest_courtesy);
}

void visit(const CrashPoint& point) {
  const std::size_t step = board_here->step[rank_here];
  let_giver_come_first(point, step);
  if (plan_here->action == Action::None) ++board_here->visits.of[rank_here][step][number_of(point)];
  if (rank_here != plan_here->victim || &point != plan_here->point || step != plan_here->step) return;
  if (visits_here++ == plan_here->visit) fall();
}

// A job that nothing happens to notes what it measures; one that follows from it takes that.
void measure(std::span<std::byte> value) {
  static std::atomic<std::size_t> next{0};
  const std::size_t number = next++;
  if (number >= Measured::most_values || value.size() > Measured::most_bytes) std::abort();
  if (plan_here->action == Action::None) {
    std::ranges::copy(value, board_here->measured.values[rank_here][number].begin());
    board_here->measured.count[rank_here] = number + 1;
    board_here->measured.in_step[rank_here][board_here->step[rank_here]] = true;
  } else if (plan_here->measured != nullptr && number < plan_here->measured->count[rank_here]) {
    std::copy_n(plan_here->measured->values[rank_here][number].begin(), value.size(), value.begin());
  }
}

CommBackend come(const Plan& plan, const std::string& name, std::size_t rank) {
  // Who falls before it is known to the others is missed only when the time for coming is up.
  const bool lethal = plan.action != Action::StopAndGoOn && plan.action != Action::None;
  const bool at_start = plan.step == 0 || plan.action == Action::KillFromOutside;
  const bool over_tcp = plan.setup != Setup::Shm && plan.setup != Setup::ShmThroughBuffers;
  // Ranks that go from the network to shared memory know each other already.
  const bool known = over_tcp && plan.point != nullptr && std::string_view(plan.point->name()).starts_with("shm.");
  const auto patience = lethal && at_start && !known ? 2s : 30s;
  if (plan.setup == Setup::TcpOnTwoHosts) {
    const bool first = rank * 2 < plan.size;
    test::enter_host(first ? "first" : "second");
    if (plan.size > 3) test::keep_to_half_of_the_cores(first);  // fewer may spin: that is tried out too
  }
  if (over_tcp) {
    auto config = test::tcp_config(name, rank, plan.size);
    config.connect_timeout = patience;
    config.shared_memory = plan.setup != Setup::Tcp;
    return cobre::comm::create_communicator(config);
  }
  auto config = test::shm_config(name, rank, plan.size);
  config.connect_timeout = patience;
  config.segment_bytes = std::size_t{1} << 20;  // little to reserve: what is tested is not how long that takes
  if (plan.setup == Setup::ShmThroughBuffers) config.single_copy = cobre::comm::SingleCopy::Off;
  return cobre::comm::create_communicator(config);
}

std::size_t entries_in(const char* folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

bool maps_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:") != std::string::npos) return true;
  }
  return false;
}

void run_program(const Plan& plan, const std::string& name, std::size_t rank, std::atomic<std::size_t>& step) {
  std::optional<CommBackend> comm = come(plan, name, rank);
  do {
    for (std::size_t i = 0; i < steps().size(); ++i) {
      step = i + 1;
      steps()[i].run(*comm);
    }
  } while (plan.action == Action::KillFromOutside);
  step = tear_down();
  comm.reset();
}

void say(Report& report, const char* words) {
  std::strncpy(report.words, words, sizeof report.words - 1);
}

}  // namespace

void live(const Plan& plan, const std::string& name, std::size_t rank, Board& board) {
  plan_here = &plan;
  board_here = &board;
  rank_here = rank;
  const std::size_t descriptors = entries_in("/proc/self/fd");
  CrashPoint::on_visit(visit);
  if (plan.action != Action::KillFromOutside) {
    cobre::comm::core::on_measured = measure;  // whom that one hits measures without end
  }
  Report& report = board.reports[rank];
  Ending ending = Ending::Fine;
  try {
    run_program(plan, name, rank, board.step[rank]);
  } catch (const cobre::comm::PeerFailed& error) {
    ending = Ending::PeerFailed;
    report.named = error.rank();
    report.signal = error.signal().value_or(0);
    report.exit_code = error.exit_code().value_or(-1);
    say(report, error.what());
  } catch (const cobre::comm::InitializationFailed& error) {
    ending = Ending::InitializationFailed;
    say(report, error.what());
  } catch (const Thrown& error) {
    ending = Ending::Threw;
  } catch (const std::exception& error) {
    ending = Ending::Other;
    say(report, error.what());
  }
  report.at = now();
  report.ending = ending;
  // A thread that has been joined stands there for a moment.
  const bool alone = test::eventually([] { return entries_in("/proc/self/task") == 1; }, std::chrono::seconds(1));
  report.left_something = entries_in("/proc/self/fd") != descriptors || !alone || maps_shared_memory();
  if (ending == Ending::Threw && plan.action == Action::ThrowAndStay) std::this_thread::sleep_for(stay);
  _exit(0);
}

}  // namespace crash
