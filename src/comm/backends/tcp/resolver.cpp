#include "comm/backends/tcp/resolver.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>

#include <csignal>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

namespace cobre::comm::tcp {
namespace {

// An address needs no resolver; one with an interface behind it needs the list of those, which is here too.
bool is_address(const std::string& host) {
  in6_addr any{};
  const std::string bytes = host.substr(0, host.find('%'));
  return inet_pton(AF_INET, host.c_str(), &any) == 1 || inet_pton(AF_INET6, bytes.c_str(), &any) == 1;
}

}  // namespace

Resolution resolve_by(const std::string& host, std::uint16_t port, std::chrono::steady_clock::time_point deadline) {
  if (is_address(host)) return resolve(host, port);
  std::packaged_task<Resolution()> asking([host, port] { return resolve(host, port); });
  std::future<Resolution> answer = asking.get_future();
  // Whatever the program does on a signal shall not happen in a thread that it does not know of.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(std::move(asking)).detach();
  } catch (const std::system_error&) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return resolve(host, port);  // no room for a thread: late is better than never
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (answer.wait_until(deadline) == std::future_status::ready) return answer.get();
  return {{}, "the resolver did not answer in time", true};
}

}  // namespace cobre::comm::tcp
