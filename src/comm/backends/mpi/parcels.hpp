// Messages that are between the user and MPI. They go from list to list and are used again, so that none is allocated
// once there have been as many at a time before.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>
#include <ferrompi/message.hpp>
#include <ferrompi/request.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <optional>

namespace cobre::comm::mpi {

struct Parcel {
  std::optional<ferrompi::Request> request{};  // while MPI moves it
  std::optional<ferrompi::Message> message{};  // found, and still with MPI: there was no memory for its bytes
  std::unique_ptr<std::byte[]> copy{};         // its bytes, where they are not in the user's buffer
  detail::Envelope envelope{};
  std::size_t bytes = 0;
  std::uint64_t number = 0;  // of a message that came: later ones of its channel have larger ones
  std::list<Parcel>::iterator place{};

  /// It came, its receive was given up, and there was no memory for it.
  [[nodiscard]] bool is_lost() const noexcept { return bytes > 0 && !request && !message && copy == nullptr; }
};

class ParcelList {
 public:
  [[nodiscard]] bool empty() const noexcept { return parcels_.empty(); }
  [[nodiscard]] Parcel& first() noexcept { return parcels_.front(); }
  [[nodiscard]] auto begin() noexcept { return parcels_.begin(); }
  [[nodiscard]] auto end() noexcept { return parcels_.end(); }

  /// Throws std::bad_alloc.
  void add_new() {
    parcels_.emplace_front();
    parcels_.front().place = parcels_.begin();
  }
  void take_from(ParcelList& other, Parcel& parcel) noexcept {
    parcels_.splice(parcels_.end(), other.parcels_, parcel.place);
  }
  void take_all_from(ParcelList& other) noexcept { parcels_.splice(parcels_.end(), other.parcels_); }
  /// To where its number puts it.
  void take_in_order_from(ParcelList& other, Parcel& parcel) noexcept {
    auto later = parcels_.end();
    while (later != parcels_.begin() && std::prev(later)->number > parcel.number) --later;
    parcels_.splice(later, other.parcels_, parcel.place);
  }

  /// The first one of a channel; null where there is none.
  [[nodiscard]] Parcel* find(const detail::Envelope& channel) noexcept {
    for (Parcel& parcel : parcels_) {
      const detail::Envelope& one = parcel.envelope;
      if (one.peer == channel.peer && one.tag == channel.tag && one.realm == channel.realm) return &parcel;
    }
    return nullptr;
  }

 private:
  std::list<Parcel> parcels_;
};

}  // namespace cobre::comm::mpi
