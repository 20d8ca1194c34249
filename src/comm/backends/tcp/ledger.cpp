#include "comm/backends/tcp/ledger.hpp"

#include <new>
#include <string>

#include "comm/core/describe_operation.hpp"

namespace cobre::comm::tcp {
namespace {

// Whoever lays the page out differently is not understood, and not read.
constexpr std::uint64_t this_layout = 0x6c65'6467'6572'0001ULL ^ (sizeof(LedgerPage) << 16);

// Whether a communicator of this process keeps its ledger in the launcher's file: two would mix their journals. Orders
// nothing: the page is made anew by whoever gets it.
std::atomic<bool> is_kept{false};

}  // namespace

Ledger::Ledger(int file) {
  if (file >= 0) {
    const auto mapped = core::map_ledger_file(file);
    shown_ = !is_kept.exchange(true, std::memory_order_relaxed);
    if (shown_ && mapped != nullptr) page_ = {mapped, new (mapped->first.data()) LedgerPage};
  }
  if (page_ == nullptr) page_ = std::make_shared<LedgerPage>();
}

Ledger::~Ledger() {
  if (shown_) is_kept.store(false, std::memory_order_relaxed);
}

// Each of these is read after the rank has gone, or shown as it is; the release keeps them in order.
void Ledger::open() noexcept {
  page_->layout.store(this_layout, std::memory_order_release);
}

void Ledger::note_start(std::uint64_t sequence) noexcept {
  page_->ready.store(sequence, std::memory_order_release);
}

void Ledger::note_end() noexcept {
  page_->has_left.store(1, std::memory_order_release);
}

void Ledger::blame(std::size_t rank) noexcept {
  std::uint32_t nobody = 0;
  page_->blamed.compare_exchange_strong(nobody, static_cast<std::uint32_t>(rank + 1), std::memory_order_release,
                                        std::memory_order_relaxed);
}

bool LedgerView::sees() const noexcept {
  return page_.layout.load(std::memory_order_acquire) == this_layout;
}

algorithms::Sighting LedgerView::sighting() const {
  using Kind = algorithms::Sighting::Kind;
  if (!sees()) return {};
  const std::uint64_t ready = page_.ready.load(std::memory_order_acquire);
  const std::uint64_t left = page_.journal.left();
  const std::uint64_t entered = page_.journal.entered();
  const auto named = [&](std::uint64_t sequence) -> std::string {
    const auto record = page_.journal.record(sequence);
    // Memory that a dying rank has written all over must not take the launcher with it.
    if (!record || record->operation > detail::last_operation) return "an operation";
    return core::describe(*record);
  };
  if (ready == 0) return {Kind::Gathering, "while the job gathered"};
  if (page_.has_left.load(std::memory_order_acquire) != 0) return {Kind::Gone, "after it had left the job", left};
  if (const std::string message = algorithms::words_of(page_.mail); !message.empty()) {
    return {Kind::In, "in " + message, left};
  }
  if (entered > left) return {Kind::In, "in " + named(entered), left};
  return {Kind::Between, left <= ready ? "before its first operation" : "after " + named(left), left};
}

std::optional<std::size_t> LedgerView::blamed(std::size_t ranks) const {
  if (!sees()) return std::nullopt;
  const std::uint32_t blamed = page_.blamed.load(std::memory_order_acquire);
  // It may have been written all over, as above.
  if (blamed == 0 || blamed > ranks) return std::nullopt;
  return blamed - 1;
}

}  // namespace cobre::comm::tcp
