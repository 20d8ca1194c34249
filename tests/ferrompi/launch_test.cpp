// How whole jobs end: launches `programs/life` under the MPI launcher and looks at exit code, output and time.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>

namespace {

struct Job {
  int exit_code;
  std::string output;
  double seconds;
};

std::string replace(std::string text, const std::string& what, const std::string& with) {
  return text.replace(text.find(what), what.size(), with);
}

Job launch(const std::string& scene, int ranks) {
  // A job that hangs is ended by `timeout` with exit code 124; none should.
  const auto command = "timeout 60 " + replace(FERROMPI_LAUNCH, "<ranks>", std::to_string(ranks)) +
                       " " FERROMPI_LIFE " " + scene + " 2>&1";
  const auto start = std::chrono::steady_clock::now();
  Job job{};
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), pipe) != nullptr) job.output += part.data();
  const int status = pclose(pipe);
  job.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  job.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return job;
}

int count(const std::string& text, const std::string& what) {
  int number = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++number;
  return number;
}

void expect_done(const char* scene, std::initializer_list<int> rank_counts) {
  for (const int ranks : rank_counts) {
    const auto job = launch(scene, ranks);
    EXPECT_EQ(job.exit_code, 0) << scene << " on " << ranks << " ranks:\n" << job.output;
    EXPECT_EQ(count(job.output, "done"), ranks) << scene << " on " << ranks << " ranks:\n" << job.output;
  }
}

// Ended with a failure, told why, and did not have to be killed.
void expect_ended(const Job& job, const std::string& cause) {
  EXPECT_NE(job.exit_code, 0) << job.output;
  EXPECT_NE(job.exit_code, 124) << "hung:\n" << job.output;
  EXPECT_NE(job.output.find(cause), std::string::npos) << job.output;
  EXPECT_LT(job.seconds, 30) << job.output;
}

}  // namespace

TEST(Jobs, EndWithTheCauseWhenAnExceptionPassesThroughOpenRequestsAndWindows) {
  for (const int ranks : {2, 3, 5}) {
    const auto job = launch("exception_passes_through", ranks);
    expect_ended(job, "cause: the well is dry");
    EXPECT_NE(job.output.find("ferrompi: rank 1: an exception destroys"), std::string::npos) << job.output;
  }
}

TEST(Jobs, EndWithTheCauseWhenNobodyCatches) {
  expect_ended(launch("exception_is_not_caught", 2), "the well is dry");
}

TEST(Jobs, EndWhenAnExceptionMeetsARequestThatCannotFinish) {
  const auto job = launch("request_cannot_finish", 2);
  expect_ended(job, "cause: the well is dry");
  EXPECT_NE(job.output.find("a Request"), std::string::npos) << job.output;
}

TEST(Jobs, EndWhenAnExceptionMeetsPlansThatCannotFinish) {
  const auto job = launch("plan_cannot_finish", 2);
  expect_ended(job, "cause: the well is dry");
  EXPECT_NE(job.output.find("an exception destroys a PersistentRequest"), std::string::npos) << job.output;
  EXPECT_EQ(job.output.find("a request is freed that is in progress"), std::string::npos) << job.output;
}

TEST(Jobs, OfOneProcessSurviveAnException) {
  expect_done("exception_alone", {1});
}

TEST(Jobs, EndWithTheCodeGivenToAbort) {
  const auto job = launch("abort_ends_all", 3);
  EXPECT_EQ(job.exit_code, 7) << job.output;
}

TEST(Jobs, RefuseEverythingAfterFinalizeAndDestroyWhatIsLeft) {
  expect_done("after_finalize", {1, 3});
}

TEST(Jobs, FinalizeWhileRequestsAreUnderWayAndRefuseThemAfterwards) {
  expect_done("finalize_with_requests_under_way", {1, 2, 3});
}

TEST(Jobs, AdoptAnMpiThatIsRunningAndLeaveItRunning) {
  expect_done("adopt_a_running_mpi", {1, 2});
}

TEST(Jobs, FinalizeOnceWhenTheEnvironmentIsMoved) {
  expect_done("moved_environment", {2});
}

TEST(Jobs, DoWhatIsLeftForTheEndAndWhatIsAddedThere) {
  expect_done("actions_at_finalize", {1, 2});
}

TEST(Jobs, MayTryAgainWhereMpiDoesNotStart) {
  expect_done("mpi_does_not_start", {1, 2});
}

TEST(Jobs, EndInOrderWhereMpiGrantsTooLowAThreadLevel) {
  expect_done("too_low_a_thread_level", {1, 2, 3});
}

TEST(Jobs, KeepOtherThreadsOutAtFunneled) {
  expect_done("funneled_from_another_thread", {1, 2});
}

TEST(Jobs, KeepTwoThreadsApartAtSerialized) {
  expect_done("serialized_by_two_threads", {1, 2});
}
