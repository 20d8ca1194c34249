#include "contestants.hpp"

#include <unistd.h>
#include <cobre/comm/factory.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "run/mpi.hpp"
#include "run/options.hpp"

namespace cobre::command::bench {
namespace {

using comm::core::format;
namespace files = std::filesystem;

const std::vector<Contestant>& all() {
  const std::vector<std::string> levels{"single", "multiple"};
  static const std::vector<Contestant> list{
      {"shm", true, false, "shm", "ours", "", {""}, {}},
      {"tcp", true, false, "tcp", "ours", "", {""}, {}},
      {"tcp-sockets", true, true, "tcp", "ours", "", {""}, {"COBRE_TCP_SHARED_MEMORY=0"}},
      {"mpi", true, false, "mpi", "ours", "", levels, {}},
      {"local", true, false, "local", "ours", "", {""}, {}},
      {"openmpi", false, false, "", "openmpi", "libopenmpi-dev", levels, {}},
      {"mpich", false, false, "", "mpich", "libmpich-dev", levels, {}},
      {"openmpi-tcp",
       false,
       true,
       "",
       "openmpi",
       "libopenmpi-dev",
       levels,
       {"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=tcp,self"}},
      {"gloo", false, true, "", "gloo", "libgloo-dev", {""}, {}},
      {"boost-mpi", false, false, "", "boost-mpi", "libboost-mpi-dev", levels, {}},
  };
  return list;
}

files::path own_file() {
  return files::read_symlink("/proc/self/exe");
}

bool is_plain_mpi(const Contestant& contestant) {
  return contestant.program == "openmpi" || contestant.program == "mpich";
}

files::path program_in(const std::string& folder, const std::string& program) {
  return files::path(folder) / ("cobre-bench-" + program);
}

}  // namespace

std::vector<std::string> contestants(bool ours) {
  std::vector<std::string> names;
  for (const Contestant& one : all()) {
    if (one.ours == ours) names.push_back(one.name);
  }
  return names;
}

std::vector<std::string> backends_of_this_build() {
  const auto available = comm::available_backends();
  auto names = contestants(true);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::find(available, find_contestant(name)->backend) == available.end();
  });
  return names;
}

const Contestant* find_contestant(const std::string& name) {
  const auto found = std::ranges::find(all(), name, &Contestant::name);
  return found == all().end() ? nullptr : &*found;
}

std::string program_folder() {
  const files::path here = own_file().parent_path();
  std::vector<std::string> looked;
  for (const files::path& folder : {here / COBRE_COMM_PROGRAMS_FOLDER, here / "../../bench/peers"}) {
    looked.push_back(folder.lexically_normal().string());
    if (files::exists(program_in(folder, "ours"))) return looked.back();
  }
  throw UsageError(
      format("the program cobre-bench-ours is neither in {}; it comes with cobre-comm: install both again, "
             "or copy the folder along with the command",
             comm::core::joined(looked, " nor in ")));
}

bool has(const Contestant& contestant, const std::string& operation) {
  static const std::vector<std::string> of_some{"reduce",
                                                "gather",
                                                "gatherv",
                                                "scatter",
                                                "scatterv",
                                                "allgather",
                                                "alltoall",
                                                "alltoallv",
                                                "scan",
                                                "exscan",
                                                "reduce_scatter_block",
                                                "message"};
  return contestant.ours || is_plain_mpi(contestant) || std::ranges::find(of_some, operation) == of_some.end();
}

std::optional<std::string> reason_for_absence(const Contestant& contestant, const std::string& folder,
                                              const std::string& pattern) {
  if (!pattern.empty() && !contestant.ours && !is_plain_mpi(contestant)) {
    return format("not measured: {} is written for ours and for plain MPI", pattern);
  }
  const auto program = program_in(folder, contestant.program);
  if (!files::exists(program)) {
    return format(
        "not installed: {} is not in {}; -DCOBRE_COMM_BENCH_PEERS=ON builds it where the Debian package {} is",
        program.filename().string(), folder, contestant.package);
  }
  const MpiFamily family = contestant.backend == "mpi" ? own_family() : family_of(program);
  const bool needs_launcher = contestant.backend == "mpi" || (!contestant.ours && family != MpiFamily::Unknown);
  if (needs_launcher && !launcher_of(family)) return "not installed: no launcher of its MPI library is in PATH";
  return std::nullopt;
}

std::vector<std::string> start_command(const Contestant& contestant, const std::string& level, std::size_t ranks,
                                       bool bind, const std::string& folder) {
  const std::string program = program_in(folder, contestant.program).string();
  if (contestant.ours) {
    return {own_file().string(),
            "run",
            "--backend",
            contestant.backend,
            "-n",
            std::to_string(ranks),
            "--bind",
            bind ? "core" : "none",
            program,
            level.empty() ? "multiple" : level};
  }
  // Gloo brings no launcher.
  if (contestant.levels.size() == 1) return {program, std::to_string(ranks)};
  RunOptions options;
  options.command = {program, level};
  return mpi_command(options, program, ranks);
}

}  // namespace cobre::command::bench
