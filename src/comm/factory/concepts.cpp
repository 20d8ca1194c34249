// Every backend has all that the concepts ask for. Said here and not beside each class: the compiler has to look into
// every operation to believe it, which would take half of the time of a program that includes them.

#include <cobre/comm/comm_backend.hpp>
#include <cobre/comm/concepts.hpp>

#include <concepts>
#include <utility>

namespace cobre::comm {
namespace {

template <class Backend>
concept HasEverything = Communicator<Backend> && SharedMemoryProvider<Backend> && TopologyProvider<Backend> &&
    ChannelProvider<Backend> && PointToPoint<Backend> && MovingCollectives<Backend> && ReducingCollectives<Backend> &&
    ComposedCollectives<Backend> && Splittable<Backend> && NonblockingCollectives<Backend> &&
    PersistentCollectives<Backend>;

/// And its channels have the name by which programs know them.
template <class Backend, class Named>
concept Opens = Channel<Named> && std::same_as<decltype(std::declval<const Backend&>().channel(0, 0)), Named>;

static_assert(HasEverything<LocalBackend> && Opens<LocalBackend, LocalChannel>);
#ifdef COBRE_COMM_HAS_SHM
static_assert(HasEverything<ShmBackend> && Opens<ShmBackend, ShmChannel>);
#endif
#ifdef COBRE_COMM_HAS_TCP
static_assert(HasEverything<TcpBackend> && Opens<TcpBackend, TcpChannel>);
#endif
#ifdef COBRE_COMM_HAS_MPI
static_assert(HasEverything<FerrompiBackend> && Opens<FerrompiBackend, MpiChannel>);
#endif
static_assert(HasEverything<CommBackend> && Opens<CommBackend, CommChannel>);

}  // namespace
}  // namespace cobre::comm
