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
#include <array>
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

// In the largest unit of which there is one: a limit of some megabytes is not 0.0 GiB.
std::string amount(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return comm::core::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, units[unit]);
}

bool compiled_in(const std::string& backend) {
  const auto available = comm::available_backends();
  return std::ranges::find(available, backend) != available.end();
}

Facts backend(const std::string& name, bool usable, const std::string& why) {
  return {{"name", name}, {"compiled_in", compiled_in(name)}, {"usable", usable}, {"because", why}};
}

// What is known of MPI inside of a job, where nothing is tried: that the launcher which started us is of our library.
bool mpi_fits(const MpiProbe& probe, const std::string& launcher) {
  return probe.tried ? probe.works : !launcher.empty() && !started_by_another_mpi();
}

std::string about_mpi(const MpiProbe& probe, const std::string& launcher) {
  if (probe.works) return comm::core::format("tried: two processes met under {} just now", launcher);
  if (!mpi_fits(probe, launcher))
    return started_by_another_mpi() ? "the launcher of this job is another MPI's" : probe.reason;
  return comm::core::format("start programs with {} ({})", launcher, probe.reason);
}

Facts backends(const ShmProbe& shm, const Probe& tcp, const MpiProbe& mpi, const std::string& mpi_launcher) {
  Facts list = Facts::array();
  list.push_back(backend("mpi", mpi_fits(mpi, mpi_launcher), about_mpi(mpi, mpi_launcher)));
  list.push_back(backend("tcp", tcp.works, tcp.works ? "tried: two processes met over loopback just now" : tcp.reason));
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

Facts mpi(const MpiProbe& probe, const std::string& launcher) {
  const std::string library = ferrompi::Mpi::library_version();
  return {{"library", first_line(library)},
          {"standard", ferrompi::Mpi::version()},
          {"transport", transport(library, probe)},
          {"gpu_aware", gpu_aware()},
          {"launcher", launcher.empty() ? Facts("none of this library in PATH") : Facts(launcher)},
          {"launcher_and_library_agree", mpi_fits(probe, launcher)}};
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
  // Before anything that might start a thread: they fork.
  const ShmProbe shm = try_shm();
  const Probe tcp = try_tcp();
  const auto machine = comm::topology::look_at_machine();
  const std::string launcher = own_launcher();
  const MpiProbe mpi_probe = try_mpi(launcher);
  Facts facts;
  facts["version"] = COBRE_COMM_VERSION;
  facts["backends"] = backends(shm, tcp, mpi_probe, launcher);
  facts["a_program_started_like_this"] = choice();
  const bool alone = choice().value("backend", "") == "local" || started_by_another_mpi();
  if (const auto problem = explain_singletons(1); problem && alone) facts["problem"] = *problem;
#ifdef COBRE_COMM_HAS_MPI
  facts["mpi"] = mpi(mpi_probe, launcher);
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
