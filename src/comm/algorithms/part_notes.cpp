#include "comm/algorithms/part_notes.hpp"

#include <new>

#include "comm/core/environment.hpp"
#include "comm/core/inherited.hpp"

namespace cobre::comm::algorithms {

PartTable::PartTable(std::shared_ptr<core::LedgerFile> file) : file_(std::move(file)) {
  if (file_ == nullptr) return;
  // A rank may be a script that runs one program after another: what the last one left is not this one's.
  page_ = new (file_->parts.data()) PartPage();
  page_->layout.store(PartPage::this_layout, std::memory_order_release);
}

PartTable& PartTable::of_this_process() {
  static auto* const table = new PartTable(core::map_ledger_file(
      core::inherited_descriptor(core::EnvironmentReader("launcher").text("COBRE_COMM_LEDGER").value_or(""))));
  return *table;
}

PartNote* PartTable::take(MadeBy how, std::size_t rank, std::size_t size) {
  const std::lock_guard lock(mutex_);
  for (std::size_t tried = 0; tried < PartPage::count; ++tried) {
    const std::size_t chosen = (next_ + tried) % PartPage::count;
    if (taken_[chosen]) continue;
    taken_[chosen] = true;
    next_ = chosen + 1;
    PartNote& note = page_->notes[chosen];
    note.made.store(0, std::memory_order_release);
    for (auto* const word : {&note.entered, &note.left, &note.after, &note.threw, &note.mail.peer}) {
      word->store(0, std::memory_order_release);
    }
    note.made.store(PartNote::packed(how, rank, size), std::memory_order_release);
    return &note;
  }
  page_->unseen.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void PartTable::give_back(PartNote* note) noexcept {
  if (!looked_at()) return;
  const std::lock_guard lock(mutex_);
  if (note == nullptr) {
    page_->unseen.fetch_sub(1, std::memory_order_relaxed);
  } else {
    note->left.store(note->entered.load(std::memory_order_relaxed) / 2, std::memory_order_release);
    note->mail.peer.store(0, std::memory_order_release);
    taken_[static_cast<std::size_t>(note - page_->notes.data())] = false;
  }
}

NotedPart::NotedPart(PartTable& table, MadeBy how, std::size_t rank, std::size_t size, FirstLeft first)
    : first_(std::move(first)) {
  if (!table.looked_at()) return;
  table_ = &table;
  note_ = table.take(how, rank, size);
}

}  // namespace cobre::comm::algorithms
