#include <ferrompi/communicator.hpp>

namespace ferrompi {

Communicator::Communicator(MPI_Comm native, bool owned, const char* operation) : native_(native), owned_(owned) {
  if (native == MPI_COMM_NULL) {
    throw MpiError(operation, ErrorClass::Comm, "MPI_COMM_NULL is no communicator");
  }
  detail::check(MPI_Comm_rank(native_, &rank_), operation);
  detail::check(MPI_Comm_size(native_, &size_), operation);
}

Communicator Communicator::adopt(MPI_Comm comm) {
  detail::attach("adopt");
  Communicator result(comm, true, "adopt");
  detail::check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "adopt");
  return result;
}

Communicator Communicator::borrow(MPI_Comm comm) {
  detail::attach("borrow");
  return Communicator(comm, false, "borrow");
}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this != &other) {
    release();
    native_ = std::exchange(other.native_, MPI_COMM_NULL);
    rank_ = std::exchange(other.rank_, 0);
    size_ = std::exchange(other.size_, 0);
    owned_ = std::exchange(other.owned_, false);
  }
  return *this;
}

Communicator::~Communicator() {
  release();
}

// Freeing is collective. While an exception passes through, the other ranks may never come: leaving the handle to the
// end of the process is the only thing that cannot hang.
void Communicator::release() noexcept {
  if (owned_ && native_ != MPI_COMM_NULL && !unwinding_.unwinding() && detail::mpi_is_usable()) {
    MPI_Comm_free(&native_);
  }
  native_ = MPI_COMM_NULL;
  owned_ = false;
}

}  // namespace ferrompi
