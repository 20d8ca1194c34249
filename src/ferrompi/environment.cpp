#include <ferrompi/environment.hpp>

#include "ferrompi/text.hpp"

#include <array>
#include <atomic>

namespace ferrompi {

namespace {

// One Mpi at a time, and none after the one that finalized.
std::atomic<bool> taken{false};

int to_mpi(ThreadLevel level) {
  switch (level) {
    case ThreadLevel::Single: return MPI_THREAD_SINGLE;
    case ThreadLevel::Funneled: return MPI_THREAD_FUNNELED;
    case ThreadLevel::Serialized: return MPI_THREAD_SERIALIZED;
    case ThreadLevel::Multiple: return MPI_THREAD_MULTIPLE;
  }
  return MPI_THREAD_SINGLE;
}

// An MPI that somebody else started has its communicators left alone: these are duplicates of them, made at the first
// adoption. Views of them may outlive the Mpi that gave them, so they stay until MPI ends.
struct Adopted {
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm self = MPI_COMM_NULL;
};

const Adopted& adopted_communicators(const char* operation) {
  static Adopted made;  // only whoever holds the claim comes here
  const auto duplicate = [operation](MPI_Comm from, MPI_Comm& to) {
    if (to != MPI_COMM_NULL) return;
    detail::run_at_finalize([&to] {
      if (to != MPI_COMM_NULL) MPI_Comm_free(&to);
    });
    detail::check(MPI_Comm_dup(from, &to), operation);
  };
  duplicate(MPI_COMM_WORLD, made.world);
  duplicate(MPI_COMM_SELF, made.self);
  return made;
}

// Gives the place back unless the initialisation came to its end.
struct Claim {
  explicit Claim(const char* operation) {
    if (taken.exchange(true)) {
      throw AlreadyInitialized(operation,
                               "MPI has already been initialized: one Mpi object owns it until it is destroyed");
    }
  }
  ~Claim() {
    if (!kept) taken = false;
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  bool kept = false;
};

[[noreturn]] void throw_level_too_low(ThreadLevel required, const char* operation) {
  throw NotSupported(operation,
                     detail::text_of("this MPI library grants ThreadLevel::", to_string(detail::thread_level()),
                                     ", but ThreadLevel::", to_string(required), " is required"));
}

}  // namespace

Mpi Mpi::init() {
  return start(ThreadLevel::Single, "init");
}

Mpi Mpi::init_thread(ThreadLevel required) {
  return start(required, "init_thread");
}

Mpi Mpi::start(ThreadLevel required, const char* operation) {
  if (is_finalized()) {
    throw AlreadyInitialized(operation, "MPI has already been initialized and finalized: it starts once in a process");
  }
  Claim claim(operation);
  const bool adopted = is_initialized();
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm self = MPI_COMM_SELF;
  if (adopted) {
    detail::attach(operation);
    if (detail::thread_level() < required) throw_level_too_low(required, operation);
    world = adopted_communicators(operation).world;
    self = adopted_communicators(operation).self;
  } else {
    int provided = MPI_THREAD_SINGLE;
    detail::check(MPI_Init_thread(nullptr, nullptr, to_mpi(required), &provided), operation);
    detail::attach(operation);
  }
  detail::check(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN), operation);
  detail::check(MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN), operation);
  claim.kept = true;
  Mpi mpi(world, self, adopted);
  if (detail::thread_level() < required) {
    // Every rank is told the same and comes here. Left to its destructor, the exception would make that end the job.
    mpi.finalize();
    throw_level_too_low(required, operation);
  }
  return mpi;
}

Mpi::Mpi(Mpi&& other) noexcept
    : world_(other.world_),
      self_(other.self_),
      adopted_(other.adopted_),
      active_(std::exchange(other.active_, false)) {}

Mpi::~Mpi() {
  if (!active_ || !detail::mpi_is_usable()) return;
  int size = 1;
  MPI_Comm_size(world_, &size);
  if (size > 1 && unwinding_.unwinding()) {
    detail::end_job_while_unwinding("an Mpi");
    return;
  }
  try {
    finalize();
  } catch (const Error&) {
    // A destructor has nobody to tell; finalize() is there for those who want to know.
  }
}

Communicator Mpi::world() const {
  return Communicator::view(world_, "world");
}
Communicator Mpi::self() const {
  return Communicator::view(self_, "self");
}
ThreadLevel Mpi::thread_level() const noexcept {
  return detail::thread_level();
}

void Mpi::finalize() {
  if (!std::exchange(active_, false) || !detail::mpi_is_usable()) return;
  if (adopted_) {
    taken = false;  // what is adopted may be adopted again
  } else {
    detail::check(MPI_Finalize(), "finalize");
  }
}

double Mpi::wtime() {
  return MPI_Wtime();
}
double Mpi::wtick() {
  return MPI_Wtick();
}

std::string Mpi::version() {
  int major = 0;
  int minor = 0;
  detail::check(MPI_Get_version(&major, &minor), "version");
  return detail::text_of("MPI ", major, ".", minor);
}

std::string Mpi::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
  int length = 0;
  detail::check(MPI_Get_library_version(text.data(), &length), "library_version");
  std::string version(text.data(), static_cast<std::size_t>(length));
  version.erase(version.find_last_not_of(" \t\r\n\0") + 1);
  return version;
}

bool Mpi::is_initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

bool Mpi::is_finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

}  // namespace ferrompi
