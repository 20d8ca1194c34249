#include "comm/backends/tcp/config.hpp"

#include <cobre/comm/base/number.hpp>
#include <cobre/comm/base/slurm.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "comm/backends/tcp/credential.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/core/descriptor.hpp"
#include "comm/core/environment.hpp"
#include "comm/core/format.hpp"
#include "comm/core/hash.hpp"
#include "comm/core/inherited.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm {
namespace {

constexpr std::size_t longest_secret = 4096;
constexpr std::uint64_t longest_timeout_ms = 24UL * 3600 * 1000;

[[noreturn]] void throw_bad_secret_file(const std::string& file, std::string_view problem) {
  throw InvalidConfiguration("tcp", "COBRE_TCP_SECRET_FILE", file,
                             core::format("a readable file with the job's secret: {}", problem));
}

// White space at the end is not part of a secret: editors and `echo` add it.
std::string read_secret(const std::string& file) {
  const core::Descriptor in(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!in) throw_bad_secret_file(file, std::strerror(errno));
  struct stat status {};
  if (fstat(in.get(), &status) != 0 || !S_ISREG(status.st_mode)) throw_bad_secret_file(file, "it is no regular file");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw_bad_secret_file(file, "others may read it; chmod 600 it, and choose a new secret");
  }
  std::string secret(longest_secret + 1, '\0');
  std::size_t length = 0;
  for (;;) {
    const ssize_t got = read(in.get(), secret.data() + length, secret.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_bad_secret_file(file, std::strerror(errno));
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
    if (length > longest_secret)
      throw_bad_secret_file(file, core::format("it is longer than {} bytes", longest_secret));
  }
  while (length > 0 && std::strchr(" \t\r\n", secret[length - 1]) != nullptr) --length;
  secret.resize(length);
  if (secret.empty()) throw_bad_secret_file(file, "it is empty");
  return secret;
}

// Where a step's rank 0 listens. A port that Slurm set aside for the step is nobody else's; it lists them as numbers
// and ranges: 12000-12003,12010. Without one, steps that run on one node at the same time must not meet at the same
// port, which is below those that the kernel gives away.
std::uint16_t port_of_step() {
  if (const auto reserved = slurm::detail::text("SLURM_STEP_RESV_PORTS")) {
    const auto first = detail::parse_number<std::uint16_t>(reserved->substr(0, reserved->find_first_of(",-")));
    if (first.value_or(0) != 0) return *first;
  }
  const std::string step = slurm::job_id().value_or("") + "." + slurm::step_id().value_or("");
  return static_cast<std::uint16_t>(20000 + core::hash(step) % 12000);
}

// What a step of several tasks says of itself; nothing where this is none, or says too little.
std::optional<TcpConfig> from_slurm() {
  const auto tasks = slurm::step_num_tasks();
  const auto task = slurm::process_id();
  const auto nodes = slurm::step_node_list();
  if (!tasks || *tasks < 2 || !task || !nodes) return std::nullopt;
  TcpConfig config;
  config.rank = static_cast<std::size_t>(*task);
  config.size = static_cast<std::size_t>(*tasks);
  config.coordinator = tcp::first_node(*nodes);
  config.munge = true;
  config.step = tcp::step_of_slurm();
  config.port = port_of_step();
  return config;
}

}  // namespace

TcpConfig TcpConfig::from_environment() {
  core::EnvironmentReader environment("tcp");
  TcpConfig config;
  if (const auto step = from_slurm(); step && !core::is_set("COBRE_TCP_COORDINATOR")) {
    config = *step;
    config.rank = environment.number("COBRE_TCP_RANK", 0, tcp::largest_job - 1).value_or(config.rank);
    config.size = environment.number("COBRE_TCP_SIZE", 1, tcp::largest_job).value_or(config.size);
  } else {
    config.coordinator = environment.required_text("COBRE_TCP_COORDINATOR");
    config.rank = environment.required_number("COBRE_TCP_RANK", 0, tcp::largest_job - 1);
    config.size = environment.required_number("COBRE_TCP_SIZE", 1, tcp::largest_job);
  }
  config.port = static_cast<std::uint16_t>(environment.number("COBRE_TCP_PORT", 1, 65535).value_or(config.port));
  config.bind_address = environment.text("COBRE_TCP_BIND_ADDR").value_or("");
  config.secret.file = environment.text("COBRE_TCP_SECRET_FILE").value_or("");
  if (const char* const secret = std::getenv("COBRE_TCP_SECRET")) {
    // Whoever sets it wants to be protected: a file that could not be read must not turn that off.
    if (*secret == '\0') throw InvalidConfiguration("tcp", "COBRE_TCP_SECRET", "", "the job's secret, or not set");
    config.secret.value = secret;
  }
  if (const auto timeout = environment.number("COBRE_TCP_CONNECT_TIMEOUT_MS", 1, longest_timeout_ms)) {
    config.connect_timeout = std::chrono::milliseconds(*timeout);
  }
  if (const auto timeout = environment.number("COBRE_TCP_HOST_TIMEOUT_MS", 1000, longest_timeout_ms)) {
    config.host_timeout = std::chrono::milliseconds(*timeout);
  }
  config.shared_memory = environment.flag("COBRE_TCP_SHARED_MEMORY").value_or(true);
  config.timeout = environment.timeout();
  config.ledger = core::inherited_descriptor(environment.text("COBRE_COMM_LEDGER").value_or(""));
  config.witness = core::inherited_descriptor(environment.text("COBRE_COMM_WITNESS").value_or(""));
  environment.require_all();
  config.munge = config.munge && config.secret.empty() && tcp::has_munge();
  return config;
}

namespace tcp {
namespace {

Key key_of_secret(const TcpConfig& config) {
  if (config.secret.empty()) return key_from_secret("loopback, no secret");
  std::string secret = config.secret.file.empty() ? config.secret.value : read_secret(config.secret.file);
  const Key key = key_from_secret(secret);
  forget(std::as_writable_bytes(std::span(secret)));
  return key;
}

}  // namespace

std::string first_node(std::string_view list) {
  std::string node;
  for (;;) {
    const auto end = list.find_first_of(",[");
    node += list.substr(0, end);
    if (end == std::string_view::npos || list[end] == ',') return node;
    list.remove_prefix(end + 1);
    node += list.substr(0, list.find_first_of(",-]"));
    // What stands behind the brackets belongs to every name, and may have brackets again: rack[0-1]node[0-3]-ib.
    const auto close = list.find(']');
    if (close == std::string_view::npos) return node;
    list.remove_prefix(close + 1);
  }
}

void check(const TcpConfig& config) {
  if (!parse_host_and_port(config.coordinator)) {
    throw InvalidConfiguration("tcp", "COBRE_TCP_COORDINATOR", config.coordinator,
                               "the host of rank 0 as host, host:port or [v6]:port");
  }
  if (config.port == 0) throw InvalidConfiguration("tcp", "COBRE_TCP_PORT", "0", "from 1 to 65535");
  core::require_rank_of("tcp", {"COBRE_TCP_RANK", config.rank}, {"COBRE_TCP_SIZE", config.size}, largest_job);
  if (!config.secret.file.empty() && !config.secret.value.empty()) {
    throw InitializationFailed("tcp", "both COBRE_TCP_SECRET_FILE and COBRE_TCP_SECRET are set; set one of them");
  }
  if (config.munge && !config.secret.empty()) {
    throw InitializationFailed("tcp", "both a secret and MUNGE are asked for; choose one of them");
  }
  if (config.connect_timeout.count() <= 0 || config.warn_after.count() <= 0 || config.timeout.count() < 0 ||
      config.host_timeout.count() < 1000) {
    throw InitializationFailed("tcp",
                               "connect_timeout and warn_after must be above 0, timeout not below it, and "
                               "host_timeout at least a second");
  }
}

HostAndPort coordinator_of(const TcpConfig& config) {
  HostAndPort result = parse_host_and_port(config.coordinator).value_or(HostAndPort{});  // check() was here
  if (!result.port) result.port = config.port;
  return result;
}

// The step is no secret: it tells apart the jobs of one user who gives them all the same one. Slurm hands the ports of
// an ended step to the next one, where a rank that did not hear of the end still knocks.
Key job_key(const TcpConfig& config) {
  const Key key = key_of_secret(config);
  return config.step.empty() ? key : authenticate(key, {label("cobre-comm tcp: a job of step "), label(config.step)});
}

bool is_for_one_user(const TcpConfig& config) noexcept {
  return config.secret.empty() && !config.munge;
}

void require_protection(const TcpConfig& config, const Address& address) {
  if (is_for_one_user(config) && !address.is_loopback()) throw MissingConfiguration("tcp", {"COBRE_TCP_SECRET_FILE"});
}

}  // namespace tcp
}  // namespace cobre::comm
