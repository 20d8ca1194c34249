#include "comm/core/ledger_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cobre::comm::core {

std::shared_ptr<LedgerFile> map_ledger_file(int file) {
  if (file < 0) return nullptr;
  (void)fcntl(file, F_SETFD, FD_CLOEXEC);
  // A file that could shrink would end a reader or writer of the mapping by SIGBUS.
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || lseek(file, 0, SEEK_END) < static_cast<off_t>(sizeof(LedgerFile))) {
    return nullptr;
  }
  void* const address = mmap(nullptr, sizeof(LedgerFile), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) return nullptr;
  return {static_cast<LedgerFile*>(address), [](LedgerFile* mapped) { munmap(mapped, sizeof(LedgerFile)); }};
}

}  // namespace cobre::comm::core
