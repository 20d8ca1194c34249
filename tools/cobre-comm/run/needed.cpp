#include "needed.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "comm/core/descriptor.hpp"

namespace cobre::command {
namespace {

// Nothing in the file is trusted to be where the file says.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    T value{};
    const ssize_t count = pread(file_.get(), &value, sizeof value, static_cast<off_t>(offset));
    return count == static_cast<ssize_t>(sizeof value) ? std::optional(value) : std::nullopt;
  }

  /// Up to its zero; long ones are cut.
  [[nodiscard]] std::string text_at(std::uint64_t offset) const {
    std::string text(256, '\0');
    const ssize_t count = pread(file_.get(), text.data(), text.size(), static_cast<off_t>(offset));
    return {text.c_str(), strnlen(text.c_str(), count > 0 ? static_cast<std::size_t>(count) : 0)};
  }

 private:
  comm::core::Descriptor file_;
};

}  // namespace

std::vector<std::string> needed_libraries(const std::string& program) {
  const ElfFile file(program);
  const auto head = file.at<Elf64_Ehdr>(0);
  const bool ours = head && std::memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
                    head->e_shentsize == sizeof(Elf64_Shdr);
  if (!ours) return {};
  const auto section = [&](std::uint64_t i) { return file.at<Elf64_Shdr>(head->e_shoff + i * sizeof(Elf64_Shdr)); };
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < head->e_shnum; ++i) {
    const auto dynamic = section(i);
    if (!dynamic || dynamic->sh_type != SHT_DYNAMIC) continue;
    const auto strings = section(dynamic->sh_link);
    if (!strings) continue;
    for (std::uint64_t at = 0; at < dynamic->sh_size; at += sizeof(Elf64_Dyn)) {
      const auto entry = file.at<Elf64_Dyn>(dynamic->sh_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) names.push_back(file.text_at(strings->sh_offset + entry->d_un.d_val));
    }
  }
  return names;
}

}  // namespace cobre::command
