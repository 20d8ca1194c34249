// The rows of the table in docs/backends/mpi.md: what MPI reports, and what a program catches.

#include "comm/backends/mpi/errors.hpp"

#include <gtest/gtest.h>

namespace {

using namespace cobre::comm;
using ferrompi::ErrorClass;
using ferrompi::MpiError;

const mpi::CallFacts facts{{"broadcast", 1, 2}, 5, 100, 800};

template <class Expected, class Thrown>
Expected caught(const Thrown& error) {
  try {
    try {
      throw error;
    } catch (const ferrompi::Error& cause) {
      mpi::throw_counterpart(facts, cause);
    }
  } catch (const Expected& counterpart) {
    try {
      std::rethrow_if_nested(counterpart);
      ADD_FAILURE() << "the cause is not nested";
    } catch (const ferrompi::Error& cause) {
      EXPECT_STREQ(cause.what(), error.what());
    }
    EXPECT_EQ(counterpart.operation(), "broadcast");
    return counterpart;
  }
}

TEST(MpiErrors, ABadCommunicatorIsInvalidCommunicator) {
  caught<InvalidCommunicator>(MpiError("broadcast", ErrorClass::Comm, "null communicator"));
}

TEST(MpiErrors, ABadRootIsInvalidRootWithItsNumbers) {
  const auto error = caught<InvalidRoot>(MpiError("broadcast", ErrorClass::Root, "no such root"));
  EXPECT_EQ(error.root(), 5U);
  EXPECT_EQ(error.size(), 2U);
}

TEST(MpiErrors, ABadBufferOrCountIsInvalidBufferSizeWithItsNumbers) {
  for (const ErrorClass kind : {ErrorClass::Buffer, ErrorClass::Count}) {
    const auto error = caught<InvalidBufferSize>(MpiError("broadcast", kind, "no"));
    EXPECT_EQ(error.expected(), 100U);
    EXPECT_EQ(error.actual(), 100U);
    EXPECT_NE(std::string(error.what()).find("100 elements, 800 bytes"), std::string::npos);
  }
  caught<InvalidBufferSize>(ferrompi::InvalidBuffer("broadcast", "too short"));
}

TEST(MpiErrors, ABadOperationIsInvalidOperation) {
  caught<InvalidOperation>(MpiError("broadcast", ErrorClass::Op, "no such op"));
  caught<InvalidOperation>(ferrompi::InvalidOp("broadcast", "no such op"));
}

TEST(MpiErrors, MissingMemoryIsAllocationFailedWithTheBytes) {
  EXPECT_EQ(caught<AllocationFailed>(MpiError("broadcast", ErrorClass::NoMem, "out of memory")).requested_bytes(),
            800U);
}

TEST(MpiErrors, ADeadProcessIsPeerFailed) {
  for (const ErrorClass kind : {ErrorClass::ProcFailed, ErrorClass::ProcFailedPending}) {
    const auto error = caught<PeerFailed>(MpiError("broadcast", kind, "a process died"));
    EXPECT_EQ(error.rank(), FailedPeer::unknown) << "no communicator was there to ask";
    EXPECT_NE(std::string(error.what()).find("broadcast on rank 1 of 2: a rank died or left the group"),
              std::string::npos)
        << error.what();
  }
}

TEST(MpiErrors, ARevokedCommunicatorIsInvalidCommunicator) {
  caught<InvalidCommunicator>(MpiError("broadcast", ErrorClass::Revoked, "revoked"));
}

TEST(MpiErrors, EverythingElseIsCollectiveFailedWithTheCode) {
  for (const ErrorClass kind : {ErrorClass::Other, ErrorClass::Intern, ErrorClass::Type, ErrorClass::Truncate,
                                ErrorClass::Win, ErrorClass::Raw}) {
    const MpiError error("broadcast", kind, "something");
    EXPECT_EQ(caught<CollectiveFailed>(error).code(), error.code());
  }
  EXPECT_EQ(caught<CollectiveFailed>(ferrompi::InternalError("broadcast", "contradiction")).code(), -1);
}

}  // namespace
