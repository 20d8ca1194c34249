// Reduce, scan and reduce_scatter_block: everyone shows its values, and who wants a result folds what counts for it,
// along the canonical tree.
//
//   bytes that a rank shows   way            steps
//   up to inline_bytes        inline         1: they travel in the post
//   below exchanged_bytes     from rings     1: everyone shows them in its ring
//   above                     from origin    the others read from its buffer, where pointers reach
//                             by chunks      through its ring, where not
//
// All ranks show equally much, so they choose alike. Who wants nothing of a rank does not wait for it, and who is
// wanted by nobody, as the root of a reduce is, shows nothing.

#include "comm/backends/shm/fold_shown.hpp"

namespace cobre::comm::shm {

template <class WishOf>
void Endpoint::fold_shown(const detail::OperationRecord& record, const detail::AllreduceCall& call, std::size_t shown,
                          const WishOf& wish_of) {
  perform_reduction(record, [&] { Folder<WishOf>(*this, call, shown, wish_of).run(); });
}

void Endpoint::execute(const detail::OperationRecord& record, const detail::ReduceCall& call) {
  fold_shown(record, call, call.count, [&](std::size_t rank) {
    return Wish{rank == call.root ? size_ : 0, 0, call.count};
  });
}

void Endpoint::execute(const detail::OperationRecord& record, const detail::ScanCall& call) {
  fold_shown(record, call, call.count, [&](std::size_t rank) { return Wish{call.sources(rank), 0, call.count}; });
}

void Endpoint::execute(const detail::OperationRecord& record, const detail::ReduceScatterCall& call) {
  fold_shown(record, call, call.count * size_, [&](std::size_t rank) {
    return Wish{size_, rank * call.count, call.count};
  });
}

}  // namespace cobre::comm::shm
