// What is known about a message that arrived.
#pragma once

#include <ferrompi/constants.hpp>
#include <ferrompi/datatype.hpp>
#include <ferrompi/detail/mpi.hpp>

#include <cstddef>

namespace ferrompi {

/// Source, tag and length of a received message. Of a finished send, collective or `proc_null` there is nothing to
/// know: the source is `any_source` or `proc_null`, the tag `any_tag`, the length 0.
class Status {
 public:
  Status() noexcept;
  /// From MPI's own status; `type` is the datatype that was received.
  Status(const MPI_Status& native, MPI_Datatype type) noexcept : native_(native), type_(type) {}

  [[nodiscard]] int source() const noexcept { return native_.MPI_SOURCE; }
  [[nodiscard]] int tag() const noexcept { return native_.MPI_TAG; }
  /// True if `cancel()` was in time.
  [[nodiscard]] bool cancelled() const;
  /// Length of the message in bytes, padding inside structs not counted.
  [[nodiscard]] std::size_t bytes() const;
  /// Length in elements of the type that was received or probed for. Throws if that is no whole number.
  [[nodiscard]] std::size_t count() const { return count_of(type_); }
  /// Length in elements of `T`.
  template <class T>
  [[nodiscard]] std::size_t count() const {
    return count_of(datatype_of<T>());
  }

  [[nodiscard]] const MPI_Status& native() const noexcept { return native_; }

 private:
  [[nodiscard]] std::size_t count_of(MPI_Datatype type) const;

  MPI_Status native_;
  MPI_Datatype type_;
};

}  // namespace ferrompi
