#include "comm/core/crash_point.hpp"

#ifdef COBRE_COMM_CRASH_POINTS
#include <atomic>

namespace cobre::comm::core {
namespace {

// Constant-initialised: there before the first point joins.
constinit const CrashPoint* newest = nullptr;
constinit std::atomic<CrashPoint::Visit> what_happens = nullptr;

}  // namespace

CrashPoint::CrashPoint(const char* name) noexcept : name_(name), next_(newest) {
  newest = this;
}

const CrashPoint* CrashPoint::first() noexcept {
  return newest;
}

// Relaxed: set before there are ranks.
void CrashPoint::on_visit(Visit visit) noexcept {
  what_happens.store(visit, std::memory_order_relaxed);
}

void CrashPoint::reach() const {
  if (const Visit visit = what_happens.load(std::memory_order_relaxed)) visit(*this);
}

}  // namespace cobre::comm::core

#endif
