#include "secret.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "comm/core/format.hpp"

namespace cobre::command {

std::string make_secret() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  std::string secret;
  for (const unsigned char byte : bytes) secret += comm::core::format("{:02x}", byte);
  return secret;
}

SecretFile::SecretFile(const std::string& secret) {
  if (secret.empty()) return;
  file_ = comm::core::Descriptor(memfd_create("cobre-comm-secret", MFD_CLOEXEC));
  const bool written = file_ && fchmod(file_.get(), S_IRUSR | S_IWUSR) == 0 &&
                       write(file_.get(), secret.data(), secret.size()) == static_cast<ssize_t>(secret.size());
  if (!written) throw std::system_error(errno, std::generic_category(), "a file for the secret");
}

std::string SecretFile::variable() const {
  return comm::core::format("COBRE_TCP_SECRET_FILE=/proc/self/fd/{}", file_.get());
}

}  // namespace cobre::command
