#include <cobre/comm/shm.hpp>

#include <cstdlib>

#include "comm/backends/shm/config.hpp"
#include "comm/backends/shm/endpoint.hpp"
#include "comm/backends/shm/local_group.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#include "comm/core/every_call.hpp"
#include "comm/core/moved_from.hpp"
#include "comm/topology/placement.hpp"

namespace cobre::comm {

ShmBackend ShmBackend::attach(const ShmConfig& config) {
  shm::check(config);
  auto endpoint = std::make_shared<shm::Endpoint>(config, shm::gather_group(config));
  if (config.rank == 0) topology::warn_of_spanning(endpoint->topology());
  return ShmBackend(std::move(endpoint));
}

ShmBackend::ShmBackend(std::shared_ptr<shm::Endpoint> endpoint) noexcept
    : endpoint_(std::move(endpoint)), rank_(endpoint_->rank()), size_(endpoint_->size()) {}
ShmBackend::ShmBackend(ShmBackend&& other) noexcept = default;
ShmBackend& ShmBackend::operator=(ShmBackend&& other) noexcept = default;
ShmBackend::~ShmBackend() = default;

void ShmBackend::abort(int code) const {
  if (endpoint_ == nullptr) std::_Exit(code);
  endpoint_->abort(code);
}

std::unique_ptr<LocalCommunicator> ShmBackend::split_local() const {
  (void)core::require_owned(endpoint_, "split_local");
  return std::make_unique<shm::LocalGroup>(endpoint_);
}

const ExecutionTopology& ShmBackend::topology() const {
  return core::require_owned(endpoint_, "topology").topology();
}

bool ShmBackend::uses_single_copy() const {
  return core::require_owned(endpoint_, "uses_single_copy").single_copy();
}

std::optional<ShmBackend> ShmBackend::make_part(const detail::Division& division) const {
  auto part = endpoint_->split(division);
  if (part == nullptr) return std::nullopt;
  part->be_noted(algorithms::made_by(division.record.operation), endpoint_->first_left());
  return ShmBackend(std::move(part));
}

detail::LaneSeed<ShmBackend> ShmBackend::lane_seed(detail::Drive) const {
  std::vector<std::shared_ptr<core::Backlog>> backlogs{core::require_owned(endpoint_, "duplicate").backlog(endpoint_)};
  return {ShmBackend(endpoint_), std::make_unique<detail::KeptPlace>(std::move(backlogs))};
}

detail::Mailbox& ShmBackend::mailbox(const char* operation) const {
  return core::require_owned(endpoint_, operation).mailbox();
}
std::shared_ptr<detail::Mailbox> ShmBackend::share_mailbox(const char* operation) const {
  return {endpoint_, &mailbox(operation)};
}

template <class Call>
void ShmBackend::execute(const detail::OperationRecord& record, const Call& call) const {
  core::require_owned(endpoint_, record).execute(record, call);
}

COBRE_COMM_COMPILE_EXECUTE(ShmBackend, const);

}  // namespace cobre::comm
