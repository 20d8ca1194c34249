#include "trial.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>

#include "comm/core/descriptor.hpp"
#include "comm/core/format.hpp"
#include "run/spawn.hpp"

namespace cobre::command::bench {
namespace {

using Clock = std::chrono::steady_clock;
using comm::core::Descriptor;

// How long what was asked to end may take, before it is ended. Launchers end their ranks first.
constexpr std::chrono::milliseconds grace{2000};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  // Whether there may be more.
  [[nodiscard]] bool take(std::string& text) const {
    std::array<char, 4096> part{};
    const ssize_t count = ::read(read.get(), part.data(), part.size());
    if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }
  Descriptor read, write;
};

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left, 0, 3'600'000));
}

// The line that tells most: a program of ours says what is wrong in one; launchers add theirs around it.
std::string telling_line(const std::string& text) {
  std::string first;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find("wrong data") != std::string::npos) return line;
    if (first.empty() && line.find_first_not_of(" -\t") != std::string::npos) first = line;
    begin = end + 1;
  }
  return first;
}

std::string ending_of(int status, const std::string& errors) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  const std::string how = WIFSIGNALED(status) ? comm::core::format("was killed by signal {}", WTERMSIG(status))
                                              : comm::core::format("ended with code {}", WEXITSTATUS(status));
  const std::string line = telling_line(errors);
  return line.empty() ? how : how + ": " + line;
}

}  // namespace

void Stage::heed_signals() {
  for (const int signal : signals_.take()) {
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) interrupted_ = true;
    if (signal == SIGTSTP) (void)raise(SIGSTOP);
  }
}

Outcome Stage::run(const Trial& trial) {
  Outcome outcome;
  heed_signals();
  if (interrupted_) return {"", "interrupted"};
  Pipe output, errors, reports;
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  RankStart start;
  start.program = trial.command.front();
  start.arguments = trial.command;
  start.environment = trial.environment;
  start.input = nothing.get();
  start.output = output.write.get();
  start.errors = errors.write.get();
  start.signals = signals_.original_mask();
  const pid_t child = spawn(start, reports.write.get());
  // The pipes end when the last that was started has ended; ours would keep them open.
  output.write = Descriptor();
  errors.write = Descriptor();

  std::string error_text;
  std::optional<Clock::time_point> asked_at;
  const auto deadline = Clock::now() + trial.limit;
  bool late = false;
  for (bool more_output = true, more_errors = true; more_output || more_errors;) {
    std::array<pollfd, 3> sources{pollfd{more_output ? output.read.get() : -1, POLLIN, 0},
                                  pollfd{more_errors ? errors.read.get() : -1, POLLIN, 0},
                                  pollfd{signals_.descriptor(), POLLIN, 0}};
    // Asleep until something happens: who wakes up now and then is part of what is measured.
    (void)poll(sources.data(), sources.size(), milliseconds_until(asked_at ? *asked_at + grace : deadline));
    if (sources[0].revents != 0) more_output = output.take(outcome.output);
    if (sources[1].revents != 0) more_errors = errors.take(error_text);
    heed_signals();
    late = late || Clock::now() > deadline;
    if ((interrupted_ || late) && !asked_at) {
      (void)kill(-child, SIGTERM);
      asked_at = Clock::now();
    }
    if (asked_at && Clock::now() > *asked_at + grace) {
      (void)kill(-child, SIGKILL);
      break;  // somebody may hold the pipes open whom we do not know
    }
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (interrupted_) {
    outcome.problem = "interrupted";
  } else if (late) {
    outcome.problem = comm::core::format("took longer than {} s", trial.limit.count() / 1000);
  } else {
    outcome.problem = ending_of(status, error_text);
  }
  return outcome;
}

}  // namespace cobre::command::bench
