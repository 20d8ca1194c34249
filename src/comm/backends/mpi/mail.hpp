// Messages between two ranks as MPI carries them, over a communicator of their own.
//
// A receive first finds its message and then takes it (MPI_Mprobe, MPI_Mrecv): one that does not fit must not be cut.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>
#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "comm/algorithms/self_mail.hpp"
#include "comm/algorithms/transfer_queue.hpp"
#include "comm/algorithms/unread.hpp"

namespace cobre::comm::mpi {

class Mail final : public detail::Mailbox {
 public:
  using Transfer = detail::Transfer;

  /// Collective over `world`, which is duplicated. `mpi` is null where the caller runs MPI.
  Mail(std::shared_ptr<ferrompi::Mpi> mpi, const ferrompi::Communicator& world);
  Mail(const Mail&) = delete;
  Mail& operator=(const Mail&) = delete;
  /// What nobody received is taken from MPI, and somebody is told.
  ~Mail() override;

  void start(Transfer& transfer) override;
  void finish(Transfer& transfer, std::chrono::nanoseconds timeout) override;
  [[nodiscard]] bool test(Transfer& transfer) override;
  void abandon(Transfer& transfer) noexcept override;
  void run(Transfer& transfer, std::chrono::nanoseconds timeout) override;

 private:
  enum class Wait { No, Yes };

  void require_usable(const Transfer& transfer) const;
  [[nodiscard]] bool to_self(const Transfer& transfer) const noexcept { return transfer.envelope.peer == rank(); }
  [[nodiscard]] bool others_expected(const Transfer& transfer) const noexcept;
  void serve_others(const Transfer& transfer);
  [[nodiscard]] bool advance(Transfer& transfer, Wait wait);
  [[nodiscard]] bool match_next(const detail::Envelope& envelope, Wait wait);
  void take(Transfer& receive, ferrompi::Message message);
  void keep(Transfer& receive, ferrompi::Message message);
  void give_up_send(Transfer& transfer);
  template <class Body>
  decltype(auto) translated(const Transfer& transfer, Body&& body) const;

  std::shared_ptr<ferrompi::Mpi> mpi_;  // declared first: outlives the communicator
  ferrompi::Communicator comm_;
  algorithms::SelfMail self_;
  algorithms::TransferQueue expected_;  // receives without a message, in the order in which they were posted
  algorithms::UnreadMessages kept_;     // messages that fitted into no receive yet

  /// A send that its caller gave up: MPI cannot take it back, so what it sends has to stay.
  struct Orphan {
    std::shared_ptr<std::vector<std::byte>> data;
    ferrompi::Request request;
  };
  std::list<Orphan> orphans_;
};

}  // namespace cobre::comm::mpi
