// What the hardware does on this machine, beside which the collectives stand: `limits <bytes>[,<bytes>…]`. Each line is
// a name, a size and the microseconds of the best run:
//
//   flag_exchange 0      two cores tell each other something
//   line_handover 0      one core hands a cache line to another, one line after the other
//   memcpy, add, readv   one core copies, adds two arrays, copies out of another process
//   loopback 8           a few bytes through TCP to another process, half of the way there and back
//   loopback_stream      messages through TCP, one after the other without an answer

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <sstream>

#include "sampling.hpp"

namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

template <class Body>
double best_of(int repeats, int calls, Body&& body) {
  body();
  double best = 1e300;
  for (int r = 0; r < repeats; ++r) {
    const double begin = bench::now();
    for (int i = 0; i < calls; ++i) body();
    best = std::min(best, (bench::now() - begin) / calls);
  }
  return best;
}

/// Runs the two in two processes on two cores; returns what the first returns.
template <class First, class Second>
double together(First&& first, Second&& second) {
  const auto before = bench::allowed_cpus();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) give_up("fork");
  bench::pin(child == 0 ? 1 : 0, 2);
  if (child == 0) {
    // Nobody would answer it any more, and it asks for ever.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
    second();
    _exit(0);
  }
  const double result = first(child);
  (void)waitpid(child, nullptr, 0);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const int cpu : before) CPU_SET(cpu, &all);
  (void)sched_setaffinity(0, sizeof all, &all);
  return result;
}

struct alignas(128) Flag {
  std::atomic<unsigned long> value;
};

// The best of many stretches: what disturbs a machine is not a limit of it.
constexpr unsigned long stretch = 5'000;
constexpr unsigned long rounds = 60 * stretch;

struct Board {
  std::array<Flag, 2> flags;
  std::array<Flag, 64> ring;
  Flag taken;
  Flag last;  // the step after which both end
};

Board& board() {
  void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) give_up("mmap");
  auto* const made = new (memory) Board();
  made->last.value.store(rounds, std::memory_order_relaxed);  // before there is another process
  return *made;
}

/// Whether it took so long that the core was left to others meanwhile.
bool await(const Flag& flag, unsigned long value) {
  // Acquire pairs with the release of whoever writes it: the order that a collective needs, and pays for.
  for (bool long_ago = false;; long_ago = true) {
    for (int spins = 0; spins < 10'000; ++spins) {
      if (flag.value.load(std::memory_order_acquire) >= value) return long_ago;
    }
    (void)sched_yield();
  }
}

// `step(i)` tells what await() did. On cores that others want as well, two processes seldom run at once, and a step
// takes as long as the scheduler likes: then what was seen so far has to do.
template <class Step>
double best_stretch(Flag& last, const Step& step) {
  constexpr double patience = 300'000;
  const double start = bench::now();
  double best = 1e300;
  bool late = false;
  unsigned long i = 1;
  while (i <= rounds && !late) {
    const double begin = bench::now();
    for (const unsigned long end = i + stretch; i < end && !late; ++i)
      late = step(i) && bench::now() - start > patience;
    if (!late) best = std::min(best, (bench::now() - begin) / stretch);
  }
  if (i <= rounds) {
    // Relaxed: the other reads it after its acquire of what the next step releases.
    last.value.store(i, std::memory_order_relaxed);
    (void)step(i);
  }
  return best < 1e300 ? best : (bench::now() - start) / static_cast<double>(i);
}

double flag_exchange() {
  Board& shared = board();
  const auto exchange = [&](std::size_t own, unsigned long i) {
    // Release, as the data of a message would need; pairs with the acquire above.
    shared.flags[own].value.store(i, std::memory_order_release);
    return await(shared.flags[1 - own], i);
  };
  return together([&](pid_t) { return best_stretch(shared.last, [&](unsigned long i) { return exchange(0, i); }); },
                  [&] {
                    for (unsigned long i = 1; i <= shared.last.value.load(std::memory_order_relaxed); ++i) {
                      (void)exchange(1, i);
                    }
                  });
}

double line_handover() {
  Board& shared = board();
  const std::size_t places = shared.ring.size();
  return together(
      [&](pid_t) {
        return best_stretch(shared.last, [&](unsigned long i) {
          // The reader tells only now and then.
          const bool long_ago = i > places && await(shared.taken, i - places);
          shared.ring[i % places].value.store(i, std::memory_order_release);
          return long_ago;
        });
      },
      [&] {
        for (unsigned long i = 1; i <= shared.last.value.load(std::memory_order_relaxed); ++i) {
          (void)await(shared.ring[i % places], i);
          if (i % (places / 4) == 0) shared.taken.value.store(i, std::memory_order_release);
        }
      });
}

int calls_for(std::size_t bytes) {
  return bytes > 10'000'000 ? 3 : bytes > 1'000'000 ? 20 : bytes > 65'536 ? 200 : 2000;
}

double copy_from_another_process(std::vector<double>& from, std::vector<double>& to, std::size_t bytes) {
  std::array<int, 2> ready{}, over{};
  if (pipe(ready.data()) != 0 || pipe(over.data()) != 0) give_up("pipe");
  char token = 0;
  const double best = together(
      [&](pid_t other) {
        (void)close(over[0]);
        if (read(ready[0], &token, 1) != 1) give_up("read");
        const iovec local{to.data(), bytes};
        const iovec remote{from.data(), bytes};
        const double time = best_of(5, calls_for(bytes), [&] {
          // Where the kernel forbids it, there is no such limit.
          (void)!process_vm_readv(other, &local, 1, &remote, 1, 0);
        });
        const bool allowed = process_vm_readv(other, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
        (void)close(over[1]);
        return allowed ? time : 0.0;
      },
      [&] {
        (void)close(over[1]);
        std::fill(from.begin(), from.end(), 3.0);
        if (write(ready[1], &token, 1) != 1) _exit(1);
        (void)!read(over[0], &token, 1);  // until the other closes its end
      });
  for (const int descriptor : {ready[0], ready[1]}) (void)close(descriptor);
  return best;
}

void memory(std::size_t bytes) {
  std::vector<double> a(bytes / sizeof(double), 1.0), b(a.size(), 2.0), c(a.size(), 0.0);
  const int calls = calls_for(bytes);
  bench::report("memcpy", bytes, {best_of(5, calls, [&] {
                  std::memcpy(c.data(), a.data(), bytes);
                  asm volatile("" ::"r"(c.data()) : "memory");
                })});
  bench::report("add", bytes, {best_of(5, calls, [&] {
                  for (std::size_t i = 0; i < a.size(); ++i) c[i] = a[i] + b[i];
                  asm volatile("" ::"r"(c.data()) : "memory");
                })});
  if (const double time = copy_from_another_process(a, c, bytes); time > 0) bench::report("readv", bytes, {time});
}

// Two connected sockets.
std::array<int, 2> connection() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const int near = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, any, length) != 0 || listen(listener, 1) != 0 || getsockname(listener, any, &length) != 0 ||
      connect(near, any, length) != 0) {
    give_up("loopback");
  }
  const int far = accept(listener, nullptr, nullptr);
  if (far < 0) give_up("accept");
  (void)close(listener);
  const int on = 1;
  for (const int end : {near, far}) (void)setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {near, far};
}

// Asking again and again, or left to the kernel: the one is sooner told of a few bytes, the other does not disturb who
// is still sending many.
enum class Waits { Asking, Asleep };

void send_all(int socket, const std::vector<char>& data, Waits waits) {
  const int how = (waits == Waits::Asking ? MSG_DONTWAIT : 0) | MSG_NOSIGNAL;
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t part = send(socket, data.data() + done, data.size() - done, how);
    if (part < 0 && errno != EAGAIN) give_up("send");
    if (part > 0) done += static_cast<std::size_t>(part);
  }
}

void receive_all(int socket, std::vector<char>& data, Waits waits) {
  const int how = waits == Waits::Asking ? MSG_DONTWAIT : MSG_WAITALL;
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t part = recv(socket, data.data() + done, data.size() - done, how);
    if (part == 0 || (part < 0 && errno != EAGAIN)) give_up("recv");
    if (part > 0) done += static_cast<std::size_t>(part);
  }
}

constexpr int repeats = 5;

double there_and_back(std::size_t bytes) {
  const auto ends = connection();
  std::vector<char> data(bytes);
  constexpr int calls = 500;
  const double time = together(
      [&](pid_t) {
        return best_of(repeats * calls, 1, [&] {
          send_all(ends[0], data, Waits::Asking);
          receive_all(ends[0], data, Waits::Asking);
        });
      },
      [&] {
        for (int i = 0; i < repeats * calls + 1; ++i) {
          receive_all(ends[1], data, Waits::Asking);
          send_all(ends[1], data, Waits::Asking);
        }
      });
  for (const int end : ends) (void)close(end);
  return time;
}

// How much may be on its way: whatever the kernel likes, or what a cache holds.
enum class OnTheWay { Any, Little };

double one_after_the_other(std::size_t bytes, Waits waits, OnTheWay on_the_way) {
  const auto ends = connection();
  const int little = 256 << 10;
  if (on_the_way == OnTheWay::Little) (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
  std::vector<char> data(bytes);
  std::vector<char> answer(1);
  const int calls = std::clamp(static_cast<int>((std::size_t{16} << 20) / bytes), 2, 2000);
  const double time = together(
      [&](pid_t) {
        return best_of(repeats, 1, [&] {
          for (int i = 0; i < calls; ++i) send_all(ends[0], data, waits);
          receive_all(ends[0], answer, waits);
        });
      },
      [&] {
        for (int i = 0; i < repeats + 1; ++i) {
          for (int k = 0; k < calls; ++k) receive_all(ends[1], data, waits);
          send_all(ends[1], answer, waits);
        }
      });
  for (const int end : ends) (void)close(end);
  return time / calls;
}

}  // namespace

int main(int argc, char** argv) {
  bench::report("flag_exchange", 0, {flag_exchange()});
  bench::report("line_handover", 0, {line_handover()});
  bench::report("loopback", 8, {there_and_back(8) / 2});
  std::istringstream sizes(argc > 1 ? argv[1] : "");
  for (std::string size; std::getline(sizes, size, ',');) {
    const std::size_t bytes = std::max<std::size_t>(std::stoul(size), sizeof(double));
    memory(bytes);
    double stream = std::numeric_limits<double>::max();
    for (const Waits waits : {Waits::Asking, Waits::Asleep}) {
      for (const OnTheWay on_the_way : {OnTheWay::Any, OnTheWay::Little}) {
        stream = std::min(stream, one_after_the_other(bytes, waits, on_the_way));
      }
    }
    bench::report("loopback_stream", bytes, {stream});
  }
}
