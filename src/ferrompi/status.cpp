#include <ferrompi/status.hpp>

#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>

#include "ferrompi/text.hpp"

namespace ferrompi {

Status::Status() noexcept : native_{}, type_(MPI_BYTE) {
  native_.MPI_SOURCE = any_source;
  native_.MPI_TAG = any_tag;
  native_.MPI_ERROR = MPI_SUCCESS;
}

bool Status::cancelled() const {
  detail::require_running("cancelled");
  int flag = 0;
  detail::check(MPI_Test_cancelled(&native_, &flag), "cancelled");
  return flag != 0;
}

// MPI_Get_count stops at INT_MAX. MPI_Get_elements_x does not, and counts basic elements: those of MPI_BYTE are bytes.
// It only reads the status, whether or not the library's header says so.
std::size_t Status::bytes() const {
  detail::require_running("bytes");
  MPI_Count count = 0;
  detail::check(MPI_Get_elements_x(const_cast<MPI_Status*>(&native_), MPI_BYTE, &count), "bytes");
  return static_cast<std::size_t>(count);
}

std::size_t Status::count_of(MPI_Datatype type) const {
  detail::require_running("count");
  MPI_Count size = 0;
  detail::check(MPI_Type_size_x(type, &size), "count");
  const auto element = static_cast<std::size_t>(size);
  const auto length = bytes();
  if (element == 0) return 0;
  if (length % element != 0) {
    throw MpiError("count", ErrorClass::Type,
                   detail::text_of("a message of ", length, " bytes is no whole number of elements of ", element,
                                   " bytes: ask for the type that was sent, or for bytes()"));
  }
  return length / element;
}

}  // namespace ferrompi
