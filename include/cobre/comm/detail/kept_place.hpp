// A place in the order of a communicator's operations, for one that is begun now and done when the others come.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cobre::comm {
namespace core {

class Backlog;

}  // namespace core

namespace detail {

/// Whatever is called later on those communicators waits until this goes.
class KeptPlace {
 public:
  /// The same place in each of them.
  explicit KeptPlace(std::vector<std::shared_ptr<core::Backlog>> backlogs);
  KeptPlace(const KeptPlace&) = delete;
  KeptPlace& operator=(const KeptPlace&) = delete;
  ~KeptPlace();

  /// Waits for what was begun before. From then on the caller, and nobody else, may use the communicators.
  void take();

 private:
  KeptPlace() = default;

  struct Ticket {
    std::shared_ptr<core::Backlog> backlog;
    std::uint64_t number;
  };
  std::vector<Ticket> tickets_;
  bool taken_ = false;
};

/// What a lane is made of: something to run on, or the communicator itself, with a place in its order for making a
/// duplicate.
template <class Backend>
struct LaneSeed {
  Backend comm;
  std::unique_ptr<KeptPlace> place;  // null: operations run on `comm`
};

}  // namespace detail
}  // namespace cobre::comm
