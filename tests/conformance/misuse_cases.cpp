// One table of what is refused, how, and with which numbers; each row proves by an operation that follows that nothing
// has happened to the communicator.

#include "conformance/misuse_cases.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

using namespace cobre::comm;

namespace {

/// What a call threw: the class, the operation and the numbers. "accepted" where it threw nothing.
std::string refusal_of(const std::function<void()>& call) {
  const auto numbers = [](const char* name, const CommError& error, auto... values) {
    std::string text = std::string(name) + " in " + std::string(error.operation());
    ((text += " " + std::to_string(values)), ...);
    return text;
  };
  try {
    call();
  } catch (const InvalidRoot& error) {
    return numbers("InvalidRoot", error, error.root(), error.size());
  } catch (const InvalidPeer& error) {
    return numbers("InvalidPeer", error, error.peer(), error.size());
  } catch (const InvalidTag& error) {
    return numbers("InvalidTag", error, error.tag());
  } catch (const InvalidBufferSize& error) {
    return numbers("InvalidBufferSize", error, error.expected(), error.actual());
  } catch (const InvalidOperation& error) {
    return numbers("InvalidOperation", error);
  } catch (const InvalidCommunicator& error) {
    return numbers("InvalidCommunicator", error);
  } catch (const std::exception& error) {
    return std::string("another exception: ") + error.what();
  }
  return "accepted";
}

struct Misuse {
  std::string what;
  std::string refusal;
  std::function<void()> call;
};

/// Buffers and layouts, right and wrong, for rows of a table. They live as long as the table is run.
struct Arguments {
  explicit Arguments(std::size_t ranks)
      : two(2), other_two(2), three(3), all(2 * ranks), other_all(2 * ranks), longer(2 * ranks + 1), twos(ranks, 2) {
    for (std::size_t rank = 0; rank < ranks; ++rank) places.push_back(2 * rank);
    far = places;
    far.back() = std::numeric_limits<std::size_t>::max();
    meeting = places;
    if (ranks > 1) meeting.back() = meeting[ranks - 2] + 1;
    many = twos;
    many.back() = std::numeric_limits<std::size_t>::max();
    too_many.assign(ranks + 1, 2);
  }

  std::vector<double> two, other_two, three, all, other_all, longer;
  std::vector<std::size_t> twos, places, far, meeting, many, too_many;

  static constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t addressable = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(double);
  std::span<double> nowhere{static_cast<double*>(nullptr), 2};
  std::span<double> endless{two.data(), addressable + 1};
};

const auto undefined_op = static_cast<ReduceOp>(99);

std::string invalid_root(const char* operation, std::size_t size) {
  return std::string("InvalidRoot in ") + operation + " " + std::to_string(size) + " " + std::to_string(size);
}
std::string wrong_length(const char* operation, std::size_t expected, std::size_t actual) {
  return std::string("InvalidBufferSize in ") + operation + " " + std::to_string(expected) + " " +
         std::to_string(actual);
}
std::string no_memory(const char* operation) {
  return wrong_length(operation, 0, 2);
}
std::string endless(const char* operation) {
  return wrong_length(operation, Arguments::addressable, Arguments::addressable + 1);
}
std::string no_such_op(const char* operation) {
  return std::string("InvalidOperation in ") + operation;
}

void expect_refusals(const CommBackend& comm, const std::vector<Misuse>& table) {
  for (const Misuse& misuse : table) {
    EXPECT_EQ(refusal_of(misuse.call), misuse.refusal) << misuse.what;
    EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size())) << "after " << misuse.what;
  }
}

std::vector<Misuse> misused_collectives(const CommBackend& comm, Arguments& a) {
  const std::size_t size = comm.size();
  const std::size_t rank = comm.rank();
  return {
      {"broadcast from nobody", invalid_root("broadcast", size), [&, size] { comm.broadcast(a.two, size); }},
      {"broadcast of a value from nobody", invalid_root("broadcast", size),
       [&, size] { (void)comm.broadcast(1.0, size); }},
      {"broadcast of nothing that is something", no_memory("broadcast"), [&] { comm.broadcast(a.nowhere, 0); }},
      {"broadcast of two that are nowhere", no_memory("broadcast"), [&] { comm.broadcast(a.nowhere.first<2>(), 0); }},
      {"broadcast of more than there is", endless("broadcast"), [&] { comm.broadcast(a.endless, 0); }},
      {"broadcast_resized from nobody", invalid_root("broadcast_resized", size),
       [&, size] { comm.broadcast_resized(a.two, size); }},

      {"allreduce into another length", wrong_length("allreduce", 2, 3),
       [&] { comm.allreduce(a.two, a.three, ReduceOp::Sum); }},
      {"allreduce into its argument", wrong_length("allreduce", 0, 2),
       [&] { comm.allreduce(a.two, a.two, ReduceOp::Sum); }},
      {"allreduce of null", no_memory("allreduce"), [&] { comm.allreduce(a.nowhere, a.two, ReduceOp::Sum); }},
      {"allreduce into null", no_memory("allreduce"), [&] { comm.allreduce(a.two, a.nowhere, ReduceOp::Sum); }},
      {"allreduce of two that are nowhere", no_memory("allreduce"),
       [&] { comm.allreduce(a.nowhere.first<2>(), a.two, ReduceOp::Sum); }},
      {"allreduce of more than there is", endless("allreduce"),
       [&] { comm.allreduce(a.endless, a.endless, ReduceOp::Sum); }},
      {"allreduce of bits of numbers", no_such_op("allreduce"),
       [&] { comm.allreduce(a.two, a.other_two, ReduceOp::BitwiseAnd); }},
      {"allreduce of places of numbers", no_such_op("allreduce"), [&] { (void)comm.allreduce(1, ReduceOp::MinLoc); }},
      {"allreduce by no operation", no_such_op("allreduce"), [&] { (void)comm.allreduce(1.0, undefined_op); }},
      {"allreduce_inplace of null", no_memory("allreduce_inplace"),
       [&] { comm.allreduce_inplace(a.nowhere, ReduceOp::Sum); }},
      {"allreduce_inplace by no operation", no_such_op("allreduce_inplace"),
       [&] { comm.allreduce_inplace(a.two, undefined_op); }},

      {"allgatherv of another length than its count", wrong_length("allgatherv", 2, 3),
       [&] { comm.allgatherv(a.three, a.all, a.twos, a.places); }},
      {"allgatherv with a count too many", wrong_length("allgatherv", size, size + 1),
       [&] { comm.allgatherv(a.two, a.all, a.too_many, a.places); }},
      {"allgatherv to a place beyond all", wrong_length("allgatherv", Arguments::most, 2 * size),
       [&] { comm.allgatherv(a.two, a.all, a.twos, a.far); }},
      {"allgatherv from its own result", wrong_length("allgatherv", 0, 2),
       [&] { comm.allgatherv(std::span(a.all).first(2), a.all, a.twos, a.places); }},
      {"allgatherv of null", no_memory("allgatherv"), [&] { comm.allgatherv(a.nowhere, a.all, a.twos, a.places); }},
      {"allgatherv into null", no_memory("allgatherv"), [&] { comm.allgatherv(a.two, a.nowhere, a.twos, a.places); }},
      {"allgatherv of an unknown count of null", no_memory("allgatherv"), [&] { (void)comm.allgatherv(a.nowhere); }},
      {"allgatherv_inplace of another length", wrong_length("allgatherv_inplace", 2 * size, 1),
       [&] { comm.allgatherv_inplace(std::span(a.longer).first(1), a.twos, a.places); }},
      {"allgatherv_inplace with a count too many", wrong_length("allgatherv_inplace", size, size + 1),
       [&] { comm.allgatherv_inplace(a.all, a.too_many, a.places); }},
      {"reproducible_sum of null", no_memory("reproducible_sum"), [&] { (void)comm.reproducible_sum(a.nowhere); }},

      {"gather to nobody", invalid_root("gather", size), [&, size] { comm.gather(a.two, a.all, size); }},
      {"gather of a value to nobody", invalid_root("gather", size), [&, size] { (void)comm.gather(1, size); }},
      {"gather into another length", wrong_length("gather", 2 * size, 2 * size + 1),
       [&, rank] { comm.gather(a.two, a.longer, rank); }},
      {"gather from its own result", wrong_length("gather", 0, 2),
       [&, rank] { comm.gather(std::span(a.all).first(2), a.all, rank); }},
      {"gather of null", no_memory("gather"), [&] { comm.gather(a.nowhere, a.all, 0); }},
      {"gather into null", no_memory("gather"), [&, rank] { comm.gather(a.two, a.nowhere, rank); }},
      {"allgather into another length", wrong_length("allgather", 2 * size, 2 * size + 1),
       [&] { comm.allgather(a.two, a.longer); }},
      {"allgather from its own result", wrong_length("allgather", 0, 2),
       [&, rank] { comm.allgather(std::span(a.all).subspan(2 * rank, 2), a.all); }},
      {"allgather of null", no_memory("allgather"), [&] { comm.allgather(a.nowhere, a.all); }},
      {"allgather into null", no_memory("allgather"), [&] { comm.allgather(a.two, a.nowhere); }},
      {"scatter from nobody", invalid_root("scatter", size), [&, size] { comm.scatter(a.all, a.two, size); }},
      {"scatter of another length", wrong_length("scatter", 2 * size, 2 * size + 1),
       [&, rank] { comm.scatter(a.longer, a.two, rank); }},
      {"scatter into its own argument", wrong_length("scatter", 0, 2),
       [&, rank] { comm.scatter(a.all, std::span(a.all).first(2), rank); }},
      {"scatter into null", no_memory("scatter"), [&] { comm.scatter(a.all, a.nowhere, 0); }},
      {"scatter of null", no_memory("scatter"), [&, rank] { comm.scatter(a.nowhere, a.two, rank); }},
      {"alltoall into another length", wrong_length("alltoall", 2 * size, 2 * size + 1),
       [&] { comm.alltoall(a.all, a.longer); }},
      {"alltoall of null", no_memory("alltoall"), [&] { comm.alltoall(a.nowhere, a.two); }},
      {"alltoall into null", no_memory("alltoall"), [&] { comm.alltoall(a.two, a.nowhere); }},
      {"alltoall into its argument", wrong_length("alltoall", 0, 2 * size), [&] { comm.alltoall(a.all, a.all); }},

      {"gatherv to nobody", invalid_root("gatherv", size),
       [&, size] { comm.gatherv(a.two, a.all, a.twos, a.places, size); }},
      {"gatherv of an unknown count to nobody", invalid_root("gatherv", size),
       [&, size] { (void)comm.gatherv(a.two, size); }},
      {"gatherv to a place beyond all", wrong_length("gatherv", Arguments::most, 2 * size),
       [&, rank] { comm.gatherv(a.two, a.all, a.twos, a.far, rank); }},
      {"gatherv with a count too many", wrong_length("gatherv", size, size + 1),
       [&, rank] { comm.gatherv(a.two, a.all, a.too_many, a.places, rank); }},
      {"gatherv with a place too many", wrong_length("gatherv", size, size + 1),
       [&, rank] { comm.gatherv(a.two, a.all, a.twos, a.too_many, rank); }},
      {"gatherv of another length than its count", wrong_length("gatherv", 2, 3),
       [&, rank] { comm.gatherv(a.three, a.all, a.twos, a.places, rank); }},
      {"gatherv from its own result", wrong_length("gatherv", 0, 2),
       [&, rank] { comm.gatherv(std::span(a.all).first(2), a.all, a.twos, a.places, rank); }},
      {"gatherv of null", no_memory("gatherv"), [&] { comm.gatherv(a.nowhere, a.all, a.twos, a.places, 0); }},
      {"gatherv into null", no_memory("gatherv"),
       [&, rank] { comm.gatherv(a.two, a.nowhere, a.twos, a.places, rank); }},
      {"scatterv from nobody", invalid_root("scatterv", size),
       [&, size] { comm.scatterv(a.all, a.twos, a.places, a.two, size); }},
      {"scatterv from a place beyond all", wrong_length("scatterv", Arguments::most, 2 * size),
       [&, rank] { comm.scatterv(a.all, a.twos, a.far, a.two, rank); }},
      {"scatterv of counts that overflow", wrong_length("scatterv", Arguments::most, 2 * size),
       [&, rank] { (void)comm.scatterv(a.all, a.many, rank); }},
      {"scatterv with a count too many", wrong_length("scatterv", size, size + 1),
       [&, rank] { comm.scatterv(a.all, a.too_many, a.places, a.two, rank); }},
      {"scatterv into its own argument", wrong_length("scatterv", 0, 2),
       [&, rank] { comm.scatterv(a.all, a.twos, a.places, std::span(a.all).first(2), rank); }},
      {"scatterv of null", no_memory("scatterv"),
       [&, rank] { comm.scatterv(a.nowhere, a.twos, a.places, a.two, rank); }},
      {"scatterv into null", no_memory("scatterv"), [&] { comm.scatterv(a.all, a.twos, a.places, a.nowhere, 0); }},
      {"alltoallv from a place beyond all", wrong_length("alltoallv", Arguments::most, 2 * size),
       [&] { comm.alltoallv(a.all, a.twos, a.far, a.other_all, a.twos, a.places); }},
      {"alltoallv to a place beyond all", wrong_length("alltoallv", Arguments::most, 2 * size),
       [&] { comm.alltoallv(a.all, a.twos, a.places, a.other_all, a.twos, a.far); }},
      {"alltoallv with a count too many", wrong_length("alltoallv", size, size + 1),
       [&] { comm.alltoallv(a.all, a.twos, a.places, a.other_all, a.too_many, a.places); }},
      {"alltoallv into its argument", wrong_length("alltoallv", 0, 2 * size),
       [&] { comm.alltoallv(a.all, a.twos, a.places, a.all, a.twos, a.places); }},
      {"alltoallv of null", no_memory("alltoallv"),
       [&] { comm.alltoallv(a.nowhere, a.twos, a.places, a.other_all, a.twos, a.places); }},
      {"alltoallv into null", no_memory("alltoallv"),
       [&] { comm.alltoallv(a.all, a.twos, a.places, a.nowhere, a.twos, a.places); }},
      {"alltoallv of counts that overflow", wrong_length("alltoallv", Arguments::most, 2 * size),
       [&] { (void)comm.alltoallv(a.all, a.many); }},

      {"reduce to nobody", invalid_root("reduce", size),
       [&, size] { comm.reduce(a.two, a.other_two, ReduceOp::Sum, size); }},
      {"reduce of a value to nobody", invalid_root("reduce", size),
       [&, size] { (void)comm.reduce(1, ReduceOp::Sum, size); }},
      {"reduce into another length", wrong_length("reduce", 2, 3),
       [&, rank] { comm.reduce(a.two, a.three, ReduceOp::Sum, rank); }},
      {"reduce by no operation", no_such_op("reduce"), [&] { (void)comm.reduce(1, undefined_op, 0); }},
      {"reduce into its argument", wrong_length("reduce", 0, 2),
       [&, rank] { comm.reduce(a.two, a.two, ReduceOp::Sum, rank); }},
      {"reduce of null", no_memory("reduce"), [&] { comm.reduce(a.nowhere, a.two, ReduceOp::Sum, 0); }},
      {"reduce into null", no_memory("reduce"), [&, rank] { comm.reduce(a.two, a.nowhere, ReduceOp::Sum, rank); }},
      {"scan into another length", wrong_length("scan", 2, 3), [&] { comm.scan(a.two, a.three, ReduceOp::Sum); }},
      {"scan into its argument", wrong_length("scan", 0, 2), [&] { comm.scan(a.two, a.two, ReduceOp::Sum); }},
      {"scan of null", no_memory("scan"), [&] { comm.scan(a.nowhere, a.two, ReduceOp::Sum); }},
      {"scan into null", no_memory("scan"), [&] { comm.scan(a.two, a.nowhere, ReduceOp::Sum); }},
      {"scan by no operation", no_such_op("scan"), [&] { (void)comm.scan(1, undefined_op); }},
      {"exscan into another length", wrong_length("exscan", 2, 3), [&] { comm.exscan(a.two, a.three, ReduceOp::Sum); }},
      {"exscan into its argument", wrong_length("exscan", 0, 2), [&] { comm.exscan(a.two, a.two, ReduceOp::Sum); }},
      {"exscan of null", no_memory("exscan"), [&] { comm.exscan(a.nowhere, a.two, ReduceOp::Sum); }},
      {"exscan into null", no_memory("exscan"), [&] { comm.exscan(a.two, a.nowhere, ReduceOp::Sum); }},
      {"exscan of bits of numbers", no_such_op("exscan"), [&] { (void)comm.exscan(1.0, ReduceOp::BitwiseXor); }},
      {"reduce_scatter_block of another length", wrong_length("reduce_scatter_block", 2 * size, 2 * size + 1),
       [&] { comm.reduce_scatter_block(a.longer, a.two, ReduceOp::Sum); }},
      {"reduce_scatter_block into its argument", wrong_length("reduce_scatter_block", 0, 2),
       [&] { comm.reduce_scatter_block(a.all, std::span(a.all).first(2), ReduceOp::Sum); }},
      {"reduce_scatter_block of null", no_memory("reduce_scatter_block"),
       [&] { comm.reduce_scatter_block(a.nowhere, a.two, ReduceOp::Sum); }},
      {"reduce_scatter_block by no operation", no_such_op("reduce_scatter_block"),
       [&] { comm.reduce_scatter_block(a.all, a.two, undefined_op); }},
      {"reduce_scatter_block into null", no_memory("reduce_scatter_block"),
       [&] { comm.reduce_scatter_block(a.all, a.nowhere, ReduceOp::Sum); }},
  };
}

std::vector<Misuse> misused_layouts(const CommBackend& comm, Arguments& a) {
  const std::size_t size = comm.size();
  const std::size_t rank = comm.rank();
  std::vector<Misuse> table{
      {"allgatherv with a place too many", wrong_length("allgatherv", size, size + 1),
       [&] { comm.allgatherv(a.two, a.all, a.twos, a.too_many); }},
      {"allgatherv_inplace with a place too many", wrong_length("allgatherv_inplace", size, size + 1),
       [&] { comm.allgatherv_inplace(a.all, a.twos, a.too_many); }},
      {"allgatherv_inplace to a place beyond all", wrong_length("allgatherv_inplace", Arguments::most, 2 * size),
       [&] { comm.allgatherv_inplace(a.all, a.twos, a.far); }},
      {"allgatherv_inplace into null", no_memory("allgatherv_inplace"),
       [&] { comm.allgatherv_inplace(a.nowhere, a.twos, a.places); }},
      {"scatterv with a place too many", wrong_length("scatterv", size, size + 1),
       [&, rank] { comm.scatterv(a.all, a.twos, a.too_many, a.two, rank); }},
      {"scatterv of another length than its count", wrong_length("scatterv", 2, 3),
       [&, rank] { comm.scatterv(a.all, a.twos, a.places, a.three, rank); }},
      {"alltoallv of a count too many", wrong_length("alltoallv", size, size + 1),
       [&] { comm.alltoallv(a.all, a.too_many, a.places, a.other_all, a.twos, a.places); }},
      {"alltoallv from a place too many", wrong_length("alltoallv", size, size + 1),
       [&] { comm.alltoallv(a.all, a.twos, a.too_many, a.other_all, a.twos, a.places); }},
      {"alltoallv to a place too many", wrong_length("alltoallv", size, size + 1),
       [&] { comm.alltoallv(a.all, a.twos, a.places, a.other_all, a.twos, a.too_many); }},
  };
  if (size == 1) return table;  // one segment cannot meet another
  // Where the segment before the last ends, and where the last begins.
  const std::size_t end = 2 * (size - 1);
  table.insert(table.end(),
               {{"allgatherv to places that meet", wrong_length("allgatherv", end, end - 1),
                 [&] { comm.allgatherv(a.two, a.all, a.twos, a.meeting); }},
                {"allgatherv_inplace to places that meet", wrong_length("allgatherv_inplace", end, end - 1),
                 [&] { comm.allgatherv_inplace(a.all, a.twos, a.meeting); }},
                {"gatherv to places that meet", wrong_length("gatherv", end, end - 1),
                 [&, rank] { comm.gatherv(a.two, a.all, a.twos, a.meeting, rank); }},
                {"alltoallv to places that meet", wrong_length("alltoallv", end, end - 1),
                 [&] { comm.alltoallv(a.all, a.twos, a.places, a.other_all, a.twos, a.meeting); }}});
  return table;
}

std::vector<Misuse> misused_messages(const CommBackend& comm, Arguments& a) {
  const std::size_t size = comm.size();
  const std::size_t self = comm.rank();
  const auto invalid_peer = [&](const char* operation) {
    return std::string("InvalidPeer in ") + operation + " " + std::to_string(size) + " " + std::to_string(size);
  };
  const auto invalid_tag = [](const char* operation) { return std::string("InvalidTag in ") + operation + " -1"; };
  return {
      {"a channel to nobody", invalid_peer("channel"), [&, size] { (void)comm.channel(size, 0); }},
      {"a channel with a negative tag", invalid_tag("channel"), [&, self] { (void)comm.channel(self, -1); }},
      {"send to nobody", invalid_peer("send"), [&, size] { comm.send(a.two, size); }},
      {"send with a negative tag", invalid_tag("send"), [&, self] { comm.send(a.two, self, -1); }},
      {"send of null", no_memory("send"), [&, self] { comm.send(a.nowhere, self); }},
      {"send of more than there is", endless("send"), [&, self] { comm.send(a.endless, self); }},
      {"recv from nobody", invalid_peer("recv"), [&, size] { comm.recv(a.two, size); }},
      {"recv of a value from nobody", invalid_peer("recv"), [&, size] { (void)comm.recv<double>(size); }},
      {"recv with a negative tag", invalid_tag("recv"), [&, self] { comm.recv(a.two, self, -1); }},
      {"recv into null", no_memory("recv"), [&, self] { comm.recv(a.nowhere, self); }},
      {"sendrecv to nobody", invalid_peer("sendrecv"),
       [&, size, self] { comm.sendrecv(a.two, size, a.other_two, self); }},
      {"sendrecv from nobody", invalid_peer("sendrecv"),
       [&, size, self] { comm.sendrecv(a.two, self, a.other_two, size); }},
      {"sendrecv of a value to nobody", invalid_peer("sendrecv"),
       [&, size, self] { (void)comm.sendrecv(1, size, self); }},
      {"sendrecv of a value from nobody", invalid_peer("sendrecv"),
       [&, size, self] { (void)comm.sendrecv(1, self, size); }},
      {"sendrecv into what is sent", wrong_length("sendrecv", 0, 2),
       [&, self] { comm.sendrecv(a.two, self, a.two, self); }},
      {"send of null through a channel", no_memory("send"), [&, self] { comm.channel(self, 5).send(a.nowhere); }},
      {"recv_some into null", no_memory("recv_some"), [&, self] { (void)comm.channel(self, 5).recv_some(a.nowhere); }},
      {"try_recv into null", no_memory("try_recv"), [&, self] { (void)comm.channel(self, 5).try_recv(a.nowhere); }},
      {"sendrecv of null through a channel", no_memory("sendrecv"),
       [&, self] { comm.channel(self, 5).sendrecv(a.nowhere, a.two); }},
      {"isend of null", no_memory("isend"), [&, self] { (void)comm.channel(self, 5).isend(a.nowhere); }},
      {"irecv into null", no_memory("irecv"), [&, self] { (void)comm.channel(self, 5).irecv(a.nowhere); }},
  };
}

std::vector<Misuse> misused_requests(const CommBackend& comm, Arguments& a) {
  const std::size_t size = comm.size();
  return {
      {"ibroadcast from nobody", invalid_root("ibroadcast", size), [&, size] { (void)comm.ibroadcast(a.two, size); }},
      {"ibroadcast of a value from nobody", invalid_root("ibroadcast", size),
       [&, size] { (void)comm.ibroadcast(1.0, size); }},
      {"ibroadcast of null", no_memory("ibroadcast"), [&] { (void)comm.ibroadcast(a.nowhere, 0); }},
      {"iallreduce into another length", wrong_length("iallreduce", 2, 3),
       [&] { (void)comm.iallreduce(a.two, a.three, ReduceOp::Sum); }},
      {"iallreduce into its argument", wrong_length("iallreduce", 0, 2),
       [&] { (void)comm.iallreduce(a.two, a.two, ReduceOp::Sum); }},
      {"iallreduce by no operation", no_such_op("iallreduce"),
       [&] { (void)comm.iallreduce(a.two, a.other_two, undefined_op); }},
      {"iallreduce_inplace of null", no_memory("iallreduce_inplace"),
       [&] { (void)comm.iallreduce_inplace(a.nowhere, ReduceOp::Sum); }},
      {"iallgatherv with a count too many", wrong_length("iallgatherv", size, size + 1),
       [&] { (void)comm.iallgatherv(a.two, a.all, a.too_many, a.places); }},
      {"iallgatherv to a place beyond all", wrong_length("iallgatherv", Arguments::most, 2 * size),
       [&] { (void)comm.iallgatherv(a.two, a.all, a.twos, a.far); }},
      {"iallgatherv of null", no_memory("iallgatherv"),
       [&] { (void)comm.iallgatherv(a.nowhere, a.all, a.twos, a.places); }},
      {"iallgatherv into null", no_memory("iallgatherv"),
       [&] { (void)comm.iallgatherv(a.two, a.nowhere, a.twos, a.places); }},
      {"iallgatherv from its own result", wrong_length("iallgatherv", 0, 2),
       [&] { (void)comm.iallgatherv(std::span(a.all).first(2), a.all, a.twos, a.places); }},
      {"iallreduce of null", no_memory("iallreduce"), [&] { (void)comm.iallreduce(a.nowhere, a.two, ReduceOp::Sum); }},
      {"broadcast_init from nobody", invalid_root("broadcast_init", size),
       [&, size] { (void)comm.broadcast_init(a.two, size); }},
      {"broadcast_init of null", no_memory("broadcast_init"), [&] { (void)comm.broadcast_init(a.nowhere, 0); }},
      {"allreduce_init into another length", wrong_length("allreduce_init", 2, 3),
       [&] { (void)comm.allreduce_init(a.two, a.three, ReduceOp::Sum); }},
      {"allreduce_init by no operation", no_such_op("allreduce_init"),
       [&] { (void)comm.allreduce_init(a.two, a.other_two, undefined_op); }},
      {"allreduce_init into null", no_memory("allreduce_init"),
       [&] { (void)comm.allreduce_init(a.two, a.nowhere, ReduceOp::Sum); }},
      {"allgatherv_init of null", no_memory("allgatherv_init"),
       [&] { (void)comm.allgatherv_init(a.nowhere, a.all, a.twos, a.places); }},
      {"allgatherv_init with a count too many", wrong_length("allgatherv_init", size, size + 1),
       [&] { (void)comm.allgatherv_init(a.two, a.all, a.too_many, a.places); }},
      {"allgatherv_init from its own result", wrong_length("allgatherv_init", 0, 2),
       [&] { (void)comm.allgatherv_init(std::span(a.all).first(2), a.all, a.twos, a.places); }},
      {"a plan that was moved from", "InvalidOperation in start",
       [&] {
         auto first = comm.broadcast_init(a.two, 0);
         const auto second = std::move(first);
         first.start();  // NOLINT(bugprone-use-after-move): what is tested
       }},
  };
}

}  // namespace

void misuse_cases(Suite<CommBackend>& suite) {
  auto group = suite.group("Misuse");
  const auto add = [&](const char* sentence, auto* table) {
    group.add(sentence, [table](const CommBackend& comm) {
      Arguments arguments(comm.size());
      expect_refusals(comm, table(comm, arguments));
    });
  };
  add("OfEveryCollectiveIsRefusedAndChangesNothing", misused_collectives);
  add("OfEveryLayoutIsRefusedAndChangesNothing", misused_layouts);
  add("OfEveryMessageIsRefusedAndChangesNothing", misused_messages);
  add("OfEveryRequestIsRefusedAndChangesNothing", misused_requests);

  group.add("OfWhatOnlyTheRootLooksAtIsNoneElsewhere", [](const CommBackend& comm) {
    Arguments a(comm.size());
    const bool root = comm.rank() == 0;
    comm.gather(a.two, root ? std::span(a.all) : a.nowhere, 0);
    comm.scatter(root ? std::span(a.all) : a.endless, a.two, 0);
    comm.reduce(a.two, root ? std::span(a.other_two) : a.nowhere, ReduceOp::Sum, 0);
  });

  // A backend of one rank owns nothing that could be taken away.
  group.add("OfACommunicatorThatWasMovedFromIsRefused", [](const CommBackend& comm) {
    if (comm.kind() == BackendKind::Local) return;
    CommBackend first = comm.duplicate();
    const CommBackend second = std::move(first);
    Arguments a(comm.size());
    const auto refused = [](const char* operation) { return std::string("InvalidCommunicator in ") + operation; };
    // NOLINTBEGIN(bugprone-use-after-move): what is tested
    expect_refusals(second, {{"barrier", refused("barrier"), [&] { first.barrier(); }},
                             {"broadcast", refused("broadcast"), [&] { first.broadcast(a.two, 0); }},
                             {"allreduce", refused("allreduce"), [&] { (void)first.allreduce(1, ReduceOp::Sum); }},
                             {"gather", refused("gather"), [&] { (void)first.gather(1, 0); }},
                             {"create_shared_region", refused("create_shared_region"),
                              [&] { (void)first.create_shared_region<double>(3); }},
                             {"split", refused("split"), [&] { (void)first.split(0); }},
                             {"duplicate", refused("duplicate"), [&] { (void)first.duplicate(); }},
                             {"split_local", refused("split_local"), [&] { (void)first.split_local(); }},
                             {"topology", refused("topology"), [&] { (void)first.topology(); }},
                             {"channel", refused("channel"), [&] { (void)first.channel(0, 0); }},
                             {"largest_tag", refused("largest_tag"), [&] { (void)first.largest_tag(); }},
                             {"send", refused("send"), [&] { first.send(1, 0); }},
                             {"recv", refused("recv"), [&] { first.recv(a.two, 0); }},
                             {"recv of a value", refused("recv"), [&] { (void)first.recv<int>(0); }},
                             {"sendrecv", refused("sendrecv"), [&] { first.sendrecv(a.two, 0, a.other_two, 0); }},
                             {"sendrecv of a value", refused("sendrecv"), [&] { (void)first.sendrecv(1, 0, 0); }}});
    // NOLINTEND(bugprone-use-after-move)
  });

  group.add("OfAChannelThatWasMovedFromIsRefused", [](const CommBackend& comm) {
    auto first = comm.channel(comm.rank(), 5);
    const auto second = std::move(first);
    Arguments a(comm.size());
    const auto refused = [](const char* operation) { return std::string("InvalidCommunicator in ") + operation; };
    // NOLINTBEGIN(bugprone-use-after-move): what is tested
    expect_refusals(comm, {{"rank", refused("rank"), [&] { (void)first.rank(); }},
                           {"peer_rank", refused("peer_rank"), [&] { (void)first.peer_rank(); }},
                           {"tag", refused("tag"), [&] { (void)first.tag(); }},
                           {"send", refused("send"), [&] { first.send(1); }},
                           {"recv", refused("recv"), [&] { first.recv(a.two); }},
                           {"recv of a value", refused("recv"), [&] { (void)first.recv<int>(); }},
                           {"recv_some", refused("recv_some"), [&] { (void)first.recv_some(a.two); }},
                           {"try_recv", refused("try_recv"), [&] { (void)first.try_recv(a.two); }},
                           {"try_recv of a value", refused("try_recv"), [&] { (void)first.try_recv<int>(); }},
                           {"sendrecv", refused("sendrecv"), [&] { first.sendrecv(a.two, a.other_two); }},
                           {"sendrecv of a value", refused("sendrecv"), [&] { (void)first.sendrecv(1); }},
                           {"isend", refused("isend"), [&] { (void)first.isend(a.two); }},
                           {"isend of a value", refused("isend"), [&] { (void)first.isend(1); }},
                           {"irecv", refused("irecv"), [&] { (void)first.irecv(a.two); }},
                           {"irecv of a value", refused("irecv"), [&] { (void)first.irecv<int>(); }}});
    // NOLINTEND(bugprone-use-after-move)
  });

  // A channel can be opened still: what it is for is refused, alike on all backends.
  group.add_on_fresh_ranks("OfMessagesOfACommunicatorThatFailedIsRefusedByTheirNames", [](const CommBackend& comm) {
    struct Unhappy {};
    bool threw = false;
    try {
      comm.barrier();  // everyone is there before somebody fails
      std::vector<double> buffer(10'000);
      comm.allreduce_inplace(buffer, [](double, double) -> double { throw Unhappy(); });
    } catch (const Unhappy&) {
      threw = true;
    } catch (const CommError&) {
      // a rank that combined nothing may learn of the failure from the others
    }
    if (!threw) return;
    Arguments a(comm.size());
    const auto refused = [](const char* operation) { return std::string("InvalidCommunicator in ") + operation; };
    // On tcp the first message is told the reason itself.
    EXPECT_NE(refusal_of([&] { comm.send(1, comm.rank()); }), "accepted");
    for (const std::size_t peer : {comm.rank(), (comm.rank() + 1) % comm.size()}) {
      const auto channel = comm.channel(peer, 1);
      const std::vector<Misuse> table{
          {"send", refused("send"), [&] { comm.send(1, peer); }},
          {"recv", refused("recv"), [&] { comm.recv(a.two, peer); }},
          {"sendrecv", refused("sendrecv"), [&] { comm.sendrecv(a.two, peer, a.other_two, peer); }},
          {"send through a channel", refused("send"), [&] { channel.send(1); }},
          {"recv through a channel", refused("recv"), [&] { (void)channel.recv<int>(); }},
          {"recv_some", refused("recv_some"), [&] { (void)channel.recv_some(a.two); }},
          {"try_recv", refused("try_recv"), [&] { (void)channel.try_recv(a.two); }},
          {"sendrecv through a channel", refused("sendrecv"), [&] { channel.sendrecv(a.two, a.other_two); }},
          {"isend", refused("isend"), [&] { (void)channel.isend(a.two); }},
          {"irecv", refused("irecv"), [&] { (void)channel.irecv(a.two); }}};
      for (const Misuse& misuse : table) EXPECT_EQ(refusal_of(misuse.call), misuse.refusal) << misuse.what;
    }
  });

  group.add("OfARegionThatWasMovedFromIsRefused", [](const CommBackend& comm) {
    auto first = comm.create_shared_region<double>(3);
    auto second = std::move(first);
    // NOLINTBEGIN(bugprone-use-after-move): what is tested
    EXPECT_EQ(first.size(), 0U);
    EXPECT_TRUE(first.as_span().empty() && first.as_mut_span().empty());
    if (comm.kind() == BackendKind::Shm || comm.kind() == BackendKind::Mpi) {
      EXPECT_EQ(refusal_of([&] { first.fence(); }), "InvalidCommunicator in fence");
    }
    // NOLINTEND(bugprone-use-after-move)
    second.fence();
    EXPECT_EQ(second.as_span().size(), 3U);
  });

  group.add("OfACommunicatorThatWasMovedFromIsRefusedInEveryForm", [](const CommBackend& comm) {
    if (comm.kind() == BackendKind::Local) return;
    CommBackend first = comm.duplicate();
    const CommBackend second = std::move(first);
    Arguments a(comm.size());
    const auto refused = [](const char* operation) { return std::string("InvalidCommunicator in ") + operation; };
    // NOLINTBEGIN(bugprone-use-after-move): what is tested
    expect_refusals(
        second, {{"allgather", refused("allgather"), [&] { first.allgather(a.two, a.all); }},
                 {"scatter", refused("scatter"), [&] { first.scatter(a.all, a.two, 0); }},
                 {"alltoall", refused("alltoall"), [&] { first.alltoall(a.all, a.other_all); }},
                 {"reduce", refused("reduce"), [&] { (void)first.reduce(1, ReduceOp::Sum, 0); }},
                 {"scan", refused("scan"), [&] { (void)first.scan(1, ReduceOp::Sum); }},
                 {"reproducible_sum", refused("reproducible_sum"), [&] { (void)first.reproducible_sum(1.0); }},
                 {"broadcast_resized", refused("broadcast_resized"), [&] { first.broadcast_resized(a.three, 0); }}});
    // Some ask for the topology first.
    EXPECT_THROW((void)first.node(), InvalidCommunicator);
    EXPECT_THROW((void)first.ibarrier(), InvalidCommunicator);
    EXPECT_THROW((void)first.ibroadcast(a.two, 0), InvalidCommunicator);
    EXPECT_THROW((void)first.ibroadcast(1.0, 0), InvalidCommunicator);
    EXPECT_THROW((void)first.iallreduce(a.two, a.other_two, ReduceOp::Sum), InvalidCommunicator);
    EXPECT_THROW((void)first.iallreduce_inplace(a.two, ReduceOp::Sum), InvalidCommunicator);
    EXPECT_THROW((void)first.iallreduce(1, ReduceOp::Sum), InvalidCommunicator);
    EXPECT_THROW((void)first.iallgatherv(a.two, a.all, a.twos, a.places), InvalidCommunicator);
    EXPECT_THROW((void)first.broadcast_init(a.two, 0), InvalidCommunicator);
    EXPECT_THROW((void)first.allreduce_init(a.two, a.other_two, ReduceOp::Sum), InvalidCommunicator);
    EXPECT_THROW((void)first.allgatherv_init(a.two, a.all, a.twos, a.places), InvalidCommunicator);
    // NOLINTEND(bugprone-use-after-move)
    EXPECT_EQ(second.iallreduce(1, ReduceOp::Sum).get(), static_cast<int>(comm.size()));
  });

  // What is watched is refused as it is elsewhere, and not reported.
  group.add("OfACommunicatorThatIsWatchedIsRefusedAndNotReported", [](const CommBackend& comm) {
    const std::size_t size = comm.size();
    Arguments a(size);
    OperationStatistics statistics;
    const Observed watched(comm, statistics);
    expect_refusals(
        comm,
        {{"broadcast from nobody", invalid_root("broadcast", size), [&, size] { watched.broadcast(a.two, size); }},
         {"broadcast of null", no_memory("broadcast"), [&] { watched.broadcast(a.nowhere, 0); }},
         {"allreduce into another length", wrong_length("allreduce", 2, 3),
          [&] { watched.allreduce(a.two, a.three, ReduceOp::Sum); }},
         {"allreduce by no operation", no_such_op("allreduce"), [&] { (void)watched.allreduce(1.0, undefined_op); }},
         {"allgatherv to a place beyond all", wrong_length("allgatherv", Arguments::most, 2 * size),
          [&] { watched.allgatherv(a.two, a.all, a.twos, a.far); }},
         {"gather to nobody", invalid_root("gather", size), [&, size] { (void)watched.gather(1, size); }},
         {"reproducible_sum of null", no_memory("reproducible_sum"),
          [&] { (void)watched.reproducible_sum(a.nowhere); }}});
    EXPECT_THROW((void)watched.create_shared_region<double>(Arguments::most / 2), AllocationFailed);
    EXPECT_EQ(statistics.total().calls, 0U);
    watched.barrier();
    EXPECT_EQ(statistics.total().calls, 1U);
  });

  group.add("OfALifetimeIsNoneWhatIsUnderWayKeepsWhatItNeeds", [](const CommBackend& comm) {
    std::optional<CommBackend> twin(comm.duplicate());
    std::vector<double> table(2000, static_cast<double>(comm.rank()));
    auto request = twin->ibroadcast(table, 0);
    auto region = twin->create_shared_region<int>(4);
    const auto channel = twin->channel(comm.rank(), 1);
    twin.reset();
    request.wait();
    EXPECT_EQ(table.back(), 0.0);
    region.fence();
    channel.send(7);
    EXPECT_EQ(channel.recv<int>(), 7);
    comm.barrier();
  });
}

}  // namespace conformance
