#include "tracer.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

std::uint64_t program_counter(pid_t child) {
  user_regs_struct registers{};
  iovec area{&registers, sizeof registers};
  if (ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &area) != 0) fail("reading the registers of the traced program");
#if defined(__x86_64__)
  return registers.rip;
#elif defined(__aarch64__)
  return registers.pc;
#else
#error "where does this processor keep the address of the next instruction?"
#endif
}

/// Waits until the child stops; false when it has exited.
bool stopped(pid_t child, int& signal) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) fail("waiting for the traced program");
  if (WIFEXITED(status)) {
    if (WEXITSTATUS(status) != 0) throw std::runtime_error("the traced program failed");
    return false;
  }
  if (WIFSIGNALED(status))
    throw std::runtime_error("the traced program died of signal " + std::to_string(WTERMSIG(status)));
  signal = WSTOPSIG(status);
  return true;
}

long count_until(pid_t child, std::uint64_t end) {
  constexpr long too_many = 1'000'000;
  long steps = 0;
  while (program_counter(child) != end) {
    if (++steps > too_many) throw std::runtime_error("a region does not end");
    int signal = 0;
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) fail("stepping");
    if (!stopped(child, signal)) throw std::runtime_error("the traced program ended inside of a region");
    if (signal != SIGTRAP) throw std::runtime_error("signal " + std::to_string(signal) + " inside of a region");
  }
  return steps;
}

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) fail("making a pipe");
  }
  ~Pipe() {
    close(ends_[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  probe::Record read_record() const {
    probe::Record record{};
    if (read(ends_[0], &record, sizeof record) != sizeof record) fail("reading from the traced program");
    return record;
  }

 private:
  int ends_[2] = {-1, -1};
};

pid_t start_traced(const std::string& program, const Pipe& output) {
  const pid_t child = fork();
  if (child < 0) fail("forking");
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    dup2(output.writer(), STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), nullptr);
    _exit(127);
  }
  int signal = 0;
  if (!stopped(child, signal)) throw std::runtime_error("cannot run " + program);
  // The child must not survive its tracer.
  if (ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL) != 0) fail("tracing");
  return child;
}

}  // namespace

std::vector<Counted> count_instructions(const std::string& program) {
  Pipe output;
  const pid_t child = start_traced(program, output);
  output.close_writer();

  std::vector<Counted> counted;
  std::uint64_t end = 0;
  long empty = -1;
  int signal = 0;
  for (;;) {
    if (ptrace(PTRACE_CONT, child, nullptr, nullptr) != 0) fail("continuing");
    if (!stopped(child, signal)) break;
    if (signal != SIGSTOP) throw std::runtime_error("unexpected signal " + std::to_string(signal));
    if (end == 0) end = output.read_record().end_address;
    const long steps = count_until(child, end);
    if (empty < 0) {
      empty = steps;  // the first region holds nothing
    }
    counted.push_back({{}, steps - empty});
  }
  for (auto& region : counted) region.record = output.read_record();
  counted.erase(counted.begin());
  return counted;
}
