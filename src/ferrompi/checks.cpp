#include <ferrompi/detail/checks.hpp>

#include <ferrompi/error.hpp>

#include "ferrompi/text.hpp"

namespace ferrompi::detail {

namespace {

// Every text begins with the method and the rank.
template <class... Parts>
std::string on_rank(const char* operation, const Group& group, const Parts&... parts) {
  return text_of(operation, " on rank ", group.rank, " of ", group.size, ": ", parts...);
}

}  // namespace

void throw_moved_from(const char* operation) {
  throw MpiError(operation, ErrorClass::Comm, "this communicator was moved from: use the one it was moved to");
}

void throw_bad_root(const char* operation, const Group& group, int root) {
  throw MpiError(operation, ErrorClass::Root,
                 text_of("root ", root, " is not in this communicator on rank ", group.rank, ": its ranks are 0 to ",
                         group.size - 1));
}

void throw_bad_peer(const char* operation, const Group& group, int peer) {
  throw MpiError(operation, ErrorClass::Rank,
                 text_of("rank ", peer, " is not in this communicator on rank ", group.rank, ": its ranks are 0 to ",
                         group.size - 1, ", and proc_null stands for nobody"));
}

void throw_bad_tag(const char* operation, const Group& group, int tag) {
  throw MpiError(operation, ErrorClass::Tag,
                 text_of("tag ", tag, " on rank ", group.rank, " is outside 0 to ", largest_tag,
                         ", and any_tag is for receiving only"));
}

void throw_bad_op(const char* operation, const Group& group, cobre::comm::ReduceOp op, cobre::comm::ElementType type) {
  throw InvalidOp(operation, on_rank(operation, group, "ReduceOp::", to_string(op), " does not exist for elements of ",
                                     to_string(type), ": use another operation or a callable"));
}

void throw_unequal(const char* operation, const Group& group, std::size_t send, std::size_t recv) {
  throw InvalidBuffer(operation, on_rank(operation, group, "send has ", send, " elements and recv ", recv,
                                         ": both must have the same length"));
}

void throw_bad_blocks(const char* operation, const Group& group, std::size_t whole, std::size_t block) {
  const auto expected = block * static_cast<std::size_t>(group.size);
  throw InvalidBuffer(operation, on_rank(operation, group, "one block of ", block, " elements a rank makes ", expected,
                                         ", but the buffer of all blocks has ", whole));
}

void throw_indivisible(const char* operation, const Group& group, std::size_t whole) {
  throw InvalidBuffer(operation, on_rank(operation, group, "a buffer of ", whole,
                                         " elements cannot be shared equally by ", group.size, " ranks"));
}

void throw_overlap(const char* operation, const Group& group) {
  throw InvalidBuffer(operation,
                      on_rank(operation, group, "send and recv overlap: use the _inplace form, or separate buffers"));
}

void throw_not_packed(const char* operation, const Group& group, std::size_t argument) {
  const auto text = text_of("the elements of argument ", argument,
                            " do not lie one behind the other (a block or a strided view): copy them into a contiguous "
                            "buffer first");
  // A message that was matched, and counts that are only laid out, know of no group.
  throw InvalidBuffer(operation, group.size == 0 ? text_of(operation, ": ", text) : on_rank(operation, group, text));
}

}  // namespace ferrompi::detail
