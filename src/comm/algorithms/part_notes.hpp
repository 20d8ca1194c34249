// What a rank is in, in communicators that were made of others: kept in its launcher's file, a line or two for each, so
// that the launcher can still read it when the rank has died. Where nobody looks on, nothing is kept.
//
// One writer a note, whoever is in that communicator. It writes into lines that nobody else touches, and takes no part
// in what the ranks say to each other.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "comm/algorithms/mail_note.hpp"
#include "comm/core/fork_guard.hpp"
#include "comm/core/ledger_file.hpp"
#include "comm/core/progress.hpp"

namespace cobre::comm::algorithms {

enum class MadeBy : std::uint8_t { Nobody, Split, Duplicate, Node, SplitLocal };
[[nodiscard]] constexpr MadeBy made_by(detail::Operation operation) noexcept {
  switch (operation) {
    case detail::Operation::Duplicate: return MadeBy::Duplicate;
    case detail::Operation::Node: return MadeBy::Node;
    default: return MadeBy::Split;
  }
}

/// Zero bytes are its initial state.
struct alignas(128) PartNote {
  std::atomic<std::uint64_t> made;     // how, and which rank of how many this is: see packed(); 0 before the first one
  std::atomic<std::uint64_t> entered;  // 2 * an operation, and 1 where nobody waits for it; 0 while it is replaced
  std::array<std::atomic<std::uint64_t>, 3> record;  // of that operation, but for its number
  std::atomic<std::uint64_t> left;                   // the last one that is over
  std::atomic<std::uint64_t> after;                  // what the first communicator had left when this one left its last
  std::atomic<std::uint64_t> threw;                  // the last one that ended by an exception
  MailNote mail;

  static constexpr std::uint64_t packed(MadeBy how, std::size_t rank, std::size_t size) noexcept {
    return static_cast<std::uint64_t>(how) | std::uint64_t{rank} << 8 | std::uint64_t{size} << 36;
  }
};

struct PartPage {
  static constexpr std::size_t count = 32;
  std::atomic<std::uint64_t> layout;  // set last: the page is in use, and by the same version of this library
  std::atomic<std::uint64_t> unseen;  // communicators for which there was no note
  std::array<PartNote, count> notes;
  // Whoever lays the page out differently is not understood, and not read.
  static constexpr std::uint64_t this_layout = 0x7061'7274'7300'0001ULL ^ (sizeof(PartNote) << 8) ^ (count << 24);
};
static_assert(sizeof(PartPage) <= core::LedgerFile::half_bytes);

/// Which notes of a process are taken. Asked when communicators are made and destroyed, from any thread.
class PartTable {
 public:
  /// Null: nobody looks on.
  explicit PartTable(std::shared_ptr<core::LedgerFile> file);
  /// In the file that the launcher named (COBRE_COMM_LEDGER). Never destroyed: static communicators come late.
  static PartTable& of_this_process();

  /// Null where all are taken, or nobody looks on.
  [[nodiscard]] PartNote* take(MadeBy how, std::size_t rank, std::size_t size);
  /// Keeps telling what was the last in it, until another communicator takes it.
  void give_back(PartNote* note) noexcept;
  [[nodiscard]] bool looked_at() const noexcept { return page_ != nullptr && !guard_.in_child(); }

 private:
  std::shared_ptr<core::LedgerFile> file_;
  PartPage* page_ = nullptr;
  std::mutex mutex_;
  std::array<bool, PartPage::count> taken_{};
  std::size_t next_ = 0;   // going round, so that what was the last in one that is gone can be told for long
  core::ForkGuard guard_;  // the file belongs to the process that was started as a rank
};

/// How many operations the first communicator has left; it may be gone, the number is not.
using FirstLeft = std::shared_ptr<const std::atomic<std::uint64_t>>;

/// A communicator's note, for as long as it lives; or none.
class NotedPart {
 public:
  NotedPart() = default;
  NotedPart(PartTable& table, MadeBy how, std::size_t rank, std::size_t size, FirstLeft first);
  NotedPart(NotedPart&& other) noexcept { *this = std::move(other); }
  NotedPart& operator=(NotedPart&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(note_, other.note_);
    std::swap(first_, other.first_);
    return *this;
  }
  ~NotedPart() {
    if (table_ != nullptr) table_->give_back(note_);
  }

  explicit operator bool() const noexcept { return note_ != nullptr; }
  [[nodiscard]] MailNote& mail() const noexcept { return note_->mail; }

  /// A reader who finds any of the new words also finds the number cleared or newer: each store is a release, each load
  /// of the reader an acquire.
  void enter(const detail::OperationRecord& record) noexcept {
    const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(record);
    note_->entered.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < note_->record.size(); ++i) note_->record[i].store(words[i], std::memory_order_release);
    note_->entered.store(2 * record.sequence + (core::is_beside_caller() ? 1 : 0), std::memory_order_release);
  }
  void leave(std::uint64_t sequence) noexcept {
    // Relaxed: of the first communicator's own thread this is exact, and of another one there is no order.
    note_->after.store(first_->load(std::memory_order_relaxed), std::memory_order_relaxed);
    note_->left.store(sequence, std::memory_order_release);
  }
  void leave_by_exception(std::uint64_t sequence) noexcept {
    note_->threw.store(sequence, std::memory_order_relaxed);
    leave(sequence);
  }

 private:
  PartTable* table_ = nullptr;  // null where there is nothing to give back
  PartNote* note_ = nullptr;
  FirstLeft first_;
};

}  // namespace cobre::comm::algorithms
