#include "comm/backends/mpi/errors.hpp"

#include "comm/core/format.hpp"

namespace cobre::comm::mpi {
namespace {

// MPI says that somebody died. Asking it who is an extension that the libraries of today lack, or that ends the job.
FailedPeer somebody() {
  FailedPeer peer;
  peer.rank = FailedPeer::unknown;
  return peer;
}

[[noreturn]] void throw_by_class(const CallFacts& facts, const ferrompi::MpiError& error) {
  using ferrompi::ErrorClass;
  switch (error.error_class()) {
    case ErrorClass::Comm:
    case ErrorClass::Revoked: std::throw_with_nested(InvalidCommunicator(facts.where, error.what()));
    case ErrorClass::Root: std::throw_with_nested(InvalidRoot(facts.where, facts.root));
    case ErrorClass::Buffer:
    case ErrorClass::Count:
      std::throw_with_nested(InvalidBufferSize(
          facts.where, facts.count, facts.count,
          core::format("MPI refused a buffer of {} elements, {} bytes: {}", facts.count, facts.bytes, error.what())));
    case ErrorClass::Op: std::throw_with_nested(InvalidOperation(facts.where, error.what()));
    case ErrorClass::ProcAborted:
    case ErrorClass::ProcFailed:
    case ErrorClass::ProcFailedPending: std::throw_with_nested(PeerFailed(facts.where, somebody()));
    case ErrorClass::NoMem: std::throw_with_nested(AllocationFailed(facts.where, facts.bytes, error.what()));
    default: std::throw_with_nested(CollectiveFailed(facts.where, error.code(), error.what()));
  }
}

}  // namespace

void throw_counterpart(const CallFacts& facts, const ferrompi::Error& error) {
  if (const auto* from_mpi = dynamic_cast<const ferrompi::MpiError*>(&error)) throw_by_class(facts, *from_mpi);
  if (dynamic_cast<const ferrompi::InvalidOp*>(&error) != nullptr) {
    std::throw_with_nested(InvalidOperation(facts.where, error.what()));
  }
  if (dynamic_cast<const ferrompi::InvalidBuffer*>(&error) != nullptr) {
    std::throw_with_nested(InvalidBufferSize(facts.where, facts.count, facts.count, error.what()));
  }
  std::throw_with_nested(CollectiveFailed(facts.where, -1, error.what()));
}

}  // namespace cobre::comm::mpi
