#include <ferrompi/message.hpp>

#include <ferrompi/error.hpp>

#include <memory>

namespace ferrompi {

void detail::throw_unreceived(MPI_Message* message, const char* operation, int code) {
  *message = MPI_MESSAGE_NULL;
  throw_mpi_error(operation, code);
}

Message& Message::operator=(Message&& other) noexcept {
  if (this != &other) {
    discard();
    native_ = std::exchange(other.native_, MPI_Message{MPI_MESSAGE_NULL});
    status_ = other.status_;
  }
  return *this;
}

void Message::throw_received(const char* operation) {
  throw InvalidOp(operation, "this message was received already, or moved from");
}

// MPI_PACKED matches every type. A message that is too long to be thrown away like this stays where it is: there is
// nobody to tell.
void Message::discard() noexcept {
  if (native_ == MPI_MESSAGE_NULL || native_ == MPI_MESSAGE_NO_PROC || !detail::mpi_is_usable()) return;
  try {
    const auto length = bytes();
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(length);
    detail::Blocking form{"recv"};
    MPI_Status status;
    detail::launch<detail::MatchedRecv>(form, {memory.get(), length, MPI_PACKED, &native_}, &status);
  } catch (...) {
  }
}

}  // namespace ferrompi
