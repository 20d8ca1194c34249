// What ferrompi throws. Every error names the operation by the plain name of the method that was called.
#pragma once

#include <cobre/comm/base/error.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/error_class.hpp>

#include <string>

namespace ferrompi {

/// The root of this layer's errors.
class Error : public cobre::comm::Error {
 public:
  Error(std::string operation, const std::string& text);

  /// The method that failed, such as `allreduce` or `recv`.
  [[nodiscard]] const std::string& operation() const noexcept { return operation_; }

 private:
  std::string operation_;
};

/// MPI refused or failed, or an argument is one that MPI would refuse: a root, rank, tag or communicator out of
/// range has the same class whichever side found it.
class MpiError : public Error {
 public:
  /// From a return code of MPI; asks the library for class and text.
  MpiError(const std::string& operation, int code);
  /// The same, saying more closely what failed, such as one request among many.
  MpiError(const std::string& operation, int code, const std::string& context);
  /// Found before MPI was called.
  MpiError(const std::string& operation, ErrorClass error_class, const std::string& message);

  [[nodiscard]] ErrorClass error_class() const noexcept { return error_class_; }
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  MpiError(const std::string& operation, ErrorClass error_class, int code, const std::string& message);

  ErrorClass error_class_;
  int code_;
};

/// A buffer, count or displacement that cannot be right.
class InvalidBuffer : public Error {
 public:
  using Error::Error;
};

/// A reduction that does not exist for these elements, or an operation in the wrong state.
class InvalidOp : public Error {
 public:
  using Error::Error;
};

/// This MPI library cannot do it.
class NotSupported : public Error {
 public:
  using Error::Error;
};

/// MPI can be started once in the life of a process.
class AlreadyInitialized : public Error {
 public:
  using Error::Error;
};

/// The library contradicts itself or its MPI.
class InternalError : public Error {
 public:
  using Error::Error;
};

namespace detail {

/// Out of line and cold, so that the caller's fast path is one compare and one branch.
[[noreturn, gnu::cold, gnu::noinline]] void throw_mpi_error(const char* operation, int code);

/// Turns a return code of MPI into an exception.
inline void check(int code, const char* operation) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    throw_mpi_error(operation, code);
  }
}

}  // namespace detail
}  // namespace ferrompi
