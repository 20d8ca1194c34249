// Named places in which a test lets a rank die, stop or throw: `crash_point<"shm.welcomed">()`. They compile to nothing
// unless the build asks for them (COBRE_COMM_CRASH_POINTS), so a place on the hot path costs nobody anything.
//
// A point joins the list of all points when the library is loaded, whether or not anybody ever comes by: a test that
// wants every point takes the list from here, and notices one that it never reached.
#pragma once

#include <cstddef>

namespace cobre::comm::core {

template <std::size_t Length>
struct CrashPointName {
  // Implicit, so that the name is written as a plain literal.
  consteval CrashPointName(const char (&literal)[Length]) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < Length; ++i) text[i] = literal[i];
  }
  char text[Length]{};
};

#ifdef COBRE_COMM_CRASH_POINTS

class CrashPoint {
 public:
  explicit CrashPoint(const char* name) noexcept;
  CrashPoint(const CrashPoint&) = delete;
  CrashPoint& operator=(const CrashPoint&) = delete;

  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] const CrashPoint* next() const noexcept { return next_; }
  /// The list of all; it is complete once the program has begun.
  [[nodiscard]] static const CrashPoint* first() noexcept;

  /// What happens at every point from now on, in this process; it may throw.
  using Visit = void (*)(const CrashPoint& point);
  static void on_visit(Visit visit) noexcept;
  void reach() const;

 private:
  const char* name_;
  const CrashPoint* next_;
};

template <CrashPointName Name>
inline const CrashPoint planted{Name.text};

template <CrashPointName Name>
void crash_point() {
  planted<Name>.reach();
}

#else

template <CrashPointName Name>
constexpr void crash_point() noexcept {}

#endif

}  // namespace cobre::comm::core
