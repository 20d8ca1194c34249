// Hints reach MPI wherever it takes any. Which of them a library heeds is its own affair, so most tests look from below
// ferrompi, in the place of MPI's own functions.
#include "ferrompi/ranks.hpp"

#include <optional>
#include <string>

using namespace ferrompi;

namespace {

constexpr const char* key = "told_by_the_test";

// The value of that key in what MPI was given last; nothing if it was given no hints.
std::optional<std::string> told;

void remember(MPI_Info info) {
  MPI_Info copy = MPI_INFO_NULL;
  if (info != MPI_INFO_NULL) PMPI_Info_dup(info, &copy);
  told = Info::adopt(copy).get(key);
}

class Hints : public Ranks {
 protected:
  template <class Call>
  static std::optional<std::string> told_by(Call call) {
    told.reset();
    call();
    return told;
  }

  const Info hints{{key, "yes"}};
  std::vector<int> send = std::vector<int>(3, 1);
  std::vector<int> recv = std::vector<int>(3);
};

}  // namespace

// Before MPI 4 the persistent collectives have the prefix of an extension.
#if MPI_VERSION >= 4
#define ALLREDUCE_INIT MPI_Allreduce_init
#define ALLREDUCE_INIT_OF_MPI PMPI_Allreduce_init
#define BARRIER_INIT MPI_Barrier_init
#define BARRIER_INIT_OF_MPI PMPI_Barrier_init
#else
#define ALLREDUCE_INIT MPIX_Allreduce_init
#define ALLREDUCE_INIT_OF_MPI PMPIX_Allreduce_init
#define BARRIER_INIT MPIX_Barrier_init
#define BARRIER_INIT_OF_MPI PMPIX_Barrier_init
#endif

extern "C" {

int MPI_Comm_split_type(MPI_Comm comm, int type, int order, MPI_Info info, MPI_Comm* made) {
  remember(info);
  return PMPI_Comm_split_type(comm, type, order, info, made);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  remember(info);
  return PMPI_Comm_dup_with_info(comm, info, made);
}

int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
  remember(info);
  return PMPI_Comm_set_info(comm, info);
}

int MPI_Win_set_info(MPI_Win win, MPI_Info info) {
  remember(info);
  return PMPI_Win_set_info(win, info);
}

int ALLREDUCE_INIT(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Info info,
                   MPI_Request* request) {
  remember(info);
  return ALLREDUCE_INIT_OF_MPI(from, to, count, type, op, comm, info, request);
}

int BARRIER_INIT(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  remember(info);
  return BARRIER_INIT_OF_MPI(comm, info, request);
}
}

TEST_F(Hints, ReachMpiWhenACommunicatorIsMade) {
  EXPECT_EQ(told_by([&] { (void)world.duplicate(hints); }), "yes");
  EXPECT_EQ(told_by([&] { (void)world.split_type(SplitType::Shared, 0, hints); }), "yes");
  EXPECT_EQ(told_by([&] { (void)world.split_type(SplitType::Shared); }), std::nullopt);
  EXPECT_EQ(told_by([&] { (void)world.split_shared(hints); }), "yes");
  EXPECT_EQ(told_by([&] { (void)world.split_shared(); }), std::nullopt);
}

TEST_F(Hints, LeaveTheRanksThatShareMemoryInOrder) {
  const auto node = world.split_shared(hints);
  EXPECT_EQ(node.rank(), rank);
  EXPECT_EQ(node.allreduce(1, ReduceOp::Sum), size);
}

TEST_F(Hints, ReachMpiWhenAPlanIsMade) {
  EXPECT_EQ(told_by([&] { (void)world.allreduce_init(send, recv, ReduceOp::Sum, hints); }), "yes");
  EXPECT_EQ(told_by([&] { (void)world.allreduce_init_inplace(recv, ReduceOp::Sum, hints); }), "yes");
  EXPECT_EQ(told_by([&] { (void)world.allreduce_init(send, recv, ReduceOp::Sum); }), std::nullopt);
  EXPECT_EQ(told_by([&] { (void)world.barrier_init(hints); }), "yes");
  EXPECT_EQ(told_by([&] { (void)world.barrier_init(); }), std::nullopt);
}

TEST_F(Hints, DoNotStandInTheWayOfAPlan) {
  auto plan = world.allreduce_init(send, recv, ReduceOp::Sum, hints);
  plan.start();
  plan.wait();
  EXPECT_EQ(recv, std::vector<int>(3, size));
}

TEST_F(Hints, AreGivenToACommunicatorThatExistsAndReadBack) {
  EXPECT_EQ(told_by([&] { world.set_info(hints); }), "yes");
  constexpr const char* known_to_both = "mpi_assert_no_any_source";
  EXPECT_EQ(world.info().get(known_to_both).value_or("false"), "false");
  world.set_info(Info{{known_to_both, "true"}});
  EXPECT_EQ(world.info().get(known_to_both), "true");
  EXPECT_EQ(world.duplicate(Info{{known_to_both, "false"}}).info().get(known_to_both), "false");
  EXPECT_EQ(world.allreduce(1, ReduceOp::Sum), size);
}

TEST_F(Hints, AreGivenToAWindowThatExistsAndReadBack) {
  auto window = SharedWindow<double>::allocate(world, 4);
  EXPECT_EQ(told_by([&] { window.set_info(hints); }), "yes");
  EXPECT_EQ(window.info().get("alloc_shared_noncontig"), "false");
  const auto apart = SharedWindow<double>::allocate(world, 4, WindowLayout::Separate);
  EXPECT_EQ(apart.info().get("alloc_shared_noncontig"), "true");
  window.fence();
}

TEST_F(Hints, OfANullInfoAreRefusedAndEverythingGoesOn) {
  auto window = SharedWindow<double>::allocate(world, 4);
  const auto refused = error_of<MpiError>([&] { world.set_info(Info::null()); });
  EXPECT_EQ(refused.error_class(), ErrorClass::Info);
  EXPECT_EQ(refused.operation(), "set_info");
  EXPECT_EQ(error_of<MpiError>([&] { window.set_info(Info::null()); }).error_class(), ErrorClass::Info);
  window.fence();
  EXPECT_EQ(world.allreduce(1, ReduceOp::Sum), size);
}

TEST_F(Hints, OfWhatWasMovedFromAreNotToBeHad) {
  auto original = world.duplicate();
  const auto moved = std::move(original);
  EXPECT_EQ(error_of<MpiError>([&] { (void)original.info(); }).error_class(), ErrorClass::Comm);
  EXPECT_EQ(error_of<MpiError>([&] { original.set_info(hints); }).error_class(), ErrorClass::Comm);
  auto window = SharedWindow<double>::allocate(world, 4);
  auto other = std::move(window);
  EXPECT_EQ(error_of<MpiError>([&] { (void)window.info(); }).error_class(), ErrorClass::Win);
  EXPECT_EQ(error_of<MpiError>([&] { window.set_info(hints); }).error_class(), ErrorClass::Win);
}
