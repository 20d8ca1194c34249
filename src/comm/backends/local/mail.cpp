// Messages of the only rank to itself.

#include <cobre/comm/local.hpp>

#include "comm/algorithms/self_mail.hpp"

namespace cobre::comm {
namespace {

const std::shared_ptr<detail::Mailbox>& mailbox_of_thread() {
  thread_local const std::shared_ptr<detail::Mailbox> mailbox =
      std::make_shared<algorithms::SelfMail>(0, 1, algorithms::NoPipes());
  return mailbox;
}

}  // namespace

detail::Mailbox& LocalBackend::mailbox() const {
  return *mailbox_of_thread();
}

std::shared_ptr<detail::Mailbox> LocalBackend::share_mailbox() const {
  return mailbox_of_thread();
}

}  // namespace cobre::comm
