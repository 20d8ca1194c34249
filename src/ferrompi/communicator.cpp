#include <ferrompi/communicator.hpp>

#include <ferrompi/info.hpp>

#include "ferrompi/hints.hpp"
#include "ferrompi/life.hpp"
#include "ferrompi/text.hpp"

#include <array>
#include <cstdlib>
#include <ostream>

namespace ferrompi {

namespace {

int to_mpi(SplitType type) {
  return type == SplitType::Shared ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED;
}

}  // namespace

const char* to_string(SplitType type) noexcept {
  return type == SplitType::Shared ? "Shared" : "Undefined";
}
std::ostream& operator<<(std::ostream& out, SplitType type) {
  return out << to_string(type);
}

Communicator::Communicator(MPI_Comm native, bool owned, const char* operation) : owned_(owned) {
  if (native == MPI_COMM_NULL) {
    throw MpiError(operation, ErrorClass::Comm, "MPI_COMM_NULL is no communicator");
  }
  detail::check(MPI_Comm_rank(native, &group_.rank), operation);
  detail::check(MPI_Comm_size(native, &group_.size), operation);
  group_.native = native;
}

// Every communicator that is made here returns its errors, from before its first use.
Communicator Communicator::own(MPI_Comm native, const char* operation) {
  Communicator result(native, true, operation);
  detail::check(MPI_Comm_set_errhandler(native, MPI_ERRORS_RETURN), operation);
  return result;
}

Communicator Communicator::adopt(MPI_Comm comm) {
  detail::attach("adopt");
  return own(comm, "adopt");
}

Communicator Communicator::borrow(MPI_Comm comm) {
  return view(comm, "borrow");
}

Communicator Communicator::view(MPI_Comm native, const char* operation) {
  detail::attach(operation);
  return Communicator(native, false, operation);
}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this != &other) {
    release();
    group_ = std::exchange(other.group_, {});
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
  if (owned_ && group_.native != MPI_COMM_NULL && !unwinding_.unwinding() && detail::mpi_is_usable()) {
    detail::end_life(group_.native);
    MPI_Comm_free(&group_.native);
  }
  group_ = {};
  owned_ = false;
}

Communicator Communicator::duplicate() const {
  const detail::Checks checks("duplicate", group_);
  const detail::CallGuard guard("duplicate");
  MPI_Comm result = MPI_COMM_NULL;
  detail::check(MPI_Comm_dup(group_.native, &result), "duplicate");
  return own(result, "duplicate");
}

Communicator Communicator::duplicate(const Info& info) const {
  const detail::Checks checks("duplicate", group_);
  const detail::CallGuard guard("duplicate");
  MPI_Comm result = MPI_COMM_NULL;
  detail::check(MPI_Comm_dup_with_info(group_.native, info.native(), &result), "duplicate");
  return own(result, "duplicate");
}

std::optional<Communicator> Communicator::split(int color, int key) const {
  const detail::Checks checks("split", group_);
  if (color < 0 && color != undefined) {
    throw MpiError("split", ErrorClass::Arg,
                   detail::text_of("color ", color, " on rank ", group_.rank,
                                   " is negative: colours start at 0, and undefined joins no part"));
  }
  const detail::CallGuard guard("split");
  MPI_Comm result = MPI_COMM_NULL;
  detail::check(MPI_Comm_split(group_.native, color, key, &result), "split");
  if (result == MPI_COMM_NULL) return std::nullopt;
  return own(result, "split");
}

std::optional<Communicator> Communicator::split_type(SplitType type, int key) const {
  return split_type(type, key, Info::null());
}

std::optional<Communicator> Communicator::split_type(SplitType type, int key, const Info& info) const {
  return part(type, key, info, "split_type");
}

std::optional<Communicator> Communicator::part(SplitType type, int key, const Info& info, const char* operation) const {
  const detail::Checks checks(operation, group_);
  const detail::CallGuard guard(operation);
  MPI_Comm result = MPI_COMM_NULL;
  detail::check(MPI_Comm_split_type(group_.native, to_mpi(type), key, info.native(), &result), operation);
  if (result == MPI_COMM_NULL) return std::nullopt;
  return own(result, operation);
}

Communicator Communicator::split_shared() const {
  return split_shared(Info::null());
}

Communicator Communicator::split_shared(const Info& info) const {
  auto node = part(SplitType::Shared, group_.rank, info, "split_shared");
  if (!node) throw InternalError("split_shared", "MPI gave no communicator for the processes of this machine");
  return std::move(*node);
}

std::string Communicator::name() const {
  const detail::Checks checks("name", group_);
  const detail::CallGuard guard("name");
  std::array<char, MPI_MAX_OBJECT_NAME + 1> text{};
  int length = 0;
  detail::check(MPI_Comm_get_name(group_.native, text.data(), &length), "name");
  return std::string(text.data(), static_cast<std::size_t>(length));
}

void Communicator::set_name(const std::string& name) const {
  const detail::Checks checks("set_name", group_);
  if (name.size() >= MPI_MAX_OBJECT_NAME) {
    throw MpiError("set_name", ErrorClass::Arg,
                   detail::text_of("a name of ", name.size(), " characters is longer than the ",
                                   MPI_MAX_OBJECT_NAME - 1, " that this MPI library keeps"));
  }
  const detail::CallGuard guard("set_name");
  detail::check(MPI_Comm_set_name(group_.native, name.c_str()), "set_name");
}

Info Communicator::info() const {
  const detail::Checks checks("info", group_);
  const detail::CallGuard guard("info");
  MPI_Info result = MPI_INFO_NULL;
  detail::check(MPI_Comm_get_info(group_.native, &result), "info");
  return Info::adopt(result);
}

void Communicator::set_info(const Info& info) const {
  const detail::Checks checks("set_info", group_);
  detail::require_hints(info, "set_info");
  const detail::CallGuard guard("set_info");
  detail::check(MPI_Comm_set_info(group_.native, info.native()), "set_info");
}

std::string Communicator::processor_name() const {
  const detail::Checks checks("processor_name", group_);
  const detail::CallGuard guard("processor_name");
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> text{};
  int length = 0;
  detail::check(MPI_Get_processor_name(text.data(), &length), "processor_name");
  return std::string(text.data(), static_cast<std::size_t>(length));
}

void Communicator::abort(int code) const {
  if (detail::mpi_is_usable()) MPI_Abort(group_.size == 0 ? MPI_COMM_WORLD : group_.native, code);
  std::abort();
}

}  // namespace ferrompi
