#include <cobre/comm/errors.hpp>

#include <utility>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm {
namespace {

std::string describe(const FailedPeer& peer) {
  if (peer.rank == FailedPeer::unknown) return "a rank died or left the group";
  std::string who = core::format("rank {}", peer.rank);
  if (peer.host && peer.pid) {
    who += core::format(" (host {}, process {})", *peer.host, *peer.pid);
  } else if (peer.host) {
    who += core::format(" (host {})", *peer.host);
  } else if (peer.pid) {
    who += core::format(" (process {})", *peer.pid);
  }
  if (peer.signal) return core::format("{} was killed by signal {}", who, core::signal_name(*peer.signal));
  if (peer.exit_code) return core::format("{} ended with exit code {}", who, *peer.exit_code);
  return core::format("{} died or left the group", who);
}

constexpr std::string_view where_it_exists(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Prod: return "integers, floating-point and complex numbers";
    case ReduceOp::Min:
    case ReduceOp::Max: return "integers, floating-point numbers and bool";
    case ReduceOp::BitwiseAnd:
    case ReduceOp::BitwiseOr:
    case ReduceOp::BitwiseXor: return "integers, bool and std::byte";
    case ReduceOp::LogicalAnd:
    case ReduceOp::LogicalOr:
    case ReduceOp::LogicalXor: return "integers and bool";
    case ReduceOp::MinLoc:
    case ReduceOp::MaxLoc: return "ValueIndex<T>";
  }
  return "no type";
}

std::string_view build_option(std::string_view backend) {
  if (backend == "mpi") return "COBRE_COMM_MPI";
  if (backend == "tcp") return "COBRE_COMM_TCP";
  return "COBRE_COMM_SHM";
}

}  // namespace

CommError::CommError(const Where& where, const std::string& problem)
    : Error(core::format("{} on rank {} of {}: {}", where.operation, where.rank, where.size, problem)),
      operation_(where.operation) {}

CollectiveFailed::CollectiveFailed(const Where& where, int code, std::string_view message)
    : CommError(where, core::format("failed with error code {}: {}", code, message)), code_(code) {}

InvalidBufferSize::InvalidBufferSize(const Where& where, std::size_t expected, std::size_t actual,
                                     std::string_view problem)
    : CommError(where, std::string(problem)), expected_(expected), actual_(actual) {}

InvalidRoot::InvalidRoot(const Where& where, std::size_t root)
    : CommError(where, core::format("root {} is not a rank of this communicator; use a root from 0 to {}", root,
                                    where.size - 1)),
      root_(root),
      size_(where.size) {}

InvalidPeer::InvalidPeer(const Where& where, std::size_t peer)
    : CommError(where,
                core::format("peer {} is not a rank of this communicator; use one from 0 to {}", peer, where.size - 1)),
      peer_(peer),
      size_(where.size) {}

InvalidTag::InvalidTag(const Where& where, std::int64_t tag, std::int64_t largest)
    : CommError(where, core::format("tag {} cannot be carried by this backend; use one from 0 to {}", tag, largest)),
      tag_(tag),
      largest_(largest) {}

InvalidOperation::InvalidOperation(const Where& where, ReduceOp op, ElementType type)
    : CommError(where, core::format("{} is not defined for {}; it exists for {}. Reduce other types with a callable",
                                    to_string(op), to_string(type), where_it_exists(op))) {}

InvalidOperation::InvalidOperation(const Where& where, const std::string& problem) : CommError(where, problem) {}

InvalidCommunicator::InvalidCommunicator(const Where& where, std::string_view reason)
    : CommError(where, core::format("the communicator cannot be used any more: {}", reason)) {}

AllocationFailed::AllocationFailed(const Where& where, std::size_t requested_bytes, std::string_view reason)
    : CommError(where, core::format("{} bytes could not be had: {}", requested_bytes, reason)),
      requested_bytes_(requested_bytes) {}

PeerFailed::PeerFailed(const Where& where, FailedPeer peer)
    : CommError(where, core::format("{}; look for the cause in its output. This communicator is finished: end the "
                                    "program or make a new one",
                                    describe(peer))),
      peer_(std::move(peer)) {}

TimedOut::TimedOut(const Where& where, double waited_seconds, std::vector<std::size_t> missing_ranks)
    : CommError(where, core::format("waited {:.3g} s for {}; see what they are doing, or raise "
                                    "COBRE_COMM_TIMEOUT_SECS if they are only slow",
                                    waited_seconds, core::rank_list(missing_ranks))),
      waited_seconds_(waited_seconds),
      missing_ranks_(std::move(missing_ranks)) {}

CollectiveMismatch::CollectiveMismatch(const Where& where, std::string field, std::vector<std::size_t> ranks,
                                       std::string_view values)
    : CommError(where, core::format("the ranks do not agree on the {}: {}; all ranks must call the same operations in "
                                    "the same order with arguments that fit together (differing: {})",
                                    field, values, core::rank_list(ranks))),
      field_(std::move(field)),
      ranks_(std::move(ranks)) {}

BackendNotAvailable::BackendNotAvailable(std::string requested, std::vector<std::string> available)
    : BackendError(
          core::format("communication backend {} is not in this build (available: {}); rebuild with -D{}=ON or "
                       "choose another one in COBRE_COMM_BACKEND",
                       core::quoted(requested), core::joined(available, ", "), build_option(requested))),
      requested_(std::move(requested)),
      available_(std::move(available)) {}

InvalidBackend::InvalidBackend(std::string requested)
    : BackendError(core::format("unknown communication backend {} (known: auto, mpi, tcp, shm, local; in lower case); "
                                "correct or unset COBRE_COMM_BACKEND",
                                core::quoted(requested))),
      requested_(std::move(requested)),
      available_{"auto", "mpi", "tcp", "shm", "local"} {}

InitializationFailed::InitializationFailed(std::string backend, std::string_view reason)
    : BackendError(core::format("backend '{}' could not start: {}", backend, reason)), backend_(std::move(backend)) {}

InvalidConfiguration::InvalidConfiguration(std::string backend, std::string variable, std::string value,
                                           std::string_view expected)
    : InitializationFailed(std::move(backend),
                           core::format("{} is {}, but must be {}", variable, core::quoted(value), expected)),
      variable_(std::move(variable)),
      value_(std::move(value)) {}

MissingConfiguration::MissingConfiguration(std::string backend, std::vector<std::string> missing_vars)
    : BackendError(
          missing_vars.size() == 1
              ? core::format("backend '{}' needs an environment variable that is not set: {}; set it on every rank, or "
                             "start the program with a launcher that does",
                             backend, missing_vars.front())
              : core::format("backend '{}' needs environment variables that are not set: {}; set them on every rank, "
                             "or start the program with a launcher that does",
                             backend, core::joined(missing_vars, ", "))),
      backend_(std::move(backend)),
      missing_vars_(std::move(missing_vars)) {}

}  // namespace cobre::comm
