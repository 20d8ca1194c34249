// Reductions that MPI calls back for: callables with their captures, and counts beyond what MPI can express.
//
// MPI gives a user function no context, but it does hand it the datatype of the call. So each such reduction travels
// with a datatype of its own that carries the reduction as an attribute. Any number may be in flight on any number of
// threads, each finds its own callable, and there is nothing to run out of. Making a datatype takes much longer than
// reducing a number, so blocking calls hand theirs on to the next.
#pragma once

#include <ferrompi/detail/mpi.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <utility>

namespace ferrompi::detail {

/// An op that is freed at finalize; it commutes.
[[nodiscard]] MPI_Op make_op(MPI_User_function* function);

/// A committed datatype of `count` consecutive elements, which may be more than an int can count. The caller frees it.
[[nodiscard]] MPI_Datatype make_contiguous_type(MPI_Datatype element, std::size_t count);

class Reduction {
 public:
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  virtual ~Reduction();

  /// What MPI is told to reduce: units of `unit` elements.
  [[nodiscard]] MPI_Datatype type() const noexcept { return type_; }
  [[nodiscard]] MPI_Op op() const noexcept { return op_; }

  /// Throws what the callable threw, once.
  void rethrow() {
    if (has_failed()) [[unlikely]] {
      throw_failure();
    }
  }
  [[nodiscard]] bool has_failed() const noexcept { return failure_ != nullptr; }
  /// What the callable threw, if it did; the next round begins without.
  [[nodiscard]] std::exception_ptr take_failure() noexcept { return std::exchange(failure_, nullptr); }

  /// Called by MPI. An exception must not pass through C: it is kept, and the rest of the reduction is skipped.
  void combine(const void* in, void* inout, std::size_t units) noexcept;

 protected:
  Reduction(MPI_Datatype element, std::size_t unit, bool commutative);

  /// `inout[i] = in[i] op inout[i]`; `in` comes from lower ranks.
  virtual void apply(const void* in, void* inout, std::size_t count) = 0;

 private:
  [[noreturn, gnu::cold]] void throw_failure();

  MPI_Datatype type_;
  MPI_Op op_;
  std::size_t unit_;
  // MPI combines one reduction on one thread at a time and synchronises them, so this needs no lock.
  std::exception_ptr failure_;
};

template <class T, class F>
class CallableReduction final : public Reduction {
 public:
  CallableReduction(MPI_Datatype element, std::size_t unit, bool commutative, F function)
      : Reduction(element, unit, commutative), function_(std::forward<F>(function)) {}

 private:
  void apply(const void* in, void* inout, std::size_t count) override {
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(inout);
    for (std::size_t i = 0; i < count; ++i) to[i] = function_(from[i], to[i]);
  }

  F function_;  // a reference where the caller outlives the operation
};

/// Lent to one blocking call after the other: it reduces by whatever callable it was given last.
class LentReduction final : public Reduction {
 public:
  using Function = void(void* callable, const void* in, void* inout, std::size_t count);

  LentReduction(MPI_Datatype element, bool commutative) : Reduction(element, 1, commutative) {}
  void reduce_by(Function* function, void* callable) noexcept {
    function_ = function;
    callable_ = callable;
  }

 private:
  void apply(const void* in, void* inout, std::size_t count) override;

  Function* function_ = nullptr;
  void* callable_ = nullptr;
};

/// Where it is while nobody has it: empty before the first call, and while a call has it.
///
/// Acquire, where it is taken, pairs with release where it is put back: what one call wrote into it was written before
/// the next writes.
class Lender {
 public:
  [[nodiscard]] FERROMPI_INLINE LentReduction* take() noexcept {
    return spare_.exchange(nullptr, std::memory_order_acquire);
  }
  FERROMPI_INLINE void put_back(LentReduction* reduction) noexcept {
    spare_.store(reduction, std::memory_order_release);
  }
  /// Puts back what a call that failed had, and throws what MPI or the callable has to say. No destructor does that: it
  /// would cost those that do not fail.
  [[noreturn, gnu::cold]] void fail(LentReduction* reduction, int code, const char* operation);
  /// Makes the one that is lent, once; it goes when MPI does.
  void make(MPI_Datatype element, bool commutative);

 private:
  std::atomic<LentReduction*> spare_{nullptr};
  std::atomic<bool> is_made_{false};
};

template <class T, bool Commutes>
inline constinit Lender lender;

/// Applies an MPI_Op to units of more elements than it can count.
class LargeReduction final : public Reduction {
 public:
  LargeReduction(MPI_Datatype element, std::size_t unit, MPI_Op op);

 private:
  void apply(const void* in, void* inout, std::size_t count) override;

  MPI_Datatype element_;
  MPI_Aint extent_ = 0;
  MPI_Op inner_;
};

}  // namespace ferrompi::detail
