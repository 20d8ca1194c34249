// A second network between the first hosts of a test, on which packets get lost and take their time: a process carries
// them from one tunnel to another.
#pragma once

#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <string_view>
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

  LossyLink(const Network& network, const Weather& weather, std::size_t hosts = 2)
      : carrier_([&network, weather, hosts, ready = &*ready_, lost = &*lost_]() -> std::string {
          std::vector<End> ends(hosts);
          for (std::size_t host = 0; host < hosts; ++host) ends[host].tunnel = open_end(network, host, weather);
          *ready = true;
          carry(ends, weather, *lost);
        }) {
    if (!eventually([&] { return ready_->load() || carrier_.ended(); }) || carrier_.ended()) {
      throw std::runtime_error("no tunnel: " + carrier_.words());
    }
  }

  /// How many packets were lost so far.
  [[nodiscard]] std::size_t lost() const { return *lost_; }

  /// Of that host, in this network.
  [[nodiscard]] static std::string address(std::size_t host) { return "10.78.0." + std::to_string(host + 1); }
  static constexpr const char* interface = "tun0";

 private:
  struct Packet {
    Clock::time_point due;
    std::vector<char> bytes;
  };
  struct End {
    int tunnel = -1;
    std::deque<Packet> on_the_way;  // to there
  };

  static int open_end(const Network& network, std::size_t host, const Weather& weather) {
    network.enter(host);
    const int tunnel = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::strcpy(request.ifr_name, interface);
    if (tunnel < 0 || ioctl(tunnel, TUNSETIFF, &request) != 0) throw std::runtime_error("/dev/net/tun does not open");
    // What waits for the carrier is not lost, unless the weather says so.
    const std::string name = interface;
    const std::string command = "ip addr add " + address(host) + "/24 dev " + name + " && ip link set " + name +
                                " txqueuelen 10000 mtu " + std::to_string(weather.packet_bytes) + " up";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("'" + command + "' failed");
    return tunnel;
  }

  // Until something is due; a moment where nothing is on the way.
  static std::chrono::nanoseconds until_next(const std::vector<End>& ends) {
    std::chrono::nanoseconds pause = std::chrono::milliseconds(100);
    for (const End& end : ends) {
      if (end.on_the_way.empty()) continue;
      pause = std::min<std::chrono::nanoseconds>(pause, end.on_the_way.front().due - Clock::now());
    }
    return std::max(pause, std::chrono::nanoseconds(0));
  }

  // The host that a packet of IPv4 is for; nothing where it is for nobody here, as a search for neighbours by IPv6.
  static std::optional<std::size_t> receiver_of(std::string_view packet, std::size_t hosts) {
    constexpr std::size_t header = 20;
    constexpr std::size_t end_of_address = 19;
    if (packet.size() < header || static_cast<unsigned char>(packet[0]) >> 4 != 4) return std::nullopt;
    const auto last = std::size_t{static_cast<unsigned char>(packet[end_of_address])};
    if (last == 0 || last > hosts) return std::nullopt;
    return last - 1;
  }

  [[noreturn]] static void carry(std::vector<End>& ends, const Weather& weather, std::atomic<std::size_t>& lost) {
    std::mt19937 draw(1);
    std::array<char, 65536> buffer{};
    std::vector<pollfd> entries;
    for (const End& end : ends) entries.push_back({end.tunnel, POLLIN, 0});
    for (;;) {
      const timespec pause{.tv_sec = 0, .tv_nsec = until_next(ends).count()};
      (void)ppoll(entries.data(), entries.size(), &pause, nullptr);
      const auto now = Clock::now();
      for (const End& from : ends) {
        for (ssize_t got; (got = read(from.tunnel, buffer.data(), buffer.size())) > 0;) {
          const std::string_view packet(buffer.data(), static_cast<std::size_t>(got));
          const auto to = receiver_of(packet, ends.size());
          if (!to) continue;
          if (std::uniform_real_distribution<>()(draw) < weather.loss) {
            ++lost;
            continue;
          }
          const auto late = weather.delay * (1.0 + 0.5 * std::uniform_real_distribution<>()(draw));
          ends[*to].on_the_way.push_back({now + std::chrono::duration_cast<Clock::duration>(late),
                                          std::vector<char>(packet.begin(), packet.end())});
        }
      }
      for (End& to : ends) {
        for (auto& queue = to.on_the_way; !queue.empty() && queue.front().due <= now; queue.pop_front()) {
          (void)!write(to.tunnel, queue.front().bytes.data(), queue.front().bytes.size());
        }
      }
    }
  }

  Shared<std::atomic<bool>> ready_;
  Shared<std::atomic<std::size_t>> lost_;
  Process carrier_;
};

}  // namespace test
