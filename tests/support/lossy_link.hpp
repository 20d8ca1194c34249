// A second cable between two hosts of a test, on which packets get lost and take their time: a process carries them
// from one tunnel to the other.
#pragma once

#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "support/network.hpp"
#include "support/processes.hpp"

namespace test {

class LossyLink {
 public:
  struct Weather {
    double loss = 0;                    // of each packet, in each direction
    std::chrono::microseconds delay{};  // one way, and up to half as much again
    std::size_t packet_bytes = 1500;    // at most
  };

  LossyLink(const Network& network, const Weather& weather)
      : carrier_([&network, weather, ready = &*ready_, lost = &*lost_]() -> std::string {
          const std::array<int, 2> ends{open_end(network, 0, weather), open_end(network, 1, weather)};
          *ready = true;
          carry(ends, weather, *lost);
        }) {
    if (!eventually([&] { return ready_->load() || carrier_.ended(); }) || carrier_.ended()) {
      throw std::runtime_error("no tunnel: " + carrier_.words());
    }
  }

  /// How many packets were lost so far.
  [[nodiscard]] std::size_t lost() const { return *lost_; }

  /// Of that host, at this cable.
  [[nodiscard]] static std::string address(std::size_t host) { return "10.78.0." + std::to_string(host + 1); }

 private:
  struct Packet {
    Clock::time_point due;
    std::vector<char> bytes;
  };

  static int open_end(const Network& network, std::size_t host, const Weather& weather) {
    network.enter(host);
    const int tunnel = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::strcpy(request.ifr_name, "tun0");
    if (tunnel < 0 || ioctl(tunnel, TUNSETIFF, &request) != 0) throw std::runtime_error("/dev/net/tun does not open");
    // What waits for the carrier is not lost, unless the weather says so.
    const std::string command = "ip addr add " + address(host) +
                                "/24 dev tun0 && ip link set tun0 txqueuelen 10000 mtu " +
                                std::to_string(weather.packet_bytes) + " up";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("'" + command + "' failed");
    return tunnel;
  }

  // Until something is due; a moment where nothing is on the way.
  static std::chrono::nanoseconds until_next(const std::array<std::deque<Packet>, 2>& on_the_way) {
    std::chrono::nanoseconds pause = std::chrono::milliseconds(100);
    for (const auto& queue : on_the_way) {
      if (!queue.empty()) pause = std::min<std::chrono::nanoseconds>(pause, queue.front().due - Clock::now());
    }
    return std::max(pause, std::chrono::nanoseconds(0));
  }

  [[noreturn]] static void carry(const std::array<int, 2>& ends, const Weather& weather,
                                 std::atomic<std::size_t>& lost) {
    std::mt19937 draw(1);
    std::array<std::deque<Packet>, 2> on_the_way;  // to each end
    std::array<char, 65536> buffer{};
    for (;;) {
      std::array<pollfd, 2> entries{{{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}}};
      const timespec pause{.tv_sec = 0, .tv_nsec = until_next(on_the_way).count()};
      (void)ppoll(entries.data(), entries.size(), &pause, nullptr);
      const auto now = Clock::now();
      for (std::size_t from = 0; from < 2; ++from) {
        for (ssize_t got; (got = read(ends[from], buffer.data(), buffer.size())) > 0;) {
          if (std::uniform_real_distribution<>()(draw) < weather.loss) {
            ++lost;
            continue;
          }
          const auto late = weather.delay * (1.0 + 0.5 * std::uniform_real_distribution<>()(draw));
          on_the_way[1 - from].push_back({now + std::chrono::duration_cast<Clock::duration>(late),
                                          std::vector<char>(buffer.data(), buffer.data() + got)});
        }
      }
      for (std::size_t to = 0; to < 2; ++to) {
        for (auto& queue = on_the_way[to]; !queue.empty() && queue.front().due <= now; queue.pop_front()) {
          (void)!write(ends[to], queue.front().bytes.data(), queue.front().bytes.size());
        }
      }
    }
  }

  Shared<std::atomic<bool>> ready_;
  Shared<std::atomic<std::size_t>> lost_;
  Process carrier_;
};

}  // namespace test
