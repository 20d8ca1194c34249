// Wrong arguments: each gives an error of the right class that names the operation and the numbers, on the rank that
// made the mistake, before anything is sent; and the communicator stays good.
#include "ferrompi/errors.hpp"

#include <algorithm>
#include <set>

using namespace ferrompi;

TEST_F(Errors, NameARootOutsideTheCommunicator) {
  const auto bad = [&](const char* operation, auto call) {
    expect_class(ErrorClass::Root, operation, [&] { call(size); });
    expect_class(ErrorClass::Root, operation, [&] { call(-1); });
    expect_class(ErrorClass::Root, operation, [&] { call(999); });
  };
  bad("broadcast", [&](int root) { world.broadcast(one, root); });
  bad("ibroadcast", [&](int root) { (void)world.ibroadcast(one, root); });
  bad("broadcast_init", [&](int root) { (void)world.broadcast_init(one, root); });
  bad("reduce", [&](int root) { world.reduce(one, odd, ReduceOp::Sum, root); });
  bad("reduce_inplace", [&](int root) { world.reduce_inplace(one, ReduceOp::Sum, root); });
  bad("gather", [&](int root) { world.gather(one, many, root); });
  bad("igather_inplace", [&](int root) { (void)world.igather_inplace(many, root); });
  bad("scatter", [&](int root) { world.scatter(many, one, root); });
  bad("scatter_init_inplace", [&](int root) { (void)world.scatter_init_inplace(many, root); });
  const std::vector<int> counts(ranks, 1);
  bad("ireduce", [&](int root) { (void)world.ireduce(one, odd, ReduceOp::Sum, root); });
  bad("reduce_init", [&](int root) { (void)world.reduce_init(one, odd, ReduceOp::Sum, root); });
  bad("igatherv", [&](int root) { (void)world.igatherv(one, many, counts, displacements(counts), root); });
  bad("scatterv_init", [&](int root) { (void)world.scatterv_init(many, counts, displacements(counts), one, root); });
  bad("gatherv", [&](int root) { (void)world.gatherv(one, root); });
  bad("scatterv", [&](int root) { (void)world.scatterv(many, counts, root); });
  bad("gatherv", [&](int root) { world.gatherv(one, many, counts, displacements(counts), root); });
  bad("scatterv", [&](int root) { world.scatterv(many, counts, displacements(counts), one, root); });
  const auto copy = world.duplicate();
  expect_class(ErrorClass::Root, "broadcast", [&] { copy.broadcast(one, 999); });
  const auto text = std::string(error_of<MpiError>([&] { world.broadcast(one, 999); }).what());
  EXPECT_NE(text.find("root 999"), std::string::npos) << text;
  EXPECT_NE(text.find("0 to " + std::to_string(size - 1)), std::string::npos) << text;
}

TEST_F(Errors, NameAPeerOutsideTheCommunicator) {
  const int nobody = 4711;
  expect_class(ErrorClass::Rank, "send", [&] { world.send(1, nobody, 0); });
  expect_class(ErrorClass::Rank, "send", [&] { world.send(1, size, 0); });
  expect_class(ErrorClass::Rank, "ssend", [&] { world.ssend(one, nobody, 0); });
  expect_class(ErrorClass::Rank, "isend", [&] { (void)world.isend(one, nobody, 0); });
  expect_class(ErrorClass::Rank, "send_init", [&] { (void)world.send_init(one, nobody, 0); });
  expect_class(ErrorClass::Rank, "recv", [&] { world.recv(one, nobody, 0); });
  expect_class(ErrorClass::Rank, "irecv", [&] { (void)world.irecv(one, nobody, 0); });
  expect_class(ErrorClass::Rank, "issend", [&] { (void)world.issend(one, nobody, 0); });
  expect_class(ErrorClass::Rank, "ssend_init", [&] { (void)world.ssend_init(one, nobody, 0); });
  expect_class(ErrorClass::Rank, "recv_init", [&] { (void)world.recv_init(one, nobody, 0); });
  expect_class(ErrorClass::Rank, "sendrecv_replace", [&] { world.sendrecv_replace(one, nobody, 0, 0, 0); });
  expect_class(ErrorClass::Rank, "sendrecv_replace", [&] { world.sendrecv_replace(one, 0, 0, nobody, 0); });
  expect_class(ErrorClass::Rank, "probe", [&] { (void)world.probe(nobody, 0); });
  expect_class(ErrorClass::Rank, "iprobe", [&] { (void)world.iprobe(nobody, 0); });
  expect_class(ErrorClass::Rank, "mprobe", [&] { (void)world.mprobe(nobody, 0); });
  expect_class(ErrorClass::Rank, "improbe", [&] { (void)world.improbe(nobody, 0); });
  expect_class(ErrorClass::Rank, "recv", [&] { world.recv(one, -7, 0); });
  expect_class(ErrorClass::Rank, "sendrecv", [&] { world.sendrecv(one, nobody, 0, many, 0, 0); });
  expect_class(ErrorClass::Rank, "sendrecv", [&] { world.sendrecv(one, 0, 0, many, nobody, 0); });
  // Not even where another library's number for a wildcard would mean nobody, or somebody.
  expect_class(ErrorClass::Rank, "send", [&] { world.send(1, any_source, 0); });
}

TEST_F(Errors, NameATagOutOfRange) {
  expect_class(ErrorClass::Tag, "send", [&] { world.send(1, 0, -5); });
  expect_class(ErrorClass::Tag, "send", [&] { world.send(1, 0, any_tag); });
  expect_class(ErrorClass::Tag, "recv", [&] { world.recv(one, 0, -5); });
  expect_class(ErrorClass::Tag, "irecv", [&] { (void)world.irecv(one, 0, -5); });
  expect_class(ErrorClass::Tag, "ssend", [&] { world.ssend(one, 0, -5); });
  expect_class(ErrorClass::Tag, "isend", [&] { (void)world.isend(one, 0, -5); });
  expect_class(ErrorClass::Tag, "issend", [&] { (void)world.issend(one, 0, -5); });
  expect_class(ErrorClass::Tag, "send_init", [&] { (void)world.send_init(one, 0, -5); });
  expect_class(ErrorClass::Tag, "ssend_init", [&] { (void)world.ssend_init(one, 0, any_tag); });
  expect_class(ErrorClass::Tag, "recv_init", [&] { (void)world.recv_init(one, 0, -5); });
  expect_class(ErrorClass::Tag, "probe", [&] { (void)world.probe(0, -5); });
  expect_class(ErrorClass::Tag, "iprobe", [&] { (void)world.iprobe(0, -5); });
  expect_class(ErrorClass::Tag, "mprobe", [&] { (void)world.mprobe(0, -5); });
  expect_class(ErrorClass::Tag, "sendrecv", [&] { world.sendrecv(one, 0, -5, many, 0, 0); });
  expect_class(ErrorClass::Tag, "sendrecv", [&] { world.sendrecv(one, 0, 0, many, 0, -5); });
  expect_class(ErrorClass::Tag, "sendrecv_replace", [&] { world.sendrecv_replace(one, 0, 0, 0, -5); });
  expect_class(ErrorClass::Tag, "improbe", [&] { (void)world.improbe(0, -5); });
  expect_class(ErrorClass::Tag, "sendrecv_replace", [&] { world.sendrecv_replace(one, 0, -5, 0, 0); });
}

TEST_F(Errors, NameATagAboveTheLargestOfTheLibrary) {
  int* largest = nullptr;
  int known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &known);
  ASSERT_NE(known, 0);
  EXPECT_EQ(detail::largest_tag, *largest);
  // Some libraries take every int: then there is nothing above.
  detail::largest_tag = 40000;
  expect_class(ErrorClass::Tag, "send", [&] { world.send(1, proc_null, 40001); });
  expect_class(ErrorClass::Tag, "irecv", [&] { (void)world.irecv(one, proc_null, 40001); });
  world.send(1, proc_null, 40000);
  detail::largest_tag = *largest;
}

TEST_F(Errors, NameBuffersOfTheWrongLength) {
  expect_error<InvalidBuffer>("allreduce", "1 elements and recv " + std::to_string(ranks + 1),
                              [&] { world.allreduce(one, odd, ReduceOp::Sum); });
  expect_error<InvalidBuffer>("iallreduce", "same length", [&] { (void)world.iallreduce(one, odd, ReduceOp::Sum); });
  expect_error<InvalidBuffer>("scan", "same length", [&] { world.scan(one, odd, ReduceOp::Sum); });
  expect_error<InvalidBuffer>("exscan_init", "same length", [&] { (void)world.exscan_init(one, odd, ReduceOp::Sum); });
  expect_error<InvalidBuffer>("allgather", "one block of 1", [&] { world.allgather(one, odd); });
  expect_error<InvalidBuffer>("gather", "one block of 1", [&] { world.gather(one, odd, rank); });
  expect_error<InvalidBuffer>("scatter", "one block of 1", [&] { world.scatter(odd, one, rank); });
  expect_error<InvalidBuffer>("reduce", "same length", [&] { world.reduce(one, odd, ReduceOp::Sum, rank); });
  expect_error<InvalidBuffer>("reduce_scatter_block", "one block of 1",
                              [&] { world.reduce_scatter_block(odd, one, ReduceOp::Sum); });
  expect_error<InvalidBuffer>("alltoall", "same length", [&] { world.alltoall(many, odd); });
  if (size > 1) {
    std::vector<double> other(ranks + 1);
    expect_error<InvalidBuffer>("alltoall", "shared equally", [&] { world.alltoall(odd, other); });
    expect_error<InvalidBuffer>("allgather_inplace", "shared equally", [&] { world.allgather_inplace(odd); });
    expect_error<InvalidBuffer>("gather_inplace", "shared equally", [&] { world.gather_inplace(odd, rank); });
    expect_error<InvalidBuffer>("scatter_inplace", "shared equally", [&] { world.scatter_inplace(odd, rank); });
    expect_error<InvalidBuffer>("alltoall_inplace", "shared equally", [&] { world.alltoall_inplace(odd); });
    expect_error<InvalidBuffer>("reduce_scatter_block_inplace", "shared equally",
                                [&] { world.reduce_scatter_block_inplace(odd, ReduceOp::Sum); });
  }
}

TEST_F(Errors, NameBuffersThatOverlap) {
  std::vector<double> both(4);
  const std::span first(both.data(), 3);
  const std::span second(both.data() + 1, 3);
  expect_error<InvalidBuffer>("allreduce", "overlap", [&] { world.allreduce(first, second, ReduceOp::Sum); });
  expect_error<InvalidBuffer>("allreduce", "_inplace", [&] { world.allreduce(both, both, ReduceOp::Sum); });
  expect_error<InvalidBuffer>("alltoall", "overlap", [&] { world.alltoall(many, many); });
}

TEST_F(Errors, NameCountsAndDisplacementsThatCannotBe) {
  const std::vector<int> counts(ranks, 1);
  const auto displs = displacements(counts);
  auto v = [&](const std::vector<int>& c, const std::vector<int>& d) { world.allgatherv(one, many, c, d); };
  expect_error<InvalidBuffer>("allgatherv", "counts has", [&] { v(std::vector<int>(ranks + 1, 1), displs); });
  expect_error<InvalidBuffer>("allgatherv", "displs has", [&] { v(counts, {}); });
  auto wrong = counts;
  wrong[self] = -1;
  expect_error<InvalidBuffer>("allgatherv", "the count for rank " + std::to_string(self) + " is -1",
                              [&] { v(wrong, displs); });
  wrong = counts;
  wrong.back() = 5;
  expect_error<InvalidBuffer>("allgatherv", "leaves the buffer", [&] { v(wrong, displs); });
  auto moved = displs;
  moved.back() = -2;
  expect_error<InvalidBuffer>("allgatherv", "displacement", [&] { v(counts, moved); });
  moved.back() = 1 << 30;
  expect_error<InvalidBuffer>("allgatherv", "leaves the buffer", [&] { v(counts, moved); });
  expect_error<InvalidBuffer>("allgatherv", "own buffer has",
                              [&] { world.allgatherv(std::vector<double>(), many, counts, displs); });
  if (size > 1) {
    moved = displs;
    moved.back() = moved.front();
    expect_error<InvalidBuffer>("allgatherv", "overlap", [&] { v(counts, moved); });
    expect_error<InvalidBuffer>("allgatherv_init", "overlap",
                                [&] { (void)world.allgatherv_init(one, many, counts, moved); });
    expect_error<InvalidBuffer>("alltoallv", "overlap",
                                [&] { world.alltoallv(odd, counts, displs, many, counts, moved); });
  }
  const std::vector<int> long_counts(ranks + 1, 1);
  expect_error<InvalidBuffer>("gatherv_init", "counts has",
                              [&] { (void)world.gatherv_init(one, many, long_counts, displs, rank); });
  expect_error<InvalidBuffer>("scatterv_init", "counts has",
                              [&] { (void)world.scatterv_init(many, long_counts, displs, one, rank); });
  expect_error<InvalidBuffer>("allgatherv_init", "counts has",
                              [&] { (void)world.allgatherv_init(one, many, long_counts, displs); });
  expect_error<InvalidBuffer>("alltoallv_init", "counts has",
                              [&] { (void)world.alltoallv_init(odd, counts, displs, many, long_counts, displs); });
  const std::vector<std::uint64_t> huge(ranks, ~std::uint64_t{0});
  expect_error<InvalidBuffer>("gatherv", "count", [&] { world.gatherv(one, many, huge, displs, rank); });
  const std::vector<std::uint64_t> vast(ranks, std::uint64_t{1} << 62);
  expect_error<InvalidBuffer>("gatherv", "leaves", [&] { world.gatherv(one, many, counts, vast, rank); });
  expect_error<InvalidBuffer>("iscatterv", "leaves",
                              [&] { (void)world.iscatterv(one, vast, vast, std::vector<double>(1), rank); });
  expect_error<InvalidBuffer>("reduce_scatter", "add up to",
                              [&] { world.reduce_scatter(odd, one, counts, ReduceOp::Sum); });
  expect_error<InvalidBuffer>("scatterv", "counts", [&] { (void)world.scatterv(many, std::vector<int>(), rank); });
}

TEST_F(Errors, NameAnOperationThatTheTypeDoesNotHave) {
  expect_error<InvalidOp>("allreduce", "ReduceOp::BitwiseAnd does not exist for elements of double",
                          [&] { (void)world.allreduce(1.0, ReduceOp::BitwiseAnd); });
  expect_error<InvalidOp>("reduce", "MaxLoc", [&] { (void)world.reduce(1, ReduceOp::MaxLoc, 0); });
  expect_error<InvalidOp>("iscan", "Min", [&] { (void)world.iscan(std::complex<double>(), ReduceOp::Min); });
  expect_error<InvalidOp>("allreduce_init_inplace", "LogicalAnd",
                          [&] { (void)world.allreduce_init_inplace(one, ReduceOp::LogicalAnd); });
  expect_error<InvalidOp>("exscan", "Sum", [&] { (void)world.exscan(ValueIndex<int>{1, 2}, ReduceOp::Sum); });
}

TEST_F(Errors, NameACommunicatorThatWasMovedFrom) {
  auto original = world.duplicate();
  const auto moved = std::move(original);
  EXPECT_EQ(original.size(), 0);
  EXPECT_EQ(original.native(), MPI_COMM_NULL);
  const auto op = ReduceOp::Sum;
  const std::vector<int> counts(ranks, 1);
  const auto displs = displacements(counts);
  std::vector<double> two(1);
#define REFUSED(name, ...) expect_class(ErrorClass::Comm, #name, [&] { (void)original.name(__VA_ARGS__); })
#define REFUSED_IN_EVERY_FORM(name, ...) \
  REFUSED(name, __VA_ARGS__);            \
  REFUSED(i##name, __VA_ARGS__);         \
  REFUSED(name##_init, __VA_ARGS__)
#define REFUSED_IN_PLACE(name, ...)        \
  REFUSED(name##_inplace, __VA_ARGS__);    \
  REFUSED(i##name##_inplace, __VA_ARGS__); \
  REFUSED(name##_init_inplace, __VA_ARGS__)
  REFUSED(barrier);
  REFUSED(ibarrier);
  REFUSED(barrier_init);
  REFUSED_IN_EVERY_FORM(broadcast, one, 0);
  REFUSED_IN_EVERY_FORM(reduce, one, two, op, 0);
  REFUSED_IN_PLACE(reduce, one, op, 0);
  REFUSED_IN_EVERY_FORM(allreduce, one, two, op);
  REFUSED_IN_PLACE(allreduce, one, op);
  REFUSED_IN_EVERY_FORM(scan, one, two, op);
  REFUSED_IN_PLACE(scan, one, op);
  REFUSED_IN_EVERY_FORM(exscan, one, two, op);
  REFUSED_IN_PLACE(exscan, one, op);
  REFUSED_IN_EVERY_FORM(reduce_scatter_block, many, one, op);
  REFUSED_IN_PLACE(reduce_scatter_block, many, op);
  REFUSED_IN_EVERY_FORM(reduce_scatter, many, one, counts, op);
  REFUSED_IN_PLACE(reduce_scatter, many, counts, op);
  REFUSED_IN_EVERY_FORM(gather, one, many, 0);
  REFUSED_IN_PLACE(gather, many, 0);
  REFUSED_IN_EVERY_FORM(allgather, one, many);
  REFUSED_IN_PLACE(allgather, many);
  REFUSED_IN_EVERY_FORM(scatter, many, one, 0);
  REFUSED_IN_PLACE(scatter, many, 0);
  REFUSED_IN_EVERY_FORM(alltoall, many, odd);
  REFUSED_IN_PLACE(alltoall, many);
  REFUSED_IN_EVERY_FORM(gatherv, one, many, counts, displs, 0);
  REFUSED_IN_PLACE(gatherv, many, counts, displs, 0);
  REFUSED_IN_EVERY_FORM(scatterv, many, counts, displs, one, 0);
  REFUSED_IN_PLACE(scatterv, many, counts, displs, 0);
  REFUSED_IN_EVERY_FORM(allgatherv, one, many, counts, displs);
  REFUSED_IN_PLACE(allgatherv, many, counts, displs);
  REFUSED_IN_EVERY_FORM(alltoallv, many, counts, displs, odd, counts, displs);
  REFUSED_IN_PLACE(alltoallv, many, counts, displs);
  // Forms that make room for their result, which they would measure by the number of ranks.
  REFUSED(broadcast, 1, 0);
  REFUSED(ibroadcast, 1, 0);
  REFUSED(reduce, 1, op, 0);
  REFUSED(ireduce, 1, op, 0);
  REFUSED(allreduce, 1, op);
  REFUSED(iallreduce, 1, op);
  REFUSED(scan, 1, op);
  REFUSED(iscan, 1, op);
  REFUSED(exscan, 1, op);
  REFUSED(iexscan, 1, op);
  REFUSED(reduce_scatter_block, many, op);
  REFUSED(ireduce_scatter_block, many, op);
  REFUSED(gather, 1, 0);
  REFUSED(igather, 1, 0);
  REFUSED(igather, 1, 1);
  REFUSED(allgather, 1);
  REFUSED(iallgather, 1);
  REFUSED(scatter, many, 0);
  REFUSED(iscatter, many, 0);
  REFUSED(alltoall, many);
  REFUSED(ialltoall, many);
  REFUSED(gatherv, one, 0);
  REFUSED(scatterv, many, counts, 0);
  REFUSED(allgatherv, one);
  REFUSED(alltoallv, many, counts);

  REFUSED(send, one, 0, 0);
  REFUSED(ssend, one, 0, 0);
  REFUSED(isend, one, 0, 0);
  REFUSED(issend, one, 0, 0);
  REFUSED(send_init, one, 0, 0);
  REFUSED(ssend_init, one, 0, 0);
  REFUSED(isend, 1, 0, 0);
  REFUSED(recv, one, 0, 0);
  REFUSED(irecv, one, 0, 0);
  expect_class(ErrorClass::Comm, "irecv", [&] { (void)original.irecv<int>(0, 0); });
  REFUSED(recv_init, one, 0, 0);
  REFUSED(sendrecv, one, 0, 0, two, 0, 0);
  REFUSED(sendrecv, 1, 0, 0, 0, 0);
  REFUSED(sendrecv_replace, one, 0, 0, 0, 0);
  REFUSED(probe, 0, 0);
  REFUSED(iprobe, 0, 0);
  REFUSED(mprobe, 0, 0);
  REFUSED(improbe, 0, 0);

  REFUSED(duplicate);
  REFUSED(split, 0);
  REFUSED(split_type, SplitType::Shared);
  REFUSED(split_shared);
  REFUSED(name);
  REFUSED(set_name, "nobody");
  REFUSED(info);
  REFUSED(set_info, Info{{"key", "value"}});
  REFUSED(processor_name);
  REFUSED(topology);
#undef REFUSED_IN_PLACE
#undef REFUSED_IN_EVERY_FORM
#undef REFUSED
  expect_class(ErrorClass::Comm, "borrow", [&] { (void)Communicator::borrow(MPI_COMM_NULL); });
  moved.barrier();
}

TEST_F(Errors, NameAPlanWhoseCommunicatorIsGone) {
  std::vector<double> sum(1, 1.0);
  std::vector<PersistentRequest> plans;
  std::vector<PersistentRequest> others;
  MPI_Comm by_hand = MPI_COMM_NULL;
  MPI_Comm_dup(world.native(), &by_hand);
  {
    const auto copy = world.duplicate();
    for (const auto* comm : {&copy, &world}) {
      auto& made = comm == &copy ? plans : others;
      made.push_back(comm->broadcast_init(one, 0));
      made.push_back(comm->allreduce_init_inplace(sum, ReduceOp::Sum));
      made.push_back(comm->gather_init(one, many, 0));
      made.push_back(comm->barrier_init());
      made.push_back(comm->send_init(one, proc_null, 0));
      made.push_back(comm->recv_init(one, proc_null, 0));
      start_all(made);
      wait_all(made);
    }
    // Not one of MPICH's own, for which it would keep a communicator that is freed by hand.
    plans.push_back(Communicator::borrow(by_hand).gather_init(one, many, 0));
    plans.back().start();  // the view is gone, and what it looked at is not
    plans.back().wait();
  }
  MPI_Comm_free(&by_hand);
  for (auto& plan : plans) {
    expect_class(ErrorClass::Comm, "start", [&] { plan.start(); });
    EXPECT_FALSE(plan.is_active());
  }
  const auto text = std::string(error_of<MpiError>([&] { plans[0].start(); }).what());
  EXPECT_NE(text.find("broadcast_init is gone"), std::string::npos) << text;
  start_all(others);
  wait_all(others);
}

TEST_F(Errors, LeaveTheContainersThatWereToBeMovedIn) {
  const auto expect_kept = [&](const std::vector<double>& data) { EXPECT_EQ(data, (std::vector<double>{1, 2, 3})); };
  std::vector<double> data{1, 2, 3};
  const auto* const memory = data.data();
  expect_class(ErrorClass::Rank, "isend", [&] { (void)world.isend(std::move(data), 4711, 0); });
  expect_kept(data);
  expect_class(ErrorClass::Rank, "irecv", [&] { (void)world.irecv(std::move(data), 4711, 0); });
  expect_kept(data);
  expect_class(ErrorClass::Root, "ibroadcast", [&] { (void)world.ibroadcast(std::move(data), -1); });
  expect_kept(data);
  expect_error<InvalidOp>("iallreduce", "BitwiseAnd",
                          [&] { (void)world.iallreduce(std::move(data), ReduceOp::BitwiseAnd); });
  expect_kept(data);
  expect_class(ErrorClass::Root, "ireduce", [&] { (void)world.ireduce(std::move(data), ReduceOp::Sum, size); });
  expect_kept(data);
  expect_class(ErrorClass::Root, "reduce", [&] { (void)world.reduce(std::move(data), ReduceOp::Sum, size); });
  expect_kept(data);
  expect_class(ErrorClass::Root, "iscatter", [&] { (void)world.iscatter(std::move(data), size); });
  expect_kept(data);
  EXPECT_EQ(data.data(), memory) << "it has come back, and is no copy";
  std::vector<double> all(3 * ranks + 1, 4.0);
  expect_error<InvalidBuffer>("iallgather", "one block of 3",
                              [&] { (void)world.iallgather(std::move(data), std::move(all)); });
  expect_kept(data);
  EXPECT_EQ(all, std::vector<double>(3 * ranks + 1, 4.0));
  // One is moved in and the other borrowed; a value, which is copied in any case; and what cannot be assigned to.
  expect_error<InvalidBuffer>("iallgather", "one block of 3", [&] { (void)world.iallgather(data, std::move(all)); });
  EXPECT_EQ(all.size(), 3 * ranks + 1);
  const std::vector<double> fixed{1, 2, 3};
  expect_class(ErrorClass::Rank, "isend", [&] { (void)world.isend(std::move(fixed), 4711, 0); });
  expect_kept(fixed);
}

TEST_F(Errors, ComeFromMpiWithTheClassThatItMeans) {
  // Numbers differ from library to library: only the macros tell.
  EXPECT_EQ(error_class_from_mpi(MPI_ERR_ROOT), ErrorClass::Root);
  EXPECT_EQ(error_class_from_mpi(MPI_ERR_TRUNCATE), ErrorClass::Truncate);
  EXPECT_EQ(error_class_from_mpi(MPI_ERR_REQUEST), ErrorClass::Request);
  EXPECT_EQ(error_class_from_mpi(MPI_ERR_RMA_SYNC), ErrorClass::RmaSync);
  EXPECT_EQ(error_class_from_mpi(MPI_SUCCESS), ErrorClass::Success);
  EXPECT_EQ(error_class_from_mpi(-12345), ErrorClass::Raw);
  EXPECT_EQ(to_mpi(ErrorClass::Win), MPI_ERR_WIN);
  const MpiError error("bcast", MPI_ERR_COUNT);
  EXPECT_EQ(error.error_class(), ErrorClass::Count);
  EXPECT_EQ(error.code(), MPI_ERR_COUNT);
}

TEST_F(Errors, TranslateEveryClassOfTheStandardBothWays) {
#define EXPECT_TRANSLATED(name, macro)                                \
  EXPECT_EQ(error_class_from_mpi(MPI_ERR_##macro), ErrorClass::name); \
  EXPECT_EQ(to_mpi(ErrorClass::name), MPI_ERR_##macro);               \
  EXPECT_EQ(MpiError("scan", MPI_ERR_##macro).error_class(), ErrorClass::name);
  FERROMPI_ERROR_CLASSES(EXPECT_TRANSLATED)
#undef EXPECT_TRANSLATED
}

TEST_F(Errors, OfAClassThatTheStandardDoesNotHaveTellItsNumber) {
  int own_class = 0;
  int own_code = 0;
  ASSERT_EQ(MPI_Add_error_class(&own_class), MPI_SUCCESS);
  ASSERT_EQ(MPI_Add_error_code(own_class, &own_code), MPI_SUCCESS);
  ASSERT_EQ(MPI_Add_error_string(own_code, "the reservoir overflows"), MPI_SUCCESS);
  ASSERT_NE(own_class, own_code);
  const MpiError error("scan", own_code);
  EXPECT_EQ(error.error_class(), ErrorClass::Raw);
  EXPECT_EQ(error.code(), own_code);
  EXPECT_EQ(error.what(), "MPI error in scan: the reservoir overflows (class=ERR_CLASS(" + std::to_string(own_class) +
                              "), code=" + std::to_string(own_code) + ")");
}

TEST_F(Errors, HaveANameForEveryClassThatTheLibraryTakesFromTheStandard) {
  // What only calls of the MPI_T interface return, which have no exceptions here.
  const std::set<int> tools = {
    MPI_T_ERR_MEMORY,
    MPI_T_ERR_NOT_INITIALIZED,
    MPI_T_ERR_CANNOT_INIT,
    MPI_T_ERR_INVALID_INDEX,
    MPI_T_ERR_INVALID_ITEM,
    MPI_T_ERR_INVALID_HANDLE,
    MPI_T_ERR_OUT_OF_HANDLES,
    MPI_T_ERR_OUT_OF_SESSIONS,
    MPI_T_ERR_INVALID_SESSION,
    MPI_T_ERR_CVAR_SET_NEVER,
    MPI_T_ERR_CVAR_SET_NOT_NOW,
    MPI_T_ERR_PVAR_NO_STARTSTOP,
    MPI_T_ERR_PVAR_NO_WRITE,
    MPI_T_ERR_PVAR_NO_ATOMIC,
    MPI_T_ERR_INVALID_NAME,
    MPI_T_ERR_INVALID,
#if defined(MPI_T_ERR_NOT_SUPPORTED)
    MPI_T_ERR_NOT_SUPPORTED,
#endif
  };
  // MPICH gives one number to nobody, which lies between these two.
  const int hole = MPI_ERR_ASSERT + 2 == MPI_ERR_RMA_RANGE ? MPI_ERR_ASSERT + 1 : MPI_SUCCESS;
  int last = *tools.rbegin();
#define ASK(name, ...) last = std::max(last, to_mpi(ErrorClass::name));
  FERROMPI_ERROR_CLASSES(ASK)
  FERROMPI_NEWER_CLASSES(ASK)
#undef ASK
  for (int number = 1; number <= last; ++number) {
    if (number == hole || tools.contains(number)) continue;
    EXPECT_NE(error_class_from_mpi(number), ErrorClass::Raw) << number;
  }
}

TEST_F(Errors, KnowTheClassesThatNotEveryLibraryHas) {
  for (const ErrorClass kind :
       {ErrorClass::ProcFailed, ErrorClass::ProcFailedPending, ErrorClass::Revoked, ErrorClass::Session,
        ErrorClass::ProcAborted, ErrorClass::ValueTooLarge, ErrorClass::Errhandler}) {
    const int value = to_mpi(kind);
    EXPECT_EQ(error_class_from_mpi(value), value == MPI_ERR_UNKNOWN ? ErrorClass::Unknown : kind);
  }
  EXPECT_EQ(error_class_from_mpi(-1), ErrorClass::Raw);
}

TEST_F(Errors, ShareOneRoot) {
  try {
    world.broadcast(one, -7);
    FAIL();
  } catch (const cobre::comm::Error& error) {
    EXPECT_NE(std::string(error.what()).find("broadcast"), std::string::npos);
  }
}
