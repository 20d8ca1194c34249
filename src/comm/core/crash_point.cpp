#include "comm/core/crash_point.hpp"

#ifdef COBRE_COMM_CRASH_POINTS

namespace cobre::comm::core {

// Constant-initialised: there before the first point joins.
constinit const CrashPoint* CrashPoint::newest_ = nullptr;
constinit std::atomic<CrashPoint::Visit> CrashPoint::visit_ = nullptr;

}  // namespace cobre::comm::core

#endif
