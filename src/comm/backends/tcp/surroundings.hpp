// What one rank does in a communicator and beside it, for the watch of that communicator and of its duplicates.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "comm/backends/tcp/journal.hpp"
#include "comm/core/crossing.hpp"

namespace cobre::comm::tcp {

class Surroundings {
 public:
  explicit Surroundings(std::shared_ptr<const Journal> journal) noexcept : journal_(std::move(journal)) {}

  core::Aside requests;  // and plans, which run on duplicates
  core::Aside fences;    // of regions, among the ranks of a host

  [[nodiscard]] core::Standing standing(const core::Aside& aside) const noexcept {
    const auto entered = [&] { return journal_->entered(); };
    return core::Standing::of(
               entered, [&](std::uint64_t number) { return journal_->record(number); }, aside)
        .value_or(core::Standing{});
  }

 private:
  std::shared_ptr<const Journal> journal_;
};

}  // namespace cobre::comm::tcp
