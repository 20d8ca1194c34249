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
