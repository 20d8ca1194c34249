// The table of outcomes: what each environment means, whichever backends are compiled in.

#include "comm/factory/selection.hpp"

#include <cobre/comm.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/environment.hpp"

namespace {

using namespace cobre::comm;

// It says of itself what it takes: templates ask that.
static_assert(std::is_constructible_v<CommBackend, LocalBackend>);
static_assert(!std::is_constructible_v<CommBackend, LocalBackend&>);
static_assert(!std::is_constructible_v<CommBackend, const LocalBackend>);
static_assert(!std::is_constructible_v<CommBackend, int>);
static_assert(!std::is_constructible_v<CommBackend, CommBackend&>);
static_assert(!std::is_constructible_v<CommBackend, Observed<LocalBackend, OperationStatistics>>);

class Selection : public testing::Test {
 protected:
  // Whoever started the tests must not decide them.
  Selection() {
    for (const char* const name : {"COBRE_COMM_BACKEND",
                                   "COBRE_COMM_TIMEOUT_SECS",
                                   "COBRE_SHM_NAME",
                                   "COBRE_SHM_RANK",
                                   "COBRE_SHM_SIZE",
                                   "COBRE_TCP_COORDINATOR",
                                   "COBRE_TCP_PORT",
                                   "COBRE_TCP_RANK",
                                   "COBRE_TCP_SIZE",
                                   "PMI_RANK",
                                   "PMI_SIZE",
                                   "PMIX_RANK",
                                   "OMPI_COMM_WORLD_RANK",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "MPI_LOCALRANKID",
                                   "PALS_RANKID",
                                   "MV2_COMM_WORLD_RANK",
                                   "SLURM_STEP_NUM_TASKS",
                                   "SLURM_PROCID",
                                   "SLURM_JOB_ID"}) {
      environment_.unset(name);
    }
  }

  test::ScopedEnvironment environment_;
};

bool has(const std::string& backend) {
  const auto available = available_backends();
  return std::find(available.begin(), available.end(), backend) != available.end();
}

/// A group's name and a loopback address in one, of this process alone.
std::string own_place() {
  const auto id = static_cast<unsigned>(getpid());
  return "127." + std::to_string(1 + id / 62500 % 250) + "." + std::to_string(id / 250 % 250) + "." +
         std::to_string(1 + id % 250);
}

BackendKind backend_of(const std::string& name) {
  test::ScopedEnvironment asked;
  asked.set("COBRE_COMM_BACKEND", name);
  return factory::requested_backend();
}

TEST_F(Selection, UnsetMeansAuto) {
  EXPECT_EQ(factory::requested_backend(), BackendKind::Auto);
}

TEST_F(Selection, EveryNameMeansItsBackend) {
  for (const BackendKind kind :
       {BackendKind::Auto, BackendKind::Mpi, BackendKind::Tcp, BackendKind::Shm, BackendKind::Local}) {
    environment_.set("COBRE_COMM_BACKEND", to_string(kind));
    EXPECT_EQ(factory::requested_backend(), kind);
  }
}

TEST_F(Selection, AnythingElseIsAnErrorThatQuotesIt) {
  for (const char* const name : {"foobar", "MPI", "Local", "", " local", "local ", "auto,local", "\xff\xfe"}) {
    environment_.set("COBRE_COMM_BACKEND", name);
    try {
      (void)create_communicator();
      ADD_FAILURE() << "accepted '" << name << "'";
    } catch (const InvalidBackend& error) {
      EXPECT_EQ(error.requested(), name);
      EXPECT_EQ(error.available(), (std::vector<std::string>{"auto", "mpi", "tcp", "shm", "local"}));
    }
  }
}

TEST_F(Selection, StartedByItselfIsLocal) {
  EXPECT_EQ(factory::detect_backend(), BackendKind::Local);
  const auto comm = create_communicator();
  EXPECT_EQ(comm.kind(), BackendKind::Local);
  EXPECT_EQ(comm.rank(), 0U);
  EXPECT_EQ(comm.size(), 1U);
}

TEST_F(Selection, LocalIsLocalEvenUnderALauncher) {
  environment_.set("COBRE_COMM_BACKEND", "local");
  environment_.set("PMI_RANK", "0");
  environment_.set("COBRE_SHM_NAME", "group");
  EXPECT_EQ(create_communicator().kind(), BackendKind::Local);
}

TEST_F(Selection, EveryMpiLauncherIsRecognised) {
  for (const char* const name : {"PMI_RANK", "PMI_SIZE", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                 "MPI_LOCALRANKID", "PALS_RANKID", "MV2_COMM_WORLD_RANK"}) {
    test::ScopedEnvironment launcher;
    launcher.set(name, "0");
    EXPECT_EQ(factory::detect_backend(), BackendKind::Mpi) << name;
  }
}

TEST_F(Selection, AddressesComeBeforeNamesBeforeLaunchersBeforeSlurm) {
  environment_.set("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_EQ(factory::detect_backend(), BackendKind::Tcp);
  environment_.set("PMI_RANK", "0");
  EXPECT_EQ(factory::detect_backend(), BackendKind::Mpi);
  environment_.set("COBRE_SHM_NAME", "group");
  EXPECT_EQ(factory::detect_backend(), BackendKind::Shm);
  environment_.set("COBRE_TCP_COORDINATOR", "host");
  EXPECT_EQ(factory::detect_backend(), BackendKind::Tcp);
}

TEST_F(Selection, ASlurmStepOfOneTaskIsLocal) {
  environment_.set("SLURM_JOB_ID", "7");
  environment_.set("SLURM_PROCID", "0");
  EXPECT_EQ(factory::detect_backend(), BackendKind::Local);
  environment_.set("SLURM_STEP_NUM_TASKS", "1");
  EXPECT_EQ(factory::detect_backend(), BackendKind::Local);
}

TEST_F(Selection, ANumberOfSlurmTasksThatIsNoneIsAnErrorThatQuotesIt) {
  for (const char* const tasks : {"", "4x", "x", "-4", "+4", " 4", "4 ", "0", "2147483648", "99999999999999999999"}) {
    environment_.set("SLURM_STEP_NUM_TASKS", tasks);
    try {
      (void)create_communicator();
      ADD_FAILURE() << "accepted '" << tasks << "'";
    } catch (const InvalidConfiguration& error) {
      EXPECT_EQ(error.backend(), "auto");
      EXPECT_EQ(error.variable(), "SLURM_STEP_NUM_TASKS");
      EXPECT_EQ(error.value(), tasks);
      EXPECT_EQ(error.what(), "backend 'auto' could not start: SLURM_STEP_NUM_TASKS is '" + std::string(tasks) +
                                  "', but must be a whole number from 1 to 2147483647");
    }
  }
}

TEST_F(Selection, WhoeverNamesABackendIsNotAskedForTheNumberOfSlurmTasks) {
  environment_.set("SLURM_STEP_NUM_TASKS", "4x");
  EXPECT_EQ(create_communicator(BackendKind::Local).kind(), BackendKind::Local);
  environment_.set("COBRE_COMM_BACKEND", "local");
  EXPECT_EQ(create_communicator().kind(), BackendKind::Local);
  environment_.set("COBRE_COMM_BACKEND", "auto");
  environment_.set("PMI_RANK", "0");
  EXPECT_EQ(factory::detect_backend(), BackendKind::Mpi);
}

TEST_F(Selection, WhatThisBuildLacksIsSaidAndNeverReplaced) {
  const std::vector<std::pair<std::string, std::pair<const char*, const char*>>> asks{
      {"mpi", {"PMI_RANK", "0"}}, {"tcp", {"COBRE_TCP_COORDINATOR", "host"}}, {"shm", {"COBRE_SHM_NAME", "group"}}};
  for (const auto& [backend, hint] : asks) {
    if (has(backend)) continue;
    const auto refused = [&name = backend](auto&& call) {
      try {
        call();
        ADD_FAILURE() << name << " was accepted";
      } catch (const BackendNotAvailable& error) {
        EXPECT_EQ(error.requested(), name);
        EXPECT_EQ(error.available(), available_backends());
      }
    };
    test::ScopedEnvironment chosen;
    chosen.set("COBRE_COMM_BACKEND", backend);
    refused([] { (void)create_communicator(); });
    chosen.set("COBRE_COMM_BACKEND", "auto");
    chosen.set(hint.first, hint.second);
    refused([] { (void)create_communicator(); });
    chosen.unset("COBRE_COMM_BACKEND");
    refused([] { (void)create_communicator(); });
    refused([kind = backend_of(backend)] { (void)create_communicator(kind); });
  }
}

TEST_F(Selection, HalfConfiguredIsAnErrorThatListsWhatIsMissing) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> needs{
      {"shm", {"COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE"}},
      {"tcp", {"COBRE_TCP_COORDINATOR", "COBRE_TCP_RANK", "COBRE_TCP_SIZE"}}};
  for (const auto& [backend, variables] : needs) {
    if (!has(backend)) continue;
    environment_.set("COBRE_COMM_BACKEND", backend);
    try {
      (void)create_communicator();
      ADD_FAILURE() << backend << " started without any configuration";
    } catch (const MissingConfiguration& error) {
      EXPECT_EQ(error.missing_vars(), variables);
      EXPECT_EQ(error.backend(), backend);
    }
    environment_.set(variables[0], "here");
    try {
      (void)create_communicator();
      ADD_FAILURE() << backend << " started with half of its configuration";
    } catch (const MissingConfiguration& error) {
      EXPECT_EQ(error.missing_vars(), (std::vector<std::string>{variables[1], variables[2]}));
    }
  }
}

TEST_F(Selection, ARankOrASizeAloneIsNeverTakenForAProcessByItself) {
  struct Half {
    const char* given;
    BackendKind kind;
    std::vector<std::string> missing;
  };
  const std::vector<Half> halves{{"COBRE_SHM_RANK", BackendKind::Shm, {"COBRE_SHM_NAME", "COBRE_SHM_SIZE"}},
                                 {"COBRE_SHM_SIZE", BackendKind::Shm, {"COBRE_SHM_NAME", "COBRE_SHM_RANK"}},
                                 {"COBRE_TCP_RANK", BackendKind::Tcp, {"COBRE_TCP_COORDINATOR", "COBRE_TCP_SIZE"}},
                                 {"COBRE_TCP_SIZE", BackendKind::Tcp, {"COBRE_TCP_COORDINATOR", "COBRE_TCP_RANK"}}};
  for (const Half& half : halves) {
    test::ScopedEnvironment chosen;
    chosen.set(half.given, "1");
    EXPECT_EQ(factory::detect_backend(), half.kind) << half.given;
    if (!has(to_string(half.kind))) continue;
    try {
      (void)create_communicator();
      ADD_FAILURE() << "started with " << half.given << " alone";
    } catch (const MissingConfiguration& error) {
      EXPECT_EQ(error.missing_vars(), half.missing) << half.given;
    }
  }
}

TEST_F(Selection, AKindGivenInTheProgramBeatsTheEnvironment) {
  environment_.set("COBRE_COMM_BACKEND", "foobar");
  environment_.set("PMI_RANK", "0");
  EXPECT_EQ(create_communicator(BackendKind::Local).kind(), BackendKind::Local);
}

TEST_F(Selection, AKindGivenInTheProgramStillAsksItsOwnVariablesWhoThisRankIs) {
  environment_.set("COBRE_COMM_BACKEND", "foobar");
  const std::vector<std::pair<BackendKind, std::string>> kinds{{BackendKind::Shm, "COBRE_SHM_NAME"},
                                                               {BackendKind::Tcp, "COBRE_TCP_COORDINATOR"}};
  for (const auto& [kind, place] : kinds) {
    if (!has(to_string(kind))) continue;
    EXPECT_THROW((void)create_communicator(kind), MissingConfiguration) << to_string(kind);
    const std::string prefix = place.substr(0, place.rfind('_'));
    environment_.set(place, own_place());
    environment_.set(prefix + "_RANK", "0");
    environment_.set(prefix + "_SIZE", "1");
    const auto comm = create_communicator(kind);
    EXPECT_EQ(comm.kind(), kind);
    EXPECT_EQ(comm.size(), 1U);
  }
}

TEST_F(Selection, TheKindAutoFindsOutLikeTheEnvironmentWithoutAName) {
  environment_.set("COBRE_COMM_BACKEND", "foobar");
  EXPECT_EQ(create_communicator(BackendKind::Auto).kind(), BackendKind::Local);
  if (!has("shm")) return;
  environment_.set("COBRE_SHM_NAME", own_place());
  environment_.set("COBRE_SHM_RANK", "0");
  environment_.set("COBRE_SHM_SIZE", "1");
  EXPECT_EQ(create_communicator(BackendKind::Auto).kind(), BackendKind::Shm);
}

TEST_F(Selection, AConfigurationGivenInTheProgramReadsNoVariable) {
  environment_.set("COBRE_COMM_BACKEND", "foobar");
  for (const char* const name : {"COBRE_SHM_RANK", "COBRE_SHM_SIZE", "COBRE_TCP_RANK", "COBRE_TCP_SIZE"}) {
    environment_.set(name, "nonsense");
  }
#ifdef COBRE_COMM_HAS_SHM
  ShmConfig shm;
  shm.name = own_place();
  EXPECT_EQ(create_communicator(shm).kind(), BackendKind::Shm);
#endif
#ifdef COBRE_COMM_HAS_TCP
  TcpConfig tcp;
  tcp.coordinator = own_place();
  EXPECT_EQ(create_communicator(tcp).kind(), BackendKind::Tcp);
#endif
}

TEST_F(Selection, AvailableBackendsEndWithLocal) {
  const auto available = available_backends();
  EXPECT_EQ(available.back(), "local");
  std::vector<std::string> expected;
#ifdef COBRE_COMM_HAS_MPI
  expected.push_back("mpi");
#endif
#ifdef COBRE_COMM_HAS_TCP
  expected.push_back("tcp");
#endif
#ifdef COBRE_COMM_HAS_SHM
  expected.push_back("shm");
#endif
  expected.push_back("local");
  EXPECT_EQ(available, expected);
}

class Run : public Selection {};

TEST_F(Run, ReturnsWhatTheBodyReturns) {
  EXPECT_EQ(run([](const auto&) { return 7; }), 7);
  EXPECT_EQ(run([](const auto&) {}), 0);
}

TEST_F(Run, GivesTheBodyTheConcreteBackend) {
  EXPECT_EQ(
      run([](const auto& comm) { return std::is_same_v<std::remove_cvref_t<decltype(comm)>, LocalBackend> ? 0 : 1; }),
      0);
}

TEST_F(Run, PrintsOneLineWithRankAndCauseWhenTheBodyThrows) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run([](const auto&) {
              try {
                throw std::runtime_error("disk full\nreally");
              } catch (...) {
                std::throw_with_nested(std::runtime_error("no checkpoint"));
              }
            }),
            1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "cobre-comm: rank 0 of 1 failed: no checkpoint; caused by: disk full really\n");
}

TEST_F(Run, SaysSoWhenWhatWasThrownIsNoException) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run([](const auto&) { throw 5; }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "cobre-comm: rank 0 of 1 failed: an exception that is no std::exception\n");
}

TEST_F(Run, PrintsOneLineWhenNoCommunicatorCanBeMade) {
  environment_.set("COBRE_COMM_BACKEND", "foobar");
  testing::internal::CaptureStderr();
  EXPECT_EQ(run([](const auto&) {}), 1);
  const auto printed = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(printed.starts_with("cobre-comm: no communicator: unknown communication backend 'foobar'")) << printed;
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1);
}

}  // namespace
