// What a rank keeps about itself: its journal, and on whom it blames the end of the job. Where a launcher has handed it
// a memory file for that, the launcher can read it after the rank has died.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "comm/algorithms/mail_note.hpp"
#include "comm/algorithms/whereabouts.hpp"
#include "comm/backends/tcp/journal.hpp"
#include "comm/core/ledger_file.hpp"

namespace cobre::comm::tcp {

struct LedgerPage {
  std::atomic<std::uint64_t> layout{0};  // set last: the page is in use, and by the same version of this library
  std::atomic<std::uint64_t> ready{0};   // the last operation of the start-up, once that is over
  std::atomic<std::uint32_t> has_left{0};
  std::atomic<std::uint32_t> blamed{0};  // 1 + a rank
  Journal journal;
  algorithms::MailNote mail{};
};
static_assert(sizeof(LedgerPage) <= core::LedgerFile::half_bytes);

/// The rank's own.
class Ledger {
 public:
  /// In the launcher's file, if there is one (not -1) and no other communicator of this process keeps its own there.
  explicit Ledger(int file);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger();

  [[nodiscard]] Journal& journal() noexcept { return page_->journal; }
  [[nodiscard]] const Journal& journal() const noexcept { return page_->journal; }
  [[nodiscard]] algorithms::MailNote& mail() noexcept { return page_->mail; }
  /// For whoever may live longer than this.
  [[nodiscard]] std::shared_ptr<const Journal> share_journal() const noexcept { return {page_, &page_->journal}; }
  /// How many operations are over; the page stays for as long as anybody has this.
  [[nodiscard]] algorithms::FirstLeft left() const noexcept { return {page_, &page_->journal.left_word()}; }
  /// From now on it tells where the rank is.
  void open() noexcept;
  void note_start(std::uint64_t sequence) noexcept;
  void note_end() noexcept;
  /// The first one counts. From any thread.
  void blame(std::size_t rank) noexcept;

 private:
  std::shared_ptr<LedgerPage> page_;
  bool shown_ = false;  // to the launcher
};

/// The launcher's view of one rank's.
class LedgerView {
 public:
  explicit LedgerView(const core::LedgerFile& file) noexcept : page_(reinterpret_cast<const LedgerPage&>(file.first)) {}

  /// Whether the rank keeps it.
  [[nodiscard]] bool sees() const noexcept;
  [[nodiscard]] algorithms::Sighting sighting() const;
  /// The rank with which it began, if that has been found out and there is such a one among so many.
  [[nodiscard]] std::optional<std::size_t> blamed(std::size_t ranks) const;

 private:
  const LedgerPage& page_;
};

}  // namespace cobre::comm::tcp
