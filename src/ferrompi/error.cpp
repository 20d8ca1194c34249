#include <ferrompi/error.hpp>

#include <ferrompi/detail/runtime.hpp>

#include "ferrompi/text.hpp"

#include <array>
#include <ostream>

namespace ferrompi {
namespace detail {
namespace {

constexpr int known_class(int mpi_class) noexcept {
  return mpi_class == no_such_class ? MPI_ERR_UNKNOWN : mpi_class;
}

}  // namespace
}  // namespace detail

const char* to_string(ErrorClass error_class) noexcept {
  switch (error_class) {
    case ErrorClass::Success: return "SUCCESS";
#define FERROMPI_NAME(name, macro, ...) \
  case ErrorClass::name: return "ERR_" #macro;
      FERROMPI_ERROR_CLASSES(FERROMPI_NAME)
      FERROMPI_FAILURE_CLASSES(FERROMPI_NAME)
      FERROMPI_NEWER_CLASSES(FERROMPI_NAME)
#undef FERROMPI_NAME
    case ErrorClass::Raw: return "ERR_CLASS";
  }
  return "ERR_CLASS";
}

ErrorClass error_class_from_mpi(int mpi_class) noexcept {
  if (mpi_class == MPI_SUCCESS) return ErrorClass::Success;
#define FERROMPI_MATCH(name, macro) \
  if (mpi_class == MPI_ERR_##macro) return ErrorClass::name;
  FERROMPI_ERROR_CLASSES(FERROMPI_MATCH)
#undef FERROMPI_MATCH
  if (mpi_class == detail::no_such_class) return ErrorClass::Raw;
#define FERROMPI_MATCH(name, macro) \
  if (mpi_class == FERROMPI_FAILURE_CLASS(macro)) return ErrorClass::name;
  FERROMPI_FAILURE_CLASSES(FERROMPI_MATCH)
#undef FERROMPI_MATCH
#define FERROMPI_MATCH(name, macro, value) \
  if (mpi_class == detail::newer_class::value) return ErrorClass::name;
  FERROMPI_NEWER_CLASSES(FERROMPI_MATCH)
#undef FERROMPI_MATCH
  return ErrorClass::Raw;
}

int to_mpi(ErrorClass error_class) noexcept {
  switch (error_class) {
    case ErrorClass::Success: return MPI_SUCCESS;
#define FERROMPI_VALUE(name, macro) \
  case ErrorClass::name: return MPI_ERR_##macro;
      FERROMPI_ERROR_CLASSES(FERROMPI_VALUE)
#undef FERROMPI_VALUE
    default: break;
  }
#define FERROMPI_VALUE(name, macro) \
  if (error_class == ErrorClass::name) return detail::known_class(FERROMPI_FAILURE_CLASS(macro));
  FERROMPI_FAILURE_CLASSES(FERROMPI_VALUE)
#undef FERROMPI_VALUE
#define FERROMPI_VALUE(name, macro, value) \
  if (error_class == ErrorClass::name) return detail::known_class(detail::newer_class::value);
  FERROMPI_NEWER_CLASSES(FERROMPI_VALUE)
#undef FERROMPI_VALUE
  return MPI_ERR_UNKNOWN;
}

std::ostream& operator<<(std::ostream& out, ErrorClass error_class) {
  return out << to_string(error_class);
}

namespace {

// The error routines may be called only between MPI_Init and MPI_Finalize.
std::string message_of(int code) {
  if (detail::mpi_is_usable()) {
    std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS && length > 0) {
      return std::string(text.data(), static_cast<std::size_t>(length));
    }
  }
  return detail::text_of("MPI error code ", code);
}

int class_number_of(int code) {
  int number = code;
  if (detail::mpi_is_usable() && MPI_Error_class(code, &number) != MPI_SUCCESS) return code;
  return number;
}

ErrorClass class_of(int code) {
  return error_class_from_mpi(class_number_of(code));
}

std::string mpi_text(const std::string& operation, ErrorClass error_class, int code, const std::string& message) {
  const auto number = error_class == ErrorClass::Raw ? detail::text_of("(", class_number_of(code), ")") : std::string();
  return detail::text_of("MPI error in ", operation, ": ", message, " (class=", to_string(error_class), number,
                         ", code=", code, ")");
}

}  // namespace

Error::Error(std::string operation, const std::string& text)
    : cobre::comm::Error(text), operation_(std::move(operation)) {}

MpiError::MpiError(const std::string& operation, ErrorClass error_class, int code, const std::string& message)
    : Error(operation, mpi_text(operation, error_class, code, message)), error_class_(error_class), code_(code) {}

MpiError::MpiError(const std::string& operation, int code)
    : MpiError(operation, class_of(code), code, message_of(code)) {}

MpiError::MpiError(const std::string& operation, int code, const std::string& context)
    : MpiError(operation, class_of(code), code, detail::text_of(context, ": ", message_of(code))) {}

MpiError::MpiError(const std::string& operation, ErrorClass error_class, const std::string& message)
    : MpiError(operation, error_class, to_mpi(error_class), message) {}

void detail::throw_mpi_error(const char* operation, int code) {
  throw MpiError(operation, code);
}

}  // namespace ferrompi
