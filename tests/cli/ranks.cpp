// A program for the launcher to run: does what its arguments say.
//
//   sum                    allreduce over all ranks; every rank prints the result
//   echo                   rank 0 prints what it reads; the others what they read, which is nothing
//   fail CODE RANK         that rank ends with the code after a barrier; the others wait for it in a barrier
//   kill SIGNAL RANK       that rank kills itself inside an allreduce of the others
//   throw RANK             that rank throws
//   stuck RANK             that rank says so and never joins the allreduce of the others
//   recv RANK              that rank says so and waits for a message with tag 7 that rank 0 never sends
//   send RANK              that rank says so and sends a long one with tag 8 to rank 0, which never takes it
//   part HOW WHAT RANK     all make a communicator of the first one (split in reversed order, nested, duplicate, node,
//   local)
//                          and meet there; then that rank says so, and waits there for rank 0, which waits for it in
//                          the first one: in barrier, allreduce, broadcast or recv; or it sleeps between two operations
//   gone RANK              likewise, but that rank lets its communicator go, and sleeps
//   aside RANK             that rank starts an allreduce that nobody joins, says so and sleeps
//   many COUNT RANK        all make so many communicators; that rank says so, and waits for rank 0 in the last one
//   shout LINES BYTES      every rank prints so many lines of so many bytes, in pieces, to both streams
//   spawn                  every rank starts a process that sleeps, and waits for it
//   deaf                   every rank ignores the signals that ask it to end
//   signal                 every rank waits for SIGUSR1 and prints that it came
#include <cobre/comm.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using cobre::comm::ReduceOp;

volatile std::sig_atomic_t seen = 0;

void sleep_for_ever() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void write_all(int stream, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(stream, text.data() + done, text.size() - done);
    if (count < 0) std::_Exit(9);
    done += static_cast<std::size_t>(count);
  }
}

template <class Comm>
void shout(const Comm& comm, std::size_t lines, std::size_t bytes) {
  const std::string half(bytes / 2, static_cast<char>('a' + comm.rank() % 26));
  for (std::size_t line = 0; line < lines; ++line) {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      write_all(stream, half);
      write_all(stream, half + "\n");
    }
  }
}

void say(const char* word) {
  std::printf("%s\n", word);
  std::fflush(stdout);
}

/// The chosen one says so and waits in `part`; rank 0 waits for it in the first communicator.
template <class Comm, class Part>
void stay_in(const Part& part, const Comm& comm, const std::string& what, bool mine) {
  part.barrier();
  if (mine) say("there");
  if (what == "between") {
    if (mine) sleep_for_ever();
  } else if (comm.rank() != 0) {
    if constexpr (requires { part.allreduce(1.0, ReduceOp::Max); }) {
      if (what == "allreduce") (void)part.allreduce(1.0, ReduceOp::Max);
      std::vector<double> values(3);
      if (what == "broadcast") part.broadcast(values, 1);
      if (what == "recv" && mine) (void)part.channel(part.size() - 1, 7).template recv<double>();
    }
    if (what == "barrier") part.barrier();
  }
  comm.barrier();
}

template <class Comm>
void make_part(const Comm& comm, const std::string& how, const std::string& what, bool mine) {
  const auto number = static_cast<int>(comm.rank());
  if (how == "split") {
    stay_in(comm.split(number % 2, -number).value(), comm, what, mine);
  } else if (how == "nested") {
    const auto outer = comm.split(0, -number);
    const auto color = static_cast<int>(outer.value().rank() % 2);
    stay_in(outer.value().split(color).value(), comm, what, mine);
  } else if (how == "duplicate") {
    stay_in(comm.duplicate(), comm, what, mine);
  } else if (how == "node") {
    stay_in(comm.node(), comm, what, mine);
  } else {
    stay_in(*comm.split_local(), comm, what, mine);
  }
}

template <class Comm>
void start_aside(const Comm& comm, bool mine) {
  double value = 1;
  const auto begin = [&] { return comm.iallreduce_inplace(std::span(&value, 1), ReduceOp::Sum); };
  // All communicators that the operations go round in: those are made by all ranks together.
  for (int round = 0; round < 8; ++round) begin().wait();
  comm.barrier();
  if (mine) {
    const auto request = begin();
    say("there");
    sleep_for_ever();
  }
  comm.barrier();
}

template <class Comm>
int act(const Comm& comm, const std::vector<std::string>& words) {
  const std::size_t chosen = words.size() > 1 ? std::stoul(words.back()) : 0;
  const bool mine = comm.rank() == chosen;
  const std::string& what = words.at(0);
  if (what == "sum") {
    const auto total = comm.allreduce(comm.rank() + 1, ReduceOp::Sum);
    std::printf("rank %zu of %zu: %zu\n", comm.rank(), comm.size(), total);
  } else if (what == "echo") {
    for (std::string line; std::getline(std::cin, line);) std::printf("rank %zu read %s\n", comm.rank(), line.c_str());
    comm.barrier();
  } else if (what == "fail") {
    comm.barrier();
    if (mine) std::_Exit(std::stoi(words.at(1)));
    comm.barrier();
  } else if (what == "kill") {
    comm.barrier();
    if (mine) (void)raise(std::stoi(words.at(1)));
    (void)comm.allreduce(1.0, ReduceOp::Sum);
  } else if (what == "throw") {
    if (mine) throw std::runtime_error("the sky fell");
    comm.barrier();
  } else if (what == "stuck") {
    comm.barrier();
    if (mine) {
      std::printf("stuck\n");  // by now all ranks are one group
      std::fflush(stdout);
      sleep_for_ever();
    }
    (void)comm.allreduce(1.0, ReduceOp::Max);
  } else if (what == "recv" || what == "send") {
    comm.barrier();
    if (mine) {
      std::printf("%s\n", what.c_str());
      std::fflush(stdout);
      if (what == "recv") (void)comm.template recv<double>(0, 7);
      if (what == "send") comm.send(std::vector<double>(1 << 22), 0, 8);
    }
    comm.barrier();
  } else if (what == "part") {
    make_part(comm, words.at(1), words.at(2), mine);
  } else if (what == "gone") {
    comm.duplicate().barrier();
    if (mine) {
      say("there");
      sleep_for_ever();
    }
    comm.barrier();
  } else if (what == "aside") {
    start_aside(comm, mine);
  } else if (what == "many") {
    std::vector<Comm> parts;
    for (unsigned long i = std::stoul(words.at(1)); i > 0; --i) parts.push_back(comm.duplicate());
    stay_in(parts.back(), comm, "barrier", mine);
  } else if (what == "shout") {
    shout(comm, std::stoul(words.at(1)), std::stoul(words.at(2)));
  } else if (what == "spawn") {
    const pid_t child = fork();
    if (child == 0) sleep_for_ever();
    std::printf("started %d\n", static_cast<int>(child));
    std::fflush(stdout);
    sleep_for_ever();
  } else if (what == "deaf") {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
    comm.barrier();
    std::printf("deaf %d\n", static_cast<int>(getpid()));
    std::fflush(stdout);
    if (words.size() > 1 && mine) return 5;
    sleep_for_ever();
  } else if (what == "signal") {
    std::signal(SIGUSR1, [](int) { seen = 1; });
    comm.barrier();
    std::printf("ready\n");
    std::fflush(stdout);
    while (seen == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::printf("rank %zu got it\n", comm.rank());
  } else {
    return 99;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return cobre::comm::run([&](const auto& comm) { return act(comm, words); });
}
