// Hosts for tests: network namespaces of this machine around a switch in one of its own. Needs root; nothing of it
// touches the machine's own network, and nothing stays.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
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
  static void use_hosts_file(const std::string& content) { use_file("/etc/hosts", content); }
  /// This process asks that name server.
  static void use_name_server(const std::string& address) {
    use_file("/etc/resolv.conf", "nameserver " + address + "\n");
  }

  /// Pulls the plug: no end of the cable hears of it from the other.
  void unplug(std::size_t host) const { in(switch_name(), "ip link set p" + std::to_string(host) + " nomaster"); }
  /// From there on that host sends no faster, in the words of tc(8).
  void limit(std::size_t host, const std::string& rate, const std::string& interface = "eth0") const {
    in(host_name(host), "tc qdisc add dev " + interface + " root tbf rate " + rate + " burst 5mb latency 50ms");
  }
  /// From there on nothing of what that host sends to the other arrives. Its own kernel says so to whoever asks it to
  /// connect there, but not to who waits for an answer.
  void close_way(std::size_t from, std::size_t to) const {
    in(host_name(from), "ip route add blackhole " + address(to) + "/32");
  }
  void open_way(std::size_t from, std::size_t to) const {
    in(host_name(from), "ip route del blackhole " + address(to) + "/32");
  }
  void add_address(std::size_t host, const std::string& address) const {
    in(host_name(host), "ip addr add " + address + " dev eth0");
  }

  /// A second interface of that host at the same switch.
  void add_interface(std::size_t host, const std::string& name, const std::string& address) const {
    const std::string port = name + "p" + std::to_string(host);
    in(switch_name(), "ip link add " + port + " type veth peer name " + name + " netns " + host_name(host));
    in(switch_name(), "ip link set " + port + " master br0 up");
    in(host_name(host), "ip link set " + name + " up");
    in(host_name(host), "ip addr add " + address + " dev " + name);
  }

  /// A second interface of that host, from which nothing arrives anywhere. The kernel would soon give up on a
  /// neighbour at `silent` that it cannot find; it is told where that is, so that it goes on sending.
  void add_dead_interface(std::size_t host, const std::string& address, const std::string& silent) const {
    in(switch_name(),
       "ip link add dead" + std::to_string(host) + " up type veth peer name eth1 netns " + host_name(host));
    in(host_name(host), "ip addr add " + address + " dev eth1");
    in(host_name(host), "ip link set eth1 up");
    in(host_name(host), "ip neigh add " + silent + " lladdr 02:00:00:00:00:01 nud permanent dev eth1");
  }

  /// What the kernel counted at an interface of this host, from inside it.
  struct Traffic {
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
  };
  [[nodiscard]] static Traffic traffic(const std::string& interface = "eth0") {
    std::ifstream table("/proc/self/net/dev");
    for (std::string line; std::getline(table, line);) {
      std::istringstream fields(line);
      std::string name;
      Traffic bytes;
      std::uint64_t other = 0;
      if (!(fields >> name) || name != interface + ":") continue;
      fields >> bytes.received;
      for (int skipped = 0; skipped < 7; ++skipped) fields >> other;
      if (fields >> bytes.sent) return bytes;
    }
    throw std::runtime_error("this host has no interface " + interface);
  }

 private:
  static void use_file(const std::string& path, const std::string& content) {
    const std::string file = "seen-" + std::to_string(getpid());
    std::ofstream(file) << content;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(file.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      throw std::runtime_error("cannot replace " + path);
    }
    (void)unlink(file.c_str());
  }
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
