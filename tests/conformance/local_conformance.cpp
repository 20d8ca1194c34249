#include "conformance/any_backend.hpp"
#include "conformance/conformance.hpp"
#include "conformance/worlds.hpp"

namespace {

struct LocalWorld {
  using Communicator = cobre::comm::LocalBackend;
  static std::vector<std::size_t> rank_counts() { return {1}; }
  static void run(std::size_t, const std::function<void(const Communicator&)>& body) {
    conformance::guarded(0, [&] { body(cobre::comm::LocalBackend()); });
  }
};

// The same behind the type that holds any backend.
struct AnyLocalWorld {
  using Communicator = cobre::comm::CommBackend;
  static std::vector<std::size_t> rank_counts() { return {1}; }
  static void run(std::size_t, const std::function<void(const Communicator&)>& body) {
    conformance::guarded(0, [&] { body(cobre::comm::create_communicator(cobre::comm::BackendKind::Local)); });
  }
};

const bool joined = conformance::join<LocalWorld>("Local", conformance::full_suite<cobre::comm::LocalBackend>()) &&
                    conformance::join<AnyLocalWorld>("AnyLocal");

}  // namespace
