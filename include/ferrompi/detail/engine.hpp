// The three ways to run an operation, written once for all operations.
//
// An operation is a struct with
//   Args                             its arguments as MPI wants them, with 64-bit counts
//   blocking, nonblocking, ...       the MPI functions (FERROMPI_ENTRY_POINTS)
//   invoke<Count>(function, args, tail...)   the call itself; `tail` is what the form adds (status, info, request)
//   counts_are_large(args)           whether an int does not hold the counts
//   must_shrink(args), shrink(args, hold)    counts that this library cannot take, described by datatypes instead
//   fail(args, operation, code)      if a blocking call that failed leaves something to do before the exception
//   on_drop, element(args)           how a dropped request ends, and in what its status counts
//   takes_info, persistent_is_right  whether the persistent form takes an Info, and the library's own
//                                    may be used
#pragma once

#include <ferrompi/detail/group.hpp>
#include <ferrompi/detail/hold.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>
#include <ferrompi/persistent.hpp>
#include <ferrompi/request.hpp>

#include <climits>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace ferrompi::detail {

[[nodiscard]] constexpr bool exceeds_int(std::size_t count) noexcept {
  return count > INT_MAX;
}

/// Whether `size` blocks of `count` elements are more than an int counts. Libraries without 64-bit counts multiply the
/// two in int here and there. The first comparison folds for lengths that are known at compile time; it is right up to
/// 65538 ranks, and beyond that short blocks go the way that they go in every other program.
[[nodiscard]] constexpr bool together_exceed_int(std::size_t count, int size) noexcept {
  return count > 0x7fff && exceeds_int(count * static_cast<std::size_t>(size));
}
[[nodiscard]] constexpr bool blocks_exceed_int(std::size_t count, int size) noexcept {
  return has_large_counts ? exceeds_int(count) : together_exceed_int(count, size);
}

inline namespace FERROMPI_VARIANT {

/// Calls the function with the counts that fit.
template <class Op, class Small, class Large, class... Tail>
FERROMPI_INLINE int call(Small small, [[maybe_unused]] Large large, const typename Op::Args& args, Tail... tail) {
  if constexpr (!std::is_same_v<Large, Absent>) {
    if (Op::counts_are_large(args)) [[unlikely]] {
      return Op::template invoke<MPI_Count>(large, args, tail...);
    }
  }
  return Op::template invoke<int>(small, args, tail...);
}

struct Blocking {
  const char* operation;

  template <class Op, class... Tail>
  FERROMPI_INLINE void issue(const typename Op::Args& args, Tail... tail) const {
    const CallGuard guard(operation);
    const int code = call<Op>(Op::blocking, Op::blocking_large, args, tail...);
    if constexpr (requires { Op::fail(args, operation, code); }) {
      if (code != MPI_SUCCESS) [[unlikely]] {
        Op::fail(args, operation, code);
      }
    } else {
      check(code, operation);
    }
  }
};

struct Nonblocking {
  const char* operation;
  HoldPtr hold{};

  template <class Op>
  Request issue(const typename Op::Args& args) {
    const CallGuard guard(operation);
    MPI_Request request = MPI_REQUEST_NULL;
    check(call<Op>(Op::nonblocking, Op::nonblocking_large, args, &request), operation);
    return RequestAccess::make(request, Op::element(args), Op::on_drop, std::move(hold));
  }
};

template <class Op>
struct RestartOf final : Restart {
  explicit RestartOf(const typename Op::Args& arguments) : args(arguments) {}
  int start(MPI_Request* request) const override {
    return call<Op>(Op::nonblocking, Op::nonblocking_large, args, request);
  }
  typename Op::Args args;
};

/// Makes the library's own persistent request anew, after it was lost by a round that failed.
template <class Op>
struct RemakeOf final : Restart {
  explicit RemakeOf(const typename Op::Args& arguments) : args(arguments) {}
  int start(MPI_Request* request) const override {
    const int code = call<Op>(Op::persistent, Op::persistent_large, args, request);
    return code == MPI_SUCCESS ? MPI_Start(request) : code;
  }
  typename Op::Args args;
};

struct Persistent {
  const char* operation;
  MPI_Info info = MPI_INFO_NULL;
  HoldPtr hold{};

  template <class Op>
  PersistentRequest issue(const typename Op::Args& args) {
    const CallGuard guard(operation);
    auto communicator = life_of(args.comm, operation);
    if constexpr (Op::persistent_is_right && !std::is_same_v<decltype(Op::persistent), const Absent>) {
      // Only a receive fails by what others do and can be tried again. Made first: nothing may fail once there is a
      // request of the library.
      std::unique_ptr<const Restart> remake;
      if constexpr (frees_failed_plans && Op::on_drop == OnDrop::Cancel) remake = std::make_unique<RemakeOf<Op>>(args);
      MPI_Request request = MPI_REQUEST_NULL;
      if constexpr (Op::takes_info) {
        check(call<Op>(Op::persistent, Op::persistent_large, args, info, &request), operation);
      } else {
        check(call<Op>(Op::persistent, Op::persistent_large, args, &request), operation);
      }
      return PersistentAccess::make(request, Op::element(args), Op::on_drop, operation, std::move(communicator),
                                    std::move(hold), std::move(remake));
    } else {
      auto restart = std::make_unique<RestartOf<Op>>(args);
      return PersistentAccess::make(MPI_REQUEST_NULL, Op::element(args), Op::on_drop, operation,
                                    std::move(communicator), std::move(hold), std::move(restart));
    }
  }
};

template <class Form>
inline constexpr bool is_blocking = std::is_same_v<std::remove_cvref_t<Form>, Blocking>;

template <class Op, class Form, class... Tail>
[[gnu::cold, gnu::noinline]] auto launch_shrunk(Form& form, typename Op::Args& args, Tail... tail) {
  if constexpr (is_blocking<Form>) {
    Hold hold;
    Op::shrink(args, hold);
    form.template issue<Op>(args, tail...);
    hold.completed();
  } else {
    Op::shrink(args, ensure(form.hold));
    return form.template issue<Op>(args);
  }
}

/// What a function that is hardly ever called gets instead of the original, which must not be given an address: the
/// compiler would then store it to memory on the way to the call that everybody makes. The empty statement claims to
/// change the copy, or the compiler would see that both are the same and drop it. Forms that own something are not
/// copied: whoever starts one is not counting instructions.
template <class T>
[[nodiscard]] FERROMPI_INLINE decltype(auto) cold_copy(T& original) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    auto copy = original;
    __asm__("" : "+m"(copy));
    return copy;
  } else {
    return (original);
  }
}

/// Runs the operation in the given form. `tail` is for blocking calls that return a status.
///
/// Operations read the communicator before they look at their buffers: compilers keep the order of loads whose results
/// are used on both sides of the branch below, and the first argument of MPI goes where the communicator's address was.
template <class Op, class Form, class... Tail>
FERROMPI_INLINE auto launch(Form&& form, const typename Op::Args& args, Tail... tail) {
  if (Op::must_shrink(args)) [[unlikely]] {
    auto&& cold_form = cold_copy(form);
    auto cold_args = cold_copy(args);
    return launch_shrunk<Op>(cold_form, cold_args, tail...);
  }
  return form.template issue<Op>(args, tail...);
}

/// What most collective operations have in common.
struct CollectiveTraits {
  static constexpr bool takes_info = true;
  static constexpr bool persistent_is_right = true;
  static constexpr OnDrop on_drop = OnDrop::Complete;
  /// The number of arguments of the form that takes one value, or one container given away, instead of two buffers.
  static constexpr std::size_t one_buffer_arity = 0;
  /// The last word on the result of that form.
  template <class T>
  static void adjust(Nonblocking&, const Group&, T&) {}
  /// In what the status of the request counts; collective operations have nothing to say there.
  template <class Args>
  static MPI_Datatype element(const Args&) {
    return MPI_BYTE;
  }
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
