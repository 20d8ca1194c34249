// What the launcher tells its agents on other hosts, through their standard input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cobre::command {

enum class FrameKind : std::uint32_t {
  Plan = 1,    // what to start, as JSON; the first frame, and there is one
  Signal,      // a number, for all ranks
  Input,       // bytes of standard input for rank 0
  EndOfInput,  // there will be no more
  Failure,     // a rank has failed, maybe elsewhere: the job ends
  Port,        // at which rank 0 listens, for agents that do not have it; ranks start once it is known
};

struct Frame {
  FrameKind kind;
  std::string bytes;
};

/// The frame as it goes over the line: kind and length in the byte order of x86, then the bytes.
[[nodiscard]] std::string packed(FrameKind kind, std::string_view bytes);

/// Puts frames together again. The other side is the same user's launcher; still nothing in a frame is trusted to fit.
class FrameReader {
 public:
  enum class State { Open, Closed };

  /// Takes what is there. Closed at the end of the line, and where something else than frames comes out of it.
  [[nodiscard]] State read_some(int descriptor);
  [[nodiscard]] std::optional<Frame> next();

 private:
  std::string bytes_;
  bool broken_ = false;
};

}  // namespace cobre::command
