// The output of many ranks on one stream, in whole lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cobre::command {

/// One of our own streams. Nothing here blocks: what the reader of the stream does not take yet is kept, up to a limit
/// beyond which `has_room()` asks for patience.
class Stream {
 public:
  explicit Stream(int descriptor) noexcept : descriptor_(descriptor) {}

  void add(std::string_view text) {
    if (!closed_) waiting_ += text;
  }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool has_room() const noexcept { return waiting_.size() - written_ < limit; }
  [[nodiscard]] bool pending() const noexcept { return written_ < waiting_.size(); }
  /// Whether the rest of a line waits, of which a part is written. What a rank that has the stream to itself left
  /// without an end, such as a question, is no such line once it is out: its rest may never come.
  [[nodiscard]] bool within_line() const noexcept { return pending() && !line_is_over_; }
  /// Whether whoever read this stream is gone.
  [[nodiscard]] bool closed() const noexcept { return closed_; }

  /// Call when poll says that the stream takes something.
  void write_some();

 private:
  static constexpr std::size_t limit = std::size_t{1} << 20;

  int descriptor_;
  std::string waiting_;
  std::size_t written_ = 0;   // of `waiting_`
  bool line_is_over_ = true;  // the last byte that was written ended it, or none was
  bool closed_ = false;
};

/// Whether both lead to one pipe, file or terminal, where a line of one must not land inside a line of the other.
[[nodiscard]] bool same_file(const Stream& one, const Stream& other) noexcept;

/// What one rank writes to one stream, cut into lines. Half a line waits here for its other half.
class LineCutter {
 public:
  LineCutter() = default;
  /// Every line gets the tag; `raw` passes bytes on as they come, for a rank that has the stream to itself.
  /// Lines that begin with the mark, if there is one, are for us.
  LineCutter(std::string tag, bool raw, std::string mark = {})
      : tag_(std::move(tag)), raw_(raw), mark_(std::move(mark)) {}

  void feed(std::string_view text, Stream& stream);
  /// The rank is gone: what it left of a line is a line.
  void finish(Stream& stream);
  /// What stood behind the mark in the lines since.
  [[nodiscard]] std::vector<std::string> take_marked() { return std::exchange(marked_, {}); }

 private:
  // A line that is longer than this is cut, or a rank that never ends one would fill our memory.
  static constexpr std::size_t longest = std::size_t{1} << 20;

  void emit(std::string_view line, Stream& stream);

  std::string tag_;
  bool raw_ = false;
  std::string mark_;
  std::vector<std::string> marked_;
  std::string half_;
};

}  // namespace cobre::command
