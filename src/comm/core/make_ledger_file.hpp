// Making the file of ledger_file.hpp is for launchers. The library itself has no use for it: one that has local alone
// needs no memory files.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "comm/core/descriptor.hpp"
#include "comm/core/ledger_file.hpp"

namespace cobre::comm::core {

/// Empty where the kernel gives none.
[[nodiscard]] inline Descriptor make_ledger_file() noexcept {
  Descriptor file(memfd_create("cobre-comm-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool made = file && ftruncate(file.get(), sizeof(LedgerFile)) == 0 &&
                    fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
  return made ? std::move(file) : Descriptor();
}

}  // namespace cobre::comm::core
