// What a rank keeps about itself: its journal, and on whom it blames the end of the job. Where a launcher has handed it
// a memory file for that, the launcher can read it after the rank has died.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/algorithms/mail_note.hpp"
#include "comm/backends/tcp/journal.hpp"
#include "comm/core/descriptor.hpp"

namespace cobre::comm::tcp {

struct LedgerPage {
  std::atomic<std::uint64_t> layout{0};  // set last: the page is in use, and by the same version of this library
  std::atomic<std::uint64_t> ready{0};   // the last operation of the start-up, once that is over
  std::atomic<std::uint32_t> has_left{0};
  std::atomic<std::uint32_t> blamed{0};  // 1 + a rank
  Journal journal;
  algorithms::MailNote mail{};
};

/// A page in this process.
class MappedLedger {
 public:
  /// Of that memory file; empty where it is none of ours.
  [[nodiscard]] static MappedLedger of(int file) noexcept;
  /// Of this process alone. Throws AllocationFailed.
  [[nodiscard]] static MappedLedger own();

  explicit operator bool() const noexcept { return page_ != nullptr; }
  [[nodiscard]] LedgerPage& page() const noexcept { return *page_; }

 private:
  struct Unmap {
    void operator()(LedgerPage* page) const noexcept;
  };
  std::unique_ptr<LedgerPage, Unmap> page_;
};

/// The rank's own.
class Ledger {
 public:
  /// In the launcher's file, if there is one (not -1) and no other communicator of this process keeps its own there.
  explicit Ledger(int file);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger();

  [[nodiscard]] Journal& journal() noexcept { return mapped_.page().journal; }
  [[nodiscard]] const Journal& journal() const noexcept { return mapped_.page().journal; }
  [[nodiscard]] algorithms::MailNote& mail() noexcept { return mapped_.page().mail; }
  /// From now on it tells where the rank is.
  void open() noexcept;
  void note_start(std::uint64_t sequence) noexcept;
  void note_end() noexcept;
  void blame(std::size_t rank) noexcept;

 private:
  MappedLedger mapped_;
  bool shown_ = false;  // to the launcher
};

/// The launcher's view of one rank's.
class LedgerView {
 public:
  /// Makes the file. Where it cannot be had, the rank is not seen.
  LedgerView();

  [[nodiscard]] int file() const noexcept { return file_.get(); }
  /// Whether the rank keeps it.
  [[nodiscard]] bool sees() const noexcept;
  /// "in barrier", "after barrier", "before its first operation", …
  [[nodiscard]] std::string whereabouts() const;
  /// The rank with which it began, if that has been found out.
  [[nodiscard]] std::optional<std::size_t> blamed() const;

 private:
  core::Descriptor file_;
  MappedLedger mapped_;
};

}  // namespace cobre::comm::tcp
