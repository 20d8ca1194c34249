// The error classes of the MPI standard, by name.
#pragma once

#include <iosfwd>

// One list for the enum, its names and its translation. Compared with the macros of <mpi.h>, because the standard
// fixes the names of the classes and not their numbers. Laid out by hand: the
// formatter finds another place for such a list each time.
// clang-format off
#define FERROMPI_ERROR_CLASSES(X) \
  X(Buffer, BUFFER) X(Count, COUNT) X(Type, TYPE) X(Tag, TAG) X(Comm, COMM) X(Rank, RANK) X(Request, REQUEST) \
  X(Root, ROOT) X(Group, GROUP) X(Op, OP) X(Topology, TOPOLOGY) X(Dims, DIMS) X(Arg, ARG) X(Unknown, UNKNOWN) \
  X(Truncate, TRUNCATE) X(Other, OTHER) X(Intern, INTERN) X(InStatus, IN_STATUS) X(Pending, PENDING) X(Win, WIN) \
  X(Info, INFO) X(File, FILE) X(Access, ACCESS) X(Amode, AMODE) X(Assert, ASSERT) X(BadFile, BAD_FILE) X(Base, BASE) \
  X(Conversion, CONVERSION) X(Disp, DISP) X(DupDatarep, DUP_DATAREP) X(FileExists, FILE_EXISTS) \
  X(FileInUse, FILE_IN_USE) X(InfoKey, INFO_KEY) X(InfoNokey, INFO_NOKEY) X(InfoValue, INFO_VALUE) X(Io, IO) \
  X(Keyval, KEYVAL) X(Locktype, LOCKTYPE) X(Name, NAME) X(NoMem, NO_MEM) X(NotSame, NOT_SAME) X(NoSpace, NO_SPACE) \
  X(NoSuchFile, NO_SUCH_FILE) X(Port, PORT) X(Quota, QUOTA) X(ReadOnly, READ_ONLY) X(RmaAttach, RMA_ATTACH) \
  X(RmaConflict, RMA_CONFLICT) X(RmaFlavor, RMA_FLAVOR) X(RmaRange, RMA_RANGE) X(RmaShared, RMA_SHARED) \
  X(RmaSync, RMA_SYNC) X(Service, SERVICE) X(Size, SIZE) X(Spawn, SPAWN) X(UnsupportedDatarep, UNSUPPORTED_DATAREP) \
  X(UnsupportedOperation, UNSUPPORTED_OPERATION)
// What libraries that outlive the death of a process report; the others have no such classes.
#define FERROMPI_FAILURE_CLASSES(X) \
  X(ProcFailed, PROC_FAILED) X(ProcFailedPending, PROC_FAILED_PENDING) X(Revoked, REVOKED)
// What MPI 4 adds: the value of each is `detail::newer_class::value`, which older libraries do not have.
#define FERROMPI_NEWER_CLASSES(X) \
  X(Session, SESSION, session) X(ProcAborted, PROC_ABORTED, proc_aborted) \
  X(ValueTooLarge, VALUE_TOO_LARGE, value_too_large) X(Errhandler, ERRHANDLER, errhandler)
// clang-format on

namespace ferrompi {

/// What kind of thing went wrong, the same on every MPI library. `Raw` stands for a class that this list does not
/// know; `MpiError::code()` still has the number.
enum class ErrorClass {
  Success,
#define FERROMPI_ENUMERATOR(name, ...) name,
  FERROMPI_ERROR_CLASSES(FERROMPI_ENUMERATOR) FERROMPI_FAILURE_CLASSES(FERROMPI_ENUMERATOR)
      FERROMPI_NEWER_CLASSES(FERROMPI_ENUMERATOR)
#undef FERROMPI_ENUMERATOR
          Raw,
};

/// `ERR_ROOT` for `ErrorClass::Root`: the name of the macro without its prefix.
[[nodiscard]] const char* to_string(ErrorClass error_class) noexcept;

/// The class that an MPI library means by `mpi_class`, a value of `MPI_Error_class`.
[[nodiscard]] ErrorClass error_class_from_mpi(int mpi_class) noexcept;

/// The value that this MPI library uses for the class; `MPI_ERR_UNKNOWN` for `Raw` and for classes that it lacks.
[[nodiscard]] int to_mpi(ErrorClass error_class) noexcept;

std::ostream& operator<<(std::ostream& out, ErrorClass error_class);

}  // namespace ferrompi
