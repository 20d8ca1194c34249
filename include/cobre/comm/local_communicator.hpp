// The ranks of one node, as far as sharing memory needs them.
#pragma once

#include <cstddef>

namespace cobre::comm {

/// What `split_local()` returns: who shares this node's memory, and a barrier among them.
class LocalCommunicator {
 public:
  virtual ~LocalCommunicator() = default;
  LocalCommunicator(const LocalCommunicator&) = delete;
  LocalCommunicator& operator=(const LocalCommunicator&) = delete;

  [[nodiscard]] virtual std::size_t rank() const noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;

  /// Collective over the ranks of this node.
  virtual void barrier() const = 0;

 protected:
  LocalCommunicator() = default;
};

}  // namespace cobre::comm
