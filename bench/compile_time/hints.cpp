// A file that sets up hints: it includes Info, and nothing else.
#include <ferrompi/info.hpp>

ferrompi::Info hints() {
  return {{"mpi_assert_no_any_tag", "true"}};
}
