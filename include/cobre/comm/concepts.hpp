// What a backend promises, as concepts. Programs are written against these and against no backend.
#pragma once

#include <cobre/comm/base/element_type.hpp>
#include <cobre/comm/base/gathered.hpp>
#include <cobre/comm/base/reduce_op.hpp>
#include <cobre/comm/detail/archetypes.hpp>
#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/local_communicator.hpp>
#include <cobre/comm/region.hpp>
#include <cobre/comm/request.hpp>
#include <cobre/comm/topology.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cobre::comm {
namespace detail {

template <class C, class T>
concept Moves = requires(const C& comm, std::span<T> buffer, std::span<const T> input, const T& value, std::size_t root,
                         std::span<const std::size_t> counts) {
  { comm.broadcast(buffer, root) } -> std::same_as<void>;
  { comm.broadcast(value, root) } -> std::same_as<T>;
  { comm.allgatherv(input, buffer, counts, counts) } -> std::same_as<void>;
};

template <class C, class T, class Op>
concept Reduces = requires(const C& comm, std::span<T> buffer, std::span<const T> input, const T& value, Op op) {
  { comm.allreduce(input, buffer, op) } -> std::same_as<void>;
  { comm.allreduce(input, buffer, op, Reproducible::Yes) } -> std::same_as<void>;
  { comm.allreduce(value, op) } -> std::same_as<T>;
  { comm.allreduce_inplace(buffer, op) } -> std::same_as<void>;
};

template <class C, class T>
concept MovesParts = requires(const C& comm, std::span<T> buffer, std::span<const T> input, const T& value,
                              std::size_t root, std::span<const std::size_t> sizes) {
  { comm.gather(input, buffer, root) } -> std::same_as<void>;
  { comm.gather(value, root) } -> std::same_as<std::vector<T>>;
  { comm.gatherv(input, buffer, sizes, sizes, root) } -> std::same_as<void>;
  { comm.gatherv(input, root) } -> std::same_as<Gathered<T>>;
  { comm.allgather(input, buffer) } -> std::same_as<void>;
  { comm.allgather(value) } -> std::same_as<std::vector<T>>;
  { comm.scatter(input, buffer, root) } -> std::same_as<void>;
  { comm.scatterv(input, sizes, sizes, buffer, root) } -> std::same_as<void>;
  { comm.scatterv(input, sizes, root) } -> std::same_as<std::vector<T>>;
  { comm.alltoall(input, buffer) } -> std::same_as<void>;
  { comm.alltoallv(input, sizes, sizes, buffer, sizes, sizes) } -> std::same_as<void>;
  { comm.alltoallv(input, sizes) } -> std::same_as<Gathered<T>>;
};

template <class C, class T, class Op>
concept ReducesParts = requires(const C& comm, std::span<T> buffer, std::span<const T> input, const T& value, Op op,
                                std::size_t root) {
  { comm.reduce(input, buffer, op, root) } -> std::same_as<void>;
  { comm.reduce(value, op, root) } -> std::same_as<T>;
  { comm.scan(input, buffer, op) } -> std::same_as<void>;
  { comm.scan(value, op) } -> std::same_as<T>;
  { comm.exscan(input, buffer, op) } -> std::same_as<void>;
  { comm.exscan(value, op) } -> std::same_as<T>;
  { comm.reduce_scatter_block(input, buffer, op, Reproducible::Yes) } -> std::same_as<void>;
};

template <class C, class T>
concept Composes = requires(const C& comm, std::span<T> buffer, std::span<const T> input, std::vector<T>& resizable,
                            std::size_t root, std::span<const std::size_t> sizes) {
  { comm.allgatherv(input) } -> std::same_as<Gathered<T>>;
  { comm.allgatherv_inplace(buffer, sizes, sizes) } -> std::same_as<void>;
  { comm.broadcast_resized(resizable, root) } -> std::same_as<void>;
};

template <class C, class T, class Op>
concept Starts = requires(const C& comm, std::span<T> buffer, std::span<const T> input, const T& value,
                          std::vector<T>&& given, Op op, std::size_t root, std::span<const std::size_t> sizes) {
  { comm.ibroadcast(buffer, root) } -> std::same_as<Request>;
  { comm.ibroadcast(std::move(given), root) } -> std::same_as<Pending<std::vector<T>>>;
  { comm.ibroadcast(value, root) } -> std::same_as<Pending<T>>;
  { comm.iallreduce(input, buffer, op) } -> std::same_as<Request>;
  { comm.iallreduce(input, buffer, op, Reproducible::Yes) } -> std::same_as<Request>;
  { comm.iallreduce(std::move(given), op) } -> std::same_as<Pending<std::vector<T>>>;
  { comm.iallreduce(value, op) } -> std::same_as<Pending<T>>;
  { comm.iallreduce_inplace(buffer, op) } -> std::same_as<Request>;
  { comm.iallgatherv(input, buffer, sizes, sizes) } -> std::same_as<Request>;
};

template <class C, class T, class Op>
concept SetsUp = requires(const C& comm, std::span<T> buffer, std::span<const T> input, Op op, std::size_t root,
                          std::span<const std::size_t> sizes) {
  { comm.broadcast_init(buffer, root) } -> std::same_as<PersistentRequest>;
  { comm.allreduce_init(input, buffer, op) } -> std::same_as<PersistentRequest>;
  { comm.allreduce_init(input, buffer, op, Reproducible::Yes) } -> std::same_as<PersistentRequest>;
  { comm.allgatherv_init(input, buffer, sizes, sizes) } -> std::same_as<PersistentRequest>;
};

template <class C, class T>
concept ProvidesRegionsOf = requires(const C& comm, std::size_t count, RegionOptions options) {
  { comm.template create_shared_region<T>(count) } -> SharedRegion<T>;
  { comm.template create_shared_region<T>(count, options) } -> SharedRegion<T>;
};

}  // namespace detail

/// A group of ranks that act together. Every call but rank(), size() and abort() is collective.
template <class C>
concept Communicator = std::move_constructible<C> && requires(const C& comm, int code) {
  { comm.rank() }
  noexcept->std::same_as<std::size_t>;
  { comm.size() }
  noexcept->std::same_as<std::size_t>;
  { comm.barrier() } -> std::same_as<void>;
  { comm.abort(code) } -> std::same_as<void>;
} && detail::Moves<C, double> && detail::Moves<C, std::int32_t> && detail::Moves<C, detail::StructArchetype> &&
    detail::Reduces<C, double, ReduceOp> && detail::Reduces<C, std::int32_t, ReduceOp> &&
    detail::Reduces<C, detail::StructArchetype, detail::CallableArchetype>;

/// Operations that are made of the collectives.
template <class C>
concept ComposedCollectives = Communicator<C> && detail::Composes<C, double> && detail::Composes<C, std::int32_t> &&
    detail::Composes<C, detail::StructArchetype> && requires(const C& comm, std::span<const double> input) {
  { comm.agree(true) } -> std::same_as<bool>;
  { comm.reproducible_sum(input) } -> std::same_as<double>;
  { comm.reproducible_sum(1.0F) } -> std::same_as<float>;
};

/// Gathers, scatters and exchanges of parts.
template <class C>
concept MovingCollectives = Communicator<C> && detail::MovesParts<C, double> && detail::MovesParts<C, std::int32_t> &&
    detail::MovesParts<C, detail::StructArchetype>;

/// Reductions whose result one rank gets, or each rank another one.
template <class C>
concept ReducingCollectives =
    Communicator<C> && detail::ReducesParts<C, double, ReduceOp> && detail::ReducesParts<C, std::int32_t, ReduceOp> &&
    detail::ReducesParts<C, detail::StructArchetype, detail::CallableArchetype>;

/// Operations that go on while the caller computes.
template <class C>
concept NonblockingCollectives = Communicator<C> && requires(const C& comm) {
  { comm.ibarrier() } -> std::same_as<Request>;
} && detail::Starts<C, double, ReduceOp> && detail::Starts<C, std::int32_t, ReduceOp> &&
    detail::Starts<C, detail::StructArchetype, detail::CallableArchetype>;

/// Operations that are set up once and started again and again.
template <class C>
concept PersistentCollectives = Communicator<C> && detail::SetsUp<C, double, ReduceOp> &&
    detail::SetsUp<C, std::int32_t, ReduceOp> && detail::SetsUp<C, detail::StructArchetype, detail::CallableArchetype>;

/// Ranks of one node can share pages.
template <class C>
concept SharedMemoryProvider = detail::ProvidesRegionsOf<C, double> && detail::ProvidesRegionsOf<C, std::int32_t> &&
    detail::ProvidesRegionsOf<C, detail::StructArchetype> && requires(const C& comm) {
  { comm.split_local() } -> std::same_as<std::unique_ptr<LocalCommunicator>>;
  { comm.is_leader() } -> std::same_as<bool>;
};

/// The ranks can form smaller communicators, each of which can do all that this one can.
template <class C>
concept Splittable = Communicator<C> && requires(const C& comm, int color, int key) {
  { comm.split(color) } -> std::same_as<std::optional<C>>;
  { comm.split(color, key) } -> std::same_as<std::optional<C>>;
  { comm.duplicate() } -> std::same_as<C>;
  { comm.node() } -> std::same_as<C>;
};

/// The backend knows which rank runs where.
template <class C>
concept TopologyProvider = requires(const C& comm) {
  { comm.topology() } -> std::same_as<const ExecutionTopology&>;
};

}  // namespace cobre::comm
