// What Slurm says about the job: the helpers that both layers share, under this library's name.
#pragma once

#include <cobre/comm/base/slurm.hpp>

namespace ferrompi {
namespace slurm = ::cobre::comm::slurm;
}  // namespace ferrompi
