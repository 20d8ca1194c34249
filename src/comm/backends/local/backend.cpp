#include <cobre/comm/local.hpp>

#include <array>
#include <cstdlib>

#include "comm/topology/host.hpp"
#include "comm/topology/placement.hpp"

namespace cobre::comm {
namespace {

class OnlyRank final : public LocalCommunicator {
 public:
  [[nodiscard]] std::size_t rank() const noexcept override { return 0; }
  [[nodiscard]] std::size_t size() const noexcept override { return 1; }
  void barrier() const override {}
};

}  // namespace

void LocalBackend::abort(int code) const {
  // Not exit(): destructors of static objects must not run in the middle of whatever the caller was doing.
  std::_Exit(code);
}

std::unique_ptr<LocalCommunicator> LocalBackend::split_local() const {
  return std::make_unique<OnlyRank>();
}

const ExecutionTopology& LocalBackend::topology() const {
  static const ExecutionTopology topology{BackendKind::Local,
                                          1,
                                          {HostInfo{topology::host_name(), {0}}},
                                          std::nullopt,
                                          topology::slurm_job(),
                                          topology::placements_of(std::array{topology::placement_here()})};
  return topology;
}

}  // namespace cobre::comm
