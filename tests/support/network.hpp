// Hosts for tests: network namespaces of this machine around a switch in one of its own. Needs root; nothing of it
// touches the machine's own network, and nothing stays.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

namespace test {

class Network {
 public:
  explicit Network(std::size_t hosts) : name_("cobre" + std::to_string(getpid())), hosts_(hosts), owner_(getpid()) {
    run("ip netns add " + name_ + "sw");
    in(switch_name(), "ip link add br0 type bridge");
    in(switch_name(), "ip link set br0 up");
    for (std::size_t host = 0; host < hosts_; ++host) {
      run("ip netns add " + host_name(host));
      const std::string port = "p" + std::to_string(host);
      in(switch_name(), "ip link add " + port + " type veth peer name eth0 netns " + host_name(host));
      in(switch_name(), "ip link set " + port + " master br0 up");
      in(host_name(host), "ip addr add " + address(host) + "/24 dev eth0");
      in(host_name(host), "ip link set eth0 up");
      in(host_name(host), "ip link set lo up");
    }
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network() {
    if (getpid() != owner_) return;  // forked ranks inherit this object, not the network
    for (std::size_t host = 0; host < hosts_; ++host) (void)!std::system(("ip netns del " + host_name(host)).c_str());
    (void)!std::system(("ip netns del " + switch_name()).c_str());
  }

  [[nodiscard]] static std::string address(std::size_t host) { return "10.77.0." + std::to_string(host + 1); }

  /// This process moves to that host.
  void enter(std::size_t host) const {
    const int space = open(("/run/netns/" + host_name(host)).c_str(), O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) throw std::runtime_error("cannot enter " + host_name(host));
    close(space);
  }

  /// This process sees another /etc/hosts.
  static void use_hosts_file(const std::string& content) {
    const std::string file = "hosts-" + std::to_string(getpid());
    std::ofstream(file) << content;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) {
      throw std::runtime_error("cannot replace /etc/hosts");
    }
    (void)unlink(file.c_str());
  }

  /// Pulls the plug: no end of the cable hears of it from the other.
  void unplug(std::size_t host) const { in(switch_name(), "ip link set p" + std::to_string(host) + " nomaster"); }
  void add_address(std::size_t host, const std::string& address) const {
    in(host_name(host), "ip addr add " + address + " dev eth0");
  }

  /// Bytes that left this host through its interface, from inside it.
  [[nodiscard]] static std::uint64_t bytes_sent() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) throw std::runtime_error("no interfaces");
    std::uint64_t bytes = 0;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_PACKET || std::string(one->ifa_name) != "eth0") {
        continue;
      }
      bytes = static_cast<const rtnl_link_stats*>(one->ifa_data)->tx_bytes;
    }
    freeifaddrs(list);
    return bytes;
  }

 private:
  [[nodiscard]] std::string host_name(std::size_t host) const { return name_ + "h" + std::to_string(host); }
  [[nodiscard]] std::string switch_name() const { return name_ + "sw"; }
  static void run(const std::string& command) {
    if (std::system(command.c_str()) != 0) {
      throw std::runtime_error("'" + command + "' failed; these tests need root and iproute2");
    }
  }
  static void in(const std::string& space, const std::string& command) {
    run("ip netns exec " + space + " " + command);
  }

  std::string name_;
  std::size_t hosts_;
  pid_t owner_;
};

}  // namespace test
