// barrier(): nobody leaves before everybody has come.
#pragma once

#include <ferrompi/detail/checks.hpp>
#include <ferrompi/detail/engine.hpp>

namespace ferrompi::detail {
inline namespace FERROMPI_VARIANT {

struct Barrier : CollectiveTraits {
  struct Args {
    MPI_Comm comm;
  };
  static constexpr auto blocking = &MPI_Barrier;
  static constexpr auto nonblocking = &MPI_Ibarrier;
  FERROMPI_PERSISTENT_COLLECTIVE(Barrier);
  static constexpr Absent blocking_large{}, nonblocking_large{}, persistent_large{};

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.comm, tail...);
  }
  static constexpr bool counts_are_large(const Args&) { return false; }
  static constexpr bool must_shrink(const Args&) { return false; }
  static void shrink(Args&, Hold&) {}

  template <class Form>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group) {
    const Checks checks(form.operation, group);
    return launch<Barrier>(form, Args{group.native});
  }
};

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
