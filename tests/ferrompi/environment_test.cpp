// The environment and the making of communicators.
#include "ferrompi/ranks.hpp"

using namespace ferrompi;

namespace {
class Environment : public Ranks {};
class Communicators : public Ranks {};
}  // namespace

TEST_F(Environment, KnowsItselfAndItsLibrary) {
  EXPECT_TRUE(Mpi::is_initialized());
  EXPECT_FALSE(Mpi::is_finalized());
  EXPECT_FALSE(test_mpi().adopted());
  EXPECT_GE(test_mpi().thread_level(), ThreadLevel::Single);
  EXPECT_EQ(Mpi::version().rfind("MPI ", 0), 0U);
  EXPECT_FALSE(Mpi::library_version().empty());
  EXPECT_FALSE(std::isspace(static_cast<unsigned char>(Mpi::library_version().back())));
}

TEST_F(Environment, HasAClockThatGoesForward) {
  const double before = Mpi::wtime();
  EXPECT_GE(Mpi::wtime(), before);
  EXPECT_GT(Mpi::wtick(), 0);
  EXPECT_LT(Mpi::wtick(), 1);
}

TEST_F(Environment, RefusesASecondInit) {
  EXPECT_THROW((void)Mpi::init(), AlreadyInitialized);
  EXPECT_THROW((void)Mpi::init_thread(ThreadLevel::Multiple), AlreadyInitialized);
  EXPECT_EQ(error_of<AlreadyInitialized>([] { (void)Mpi::init(); }).operation(), "init");
  EXPECT_EQ(error_of<AlreadyInitialized>([] { (void)Mpi::init_thread(ThreadLevel::Single); }).operation(),
            "init_thread");
}

TEST_F(Environment, GivesViewsOfTheWorldAndOfItself) {
  EXPECT_EQ(test_mpi().world().native(), MPI_COMM_WORLD);
  EXPECT_EQ(test_mpi().self().size(), 1);
  EXPECT_EQ(test_mpi().self().rank(), 0);
  EXPECT_EQ(test_mpi().self().allreduce(5, ReduceOp::Sum), 5);
}

TEST_F(Communicators, KnowWhereTheyAre) {
  EXPECT_GE(rank, 0);
  EXPECT_LT(rank, size);
  EXPECT_FALSE(world.processor_name().empty());
}

TEST_F(Communicators, AreDuplicatedWithMessagesOfTheirOwn) {
  const auto copy = world.duplicate();
  EXPECT_EQ(copy.rank(), rank);
  EXPECT_EQ(copy.size(), size);
  EXPECT_NE(copy.native(), world.native());
  auto send = world.isend(1, next, 5);
  EXPECT_FALSE(copy.iprobe(any_source, any_tag));
  EXPECT_EQ(world.recv<int>(previous, 5), 1);
  send.wait();
  const auto hinted = world.duplicate(Info::null());
  EXPECT_EQ(hinted.allreduce(1, ReduceOp::Sum), size);
}

TEST_F(Communicators, TakeHintsAlong) {
  const Info hints{{"mpi_assert_no_any_tag", "true"}};
  const auto copy = world.duplicate(hints);
  MPI_Info found = MPI_INFO_NULL;
  ASSERT_EQ(MPI_Comm_get_info(copy.native(), &found), MPI_SUCCESS);
  EXPECT_EQ(Info::adopt(found).get("mpi_assert_no_any_tag"), "true");
  const auto node = world.split_type(SplitType::Shared, -rank, hints);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->rank(), size - 1 - rank);
}

TEST_F(Communicators, AreSplitByColourAndOrderedByKey) {
  const auto half = world.split(rank % 2, rank);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->rank(), rank / 2);
  EXPECT_EQ(half->size(), (size + 1 - rank % 2) / 2);
  int expected = 0;
  for (int r = rank % 2; r < size; r += 2) expected += r;
  EXPECT_EQ(half->allreduce(rank, ReduceOp::Sum), expected);

  const auto reversed = world.split(0, -rank);
  EXPECT_EQ(reversed->rank(), size - 1 - rank);

  const auto thirds = world.split(rank % 3, rank);
  const auto members = thirds->allgather(rank);
  for (const int member : members) EXPECT_EQ(member % 3, rank % 3);
}

TEST_F(Communicators, LeaveOutWhoeverJoinsNoPart) {
  const auto rest = world.split(rank == 0 ? undefined : 0, rank);
  EXPECT_EQ(rest.has_value(), rank != 0);
  if (rest) {
    EXPECT_EQ(rest->size(), size - 1);
    EXPECT_EQ(rest->broadcast(rank, 0), 1);
  }
  EXPECT_EQ(world.split_type(rank == 0 ? SplitType::Undefined : SplitType::Shared).has_value(), rank != 0);
  EXPECT_EQ(error_of<MpiError>([&] { (void)world.split(-3); }).error_class(), ErrorClass::Arg);
}

TEST_F(Communicators, FindTheRanksThatShareMemory) {
  const auto node = world.split_shared();
  EXPECT_EQ(node.allreduce(1, ReduceOp::Sum), node.size());
  EXPECT_EQ(node.size(), size) << "these tests run on one machine";
  EXPECT_EQ(node.rank(), rank);
  const auto typed = world.split_type(SplitType::Shared, rank);
  EXPECT_EQ(typed->size(), node.size());
}

TEST_F(Communicators, HaveNames) {
  const auto copy = world.duplicate();
  copy.set_name("ring");
  EXPECT_EQ(copy.name(), "ring");
  EXPECT_EQ(test_mpi().world().name(), "MPI_COMM_WORLD");
  EXPECT_EQ(error_of<MpiError>([&] { copy.set_name(std::string(10000, 'x')); }).error_class(), ErrorClass::Arg);
}

TEST_F(Communicators, AreAdoptedOrBorrowedFromMpi) {
  MPI_Comm made = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(world.native(), &made), MPI_SUCCESS);
  {
    const auto view = Communicator::borrow(made);
    EXPECT_EQ(view.allreduce(1, ReduceOp::Sum), size);
  }
  const auto owner = Communicator::adopt(made);
  EXPECT_EQ(owner.native(), made);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(made, &handler);
  EXPECT_EQ(handler, MPI_ERRORS_RETURN);
}

// The original ends the job by its errors, so that none can have inherited what it should have been given.
TEST_F(Communicators, ReturnTheirErrorsHoweverTheyWereMade) {
  MPI_Comm fatal = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(world.native(), &fatal), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(fatal, MPI_ERRORS_ARE_FATAL), MPI_SUCCESS);
  const auto handler_of = [](const Communicator& comm) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_get_errhandler(comm.native(), &handler), MPI_SUCCESS);
    return handler;
  };
  {
    const auto original = Communicator::borrow(fatal);
    EXPECT_EQ(handler_of(original), MPI_ERRORS_ARE_FATAL) << "what is borrowed stays as it was";
    EXPECT_EQ(handler_of(original.duplicate()), MPI_ERRORS_RETURN);
    EXPECT_EQ(handler_of(original.duplicate(Info())), MPI_ERRORS_RETURN);
    EXPECT_EQ(handler_of(original.split(0).value()), MPI_ERRORS_RETURN);
    EXPECT_EQ(handler_of(original.split_type(SplitType::Shared).value()), MPI_ERRORS_RETURN);
    EXPECT_EQ(handler_of(original.split_type(SplitType::Shared, 0, Info()).value()), MPI_ERRORS_RETURN);
    EXPECT_EQ(handler_of(original.split_shared()), MPI_ERRORS_RETURN);
    EXPECT_EQ(handler_of(original.split_shared(Info())), MPI_ERRORS_RETURN);
    EXPECT_EQ(handler_of(original), MPI_ERRORS_ARE_FATAL);
  }
  MPI_Comm_free(&fatal);
  EXPECT_EQ(handler_of(test_mpi().world()), MPI_ERRORS_RETURN);
  EXPECT_EQ(handler_of(test_mpi().self()), MPI_ERRORS_RETURN);
}

TEST_F(Communicators, AreInertOnceMovedAndMayBeAssigned) {
  auto first = world.duplicate();
  auto second = world.duplicate();
  const auto native = second.native();
  first = std::move(second);
  EXPECT_EQ(first.native(), native);
  EXPECT_EQ(second.native(), MPI_COMM_NULL);
  EXPECT_EQ(first.allreduce(1, ReduceOp::Sum), size);
  static_assert(!std::is_copy_constructible_v<Communicator> && !std::is_copy_constructible_v<Request> &&
                !std::is_copy_constructible_v<PersistentRequest> && !std::is_copy_constructible_v<Mpi>);
}

TEST_F(Communicators, MayBeManyAtOnce) {
  std::vector<Communicator> many;
  const int number = size <= 2 ? 300 : 10;  // each costs milliseconds where ranks outnumber cores
  for (int i = 0; i < number; ++i) many.push_back(world.duplicate());
  EXPECT_EQ(many.back().allreduce(1, ReduceOp::Sum), size);
}
