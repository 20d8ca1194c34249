#include <cobre/comm/tcp.hpp>

#include <cstdlib>

#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/endpoint.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "comm/backends/shm/local_group.hpp"
#include "comm/core/format.hpp"
#endif

namespace cobre::comm {
namespace {

[[noreturn, gnu::cold]] void throw_moved_from(std::string_view operation) {
  throw InvalidCommunicator({operation, 0, 1}, "it was moved from; use the one that it was moved to");
}

tcp::Endpoint& require(const std::shared_ptr<tcp::Endpoint>& endpoint, const char* operation) {
  if (endpoint == nullptr) [[unlikely]]
    throw_moved_from(operation);
  return *endpoint;
}

tcp::Endpoint& require(const std::shared_ptr<tcp::Endpoint>& endpoint, const detail::OperationRecord& record) {
  if (endpoint == nullptr) [[unlikely]]
    throw_moved_from(detail::to_string(record.operation));
  return *endpoint;
}

}  // namespace

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
  [[maybe_unused]] const tcp::Endpoint& endpoint = require(endpoint_, "split_local");
#ifdef COBRE_COMM_HAS_SHM
  if (const auto& shared = endpoint.shared_memory()) return std::make_unique<shm::LocalGroup>(shared);
#endif
  return LocalBackend().split_local();
}

const ExecutionTopology& TcpBackend::topology() const {
  return require(endpoint_, "topology").topology();
}

void TcpBackend::agree_on_region(const detail::OperationRecord& record) const {
  require(endpoint_, record).agree(record);
}

void TcpBackend::agree_on_outcome(const detail::OperationRecord& record, std::size_t bytes,
                                  const std::exception_ptr& failure) const {
  const auto failed = require(endpoint_, record).first_failure(record, failure == nullptr);
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

void TcpBackend::execute(const detail::OperationRecord& record, const detail::BarrierCall& call) const {
  require(endpoint_, record).execute(record, call);
}
void TcpBackend::execute(const detail::OperationRecord& record, const detail::BroadcastCall& call) const {
  require(endpoint_, record).execute(record, call);
}
void TcpBackend::execute(const detail::OperationRecord& record, const detail::AllreduceCall& call) const {
  require(endpoint_, record).execute(record, call);
}
void TcpBackend::execute(const detail::OperationRecord& record, const detail::AllgathervCall& call) const {
  require(endpoint_, record).execute(record, call);
}

}  // namespace cobre::comm
