// A message that was found and is now this rank's to receive, whatever other threads do.
#pragma once

#include <ferrompi/p2p.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ferrompi {

namespace detail {

/// The message is gone also where it did not fit: MPICH has freed it then, and leaves the handle as it was.
[[noreturn, gnu::cold, gnu::noinline]] void throw_unreceived(MPI_Message* message, const char* operation, int code);

inline namespace FERROMPI_VARIANT {

struct MatchedArgs {
  void* buffer;
  std::size_t count;
  MPI_Datatype type;
  MPI_Message* message;
  MPI_Datatype element = type;
};

struct MatchedRecv : MessageOperation {
  using Args = MatchedArgs;
  FERROMPI_MATCHED_ENTRY_POINTS;
  static constexpr OnDrop on_drop = OnDrop::Cancel;

  template <class Count, class F, class... Tail>
  static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.buffer, static_cast<Count>(args.count), args.type, args.message, tail...);
  }
  [[noreturn]] FERROMPI_INLINE static void fail(const Args& args, const char* operation, int code) {
    throw_unreceived(args.message, operation, code);
  }
  static MPI_Datatype element(const Args& args) { return args.element; }
  static constexpr bool counts_are_large(const Args& args) { return exceeds_int(args.count); }
  static constexpr bool must_shrink(const Args& args) { return !has_large_counts && counts_are_large(args); }
  static void shrink(Args& args, Hold& hold) { shrink_count(args.count, args.type, hold); }
};

}  // namespace FERROMPI_VARIANT
}  // namespace detail

/// From `Communicator::mprobe`. Receive it once; one that is destroyed without is received and thrown away, so that
/// its sender does not wait for ever.
class [[nodiscard]] Message {
  struct Search {
    MPI_Comm comm;
    int source;
    int tag;
    int* found;
  };

 public:
  Message(MPI_Message native, const MPI_Status& status) noexcept : native_(native), status_(status) {}
  /// For `Communicator::improbe`: MPI writes to where the message lives.
  FERROMPI_INLINE explicit Message(const Search& search) {
    detail::check(MPI_Improbe(search.source, search.tag, search.comm, search.found, &native_, &status_), "improbe");
  }
  Message(Message&& other) noexcept
      : native_(std::exchange(other.native_, MPI_Message{MPI_MESSAGE_NULL})), status_(other.status_) {}
  Message& operator=(Message&& other) noexcept;
  ~Message() {
    if (native_ != MPI_MESSAGE_NULL) discard();
  }

  [[nodiscard]] int source() const noexcept { return status_.MPI_SOURCE; }
  [[nodiscard]] int tag() const noexcept { return status_.MPI_TAG; }
  [[nodiscard]] std::size_t bytes() const { return Status(status_, MPI_BYTE).bytes(); }
  /// Length in elements of `T`.
  template <class T>
  [[nodiscard]] std::size_t count() const {
    return Status(status_, MPI_BYTE).count<T>();
  }

  /// Receives into a variable, or a buffer that must be long enough.
  template <class R>
  FERROMPI_INLINE Status recv(R&& buffer) {
    detail::require_packed("recv", {}, buffer);
    const auto to = detail::output(detail::as_buffer(std::forward<R>(buffer)));
    require("recv");
    detail::Blocking form{"recv"};
    const auto type = datatype_of<detail::element_t<decltype(to)>>();
    MPI_Status status;
    detail::launch<detail::MatchedRecv>(form, {to.data(), to.size(), type, &native_}, &status);
    // MPI did that already; told so, a compiler leaves out what the destructor would look at.
    native_ = MPI_MESSAGE_NULL;
    return Status(status, type);
  }

  /// Receives all of it.
  template <class T>
  [[nodiscard]] std::vector<T> recv() {
    std::vector<T> values(count<T>());
    recv(values);
    return values;
  }

  /// Borrows the variable or buffer until the request is complete.
  template <class R>
  FERROMPI_INLINE Request irecv(R&& buffer) {
    detail::require_packed("irecv", {}, buffer);
    const auto to = detail::output(detail::as_buffer(std::forward<R>(buffer)));
    require("irecv");
    detail::Nonblocking form{"irecv"};
    const auto type = datatype_of<detail::element_t<decltype(to)>>();
    return detail::launch<detail::MatchedRecv>(form, {to.data(), to.size(), type, &native_});
  }

 private:
  friend class Communicator;

  // MPI writes to where the message lives, so that finding one costs no copy.
  FERROMPI_INLINE Message(MPI_Comm comm, int source, int tag) {
    detail::check(MPI_Mprobe(source, tag, comm, &native_, &status_), "mprobe");
  }

  FERROMPI_INLINE static std::optional<Message> find(MPI_Comm comm, int source, int tag) {
    int found;  // written by MPI wherever it finds no fault
    std::optional<Message> message(std::in_place, Search{comm, source, tag, &found});
    if (found == 0) {
      message->native_ = MPI_MESSAGE_NULL;  // whatever MPI has put there
      message.reset();
    }
    return message;
  }

  FERROMPI_INLINE void require([[maybe_unused]] const char* operation) const {
    detail::require_running(operation);
    if (FERROMPI_CHECKS && native_ == MPI_MESSAGE_NULL) [[unlikely]] {
      throw_received(operation);
    }
  }
  [[noreturn, gnu::cold]] static void throw_received(const char* operation);
  void discard() noexcept;

  MPI_Message native_;
  MPI_Status status_;
};

}  // namespace ferrompi
