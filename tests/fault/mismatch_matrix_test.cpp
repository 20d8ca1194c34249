// Every operation against every other, and each with each of its arguments different on one rank: all of it is found,
// by every rank, and names that rank and what differs.

#include <map>

#include "fault/mismatch.hpp"

namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;

struct Arguments {
  bool other_type = false;
  std::size_t count = 5;
  ReduceOp op = ReduceOp::Sum;
  std::size_t root = 0;
};

/// What one rank may get wrong, by the name that the error gives it.
const std::map<std::string, Arguments> wrong = {
    {"type", {.other_type = true}}, {"count", {.count = 6}}, {"op", {.op = ReduceOp::Max}}, {"root", {.root = 1}}};

struct Operation {
  std::string name;
  std::vector<std::string> fields;
  std::function<void(const CommBackend&, const Arguments&)> run;
};

// Another type of the same length: what the others would take for theirs, if nobody looked.
template <class Run>
auto typed(Run run) {
  return [run](const CommBackend& comm, const Arguments& arguments) {
    if (arguments.other_type) {
      run(comm, arguments, std::vector<std::int64_t>(arguments.count));
    } else {
      run(comm, arguments, std::vector<double>(arguments.count));
    }
  };
}
// So many times as much.
template <class Values>
Values times(const Values& values, std::size_t ranks) {
  return Values(values.size() * ranks);
}

std::vector<Operation> operations() {
  return {
      {"barrier", {}, [](const CommBackend& comm, const Arguments&) { comm.barrier(); }},
      {"broadcast", {"type", "count", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.broadcast(data, a.root);
       })},
      {"allreduce", {"type", "count", "op"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.allreduce_inplace(data, a.op);
       })},
      {"allgather", {"type", "count"}, typed([](const CommBackend& comm, const Arguments&, auto data) {
         auto all = times(data, comm.size());
         comm.allgather(data, all);
       })},
      {"gather", {"type", "count", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto all = times(data, comm.size());
         comm.gather(data, all, a.root);
       })},
      {"scatter", {"type", "count", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.scatter(times(data, comm.size()), data, a.root);
       })},
      {"alltoall", {"type", "count"}, typed([](const CommBackend& comm, const Arguments&, auto data) {
         auto all = times(data, comm.size());
         comm.alltoall(times(data, comm.size()), all);
       })},
      {"reduce", {"type", "count", "op", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto result = data;
         comm.reduce(data, result, a.op, a.root);
       })},
      {"scan", {"type", "count", "op"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto result = data;
         comm.scan(data, result, a.op);
       })},
      {"exscan", {"type", "count", "op"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto result = data;
         comm.exscan(data, result, a.op);
       })},
      {"reduce_scatter_block",
       {"type", "count", "op"},
       typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.reduce_scatter_block(times(data, comm.size()), data, a.op);
       })},
      {"create_shared_region",
       {"count"},
       [](const CommBackend& comm, const Arguments& a) { (void)comm.create_shared_region<double>(a.count); }},
      {"split", {}, [](const CommBackend& comm, const Arguments&) { (void)comm.split(0); }},
  };
}

class MismatchMatrix : public mismatch::OnEveryBackend {};
INSTANTIATE_TEST_SUITE_P(Everywhere, MismatchMatrix, testing::ValuesIn(fault::backends()), fault::name_of);

mismatch::Call call(const Operation& operation, const Arguments& arguments = {}) {
  return [=](const CommBackend& comm) { operation.run(comm, arguments); };
}

TEST_P(MismatchMatrix, OfEveryArgumentOfEveryOperation) {
  for (const Operation& operation : operations()) {
    for (const std::string& field : operation.fields) {
      SCOPED_TRACE(operation.name + " with another " + field);
      expect_mismatch(3, 2, call(operation), call(operation, wrong.at(field)), field + " 2");
    }
  }
}

TEST_P(MismatchMatrix, OfEveryOperationWithEveryOther) {
  const auto all = operations();
  for (std::size_t usual = 0; usual < all.size(); ++usual) {
    for (std::size_t odd = 0; odd < all.size(); ++odd) {
      if (odd == usual) continue;
      SCOPED_TRACE(all[usual].name + " where one rank is in " + all[odd].name);
      expect_mismatch(3, (usual + odd) % 3, call(all[usual]), call(all[odd]),
                      "operation " + std::to_string((usual + odd) % 3));
    }
  }
}

}  // namespace
