#include "spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace cobre::command {
namespace {

// Ours, with those that the rank has replaced.
std::vector<std::string> merged(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& one : added) replaced = replaced || one.starts_with(name);
    if (!replaced) all.push_back(text);
  }
  return all;
}

}  // namespace

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

pid_t spawn(const RankStart& start, int reports) {
  const auto environment = merged(start.environment);
  const auto environment_pointers = pointers(environment);
  const auto argument_pointers = pointers(start.arguments);
  const pid_t launcher = getpid();

  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid > 0) {
    (void)setpgid(pid, pid);  // both sides do it, so that it is done whoever comes first
    return pid;
  }

  (void)setpgid(0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(127);  // it died before we asked to be told
  (void)signal(SIGPIPE, SIG_DFL);
  (void)sigprocmask(SIG_SETMASK, &start.signals, nullptr);
  // dup2 clears close-on-exec, but does nothing where both are the same: then that is inherited already.
  (void)dup2(start.input, STDIN_FILENO);
  (void)dup2(start.output, STDOUT_FILENO);
  (void)dup2(start.errors, STDERR_FILENO);
  for (const int descriptor : start.inherited) (void)fcntl(descriptor, F_SETFD, 0);
  if (start.cpus) {
    (void)sched_setaffinity(0, sizeof(*start.cpus), reinterpret_cast<const cpu_set_t*>(start.cpus->data()));
  }
  (void)execve(start.program.c_str(), argument_pointers.data(), environment_pointers.data());
  const StartFailure failure{getpid(), errno};
  (void)!write(reports, &failure, sizeof failure);
  _exit(127);
}

}  // namespace cobre::command
