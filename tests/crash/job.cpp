#include "crash/job.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <sstream>

#include "crash/rank.hpp"

namespace crash {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_job = 15s;       // hangs, beyond
constexpr auto longest_detection = 1s;  // of a rank that is known to the others, with far more ranks than cores
constexpr auto longest_coming = 5s;     // of one that fell before: the time for coming, and for telling
constexpr auto longest_between_looks = 1s;
constexpr auto stopped_for = 3ms;
constexpr auto too_late = "took too long";

}  // namespace

const char* to_string(Setup setup) {
  switch (setup) {
    case Setup::Shm: return "shm";
    case Setup::ShmThroughBuffers: return "shm through buffers";
    case Setup::Tcp: return "tcp";
    case Setup::TcpSharingMemory: return "tcp sharing memory";
    case Setup::TcpOnTwoHosts: return "tcp on two hosts";
  }
  return "?";
}

const char* to_string(Action action) {
  switch (action) {
    case Action::Kill: return "killed";
    case Action::StopAndGoOn: return "stopped and continued";
    case Action::Exit: return "exits";
    case Action::ExitInSteps: return "exits, its descriptors first,";
    case Action::Throw: return "throws";
    case Action::ThrowAndStay: return "throws and lives on";
    case Action::KillFromOutside: return "killed from outside";
    case Action::None: return "nothing happens";
  }
  return "?";
}

std::string Plan::text() const {
  std::ostringstream text;
  text << to_string(setup) << ", rank " << victim << " of " << size << " " << to_string(action);
  if (point != nullptr) text << " in " << step_name(step) << " at " << point->name() << ", visit " << visit;
  if (action == Action::KillFromOutside)
    text << " after " << delay.count() << " us" << (once_begun ? " of the program" : "");
  return text.str();
}

Job::Job(const Plan& plan)
    : plan_(plan),
      board_owner_(std::make_shared<test::Shared<Board>>()),
      board_(&**board_owner_),
      name_(test::unique_name()),
      ranks_(plan.size),
      begun_(Clock::now()) {
  std::fflush(nullptr);
  for (std::size_t rank = 0; rank < plan_.size; ++rank) {
    ranks_[rank].pid = fork();
    if (ranks_[rank].pid == 0) live(plan_, name_, rank, *board_);
  }
}

bool Job::advance() {
  const auto now = Clock::now();
  // Where nobody looked for so long, this process was stopped, or the whole machine: that is no time that ranks took.
  if (now - looked_ > longest_between_looks) {
    begun_ += now - looked_;
    paused_ = true;
  }
  looked_ = now;
  const auto waited = now - begun_;
  Rank& victim = ranks_[plan_.victim];
  if (!in_program_ && board_->step[plan_.victim] > 0) in_program_ = now;
  const auto lived = !plan_.once_begun ? waited : in_program_ ? now - *in_program_ : Clock::duration::min();
  if (plan_.action == Action::KillFromOutside && !killed_ && lived >= plan_.delay) {
    board_->fell = Clock::now().time_since_epoch().count();
    kill(victim.pid, SIGKILL);
    killed_ = true;
  }
  if (stopped_ && Clock::now() - *stopped_ >= stopped_for) {
    kill(victim.pid, SIGCONT);
    stopped_.reset();
  }
  if (waited >= longest_job && !hung_) {
    hung_ = true;
    for (const Rank& rank : ranks_) {
      if (!rank.status) kill(rank.pid, SIGKILL);
    }
  }
  bool over = true;
  for (Rank& rank : ranks_) {
    int status = 0;
    if (!rank.status && waitpid(rank.pid, &status, WNOHANG | WUNTRACED) == rank.pid) {
      if (WIFSTOPPED(status)) {
        stopped_ = Clock::now();
      } else {
        rank.status = status;
      }
    }
    over = over && rank.status.has_value();
  }
  return over;
}

int Job::signal_of_victim() const {
  const int status = *ranks_[plan_.victim].status;
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
int Job::exit_code_of_victim() const {
  const int status = *ranks_[plan_.victim].status;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string Job::problem_of_victim() const {
  const Report& report = board_->reports[plan_.victim];
  switch (plan_.action) {
    case Action::Kill:
    case Action::KillFromOutside: return signal_of_victim() == SIGKILL ? "" : "the victim was not killed";
    case Action::Exit:
    case Action::ExitInSteps: return exit_code_of_victim() == code_of_exit ? "" : "the victim did not exit";
    case Action::Throw:
    case Action::ThrowAndStay: {
      // A destructor that throws ends the process.
      if (std::string_view(plan_.point->name()).find(".depart.") != std::string_view::npos)
        return signal_of_victim() == SIGABRT ? "" : "no end";
      const bool told = exit_code_of_victim() == 0 && report.ending == Ending::Threw;
      if (!told) return std::string("the victim ended otherwise: ") + report.words;
      return report.left_something ? "the victim left something behind" : "";
    }
    case Action::StopAndGoOn:
    case Action::None: return "";
  }
  return "";
}

std::string Job::problem_of(std::size_t rank) const {
  const int status = *ranks_[rank].status;
  const Report& report = board_->reports[rank];
  std::ostringstream problem;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    problem << "ended with status " << status << " in " << step_name(board_->step[rank]);
    return problem.str();
  }
  if (report.left_something) problem << "left something behind; ";
  const std::string said = std::string(" (") + report.words + ")";
  if (!lethal() || !fell()) {
    if (report.ending != Ending::Fine) problem << "failed" << said;
    return problem.str();
  }
  const bool at_start = plan_.action == Action::KillFromOutside ? board_->step[rank] == 0 : plan_.step == 0;
  const bool at_end = plan_.action != Action::KillFromOutside && plan_.step >= last_collective();
  const auto took = Clock::duration(report.at - board_->fell);
  switch (report.ending) {
    case Ending::Fine:
      if (!at_end) problem << "noticed nothing";
      break;
    case Ending::PeerFailed:
      if (report.named != plan_.victim) problem << "names rank " << report.named << said;
      if (report.signal != 0 && report.signal != signal_of_victim()) problem << "names signal " << report.signal;
      if (report.exit_code >= 0 && report.exit_code != exit_code_of_victim()) {
        problem << "names exit code " << report.exit_code;
      }
      if (took > (at_start ? longest_coming : longest_detection)) problem << too_late;
      break;
    case Ending::InitializationFailed: {
      // Before it was known, it is one that did not come.
      const bool named = said.find("rank " + std::to_string(plan_.victim)) != std::string::npos;
      if (!at_start || !named) problem << "failed otherwise" << said;
      if (took > longest_coming) problem << too_late;
      break;
    }
    case Ending::Other: {
      // Who throws while it sends has given up that message; its receiver is told so.
      const std::string gave_up = "rank " + std::to_string(plan_.victim) + " gave up a message half-way";
      if (plan_.action != Action::Throw || said.find(gave_up) == std::string::npos)
        problem << "failed otherwise" << said;
      break;
    }
    case Ending::None:
    case Ending::Threw: problem << "failed otherwise" << said; break;
  }
  return problem.str();
}

std::string Job::problem_at(std::size_t rank) const {
  const bool is_victim = rank == plan_.victim && lethal() && fell();
  return is_victim ? problem_of_victim() : problem_of(rank);
}

bool Job::was_only_late() const {
  if (hung_) return false;
  bool late = false;
  for (std::size_t rank = 0; rank < plan_.size; ++rank) {
    const std::string problem = problem_at(rank);
    if (!problem.empty() && problem != too_late) return false;
    late = late || !problem.empty();
  }
  return late;
}

std::string Job::problems() const {
  std::ostringstream text;
  if (hung_) {
    text << "hangs:";
    for (std::size_t rank = 0; rank < plan_.size; ++rank) {
      const bool reported = board_->reports[rank].ending != Ending::None;
      text << " rank " << rank << (reported ? " over after " : " in ") << step_name(board_->step[rank]) << ";";
    }
    return plan_.text() + ": " + text.str();
  }
  for (std::size_t rank = 0; rank < plan_.size; ++rank) {
    const std::string problem = problem_at(rank);
    if (!problem.empty()) text << " rank " << rank << " " << problem << ";";
  }
  return text.str().empty() ? "" : plan_.text() + ":" + text.str();
}

std::vector<Clock::duration> Job::detection_times() const {
  std::vector<Clock::duration> times;
  if (paused_) return times;
  for (std::size_t rank = 0; rank < plan_.size; ++rank) {
    const Report& report = board_->reports[rank];
    if (rank != plan_.victim && report.ending == Ending::PeerFailed) {
      times.emplace_back(Clock::duration(report.at - board_->fell));
    }
  }
  return times;
}

}  // namespace crash
