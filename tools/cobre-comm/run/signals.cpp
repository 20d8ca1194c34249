#include "signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cobre::command {

Signals::Signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD}) {
    sigaddset(&wanted, signal);
  }
  if (sigprocmask(SIG_BLOCK, &wanted, &before_) != 0) {
    throw std::system_error(errno, std::generic_category(), "sigprocmask");
  }
  (void)::signal(SIGPIPE, SIG_IGN);
  source_ = comm::core::Descriptor(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!source_) throw std::system_error(errno, std::generic_category(), "signalfd");
}

Signals::~Signals() {
  (void)sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::vector<int> Signals::take() const {
  std::vector<int> signals;
  signalfd_siginfo info{};
  while (read(source_.get(), &info, sizeof info) == sizeof info) signals.push_back(static_cast<int>(info.ssi_signo));
  return signals;
}

}  // namespace cobre::command
