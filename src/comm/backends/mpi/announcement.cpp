#include "comm/backends/mpi/announcement.hpp"

#include <cobre/comm/base/number.hpp>

#include <cstdlib>

namespace cobre::comm::mpi {

std::optional<Announcement> announcement_of_others_than(int world_size) {
  for (const char* const variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) continue;
    const auto processes = detail::parse_number<int>(text);
    if (processes && *processes != world_size) return Announcement{variable, text, *processes};
  }
  return std::nullopt;
}

}  // namespace cobre::comm::mpi
