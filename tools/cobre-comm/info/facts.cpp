#include "facts.hpp"

#include <dlfcn.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/config.hpp>
#include <cobre/comm/factory.hpp>
#include <cobre/comm/resources.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "comm/core/format.hpp"
#include "comm/core/memory_limits.hpp"
#include "comm/core/waiting_cpus.hpp"
#include "comm/factory/selection.hpp"
#include "comm/topology/host.hpp"
#include "comm/topology/machine.hpp"
#include "launch.hpp"
#include "probe.hpp"
#include "run/mpi.hpp"
#include "run/places.hpp"
#include "run/program.hpp"
#include "transport.hpp"
#ifdef COBRE_COMM_HAS_MPI
#include <ferrompi/environment.hpp>
#endif

namespace cobre::command {
namespace {

namespace core = comm::core;

std::string amount(std::uint64_t bytes) {
  return comm::core::format("{:.1f} GiB", static_cast<double>(bytes) / (std::uint64_t{1} << 30));
}

bool compiled_in(const std::string& backend) {
  const auto available = comm::available_backends();
  return std::ranges::find(available, backend) != available.end();
}

Facts backend(const std::string& name, bool usable, const std::string& why) {
  return {{"name", name}, {"compiled_in", compiled_in(name)}, {"usable", usable}, {"because", why}};
}

Facts backends(const ShmProbe& shm, const std::string& mpi_launcher) {
  const auto absent = [](const std::string& name) { return !compiled_in(name); };
  const std::string off = "not in this build";
  Facts list = Facts::array();
  list.push_back(backend("mpi", !absent("mpi") && !mpi_launcher.empty(),
                         absent("mpi")          ? off
                         : mpi_launcher.empty() ? "its launcher is not in PATH"
                                                : "start programs with " + mpi_launcher));
  list.push_back(backend("tcp", !absent("tcp"), absent("tcp") ? off : "start programs with cobre-comm run --hosts"));
  list.push_back(backend("shm", shm.works, shm.works ? "tried: two processes shared memory just now" : shm.reason));
  list.push_back(backend("local", true, "always there"));
  return list;
}

// The backend that a program would get if it were started as we were.
Facts choice() {
  Facts facts;
  try {
    auto kind = comm::factory::requested_backend();
    facts["by"] = kind == comm::BackendKind::Auto ? "detection" : "COBRE_COMM_BACKEND";
    if (kind == comm::BackendKind::Auto) kind = comm::factory::detect_backend();
    facts["backend"] = comm::to_string(kind);
    facts["usable"] = compiled_in(comm::to_string(kind));
  } catch (const comm::Error& error) {
    facts["error"] = error.what();
  }
  const auto launch = launch_of_this_process();
  facts["started_by"] = launch ? comm::core::format("{} ({})", launch->launcher, launch->variable) : "itself";
  return facts;
}

#ifdef COBRE_COMM_HAS_MPI

// Open MPI counts the zero at the end.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of(std::string_view("\r\n\0", 3)));
}

// Asked through the loader: not every library has the question, and MPICH ends a process that asks before MPI runs.
Facts gpu_aware() {
  if (own_family() == MpiFamily::Mpich) return nullptr;
  void* const query = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
  return query != nullptr && reinterpret_cast<int (*)()>(query)() != 0;
}

Facts mpi(const std::string& launcher) {
  const std::string library = ferrompi::Mpi::library_version();
  return {{"library", first_line(library)},
          {"standard", ferrompi::Mpi::version()},
          {"transport", transport(library)},
          {"gpu_aware", gpu_aware()},
          {"launcher", launcher.empty() ? Facts("none of this library in PATH") : Facts(launcher)},
          {"launcher_and_library_agree", !launcher.empty() && !started_by_another_mpi()}};
}

#endif

std::string own_launcher() {
#ifdef COBRE_COMM_HAS_MPI
  return launcher_of(own_family()).value_or("");
#else
  return "";
#endif
}

Facts host(const comm::topology::Machine& machine) {
  utsname system{};
  (void)uname(&system);
  Facts facts{{"name", comm::topology::host_name()},
              {"kernel", comm::core::format("{} {}", system.sysname, system.release)},
              {"sockets", machine.sockets},
              {"cores", machine.cores.size()},
              {"cpus", sysconf(_SC_NPROCESSORS_ONLN)}};
  facts["numa_domains"] = Facts::array();
  for (const auto& domain : machine.domains) {
    facts["numa_domains"].push_back(
        {{"domain", domain.index}, {"cpus", cpu_list(domain.cpus)}, {"memory", amount(domain.memory_bytes)}});
  }
  return facts;
}

Facts limits(const comm::topology::Machine& machine) {
  const std::size_t quota = core::cpu_quota();
  const auto memory = core::available_memory();
  struct statvfs shm {};
  const bool has_shm = statvfs("/dev/shm", &shm) == 0;
  Facts facts;
  facts["affinity"] = cpu_list(core::allowed_cpus());
  facts["cgroup_cpus"] = quota == std::numeric_limits<std::size_t>::max() ? Facts("no limit") : Facts(quota);
  facts["usable_cores"] = usable_cores(machine);
  facts["memory_left"] = comm::core::format("{} ({})", amount(memory.bytes), memory.source);
  facts["dev_shm"] = has_shm
                         ? comm::core::format("{} of {} free (not needed: segments have no name in it)",
                                              amount(shm.f_bavail * shm.f_frsize), amount(shm.f_blocks * shm.f_frsize))
                         : "absent (not needed)";
  return facts;
}

Facts gpus() {
  Facts found = Facts::array();
  for (const char* const device : {"/dev/nvidia0", "/dev/kfd", "/dev/dri/renderD128"}) {
    if (std::filesystem::exists(device)) found.push_back(device);
  }
  return found;
}

template <class T>
Facts known(const std::optional<T>& value) {
  return value ? Facts(*value) : Facts();
}

Facts slurm_job() {
  namespace slurm = comm::slurm;
  if (!slurm::is_slurm_job()) return "none";
  return {{"job", known(slurm::job_id())},
          {"step", known(slurm::step_id())},
          {"nodes", known(slurm::node_list())},
          {"tasks", known(slurm::num_tasks())},
          {"tasks_on_this_node", known(slurm::local_size())},
          {"cpus_per_task", known(slurm::cpus_per_task())},
          {"cpus_on_this_node", known(slurm::cpus_on_node())},
          {"memory_for_the_job_on_this_node", amount(comm::node_memory_budget())}};
}

}  // namespace

Facts collect_facts() {
  // Before anything that might start a thread: it forks.
  const ShmProbe shm = try_shm();
  const auto machine = comm::topology::look_at_machine();
  const std::string launcher = own_launcher();
  Facts facts;
  facts["version"] = COBRE_COMM_VERSION;
  facts["backends"] = backends(shm, launcher);
  facts["a_program_started_like_this"] = choice();
  const bool alone = choice().value("backend", "") == "local" || started_by_another_mpi();
  if (const auto problem = explain_singletons(1); problem && alone) facts["problem"] = *problem;
#ifdef COBRE_COMM_HAS_MPI
  facts["mpi"] = mpi(launcher);
#else
  facts["mpi"] = "not in this build";
#endif
  facts["host"] = host(machine);
  facts["limits"] = limits(machine);
  facts["single_copy"] = shm.single_copy;
  facts["gpus"] = gpus();
  facts["slurm"] = slurm_job();
  return facts;
}

}  // namespace cobre::command
