#include "comm/backends/tcp/ledger.hpp"

#include <cobre/comm/errors.hpp>

#include <fcntl.h>
#include <sys/mman.h>

#include <new>

#include "comm/core/describe_operation.hpp"

namespace cobre::comm::tcp {
namespace {

// Whoever lays the page out differently is not understood, and not read.
constexpr std::uint64_t this_layout = 0x6c65'6467'6572'0001ULL ^ (sizeof(LedgerPage) << 16);

// Whether a communicator of this process keeps its ledger in the launcher's file: two would mix their journals. Orders
// nothing: the page is made anew by whoever gets it.
std::atomic<bool> is_kept{false};

LedgerPage* map(int file) noexcept {
  const int kind = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const address = mmap(nullptr, sizeof(LedgerPage), PROT_READ | PROT_WRITE, kind, file, 0);
  return address == MAP_FAILED ? nullptr : static_cast<LedgerPage*>(address);
}

}  // namespace

void MappedLedger::Unmap::operator()(LedgerPage* page) const noexcept {
  munmap(page, sizeof(LedgerPage));
}

MappedLedger MappedLedger::of(int file) noexcept {
  MappedLedger mapped;
  if (file < 0) return mapped;
  // A file that could shrink would end a reader or writer of the mapping by SIGBUS.
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || lseek(file, 0, SEEK_END) < static_cast<off_t>(sizeof(LedgerPage))) {
    return mapped;
  }
  mapped.page_.reset(map(file));
  return mapped;
}

MappedLedger MappedLedger::own() {
  MappedLedger mapped;
  mapped.page_.reset(map(-1));
  if (!mapped) throw AllocationFailed({"connect", 0, 0}, sizeof(LedgerPage), "no address space");
  return mapped;
}

Ledger::Ledger(int file) {
  if (file >= 0) {
    (void)fcntl(file, F_SETFD, FD_CLOEXEC);  // programs that this rank starts have no part in the job
    shown_ = !is_kept.exchange(true, std::memory_order_relaxed);
    if (shown_) mapped_ = MappedLedger::of(file);
  }
  if (!mapped_) mapped_ = MappedLedger::own();
  new (&mapped_.page()) LedgerPage;
}

Ledger::~Ledger() {
  if (shown_) is_kept.store(false, std::memory_order_relaxed);
}

// Each of these is read after the rank has gone, or shown as it is; the release keeps them in order.
void Ledger::open() noexcept {
  mapped_.page().layout.store(this_layout, std::memory_order_release);
}

void Ledger::note_start(std::uint64_t sequence) noexcept {
  mapped_.page().ready.store(sequence, std::memory_order_release);
}

void Ledger::note_end() noexcept {
  mapped_.page().has_left.store(1, std::memory_order_release);
}

void Ledger::blame(std::size_t rank) noexcept {
  mapped_.page().blamed.store(static_cast<std::uint32_t>(rank + 1), std::memory_order_release);
}

LedgerView::LedgerView() : file_(memfd_create("cobre-comm-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  const bool made = file_ && ftruncate(file_.get(), sizeof(LedgerPage)) == 0 &&
                    fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
  if (made) mapped_ = MappedLedger::of(file_.get());
  if (!mapped_) file_ = {};
}

bool LedgerView::sees() const noexcept {
  return mapped_ && mapped_.page().layout.load(std::memory_order_acquire) == this_layout;
}

std::string LedgerView::whereabouts() const {
  if (!sees()) return "";
  const LedgerPage& page = mapped_.page();
  const std::uint64_t ready = page.ready.load(std::memory_order_acquire);
  const std::uint64_t left = page.journal.left();
  const std::uint64_t entered = page.journal.entered();
  const auto named = [&](std::uint64_t sequence) -> std::string {
    const auto record = page.journal.record(sequence);
    // Memory that a dying rank has written all over must not take the launcher with it.
    if (!record || record->operation > detail::last_operation) return "an operation";
    return core::describe(*record);
  };
  if (ready == 0) return "while the job gathered";
  if (page.has_left.load(std::memory_order_acquire) != 0) return "after it had left the job";
  if (const std::string message = algorithms::words_of(page.mail); !message.empty()) return "in " + message;
  if (entered > left) return "in " + named(entered);
  return left <= ready ? "before its first operation" : "after " + named(left);
}

std::optional<std::size_t> LedgerView::blamed() const {
  if (!sees()) return std::nullopt;
  const std::uint32_t blamed = mapped_.page().blamed.load(std::memory_order_acquire);
  if (blamed == 0) return std::nullopt;
  return blamed - 1;
}

}  // namespace cobre::comm::tcp
