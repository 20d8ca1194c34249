// Everything that can go wrong, by kind. Each message says what failed, on which rank, with which numbers, and what
// to do next; each class carries the same facts as fields.
#pragma once

#include <cobre/comm/base/error.hpp>
#include <cobre/comm/base/reduce_op.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cobre::comm {

/// Which call on which rank an error speaks of.
struct Where {
  std::string_view operation;
  std::size_t rank = 0;
  std::size_t size = 1;
};

/// An operation of a communicator failed.
class CommError : public Error {
 public:
  CommError(const Where& where, const std::string& problem);

  /// The method that was called: "allreduce", "create_shared_region", …
  [[nodiscard]] const std::string& operation() const noexcept { return operation_; }

 private:
  std::string operation_;
};

/// The layer below reported a failure that has no kind of its own. A cause is nested where there is one.
class CollectiveFailed : public CommError {
 public:
  CollectiveFailed(const Where& where, int code, std::string_view message);

  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// A buffer, count or displacement does not fit. Found before anything was sent: the communicator stays good.
class InvalidBufferSize : public CommError {
 public:
  InvalidBufferSize(const Where& where, std::size_t expected, std::size_t actual, std::string_view problem);

  [[nodiscard]] std::size_t expected() const noexcept { return expected_; }
  [[nodiscard]] std::size_t actual() const noexcept { return actual_; }

 private:
  std::size_t expected_;
  std::size_t actual_;
};

/// The root is not a rank of this communicator. Found before anything was sent: the communicator stays good.
class InvalidRoot : public CommError {
 public:
  InvalidRoot(const Where& where, std::size_t root);

  [[nodiscard]] std::size_t root() const noexcept { return root_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::size_t root_;
  std::size_t size_;
};

/// The other end of a message is not a rank of this communicator. Found before anything was sent.
class InvalidPeer : public CommError {
 public:
  InvalidPeer(const Where& where, std::size_t peer);

  [[nodiscard]] std::size_t peer() const noexcept { return peer_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::size_t peer_;
  std::size_t size_;
};

/// A tag that this backend cannot carry. Found before anything was sent.
class InvalidTag : public CommError {
 public:
  InvalidTag(const Where& where, std::int64_t tag, std::int64_t largest);

  [[nodiscard]] std::int64_t tag() const noexcept { return tag_; }
  [[nodiscard]] std::int64_t largest() const noexcept { return largest_; }

 private:
  std::int64_t tag_;
  std::int64_t largest_;
};

/// The reduction does not exist for this type. Found before anything was sent: the communicator stays good.
class InvalidOperation : public CommError {
 public:
  InvalidOperation(const Where& where, ReduceOp op, ElementType type);
  InvalidOperation(const Where& where, const std::string& problem);
};

/// The communicator cannot be used any more: an operation on it failed, or the layer below was shut down.
class InvalidCommunicator : public CommError {
 public:
  InvalidCommunicator(const Where& where, std::string_view reason);
};

/// Memory could not be had; on every rank of the operation, but for a broadcast_resized of at most 16 KiB.
class AllocationFailed : public CommError {
 public:
  AllocationFailed(const Where& where, std::size_t requested_bytes, std::string_view reason);

  [[nodiscard]] std::size_t requested_bytes() const noexcept { return requested_bytes_; }

 private:
  std::size_t requested_bytes_;
};

/// What is known of a rank that died.
struct FailedPeer {
  static constexpr std::size_t unknown = static_cast<std::size_t>(-1);  // somebody died, and nobody can say who

  std::size_t rank = 0;
  std::optional<std::string> host;
  std::optional<int> pid;
  std::optional<int> signal;
  std::optional<int> exit_code;
};

/// A rank died or left while it was needed.
class PeerFailed : public CommError {
 public:
  PeerFailed(const Where& where, FailedPeer peer);

  [[nodiscard]] std::size_t rank() const noexcept { return peer_.rank; }
  [[nodiscard]] const std::optional<std::string>& host() const noexcept { return peer_.host; }
  [[nodiscard]] std::optional<int> pid() const noexcept { return peer_.pid; }
  [[nodiscard]] std::optional<int> signal() const noexcept { return peer_.signal; }
  [[nodiscard]] std::optional<int> exit_code() const noexcept { return peer_.exit_code; }

 private:
  FailedPeer peer_;
};

/// Some ranks did not join within the configured time.
class TimedOut : public CommError {
 public:
  TimedOut(const Where& where, double waited_seconds, std::vector<std::size_t> missing_ranks);

  [[nodiscard]] const std::vector<std::size_t>& missing_ranks() const noexcept { return missing_ranks_; }
  [[nodiscard]] double waited_seconds() const noexcept { return waited_seconds_; }

 private:
  double waited_seconds_;
  std::vector<std::size_t> missing_ranks_;
};

/// Ranks called different operations, or the same one with arguments that do not fit together.
class CollectiveMismatch : public CommError {
 public:
  CollectiveMismatch(const Where& where, std::string field, std::vector<std::size_t> ranks, std::string_view values);

  /// What differs: "operation", "op", "type", "count", "counts", "root" or "sequence".
  [[nodiscard]] const std::string& field() const noexcept { return field_; }
  /// The ranks that disagree with the others; both where there are two.
  [[nodiscard]] const std::vector<std::size_t>& ranks() const noexcept { return ranks_; }

 private:
  std::string field_;
  std::vector<std::size_t> ranks_;
};

/// A communicator could not be made.
class BackendError : public Error {
 public:
  using Error::Error;
};

/// A backend of that name exists, but not in this build.
class BackendNotAvailable : public BackendError {
 public:
  BackendNotAvailable(std::string requested, std::vector<std::string> available);

  [[nodiscard]] const std::string& requested() const noexcept { return requested_; }
  [[nodiscard]] const std::vector<std::string>& available() const noexcept { return available_; }

 private:
  std::string requested_;
  std::vector<std::string> available_;
};

/// There is no backend of that name.
class InvalidBackend : public BackendError {
 public:
  explicit InvalidBackend(std::string requested);

  [[nodiscard]] const std::string& requested() const noexcept { return requested_; }
  /// The names that are known, whether or not this build has them.
  [[nodiscard]] const std::vector<std::string>& available() const noexcept { return available_; }

 private:
  std::string requested_;
  std::vector<std::string> available_;
};

/// The backend was found, but could not start. A cause is nested where there is one.
class InitializationFailed : public BackendError {
 public:
  InitializationFailed(std::string backend, std::string_view reason);

  [[nodiscard]] const std::string& backend() const noexcept { return backend_; }

 private:
  std::string backend_;
};

/// A setting is there, but makes no sense.
class InvalidConfiguration : public InitializationFailed {
 public:
  InvalidConfiguration(std::string backend, std::string variable, std::string value, std::string_view expected);

  [[nodiscard]] const std::string& variable() const noexcept { return variable_; }
  [[nodiscard]] const std::string& value() const noexcept { return value_; }

 private:
  std::string variable_;
  std::string value_;
};

/// Settings are missing: all of them, at once.
class MissingConfiguration : public BackendError {
 public:
  MissingConfiguration(std::string backend, std::vector<std::string> missing_vars);

  [[nodiscard]] const std::string& backend() const noexcept { return backend_; }
  [[nodiscard]] const std::vector<std::string>& missing_vars() const noexcept { return missing_vars_; }

 private:
  std::string backend_;
  std::vector<std::string> missing_vars_;
};

}  // namespace cobre::comm
