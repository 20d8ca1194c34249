// Blocks and strided views have data() and size() as buffers do, but not their elements one behind the other: MPI would
// move what lies between them, and write there. They are refused by every operation, before anything is sent.
#include "ferrompi/errors.hpp"
#include "support/strided_block.hpp"

#include <algorithm>

using namespace ferrompi;

namespace {

class StridedViews : public Errors {
 protected:
  void TearDown() override {
    for (const double element : block.storage) EXPECT_EQ(element, 0.0) << "nothing was received";
    Errors::TearDown();
  }

  test::StridedBlock block{.outer = 4};
  test::StridedBlockOf<int> stripes{.inner = 2};
  std::vector<double> buffer = std::vector<double>(4, 1.0);
  std::vector<int> counts = std::vector<int>(ranks, 0);
  std::vector<int> displs = std::vector<int>(ranks, 0);
};

#define REFUSED(argument, name, ...)                                                           \
  expect_error<InvalidBuffer>(#name, "argument " #argument " do not lie one behind the other", \
                              [&] { (void)world.name(__VA_ARGS__); })
#define REFUSED_IN_EVERY_FORM(argument, name, ...) \
  REFUSED(argument, name, __VA_ARGS__);            \
  REFUSED(argument, i##name, __VA_ARGS__);         \
  REFUSED(argument, name##_init, __VA_ARGS__)
#define REFUSED_IN_PLACE(argument, name, ...)        \
  REFUSED(argument, name##_inplace, __VA_ARGS__);    \
  REFUSED(argument, i##name##_inplace, __VA_ARGS__); \
  REFUSED(argument, name##_init_inplace, __VA_ARGS__)

}  // namespace

TEST_F(StridedViews, AreRefusedByCollectivesOfOneLength) {
  const auto op = ReduceOp::Sum;
  REFUSED_IN_EVERY_FORM(1, broadcast, block, 0);
  REFUSED_IN_EVERY_FORM(1, reduce, block, buffer, op, 0);
  REFUSED_IN_EVERY_FORM(2, reduce, buffer, block, op, 0);
  REFUSED_IN_PLACE(1, reduce, block, op, 0);
  REFUSED_IN_EVERY_FORM(1, allreduce, block, buffer, op);
  REFUSED_IN_EVERY_FORM(2, allreduce, buffer, block, op);
  REFUSED_IN_PLACE(1, allreduce, block, op);
  REFUSED_IN_EVERY_FORM(1, scan, block, buffer, op);
  REFUSED_IN_EVERY_FORM(2, scan, buffer, block, op);
  REFUSED_IN_PLACE(1, scan, block, op);
  REFUSED_IN_EVERY_FORM(1, exscan, block, buffer, op);
  REFUSED_IN_EVERY_FORM(2, exscan, buffer, block, op);
  REFUSED_IN_PLACE(1, exscan, block, op);
  REFUSED_IN_EVERY_FORM(1, reduce_scatter_block, block, buffer, op);
  REFUSED_IN_EVERY_FORM(2, reduce_scatter_block, buffer, block, op);
  REFUSED_IN_PLACE(1, reduce_scatter_block, block, op);
  REFUSED_IN_EVERY_FORM(1, gather, block, buffer, 0);
  REFUSED_IN_EVERY_FORM(2, gather, buffer, block, 0);
  REFUSED_IN_PLACE(1, gather, block, 0);
  REFUSED_IN_EVERY_FORM(1, allgather, block, buffer);
  REFUSED_IN_EVERY_FORM(2, allgather, buffer, block);
  REFUSED_IN_PLACE(1, allgather, block);
  REFUSED_IN_EVERY_FORM(1, scatter, block, buffer, 0);
  REFUSED_IN_EVERY_FORM(2, scatter, buffer, block, 0);
  REFUSED_IN_PLACE(1, scatter, block, 0);
  REFUSED_IN_EVERY_FORM(1, alltoall, block, buffer);
  REFUSED_IN_EVERY_FORM(2, alltoall, buffer, block);
  REFUSED_IN_PLACE(1, alltoall, block);
}

TEST_F(StridedViews, AreRefusedByCollectivesOfPartsAndAsCounts) {
  const auto op = ReduceOp::Sum;
  REFUSED_IN_EVERY_FORM(1, reduce_scatter, block, buffer, counts, op);
  REFUSED_IN_EVERY_FORM(2, reduce_scatter, buffer, block, counts, op);
  REFUSED_IN_EVERY_FORM(3, reduce_scatter, buffer, many, stripes, op);
  REFUSED_IN_PLACE(1, reduce_scatter, block, counts, op);
  REFUSED_IN_PLACE(2, reduce_scatter, buffer, stripes, op);
  REFUSED_IN_EVERY_FORM(1, gatherv, block, buffer, counts, displs, 0);
  REFUSED_IN_EVERY_FORM(2, gatherv, buffer, block, counts, displs, 0);
  REFUSED_IN_EVERY_FORM(3, gatherv, buffer, many, stripes, displs, 0);
  REFUSED_IN_EVERY_FORM(4, gatherv, buffer, many, counts, stripes, 0);
  REFUSED_IN_PLACE(1, gatherv, block, counts, displs, 0);
  REFUSED_IN_PLACE(3, gatherv, buffer, counts, stripes, 0);
  REFUSED_IN_EVERY_FORM(1, scatterv, block, counts, displs, buffer, 0);
  REFUSED_IN_EVERY_FORM(2, scatterv, many, stripes, displs, buffer, 0);
  REFUSED_IN_EVERY_FORM(4, scatterv, many, counts, displs, block, 0);
  REFUSED_IN_PLACE(1, scatterv, block, counts, displs, 0);
  REFUSED_IN_EVERY_FORM(1, allgatherv, block, buffer, counts, displs);
  REFUSED_IN_EVERY_FORM(2, allgatherv, buffer, block, counts, displs);
  REFUSED_IN_EVERY_FORM(3, allgatherv, buffer, many, stripes, displs);
  REFUSED_IN_PLACE(1, allgatherv, block, counts, displs);
  REFUSED_IN_EVERY_FORM(1, alltoallv, block, counts, displs, buffer, counts, displs);
  REFUSED_IN_EVERY_FORM(3, alltoallv, buffer, counts, stripes, many, counts, displs);
  REFUSED_IN_EVERY_FORM(4, alltoallv, buffer, counts, displs, block, counts, displs);
  REFUSED_IN_EVERY_FORM(6, alltoallv, buffer, counts, displs, many, counts, stripes);
  REFUSED_IN_PLACE(1, alltoallv, block, counts, displs);
  expect_error<InvalidBuffer>("displacements", "argument 1", [&] { (void)displacements(stripes); });
}

TEST_F(StridedViews, AreRefusedByFormsThatMakeRoomForTheResultOrOwnTheirBuffers) {
  const auto op = ReduceOp::Sum;
  REFUSED(1, scatter, block, 0);
  REFUSED(1, iscatter, block, 0);
  REFUSED(1, alltoall, block);
  REFUSED(1, ialltoall, block);
  REFUSED(1, reduce_scatter_block, block, op);
  REFUSED(1, gatherv, block, 0);
  REFUSED(1, scatterv, block, counts, 0);
  REFUSED(2, scatterv, buffer, stripes, 0);
  REFUSED(1, allgatherv, block);
  REFUSED(1, alltoallv, block, counts);
  REFUSED(2, alltoallv, buffer, stripes);
  REFUSED(1, reduce, test::StridedBlock(block), op, 0);
  REFUSED(1, allreduce, test::StridedBlock(block), op);
  REFUSED(1, iallreduce, test::StridedBlock(block), op);
  REFUSED(1, isend, test::StridedBlock(block), 0, 0);
}

TEST_F(StridedViews, AreRefusedAsMessages) {
  REFUSED(1, send, block, next, 0);
  REFUSED(1, ssend, block, next, 0);
  REFUSED(1, isend, block, next, 0);
  REFUSED(1, issend, block, next, 0);
  REFUSED(1, send_init, block, next, 0);
  REFUSED(1, ssend_init, block, next, 0);
  REFUSED(1, recv, block, previous, 0);
  REFUSED(1, irecv, block, previous, 0);
  REFUSED(1, recv_init, block, previous, 0);
  REFUSED(1, sendrecv, block, next, 0, buffer, previous, 0);
  REFUSED(4, sendrecv, buffer, next, 0, block, previous, 0);
  REFUSED(1, sendrecv_replace, block, next, 0, previous, 0);
  auto sent = world.isend(buffer, next, 1);
  auto message = world.mprobe(previous, 1);
  expect_error<InvalidBuffer>("recv", "recv: the elements of argument 1", [&] { message.recv(block); });
  expect_error<InvalidBuffer>("irecv", "argument 1", [&] { (void)message.irecv(block); });
  EXPECT_EQ(message.recv<double>(), buffer) << "it is still there";
  sent.wait();
}

TEST_F(StridedViews, AreRefusedByWindows) {
  const auto node = world.split_shared();
  auto window = SharedWindow<double>::allocate(node, 8);
  std::ranges::fill(window.local(), 7.0);
  window.fence();
  const auto target = window.target(node.rank());
  const auto refused = [&](const char* operation, int argument, auto call) {
    expect_error<InvalidBuffer>(operation, "argument " + std::to_string(argument), call);
  };
  refused("put", 1, [&] { target.put(block); });
  refused("get", 1, [&] { target.get(block); });
  refused("accumulate", 1, [&] { target.accumulate(block, ReduceOp::Sum); });
  refused("fetch_accumulate", 1, [&] { target.fetch_accumulate(block, buffer, ReduceOp::Sum); });
  refused("fetch_accumulate", 2, [&] { target.fetch_accumulate(buffer, block, ReduceOp::Sum); });
  window.fence();
  {
    auto guard = window.lock(LockType::Exclusive, node.rank());
    refused("put", 1, [&] { guard.put(block); });
  }
  for (const double element : window.local()) EXPECT_EQ(element, 7.0);
}

TEST_F(StridedViews, SayWhichArgumentAndWhatToDo) {
  const auto error = error_of<InvalidBuffer>([&] { world.allreduce(buffer, block, ReduceOp::Sum); });
  EXPECT_EQ(std::string(error.what()), "allreduce on rank " + std::to_string(rank) + " of " + std::to_string(size) +
                                           ": the elements of argument 2 do not lie one behind the other (a block or a "
                                           "strided view): copy them into a contiguous buffer first");
}

TEST_F(StridedViews, ThatAreNoneAreBuffersLikeAnyOther) {
  test::StridedBlock send{.storage = {1, 2, 3, 4}};
  test::StridedBlock recv;
  world.allreduce(send, recv, ReduceOp::Sum);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(recv.storage[i], size * (static_cast<double>(i) + 1));
  test::StridedBlock element{.inner = 8, .outer = 8, .inner_size = 1, .outer_size = 1};
  element.storage[1] = 7;
  world.sendrecv_replace(element, next, 0, previous, 0);
  EXPECT_EQ(element.storage[1], 7);
  // Nor need counts be a range.
  test::StridedBlockOf<int> ones{.inner_size = size, .outer_size = 1};
  std::ranges::fill(ones.storage, 1);
  std::ranges::fill(many, 1.0);
  world.reduce_scatter(many, one, ones, ReduceOp::Sum);
  EXPECT_EQ(one[0], size);
  world.reduce_scatter_inplace(many, ones, ReduceOp::Sum);
  EXPECT_EQ(many[0], size);
  EXPECT_EQ(displacements(ones).back(), size - 1);
}
