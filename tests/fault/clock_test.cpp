// The clock of the wall may jump, by an administrator's hand or a time server's: nothing here goes by it.

#include <dlfcn.h>

#include <ctime>

#include "fault/on_backends.hpp"

namespace {

std::atomic<bool> jumping{false};
std::atomic<int> looks{0};

}  // namespace

// In the place of the C library's, for this whole program: while `jumping`, every look at the wall clock is an hour
// off, now forwards and now backwards.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  if (jumping && clock == CLOCK_REALTIME) time->tv_sec += looks++ % 2 == 0 ? 3600 : -3600;
  return result;
}

namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;
using test::outcome_of;
using namespace std::chrono_literals;

class JumpingClock : public fault::OnBackends {};
INSTANTIATE_TEST_SUITE_P(On, JumpingClock, testing::ValuesIn(fault::backends()), fault::name_of);

// The timeout neither strikes early nor fails to strike.
TEST_P(JumpingClock, MakesNoDifferenceToTimeouts) {
  test::Shared<std::atomic<test::Clock::rep>> first;  // who of those who wait began when; the time is that of all
  *first = test::Clock::duration::max().count();
  jumping = true;  // the ranks inherit it
  EXPECT_GT(std::chrono::abs(std::chrono::system_clock::now() - std::chrono::system_clock::now()), 1h);
  auto ranks =
      start(3,
            [&](const CommBackend& comm) -> std::string {
              for (int i = 0; i < 50; ++i) {
                if (comm.allreduce(1, ReduceOp::Sum) != 3) return "wrong";
                if (comm.rank() == 1) std::this_thread::sleep_for(5ms);
              }
              if (comm.rank() == 1) std::this_thread::sleep_for(1500ms);
              const auto begin = test::Clock::now().time_since_epoch().count();
              for (auto before = first->load(); begin < before && !first->compare_exchange_weak(before, begin);) {
              }
              const std::string outcome = outcome_of([&] { comm.barrier(); });
              const auto took = test::Clock::now().time_since_epoch() - test::Clock::duration(*first);
              if (comm.rank() == 1) return outcome;
              return outcome + (took >= 490ms && took < 1400ms ? " in time" : " at another time");
            },
            {.timeout = 500ms});
  jumping = false;
  EXPECT_EQ(ranks[0].words(), "TimedOut 1 in time");
  EXPECT_EQ(ranks[2].words(), "TimedOut 1 in time");
}

}  // namespace
