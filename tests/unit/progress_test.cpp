// What is under way and not waited for: the second stack, and who brings it forward.
#include <gtest/gtest.h>
#include <cobre/comm/detail/worker.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "comm/core/errand.hpp"
#include "comm/core/fiber.hpp"
#include "comm/core/progress.hpp"
#include "support/environment.hpp"

namespace {

using namespace cobre::comm;
using cobre::comm::core::Fiber;
using detail::Drive;

void call(void* body) {
  (*static_cast<std::function<void()>*>(body))();
}

class Job final : public detail::Worker {
 public:
  explicit Job(std::function<void()> body) : body_(std::move(body)) {}
  ~Job() override { stop(); }

 private:
  void run() override { body_(); }
  void abort_job() override { std::abort(); }
  std::function<void()> body_;
};

TEST(Fiber, RunsUntilItGivesWayAndGoesOnWhereItWas) {
  std::vector<int> seen;
  std::function<void()> body = [&] {
    for (int turn = 0; turn < 3; ++turn) {
      seen.push_back(turn);
      core::give_way();
    }
  };
  Fiber fiber;
  fiber.start(call, &body);
  EXPECT_EQ(seen, std::vector<int>({0}));
  while (!fiber.done()) fiber.resume();
  EXPECT_EQ(seen, std::vector<int>({0, 1, 2}));
  fiber.start(call, &body);  // the stack serves again
  EXPECT_EQ(seen.size(), 4U);
  while (!fiber.done()) fiber.resume();
}

TEST(Fiber, KnowsNothingOfTheExceptionsOfWhoResumesIt) {
  int in_flight = -1;
  bool caught = false;
  std::function<void()> body = [&] {
    in_flight = std::uncaught_exceptions();
    try {
      core::give_way();
      throw std::runtime_error("its own");
    } catch (const std::runtime_error&) {
      core::give_way();  // inside the handler
      caught = std::current_exception() != nullptr;
    }
  };
  Fiber fiber;
  struct Resumes {
    Fiber& fiber;
    std::function<void()>& body;
    ~Resumes() { fiber.start(call, &body); }
  };
  try {
    const Resumes while_unwinding{fiber, body};
    throw std::logic_error("another");
  } catch (const std::logic_error& error) {
    fiber.resume();
    EXPECT_STREQ(error.what(), "another");
    EXPECT_NO_THROW(try { throw; } catch (const std::logic_error&){});
  }
  EXPECT_EQ(in_flight, 0);
  while (!fiber.done()) fiber.resume();
  EXPECT_TRUE(caught);
}

TEST(Progress, GoesOnInTestInWaitAndWhileItsThreadWaitsForSomethingElse) {
  std::atomic<bool> open{false};
  Job job([&] {
    while (!open) core::give_way();
  });
  const auto number = job.start(Drive::Calls);
  EXPECT_FALSE(job.test(number));
  EXPECT_TRUE(core::has_other_work());
  open = true;
  core::give_way();  // as any wait does
  EXPECT_FALSE(core::has_other_work());
  EXPECT_TRUE(job.test(number));
  job.wait(number);
}

TEST(Progress, OfOneThreadIsBroughtForwardByAnotherThatWaits) {
  int turns = 0;
  Job job([&] {
    for (; turns < 10; ++turns) core::give_way();
  });
  const auto number = job.start(Drive::Calls);
  std::thread([&] { job.wait(number); }).join();
  EXPECT_EQ(turns, 10);
}

TEST(Progress, OrdersDoNotMatterWhereOneNeedsTheOther) {
  std::atomic<bool> second_ran{false};
  Job first([&] {
    while (!second_ran) core::give_way();
  });
  Job second([&] {
    core::give_way();
    second_ran = true;
  });
  const auto one = first.start(Drive::Calls);
  const auto two = second.start(Drive::Calls);
  first.wait(one);
  second.wait(two);
}

TEST(Progress, OfWhatNobodyWaitsForIsBesideItsCallerWhoeverDrivesIt) {
  EXPECT_FALSE(core::is_beside_caller());
  for (const Drive drive : {Drive::Calls, Drive::Thread}) {
    bool beside = false;
    Job job([&] { beside = core::is_beside_caller(); });
    job.wait(job.start(drive));
    EXPECT_TRUE(beside);
    EXPECT_FALSE(core::is_beside_caller());
  }
}

TEST(Progress, WhatARunThrewIsThrownOnceByWait) {
  for (const Drive drive : {Drive::Calls, Drive::Thread}) {
    Job job([] {
      core::give_way();
      throw std::runtime_error("no");
    });
    const auto number = job.start(drive);
    EXPECT_THROW(job.wait(number), std::runtime_error);
    EXPECT_NO_THROW(job.wait(number));
    job.drop(job.start(drive), false);
  }
}

TEST(Progress, ADeepStackIsThereForTheReductionsOfUsers) {
  const std::function<int(int)> deep = [&](int depth) {
    volatile char frame[4096] = {};
    frame[0] = static_cast<char>(depth);
    return depth == 0 ? frame[0] : 1 + deep(depth - 1);
  };
  int depth = 0;
  Job job([&] { depth = deep(100); });
  job.wait(job.start(Drive::Calls));
  EXPECT_EQ(depth, 100);
}

class Chore final : public core::Errand {
 public:
  explicit Chore(int steps) : left(steps) {}
  ~Chore() override { (void)take_back(); }

  std::atomic<int> left;

 private:
  Step advance() noexcept override { return --left == 0 ? Step::Done : Step::Moved; }
};

TEST(Errand, GoesOnWhileItsThreadWaitsUntilItIsDone) {
  Chore chore(3);
  EXPECT_FALSE(core::has_other_work());
  chore.hand_in();
  EXPECT_TRUE(core::has_other_work());
  EXPECT_TRUE(core::give_way());
  EXPECT_EQ(chore.left, 2);
  while (core::has_other_work()) core::give_way();
  EXPECT_EQ(chore.left, 0);
  EXPECT_FALSE(core::give_way()) << "nothing is left to move";
}

TEST(Errand, RestsWhileItsOwnerIsAtIt) {
  Chore chore(10);
  EXPECT_FALSE(chore.take_back()) << "it was never handed in";
  chore.hand_in();
  EXPECT_TRUE(chore.take_back());
  EXPECT_FALSE(core::has_other_work());
  core::give_way();
  EXPECT_EQ(chore.left, 10);
}

TEST(Errand, IsOneThingToDoHoweverOftenItIsHandedIn) {
  Chore chore(10);
  chore.hand_in();
  chore.hand_in();
  EXPECT_TRUE(chore.take_back());
  EXPECT_FALSE(core::has_other_work());
  chore.hand_in();
  chore.hand_in();
  while (chore.left > 0) core::give_way();
  EXPECT_FALSE(core::has_other_work());
}

TEST(Errand, BelongsToTheThreadThatHandedItInLast) {
  Chore chore(10);
  chore.hand_in();
  std::thread([&] {
    chore.hand_in();
    EXPECT_TRUE(core::has_other_work());
    core::give_way();
    EXPECT_EQ(chore.left, 9);
    EXPECT_TRUE(chore.take_back());
    EXPECT_FALSE(core::has_other_work());
  }).join();
  EXPECT_FALSE(core::has_other_work());
}

TEST(Errand, GoesOnWhileAnOperationOfTheSameThreadIsAwaited) {
  for (const Drive drive : {Drive::Calls, Drive::Thread}) {
    Chore chore(3);
    Job job([&] {
      while (chore.left > 0) core::give_way();
    });
    chore.hand_in();
    job.wait(job.start(drive));
    EXPECT_EQ(chore.left, 0);
  }
}

// As a channel that goes from one thread to another while the first one waits for something else.
TEST(Errand, IsTakenBackByAnotherThreadWhileItsThreadIsAtIt) {
  Chore chore(1'000'000'000);
  chore.hand_in();
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (int turn = 0; turn < 1000; ++turn) {
      EXPECT_TRUE(chore.take_back());
      const int left = chore.left;
      std::this_thread::yield();
      EXPECT_EQ(chore.left, left) << "nobody else is at it";
      chore.hand_in();
      core::give_way();
    }
    EXPECT_TRUE(chore.take_back());
    over = true;
  });
  while (!over) core::give_way();
  other.join();
  EXPECT_FALSE(core::has_other_work());
}

TEST(Progress, IsAskedForInTheEnvironment) {
  EXPECT_EQ(detail::drive_from_environment(), Drive::Calls);
  test::ScopedEnvironment environment;
  environment.set("COBRE_COMM_PROGRESS", "thread");
  EXPECT_EQ(detail::drive_from_environment(), Drive::Thread);
  environment.set("COBRE_COMM_PROGRESS", "threads");
  EXPECT_THROW((void)detail::drive_from_environment(), InvalidConfiguration);
}

}  // namespace
