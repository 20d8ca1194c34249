// What the environment, a Slurm step, a program and a file with the secret say, and what of that is refused.

#include <gtest/gtest.h>

#include <cobre/comm/tcp.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/credential.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "support/environment.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;
using namespace std::chrono_literals;

TEST(TcpConfigTest, ReadsEverythingFromTheEnvironment) {
  test::ScopedEnvironment environment;
  environment.set("COBRE_TCP_COORDINATOR", "node7:4100");
  environment.set("COBRE_TCP_RANK", "3");
  environment.set("COBRE_TCP_SIZE", "8");
  environment.set("COBRE_TCP_PORT", "4200");
  environment.set("COBRE_TCP_BIND_ADDR", "10.1.2.3");
  environment.set("COBRE_TCP_CONNECT_TIMEOUT_MS", "1500");
  environment.set("COBRE_TCP_HOST_TIMEOUT_MS", "2500");
  environment.set("COBRE_TCP_SHARED_MEMORY", "0");
  environment.set("COBRE_TCP_SECRET", "s3cret");
  environment.set("COBRE_COMM_TIMEOUT_SECS", "9");
  const auto config = TcpConfig::from_environment();
  EXPECT_EQ(config.coordinator, "node7:4100");
  EXPECT_EQ(config.rank, 3U);
  EXPECT_EQ(config.size, 8U);
  EXPECT_EQ(config.port, 4200);
  EXPECT_EQ(config.bind_address, "10.1.2.3");
  EXPECT_EQ(config.connect_timeout, 1500ms);
  EXPECT_EQ(config.host_timeout, 2500ms);
  EXPECT_FALSE(config.shared_memory);
  EXPECT_EQ(config.secret.value, "s3cret");
  EXPECT_EQ(config.timeout, 9s);
}

TEST(TcpConfigTest, NamesEverythingThatIsMissingAtOnce) {
  try {
    (void)TcpConfig::from_environment();
    FAIL();
  } catch (const MissingConfiguration& error) {
    EXPECT_EQ(error.missing_vars(),
              (std::vector<std::string>{"COBRE_TCP_COORDINATOR", "COBRE_TCP_RANK", "COBRE_TCP_SIZE"}));
  }
}

TEST(TcpConfigTest, RefusesASecretThatIsEmpty) {
  test::ScopedEnvironment environment;
  environment.set("COBRE_TCP_COORDINATOR", "127.0.0.1");
  environment.set("COBRE_TCP_RANK", "0");
  environment.set("COBRE_TCP_SIZE", "2");
  environment.set("COBRE_TCP_SECRET", "");
  try {
    (void)TcpConfig::from_environment();
    FAIL();
  } catch (const InvalidConfiguration& error) {
    EXPECT_EQ(error.variable(), "COBRE_TCP_SECRET");
  }
}

TEST(TcpConfigTest, TakesFromASlurmStepWhatIsNotSet) {
  test::ScopedEnvironment environment;
  environment.set("SLURM_STEP_NUM_TASKS", "6");
  environment.set("SLURM_PROCID", "2");
  environment.set("SLURM_STEP_NODELIST", "node[07-09,12]-ib,other");
  environment.set("SLURM_JOB_ID", "123");
  environment.set("SLURM_STEP_ID", "0");
  const auto config = TcpConfig::from_environment();
  EXPECT_EQ(config.coordinator, "node07-ib");
  EXPECT_EQ(config.rank, 2U);
  EXPECT_EQ(config.size, 6U);
  EXPECT_EQ(config.munge, has_munge());
  environment.set("SLURM_STEP_ID", "1");
  EXPECT_NE(TcpConfig::from_environment().port, config.port);
  const auto unreserved = TcpConfig::from_environment().port;
  for (const char* const nonsense : {"-", "0-3", "65536", "x"}) {
    environment.set("SLURM_STEP_RESV_PORTS", nonsense);
    EXPECT_EQ(TcpConfig::from_environment().port, unreserved) << nonsense;
  }
  for (const char* const ports : {"12003", "12003-12006", "12003,12010-12011"}) {
    environment.set("SLURM_STEP_RESV_PORTS", ports);
    EXPECT_EQ(TcpConfig::from_environment().port, 12003) << ports;
  }
  environment.set("COBRE_TCP_SECRET", "s3cret");
  EXPECT_FALSE(TcpConfig::from_environment().munge);
  environment.set("COBRE_TCP_PORT", "4711");
  EXPECT_EQ(TcpConfig::from_environment().port, 4711);
}

TEST(TcpConfigTest, FindsTheFirstNodeOfAFoldedList) {
  EXPECT_EQ(first_node("n1"), "n1");
  EXPECT_EQ(first_node("n1,n2"), "n1");
  EXPECT_EQ(first_node("n[1-3,7]"), "n1");
  EXPECT_EQ(first_node("n[003]"), "n003");
  EXPECT_EQ(first_node("rack[2-3]-a,x"), "rack2-a");
  EXPECT_EQ(first_node("rack[0-1]node[0-3]"), "rack0node0");
  EXPECT_EQ(first_node("r[1,4]n[07-09]-ib,x[1-2]"), "r1n07-ib");
  EXPECT_EQ(first_node("r[1-2]n[3"), "r1n3");
}

TcpConfig alone() {
  TcpConfig config;
  config.coordinator = "127.0.0.1";
  return config;
}

TEST(TcpConfigTest, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    auto config = alone();
    change(config);
    EXPECT_THROW((void)TcpBackend::connect(config), InitializationFailed);
  };
  refused([](TcpConfig& config) { config.coordinator = "a b"; });
  refused([](TcpConfig& config) { config.port = 0; });
  refused([](TcpConfig& config) { config.size = 0; });
  refused([](TcpConfig& config) { config.rank = 1; });
  refused([](TcpConfig& config) { config.size = largest_job + 1; });
  refused([](TcpConfig& config) { config.connect_timeout = 0ms; });
  refused([](TcpConfig& config) {
    config.secret.file = "x";
    config.secret.value = "y";
  });
}

TEST(TcpSecretFile, MustBePrivateReadableAndNotEmpty) {
  const std::string file = "tcp-secret-" + std::to_string(getpid());
  const auto outcome = [&](const std::string& content, mode_t mode) -> std::string {
    std::ofstream(file) << content;
    chmod(file.c_str(), mode);
    auto config = alone();
    config.rank = 1;
    config.size = 2;
    config.secret.file = file;
    config.connect_timeout = 1ms;
    try {
      (void)TcpBackend::connect(config);
    } catch (const InvalidConfiguration& error) {
      EXPECT_EQ(std::string(error.what()).find("top"), std::string::npos);  // the secret itself is never said
      return error.variable();
    } catch (const InitializationFailed&) {
      return "read";
    }
    return "connected";
  };
  EXPECT_EQ(outcome("top secret\n", 0600), "read");
  EXPECT_EQ(outcome("top secret\n", 0640), "COBRE_TCP_SECRET_FILE");
  EXPECT_EQ(outcome("top secret\n", 0604), "COBRE_TCP_SECRET_FILE");
  EXPECT_EQ(outcome("\n", 0600), "COBRE_TCP_SECRET_FILE");
  EXPECT_EQ(outcome("top" + std::string(5000, 'x'), 0600), "COBRE_TCP_SECRET_FILE");
  std::remove(file.c_str());
}

}  // namespace
