#include "checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "case.hpp"
#include "cuts.hpp"

namespace sddp {
namespace {

constexpr std::array<char, 8> magic{'S', 'D', 'D', 'P', 'c', 'u', 't', '1'};

struct Header {
  std::array<char, 8> magic;
  std::uint64_t fingerprint;
  std::uint64_t iterations;
  std::uint64_t checksum;  // of all that follows
};

/// FNV-1a over 64-bit words: finds a torn or altered file; it is no seal against anybody.
class Checksum {
 public:
  template <class T>
  void add(std::span<const T> values) {
    static_assert(sizeof(T) % 8 == 0);
    for (const T& value : values) {
      std::array<std::uint64_t, sizeof(T) / 8> words;
      std::memcpy(words.data(), &value, sizeof value);
      for (const std::uint64_t word : words) sum_ = (sum_ ^ word) * 0x100000001b3U;
    }
  }
  [[nodiscard]] std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xcbf29ce484222325U;
};

std::uint64_t checksum_of(const Checkpoint& checkpoint) {
  Checksum sum;
  sum.add(std::span(checkpoint.trace));
  sum.add(std::span(checkpoint.cuts));
  sum.add(std::span(checkpoint.states));
  return sum.value();
}

class File {
 public:
  File(const std::filesystem::path& path, int flags)
      : path_(path), descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail("cannot be opened");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(descriptor_); }

  template <class T>
  void write(std::span<const T> values) const {
    const auto bytes = std::as_bytes(values);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t written = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot be written");
      done += static_cast<std::size_t>(written);
    }
  }
  void flush() const {
    if (fsync(descriptor_) != 0) fail("cannot be flushed");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw std::system_error(errno, std::generic_category(), path_.string() + ": " + what);
  }
  std::filesystem::path path_;
  int descriptor_;
};

template <class T>
std::vector<T> read(std::ifstream& stream, std::size_t count) {
  std::vector<T> values(count);
  stream.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return values;
}

}  // namespace

std::uint64_t fingerprint(const System& system, bool select_cuts) {
  Dimensions d = system.dimensions();
  d.iterations = 0;
  Checksum sum;
  sum.add(std::span<const std::uint64_t>(std::array<std::uint64_t, 8>{d.stages, d.hydros, d.thermals, d.order,
                                                                      d.scenarios, d.openings, d.seed, select_cuts}));
  sum.add(std::span<const double>(std::array{d.deficit_cost, d.discount, d.correlation}));
  for (std::size_t h = 0; h < d.hydros; ++h) {
    sum.add(std::span<const std::uint64_t>(std::array<std::uint64_t, 1>{system.downstream(h)}));
  }
  for (const auto part :
       {system.storage_max, system.storage_initial, system.turbine_max, system.productivity, system.variation,
        system.coefficient, system.history, system.base_inflow, system.demand, system.capacity, system.cost}) {
    sum.add(part);
  }
  return sum.value();
}

void write_checkpoint(const std::filesystem::path& file, std::uint64_t fingerprint, const Checkpoint& checkpoint) {
  std::filesystem::path beside = file;
  beside += ".new";
  {
    const File output(beside, O_WRONLY | O_CREAT | O_TRUNC);
    const Header header{magic, fingerprint, checkpoint.trace.size(), checksum_of(checkpoint)};
    output.write(std::span(&header, 1));
    output.write(std::span(checkpoint.trace));
    output.write(std::span(checkpoint.cuts));
    output.write(std::span(checkpoint.states));
    output.flush();
  }
  std::filesystem::rename(beside, file);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  File(folder, O_RDONLY | O_DIRECTORY).flush();  // the name lasts, too
}

Checkpoint read_checkpoint(const std::filesystem::path& file, std::uint64_t fingerprint, const Dimensions& d) {
  const auto refuse = [&](const std::string& why) { throw InputError(file.string() + ": " + why); };
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse("cannot be read");
  const Header header = read<Header>(stream, 1).front();
  if (!stream || header.magic != magic) refuse("is not a checkpoint");
  if (header.fingerprint != fingerprint) refuse("is the checkpoint of another case, or of other options");
  if (header.iterations > d.iterations) {
    refuse("holds " + std::to_string(header.iterations) + " iterations, the case wants only " +
           std::to_string(d.iterations));
  }
  const std::size_t slots = (d.stages - 1) * header.iterations * d.scenarios;
  Checkpoint checkpoint;
  checkpoint.trace = read<Iteration>(stream, header.iterations);
  checkpoint.cuts = read<double>(stream, slots * Cut::width(d));
  checkpoint.states = read<double>(stream, slots * d.state());
  if (!stream || stream.peek() != std::ifstream::traits_type::eof() || checksum_of(checkpoint) != header.checksum) {
    refuse("is damaged: its checksum does not fit");
  }
  return checkpoint;
}

}  // namespace sddp
