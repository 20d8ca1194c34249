// Error text is part of the product: what each message says is fixed here.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "comm/core/text.hpp"

namespace {

using namespace cobre::comm;

const Where where{"allreduce", 1, 4};

TEST(Errors, HaveOneRootAndTwoBranches) {
  static_assert(std::is_base_of_v<std::runtime_error, Error>);
  static_assert(std::is_base_of_v<Error, CommError> && std::is_base_of_v<Error, BackendError>);
  static_assert(std::is_base_of_v<CommError, CollectiveFailed> && std::is_base_of_v<CommError, InvalidBufferSize> &&
                std::is_base_of_v<CommError, InvalidRoot> && std::is_base_of_v<CommError, InvalidOperation> &&
                std::is_base_of_v<CommError, InvalidCommunicator> && std::is_base_of_v<CommError, AllocationFailed> &&
                std::is_base_of_v<CommError, PeerFailed> && std::is_base_of_v<CommError, TimedOut> &&
                std::is_base_of_v<CommError, CollectiveMismatch>);
  static_assert(
      std::is_base_of_v<BackendError, BackendNotAvailable> && std::is_base_of_v<BackendError, InvalidBackend> &&
      std::is_base_of_v<BackendError, InitializationFailed> && std::is_base_of_v<BackendError, MissingConfiguration> &&
      std::is_base_of_v<InitializationFailed, InvalidConfiguration>);
  EXPECT_THROW(throw InvalidRoot(where, 9), Error);
}

TEST(Errors, CollectiveFailedCarriesTheCodeOfTheLayerBelow) {
  const CollectiveFailed error(where, 17, "link down");
  EXPECT_STREQ(error.what(), "allreduce on rank 1 of 4: failed with error code 17: link down");
  EXPECT_EQ(error.code(), 17);
  EXPECT_EQ(error.operation(), "allreduce");
}

TEST(Errors, InvalidRootSaysWhichRootsThereAre) {
  const InvalidRoot error({"broadcast", 0, 2}, 5);
  EXPECT_STREQ(error.what(),
               "broadcast on rank 0 of 2: root 5 is not a rank of this communicator; use a root from 0 to 1");
  EXPECT_EQ(error.root(), 5U);
  EXPECT_EQ(error.size(), 2U);
}

TEST(Errors, InvalidPeerSaysWhichPeersThereAre) {
  const InvalidPeer error({"channel", 0, 2}, 5);
  EXPECT_STREQ(error.what(), "channel on rank 0 of 2: peer 5 is not a rank of this communicator; use one from 0 to 1");
  EXPECT_EQ(error.peer(), 5U);
  EXPECT_EQ(error.size(), 2U);
}

TEST(Errors, InvalidTagSaysWhichTagsCanBeCarried) {
  const InvalidTag error({"send", 1, 2}, -3, 4095);
  EXPECT_STREQ(error.what(), "send on rank 1 of 2: tag -3 cannot be carried by this backend; use one from 0 to 4095");
  EXPECT_EQ(error.tag(), -3);
  EXPECT_EQ(error.largest(), 4095);
}

// What a message that does not fit says is the same on every backend: the local one stands for all.
TEST(Errors, AMessageThatDoesNotFitSaysSoAndThatItIsNotLost) {
  const LocalBackend comm;
  const auto channel = comm.channel(0, 7);
  channel.send(std::array{1.0, 2.0});
  std::array<double, 3> room{};
  const auto text = [&](auto&& receive) -> std::string {
    try {
      receive();
    } catch (const InvalidBufferSize& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(
      text([&] { channel.recv(room); }),
      "recv on rank 0 of 1: the next message from rank 0 with tag 7 has 2 elements, but the buffer has 3 elements; "
      "pass one that fits, or use recv_some. It stays the next message");
  EXPECT_EQ(text([&] { (void)channel.recv_some(std::span(room).first(1)); }),
            "recv_some on rank 0 of 1: the next message from rank 0 with tag 7 has 2 elements, but the buffer has 1 "
            "element; pass one that fits. It stays the next message");
  EXPECT_EQ(channel.recv_some(room), 2U);
}

TEST(Errors, InvalidOperationSaysForWhichTypesTheOperationExists) {
  const auto text = [](ReduceOp op, ElementType type) { return std::string(InvalidOperation(where, op, type).what()); };
  EXPECT_EQ(
      text(ReduceOp::BitwiseOr, ElementType::Double),
      "allreduce on rank 1 of 4: BitwiseOr is not defined for double; it exists for integers, bool and std::byte. "
      "Reduce other types with a callable");
  EXPECT_NE(
      text(ReduceOp::MinLoc, ElementType::Int32).find("MinLoc is not defined for int32; it exists for ValueIndex<T>"),
      std::string::npos);
  EXPECT_NE(text(ReduceOp::Sum, ElementType::Byte).find("integers, floating-point and complex numbers"),
            std::string::npos);
  EXPECT_NE(text(ReduceOp::Max, ElementType::ComplexFloat).find("integers, floating-point numbers and bool"),
            std::string::npos);
  EXPECT_NE(text(ReduceOp::LogicalXor, ElementType::Float).find("it exists for integers and bool"), std::string::npos);
}

TEST(Errors, InvalidCommunicatorGivesTheReason) {
  EXPECT_STREQ(
      InvalidCommunicator({"barrier", 3, 4}, "allreduce failed before: rank 2 died").what(),
      "barrier on rank 3 of 4: the communicator cannot be used any more: allreduce failed before: rank 2 died");
}

TEST(Errors, AllocationFailedGivesTheBytes) {
  const AllocationFailed error({"create_shared_region", 0, 1}, 4096, "no space");
  EXPECT_STREQ(error.what(), "create_shared_region on rank 0 of 1: 4096 bytes could not be had: no space");
  EXPECT_EQ(error.requested_bytes(), 4096U);
}

TEST(Errors, PeerFailedNamesWhatIsKnownOfTheRank) {
  const PeerFailed killed({"barrier", 0, 4}, {2, "node-7", 4711, 9, std::nullopt});
  EXPECT_STREQ(
      killed.what(),
      "barrier on rank 0 of 4: rank 2 (host node-7, process 4711) was killed by signal 9 (SIGKILL); look for the "
      "cause in its output. This communicator is finished: end the program or make a new one");
  EXPECT_EQ(killed.rank(), 2U);
  EXPECT_EQ(killed.host(), "node-7");
  EXPECT_EQ(killed.pid(), 4711);
  EXPECT_EQ(killed.signal(), 9);
  EXPECT_FALSE(killed.exit_code());

  const auto text = [](FailedPeer peer) { return std::string(PeerFailed(where, std::move(peer)).what()); };
  EXPECT_NE(text({1, {}, 12, {}, 3}).find("rank 1 (process 12) ended with exit code 3"), std::string::npos);
  EXPECT_NE(text({1, "n2", {}, {}, {}}).find("rank 1 (host n2) died or left the group"), std::string::npos);
  EXPECT_NE(text({1, {}, {}, {}, {}}).find(": rank 1 died or left"), std::string::npos);
}

TEST(Errors, TimedOutListsTheMissingRanks) {
  const TimedOut error({"allgatherv", 0, 8}, 2.5, {1, 3, 7});
  EXPECT_STREQ(error.what(),
               "allgatherv on rank 0 of 8: waited 2.5 s for ranks 1, 3 and 7; see what they are doing, or raise "
               "COBRE_COMM_TIMEOUT_SECS if they are only slow");
  EXPECT_EQ(error.missing_ranks(), (std::vector<std::size_t>{1, 3, 7}));
  EXPECT_EQ(error.waited_seconds(), 2.5);

  std::vector<std::size_t> many(40);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_NE(std::string(TimedOut(where, 1, many).what()).find("for ranks 0-39;"), std::string::npos);
  for (std::size_t& rank : many) rank *= 2;
  EXPECT_NE(std::string(TimedOut(where, 1, many).what()).find("28, 30 and 24 more;"), std::string::npos);
}

TEST(RankList, NamesThoseThatFollowEachOtherByTheFirstAndTheLast) {
  const auto list = [](const std::vector<std::size_t>& ranks, std::size_t most = 16) {
    return core::rank_list(ranks, most);
  };
  EXPECT_EQ(list({7}), "rank 7");
  EXPECT_EQ(list({0, 1}), "ranks 0 and 1");
  EXPECT_EQ(list({0, 1, 3}), "ranks 0, 1 and 3");
  EXPECT_EQ(list({0, 1, 2}), "ranks 0-2");
  EXPECT_EQ(list({3, 4, 5, 6, 20}), "ranks 3-6 and 20");
  EXPECT_EQ(list({1, 4, 5, 8, 9, 10}), "ranks 1, 4, 5 and 8-10");
  EXPECT_EQ(list({2, 1, 0}), "ranks 2, 1 and 0") << "in the order that they have";
  EXPECT_EQ(list({1, 2, 3, 5, 7, 8}, 2), "ranks 1-3, 5 and 2 more");
  std::vector<std::size_t> odd;
  for (std::size_t rank = 1; rank < 1024; rank += 2) odd.push_back(rank);
  const std::string all = list(odd, core::all_of_them);
  EXPECT_EQ(std::ranges::count(all, ','), 510);
  EXPECT_TRUE(all.ends_with(", 1021 and 1023"));
}

TEST(Errors, CollectiveMismatchNamesFieldAndRanks) {
  const CollectiveMismatch error(where, "count", {2}, "rank 0 says 4, rank 2 says 3");
  EXPECT_STREQ(
      error.what(),
      "allreduce on rank 1 of 4: the ranks do not agree on the count: rank 0 says 4, rank 2 says 3; all ranks must "
      "call the same operations in the same order with arguments that fit together (differing: rank 2)");
  EXPECT_EQ(error.field(), "count");
  EXPECT_EQ(error.ranks(), std::vector<std::size_t>{2});
}

TEST(Errors, BackendNotAvailableSaysHowToGetIt) {
  const BackendNotAvailable error("tcp", {"shm", "local"});
  EXPECT_STREQ(
      error.what(),
      "communication backend 'tcp' is not in this build (available: shm, local); rebuild with -DCOBRE_COMM_TCP=ON "
      "or choose another one in COBRE_COMM_BACKEND");
  EXPECT_EQ(error.requested(), "tcp");
  EXPECT_EQ(error.available(), (std::vector<std::string>{"shm", "local"}));
}

TEST(Errors, InvalidBackendQuotesTheNameAndListsTheKnownOnes) {
  const InvalidBackend error("Foo\n\xff");
  EXPECT_STREQ(
      error.what(),
      "unknown communication backend 'Foo\\x0a\\xff' (known: auto, mpi, tcp, shm, local; in lower case); correct "
      "or unset COBRE_COMM_BACKEND");
  EXPECT_EQ(error.requested(), "Foo\n\xff");
  EXPECT_EQ(error.available().size(), 5U);
}

TEST(Errors, InitializationFailedNamesTheBackend) {
  const InitializationFailed error("mpi", "thread level Multiple was refused");
  EXPECT_STREQ(error.what(), "backend 'mpi' could not start: thread level Multiple was refused");
  EXPECT_EQ(error.backend(), "mpi");
}

TEST(Errors, InvalidConfigurationQuotesTheValue) {
  const InvalidConfiguration error("shm", "COBRE_SHM_RANK", "-1", "a whole number from 0 to 3");
  EXPECT_STREQ(error.what(),
               "backend 'shm' could not start: COBRE_SHM_RANK is '-1', but must be a whole number from 0 to 3");
  EXPECT_EQ(error.variable(), "COBRE_SHM_RANK");
  EXPECT_EQ(error.value(), "-1");
}

TEST(Errors, MissingConfigurationListsAllVariables) {
  const MissingConfiguration error("tcp", {"COBRE_TCP_RANK", "COBRE_TCP_SIZE"});
  EXPECT_STREQ(
      error.what(),
      "backend 'tcp' needs environment variables that are not set: COBRE_TCP_RANK, COBRE_TCP_SIZE; set them on "
      "every rank, or start the program with a launcher that does");
  EXPECT_EQ(error.missing_vars(), (std::vector<std::string>{"COBRE_TCP_RANK", "COBRE_TCP_SIZE"}));
  EXPECT_NE(std::string(MissingConfiguration("shm", {"COBRE_SHM_RANK"}).what())
                .find("needs an environment variable that is not set: COBRE_SHM_RANK; set it on"),
            std::string::npos);
}

TEST(Errors, KeepTheirTextAndFieldsWhenCopied) {
  const TimedOut first({"allgatherv", 0, 8}, 2.5, {1});
  const TimedOut second = first;
  EXPECT_STREQ(second.what(), first.what());
  EXPECT_EQ(second.missing_ranks(), first.missing_ranks());
}

}  // namespace
