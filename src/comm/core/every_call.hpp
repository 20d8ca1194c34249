// What a backend compiles for each collective. Its `execute` is a template whose body no caller sees, so every call of
// <cobre/comm/detail/calls.hpp> is named here, once for all backends.
#pragma once

#include <cobre/comm/detail/calls.hpp>

#define COBRE_COMM_COMPILE_EXECUTE_OF(Class, Call, qualifier) \
  template void Class::execute(const cobre::comm::detail::OperationRecord&, const cobre::comm::detail::Call&) qualifier

/// The definitions of `Class::execute` for all calls; `qualifier` is const or nothing.
#define COBRE_COMM_COMPILE_EXECUTE(Class, qualifier)               \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, BarrierCall, qualifier);    \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, BroadcastCall, qualifier);  \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, AllreduceCall, qualifier);  \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, AllgathervCall, qualifier); \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, GatherCall, qualifier);     \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, ScatterCall, qualifier);    \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, AlltoallCall, qualifier);   \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, ReduceCall, qualifier);     \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, ScanCall, qualifier);       \
  COBRE_COMM_COMPILE_EXECUTE_OF(Class, ReduceScatterCall, qualifier)
