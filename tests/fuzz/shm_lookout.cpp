#include "shm_lookout.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/peers.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#include "input.hpp"
#include "run/lookout_call.hpp"
#include "run/lookout_watch.hpp"
#include "shm_parsers.hpp"
#include "shm_saying.hpp"

namespace fuzz {
namespace {

using cobre::comm::core::Descriptor;
using cobre::command::LookoutCall;
namespace shm = cobre::comm::shm;

// Everybody has called before the lookout looks for the first time, so this is for how long it looks at what does not
// end.
constexpr auto patience = std::chrono::milliseconds(3);

void say_call(const Descriptor& line, const Caller& caller, std::size_t rank, int process) {
  const LookoutCall honest{.rank = static_cast<std::uint32_t>(rank), .ranks_on_host = group_size};
  say(line, changed(honest, caller.change), caller.cut, with_more(process, caller.more_descriptors));
  if ((caller.then & 1) != 0) (void)send(line.get(), "a", 1, MSG_NOSIGNAL);
}

/// Those that called, and the processes that died of it, until the lookout has had its look.
class Callers {
 public:
  explicit Callers(std::string name) : name_(std::move(name)) {}
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;
  ~Callers() {
    for (const pid_t process : dead_) (void)waitpid(process, nullptr, 0);
  }

  void call(const Caller& caller, std::size_t rank) {
    const auto whose = static_cast<Whose>(caller.whose % whose_count);
    if (whose == Whose::ItsOwnThatDied) return die_after_call(caller, rank);
    Descriptor line = reach();
    Descriptor process;
    if (whose == Whose::This) process = shm::open_process(getpid());
    if (whose == Whose::NoProcess) process = Descriptor(eventfd(1, EFD_CLOEXEC));
    if (whose == Whose::NothingThatCanBeWaitedFor) process = Descriptor(memfd_create("fuzz", MFD_CLOEXEC));
    say_call(line, caller, rank, process.get());
    if ((caller.then & 2) == 0) lines_.push_back(std::move(line));
  }

 private:
  [[nodiscard]] Descriptor reach() const {
    Descriptor line = shm::open_socket();
    if (shm::connect_to(line, name_) != 0) __builtin_trap();
    return line;
  }

  // By a signal, or with a code where the input says that it hangs up.
  void die_after_call(const Caller& caller, std::size_t rank) {
    const pid_t process = fork();
    if (process < 0) __builtin_trap();
    if (process == 0) {
      say_call(reach(), caller, rank, shm::open_process(getpid()).get());
      if ((caller.then & 2) == 0) (void)raise(SIGKILL);
      _exit(3);
    }
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT) != 0) continue;
    dead_.push_back(process);
  }

  std::string name_;
  std::vector<Descriptor> lines_;
  std::vector<pid_t> dead_;
};

}  // namespace

void call_lookout(std::span<const std::byte> bytes) {
  const std::string name = shm::socket_name("fuzzed lookout of process " + std::to_string(getpid()));
  Descriptor socket = shm::open_socket();
  if (shm::bind_to(socket, name) != 0 || listen(socket.get(), most_callers) != 0) __builtin_trap();
  Callers callers(name);
  std::size_t count = 0;
  while (!bytes.empty() && count < most_callers) {
    const auto caller = take_front<Caller>(bytes);
    callers.call(caller, count++ % group_size);
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) __builtin_trap();
  const Descriptor heard(ends[0]);
  const Descriptor said(ends[1]);
  cobre::command::watch_ranks(group_size, std::move(socket), shm::open_process(getpid()),
                              std::chrono::steady_clock::now() + patience, said.get());
  std::array<char, 1000> line{};
  const ssize_t length = read(heard.get(), line.data(), line.size());
  if (length <= 0) return;
  // One line, of a rank of this job, and only where all have called.
  const std::string_view words(line.data(), static_cast<std::size_t>(length));
  constexpr std::string_view before = "cobre-comm: rank ";
  if (!words.starts_with(before) || !words.ends_with('\n') || !is_readable(words.substr(0, words.size() - 1))) {
    __builtin_trap();
  }
  const std::string_view of = words.substr(before.size() + 1);
  if (words[before.size()] < '0' || words[before.size()] > '2' || !of.starts_with(" of 3 (pid ")) __builtin_trap();
  if (count < group_size) __builtin_trap();
}

}  // namespace fuzz
