// Every backend has all that the concepts ask for. Said here and not beside each class: the compiler has to look into
// every operation to believe it, which would take half of the time of a program that includes them.

#include <cobre/comm/comm_backend.hpp>
#include <cobre/comm/concepts.hpp>

namespace cobre::comm {
namespace {

template <class Backend>
concept HasEverything = Communicator<Backend> && SharedMemoryProvider<Backend> && TopologyProvider<Backend> &&
    ChannelProvider<Backend> && PointToPoint<Backend> && MovingCollectives<Backend> && ReducingCollectives<Backend> &&
    ComposedCollectives<Backend> && Splittable<Backend> && NonblockingCollectives<Backend> &&
    PersistentCollectives<Backend>;

static_assert(HasEverything<LocalBackend>);
#ifdef COBRE_COMM_HAS_SHM
static_assert(HasEverything<ShmBackend>);
#endif
#ifdef COBRE_COMM_HAS_TCP
static_assert(HasEverything<TcpBackend>);
#endif
#ifdef COBRE_COMM_HAS_MPI
static_assert(HasEverything<FerrompiBackend>);
#endif
static_assert(HasEverything<CommBackend>);

}  // namespace
}  // namespace cobre::comm
