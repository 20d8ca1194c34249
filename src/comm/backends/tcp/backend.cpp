#include <cobre/comm/tcp.hpp>

#include <cstdlib>

#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/endpoint.hpp"
#include "comm/core/every_call.hpp"
#include "comm/core/moved_from.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "comm/backends/shm/local_group.hpp"
#include "comm/core/format.hpp"
#endif

namespace cobre::comm {

TcpBackend TcpBackend::connect(const TcpConfig& config) {
  tcp::check(config);
  return TcpBackend(std::make_shared<tcp::Endpoint>(config));
}

TcpBackend::TcpBackend(std::shared_ptr<tcp::Endpoint> endpoint) noexcept
    : endpoint_(std::move(endpoint)),
      rank_(endpoint_->rank()),
      size_(endpoint_->size()),
      leader_(endpoint_->leader()) {}
TcpBackend::TcpBackend(TcpBackend&& other) noexcept = default;
TcpBackend& TcpBackend::operator=(TcpBackend&& other) noexcept = default;
TcpBackend::~TcpBackend() = default;

void TcpBackend::abort(int code) const {
  if (endpoint_ == nullptr) std::_Exit(code);
  endpoint_->abort(code);
}

std::unique_ptr<LocalCommunicator> TcpBackend::split_local() const {
  [[maybe_unused]] const tcp::Endpoint& endpoint = core::require_owned(endpoint_, "split_local");
#ifdef COBRE_COMM_HAS_SHM
  if (const auto& shared = endpoint.shared_memory()) return std::make_unique<shm::LocalGroup>(shared);
#endif
  return LocalBackend().split_local();
}

const ExecutionTopology& TcpBackend::topology() const {
  return core::require_owned(endpoint_, "topology").topology();
}

void TcpBackend::agree_on_region(const detail::OperationRecord& record) const {
  core::require_owned(endpoint_, record).agree(record);
}

void TcpBackend::agree_on_outcome(const detail::OperationRecord& record, std::size_t bytes,
                                  const std::exception_ptr& failure) const {
  const auto failed = core::require_owned(endpoint_, record).first_failure(record, failure == nullptr);
  if (failure != nullptr) std::rethrow_exception(failure);
  if (!failed) return;
  throw AllocationFailed({detail::to_string(record.operation), rank_, size_}, bytes,
                         core::format("rank {} has no room for it; its own error says why", *failed));
}

#ifdef COBRE_COMM_HAS_SHM
std::shared_ptr<shm::Endpoint> TcpBackend::shared_memory() const {
  return endpoint_->shared_memory();
}
#endif

std::optional<TcpBackend> TcpBackend::make_part(const detail::Division& division) const {
  auto part = tcp::Endpoint::split(endpoint_, division);
  if (part == nullptr) return std::nullopt;
  return TcpBackend(std::move(part));
}

detail::LaneSeed<TcpBackend> TcpBackend::lane_seed(detail::Drive) const {
  (void)core::require_owned(endpoint_, "duplicate");
  return {TcpBackend(endpoint_), std::make_unique<detail::KeptPlace>(tcp::Endpoint::backlogs(endpoint_))};
}

detail::Mailbox& TcpBackend::mailbox(const char* operation) const {
  return core::require_owned(endpoint_, operation).mailbox();
}
std::shared_ptr<detail::Mailbox> TcpBackend::share_mailbox(const char* operation) const {
  return {endpoint_, &mailbox(operation)};
}

template <class Call>
void TcpBackend::execute(const detail::OperationRecord& record, const Call& call) const {
  core::require_owned(endpoint_, record).execute(record, call);
}

COBRE_COMM_COMPILE_EXECUTE(TcpBackend, const);

}  // namespace cobre::comm
