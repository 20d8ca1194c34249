// What processes of one user say to each other before they share memory, to the lookout of an MPI job, and what a
// launcher reads of ranks that have died, fed with whatever the fuzzer likes: another process of that user may say
// anything. The readers are those of the library, at sockets as it opens them.

#include <cobre/comm/errors.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "comm/algorithms/whereabouts.hpp"
#include "comm/backends/shm/memory.hpp"
#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#include "comm/backends/shm/segment.hpp"
#include "comm/backends/shm/witness.hpp"
#include "comm/backends/tcp/ledger.hpp"
#include "comm/core/make_ledger_file.hpp"
#include "input.hpp"
#include "shm_lookout.hpp"
#include "shm_parsers.hpp"
#include "shm_saying.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::shm;
using namespace std::chrono_literals;
using fuzz::changed;
using fuzz::group_size;
using fuzz::is_readable;
using fuzz::say;
using fuzz::take_front;
using fuzz::with_more;

constexpr std::size_t page = 4096;

ShmConfig config_of(std::size_t rank) {
  ShmConfig config;
  config.name = "fuzz of process " + std::to_string(getpid());
  config.rank = rank;
  config.size = group_size;
  config.connect_timeout = 4s;
  config.segment_bytes = smallest_segment(group_size);
  return config;
}

// As an endpoint does, which goes by what stands there without asking again.
void use(const Gathering& gathering) {
  if (gathering.peers.size() != group_size) __builtin_trap();
  (void)gathering.peers.dead();
  const Mapping& segment = gathering.segment;
  const Agreement agreement = *reinterpret_cast<const Agreement*>(segment.data());
  auto& channel = *reinterpret_cast<ChannelBlock*>(segment.data() + channel_offset);
  channel.rank(group_size - 1).records.back().number.store(1, std::memory_order_relaxed);
  for (const std::size_t end :
       {agreement.mail_offset + agreement.pipe_bytes, agreement.buffer_offset + group_size * agreement.buffer_bytes}) {
    if (end > segment.bytes()) __builtin_trap();
    segment.data()[end - 1] = std::byte{1};
  }
}

// Until something can be read, if only the end.
void await_word(const core::Descriptor& socket) {
  pollfd entry{.fd = socket.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do ready = poll(&entry, 1, 4000);
  while (ready < 0 && errno == EINTR);  // the fuzzer's own clock
  if (ready <= 0) __builtin_trap();
}

// Goes to a door that is still to open, unless it never will.
core::Descriptor go_to_door(const std::string& name, const std::atomic<bool>& over) {
  while (!over) {
    core::Descriptor link = open_socket();
    if (connect_to(link, name) == 0) return link;
    std::this_thread::yield();
  }
  return {};
}

// Rank 0, to whom the fuzzer's visitors come, and then those for whom it waits.
void coordinate_visitors(std::span<const std::byte> bytes) {
  const ShmConfig config = config_of(0);
  std::vector<fuzz::Visit> visits;
  while (!bytes.empty() && visits.size() < fuzz::most_visits) visits.push_back(take_front<fuzz::Visit>(bytes));
  for (std::size_t rank = 1; rank < group_size; ++rank) visits.resize(visits.size() + 1);

  std::atomic<bool> over = false;
  std::thread visitors([&] {
    const core::Descriptor process = process_to_watch();
    const std::string name = socket_name(config.name);
    std::vector<core::Descriptor> links;
    for (std::size_t i = 0; i < visits.size(); ++i) {
      const bool honest = i + group_size > visits.size();
      const std::size_t rank = honest ? i + group_size - visits.size() : 1 + i % (group_size - 1);
      core::Descriptor link = go_to_door(name, over);
      if (!link) break;
      say(link, changed(hello_of(config_of(rank)), visits[i].change), visits[i].cut,
          with_more(process.get(), visits[i].more_descriptors));
      if (visits[i].leaves % 2 == 0) {
        links.push_back(std::move(link));
      } else if (static_cast<fuzz::Cut>(visits[i].cut % fuzz::cuts) != fuzz::Cut::NothingAtAll) {
        await_word(link);  // one that leaves before it was heard is nobody to be missed
      }
    }
    while (!over) std::this_thread::sleep_for(100us);
  });
  try {
    use(coordinate(config, {}));
  } catch (const CommError&) {
  } catch (const BackendError&) {
  }
  over = true;
  visitors.join();
}

core::Descriptor segment_of(const Agreement& agreement, const fuzz::Answer& answer) {
  const Where where{"attach", 0, group_size};
  core::Descriptor memory = create_memory(where, agreement.segment_bytes);
  const Mapping mapping(where, memory, agreement.segment_bytes, Access::ReadWrite);
  const auto first = changed(agreement, answer.agreement);
  std::memcpy(mapping.data(), first.data(), first.size());
  return memory;
}

void give_answer(const core::Descriptor& link, const fuzz::Answer& answer, int process) {
  using fuzz::Handed;
  const Agreement agreement = plan_segment(config_of(0), 1, false);
  const bool welcomes = answer.welcomes % 2 != 0;
  const auto handed = static_cast<Handed>(answer.handed % fuzz::handed_count);
  Reply reply;
  reply.kind = welcomes ? ReplyKind::Welcome : ReplyKind::Accepted;
  reply.bytes = welcomes ? agreement.segment_bytes : 0;
  reply.process_of = {0, Reply::here, 0};
  core::Descriptor memory;
  std::vector<int> descriptors;
  switch (handed) {
    case Handed::WhatBelongsToIt:
      if (welcomes) memory = segment_of(agreement, answer);
      if (welcomes) descriptors = {memory.get(), process};
      break;
    case Handed::Nothing: break;
    case Handed::SegmentAlone:
      memory = segment_of(agreement, answer);
      descriptors = {memory.get()};
      break;
    case Handed::NoMemoryFile:
      memory = core::Descriptor(eventfd(0, EFD_CLOEXEC));
      descriptors = {memory.get(), process};
      reply.bytes = 0;
      break;
    case Handed::AnotherSize:
      reply.bytes = answer.pages * page / 2;
      memory = core::Descriptor(memfd_create("fuzz", MFD_CLOEXEC));
      if (ftruncate(memory.get(), static_cast<off_t>(reply.bytes)) != 0) __builtin_trap();
      if (const auto first = changed(agreement, answer.agreement); reply.bytes >= first.size()) {
        (void)!pwrite(memory.get(), first.data(), first.size(), 0);
      }
      descriptors = {memory.get(), process};
      break;
  }
  say(link, changed(reply, answer.change), answer.cut, descriptors);
}

// Rank 1, whose rank 0 is the fuzzer's.
void join_group(std::span<const std::byte> bytes) {
  const ShmConfig config = config_of(1);
  core::Descriptor listener = open_socket();
  if (bind_to(listener, socket_name(config.name)) != 0 || listen(listener.get(), 1) != 0) __builtin_trap();
  std::atomic<bool> gone = false;
  std::thread rank_0([&] {
    const core::Descriptor process = process_to_watch();
    await_word(listener);
    core::Descriptor link(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!link) __builtin_trap();
    await_word(link);
    Hello hello;
    std::vector<core::Descriptor> visitor;
    if (receive_message(link, hello, visitor) != cobre::comm::shm::Received::Message) __builtin_trap();
    while (!bytes.empty()) give_answer(link, take_front<fuzz::Answer>(bytes), process.get());
    // Only now is it known that nobody answers: what was said before is heard first.
    listener = {};
    link = {};
    gone = true;
  });
  try {
    use(join(config, [&] {
      if (gone)
        throw PeerFailed({"attach", 1, group_size}, {.rank = 0, .host = {}, .pid = {}, .signal = {}, .exit_code = {}});
    }));
  } catch (const PeerFailed& error) {
    if (error.rank() >= group_size || !is_readable(error.what())) __builtin_trap();
  } catch (const CommError& error) {
    if (!is_readable(error.what())) __builtin_trap();
  } catch (const BackendError& error) {
    if (!is_readable(error.what())) __builtin_trap();
  }
  rank_0.join();
}

// Memory as ranks leave it that have written all over it: what a launcher looks at, from the input as far as it goes.
core::Descriptor painted(std::size_t bytes, std::span<const std::byte> paint) {
  core::Descriptor memory(memfd_create("fuzz", MFD_CLOEXEC));
  if (ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) __builtin_trap();
  fuzz::painted_places([&](std::size_t offset, std::size_t count) {
    count = std::min(count, paint.size());
    if (count > 0) (void)!pwrite(memory.get(), paint.data(), count, static_cast<off_t>(channel_offset + offset));
    paint = paint.subspan(count);
  });
  return memory;
}

// A launcher that the fuzzer lets look on.
void look_on(std::span<const std::byte> bytes) {
  const auto glimpse = take_front<fuzz::Glimpse>(bytes);
  std::array<int, 2> honest{};
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, honest.data()) != 0) __builtin_trap();
  const core::Descriptor group(honest[0]);
  const core::Descriptor overheard(honest[1]);
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) __builtin_trap();
  const core::Descriptor near(ends[0]);
  const core::Descriptor far(ends[1]);
  const std::size_t size = channel_offset + ChannelBlock::bytes(group_size);
  const core::Descriptor memory = painted(size, bytes);
  admit_witness(group.get(), memory, size, group_size);
  std::array<std::uint8_t, sizeof glimpse.change> view{};
  if (recv(overheard.get(), view.data(), view.size(), MSG_TRUNC) != static_cast<ssize_t>(view.size())) __builtin_trap();
  say(far, changed(view, glimpse.change), glimpse.cut, with_more(memory.get(), glimpse.more_descriptors));
  const auto witness = Witness::receive(near);
  if (!witness) return;
  for (std::size_t rank = 0; rank < witness->ranks(); ++rank) {
    if (!is_readable(witness->sighting(rank).words)) __builtin_trap();
  }
  if (witness->first_to_fail().value_or(0) >= witness->ranks()) __builtin_trap();
}

// A rank in a message, in a part and beside it, as its launcher would find it.
core::LedgerFile honest_ledger() {
  using algorithms::MadeBy;
  using algorithms::PartNote;
  const core::Descriptor file = core::make_ledger_file();
  const auto mapped = core::map_ledger_file(file.get());
  if (mapped == nullptr) __builtin_trap();
  const auto operation = [](std::uint64_t sequence) {
    return detail::OperationRecord{.operation = detail::Operation::Reduce,
                                   .reduction = static_cast<std::uint8_t>(ReduceOp::Sum),
                                   .type = ElementType::Double,
                                   .element_size = 8,
                                   .count = 7,
                                   .root = 1,
                                   .sequence = sequence};
  };
  tcp::Ledger ledger(file.get());
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) ledger.journal().enter(operation(sequence));
  ledger.journal().leave(2);
  ledger.open();
  ledger.note_start(1);
  ledger.blame(2);
  auto& parts = reinterpret_cast<algorithms::PartPage&>(mapped->parts);
  parts.layout = algorithms::PartPage::this_layout;
  for (const std::size_t number : {0U, 1U}) {
    PartNote& part = parts.notes.at(number);
    part.made = PartNote::packed(number == 0 ? MadeBy::Split : MadeBy::Duplicate, 1, 2);
    const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(operation(2));
    for (std::size_t i = 0; i < part.record.size(); ++i) part.record.at(i) = words.at(i);
    part.entered = 2 * 2 + number;
    part.left = 1;
  }
  core::LedgerFile copy{};
  std::memcpy(&copy, mapped.get(), sizeof copy);
  return copy;
}

// A launcher whose rank has died, and has written over its ledger what is not zero here.
void look_into_ledger(std::span<const std::byte> bytes) {
  static const core::LedgerFile honest = honest_ledger();
  core::LedgerFile file = honest;
  auto* const begin = reinterpret_cast<std::byte*>(&file);
  fuzz::places_in_ledger([&](std::size_t offset, std::size_t count) {
    count = std::min(count, bytes.size());
    for (std::size_t i = 0; i < count; ++i) begin[offset + i] ^= bytes[i];
    bytes = bytes.subspan(count);
  });
  const tcp::LedgerView view(file);
  const algorithms::Sighting sighting = view.sighting();
  if (view.sees() != is_readable(sighting.words)) __builtin_trap();
  const std::string words = algorithms::whereabouts(sighting, file);
  if (!words.empty() && !is_readable(words)) __builtin_trap();
  if (words.empty() && !sighting.words.empty()) __builtin_trap();
  if (view.blamed(group_size).value_or(0) >= group_size) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  switch (static_cast<fuzz::Reader>(data[0] % fuzz::reader_count)) {
    case fuzz::Reader::Coordinator: coordinate_visitors(bytes); break;
    case fuzz::Reader::Joiner: join_group(bytes); break;
    case fuzz::Reader::Witness: look_on(bytes); break;
    case fuzz::Reader::Launcher: look_into_ledger(bytes); break;
    case fuzz::Reader::Lookout: fuzz::call_lookout(bytes); break;
  }
  return 0;
}
