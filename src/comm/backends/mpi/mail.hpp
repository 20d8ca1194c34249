// Messages between two ranks as MPI carries them, over a communicator of their own.
//
// A receive first finds its message and then takes it (MPI_Improbe, MPI_Imrecv): one that does not fit must not be cut.
// From then on MPI writes into the buffer, and nothing makes it stop; where the receive is dropped, what has come goes
// back to its place in the channel. Nor can a send be taken back: one that may time out is copied before it begins.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>
#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "comm/algorithms/self_mail.hpp"
#include "comm/algorithms/transfer_queue.hpp"
#include "comm/algorithms/unread.hpp"
#include "comm/backends/mpi/parcels.hpp"
#include "comm/backends/mpi/perform.hpp"

namespace cobre::comm::mpi {

class Mail final : public detail::Mailbox {
 public:
  using Transfer = detail::Transfer;
  using Duration = std::chrono::nanoseconds;

  /// Collective over `world`, which is duplicated. `mpi` is null where the caller runs MPI. `gate` is that of the
  /// communicator whose messages these are; without a `timeout` its ranks wait for each other for ever.
  Mail(std::shared_ptr<ferrompi::Mpi> mpi, const ferrompi::Communicator& world, std::shared_ptr<const Gate> gate,
       std::optional<Duration> timeout, Duration warn_after = std::chrono::seconds(10));
  Mail(const Mail&) = delete;
  Mail& operator=(const Mail&) = delete;
  /// What nobody received is taken from MPI, and somebody is told.
  ~Mail() override;

  void start(Transfer& transfer) override;
  void finish(Transfer& transfer, Duration timeout) override;
  [[nodiscard]] bool test(Transfer& transfer) override;
  void abandon(Transfer& transfer) noexcept override;
  void run(Transfer& transfer, Duration timeout) override;
  [[nodiscard]] Duration configured_timeout() const noexcept override { return timeout_; }

 private:
  void require_usable(const Transfer& transfer) const;
  [[nodiscard]] bool to_self(const Transfer& transfer) const noexcept { return transfer.envelope.peer == rank(); }
  [[nodiscard]] Duration patience(Duration timeout) const noexcept {
    return timeout == detail::as_configured ? timeout_ : timeout;
  }
  /// One that is not in use. There is one: memory for it is had before anything is taken from MPI.
  Parcel& next_parcel(const Transfer& transfer);
  void hold(Transfer& transfer, ParcelList& from, Parcel& parcel) noexcept;
  void release(Transfer& transfer) noexcept;

  void begin(Transfer& transfer);
  void await(Transfer& transfer, Duration timeout);
  void send_off(Transfer& transfer);
  void send_directly(Transfer& transfer);
  void receive_directly(Transfer& transfer);
  void serve_others(const Transfer& transfer);
  [[nodiscard]] bool advance(Transfer& transfer);
  [[nodiscard]] bool match_next(const detail::Envelope& envelope);
  [[nodiscard]] Parcel* find_message(const Transfer& receive);
  Parcel& keep(const detail::Envelope& envelope, ferrompi::Message message) noexcept;
  static void fetch(Parcel& parcel);
  template <class Look>
  void wait_until(const Transfer& transfer, Duration timeout, Look&& is_over) const;
  void warn_of_waiting(const Transfer& transfer, Duration waited) const;

  void take_back(Parcel& parcel, const Transfer& receive) noexcept;
  void let_go(Parcel& parcel, Transfer& send) noexcept;
  [[nodiscard]] bool send_out(Transfer& send) noexcept;
  void tell_of_giving_up(const Transfer& send, bool goes_on) const noexcept;
  void sweep() noexcept;
  void take_unread(algorithms::UnreadMessages& unread);
  void leave_behind() noexcept;
  void tell_of_leaving_behind(const Parcel& first, std::size_t messages) const noexcept;
  template <class Body>
  decltype(auto) translated(const Transfer& transfer, Body&& body) const;

  std::shared_ptr<ferrompi::Mpi> mpi_;  // declared first: outlives the communicator
  ferrompi::Communicator comm_;
  std::shared_ptr<const Gate> gate_;
  Duration timeout_;
  Duration warn_after_;
  algorithms::SelfMail self_;
  algorithms::TransferQueue expected_;  // receives without a message, in the order in which they were posted
  std::uint64_t found_ = 0;             // messages
  ParcelList spare_;
  ParcelList held_;   // by transfers under way
  ParcelList kept_;   // of messages that came and that no receive has, in the order in which they were found
  ParcelList loose_;  // that nobody waits for, and MPI still moves
  std::atomic<bool> busy_{false};  // only looked at in debug builds
};

}  // namespace cobre::comm::mpi
