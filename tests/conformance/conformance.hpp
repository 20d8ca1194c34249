// The whole suite, for any type of communicator.
#pragma once

#include "conformance/allgatherv_cases.hpp"
#include "conformance/allreduce_cases.hpp"
#include "conformance/broadcast_cases.hpp"
#include "conformance/channel_cases.hpp"
#include "conformance/composed_cases.hpp"
#include "conformance/identity_cases.hpp"
#include "conformance/moving_cases.hpp"
#include "conformance/nonblocking_cases.hpp"
#include "conformance/reducing_cases.hpp"
#include "conformance/region_cases.hpp"
#include "conformance/sequence_cases.hpp"
#include "conformance/splitting_cases.hpp"
#include "conformance/suite.hpp"

namespace conformance {

template <class C>
Suite<C> communicator_suite(RandomOperations random_operations = ten_thousand_operations) {
  Suite<C> suite;
  identity_cases(suite);
  broadcast_cases(suite);
  allgatherv_cases(suite);
  allreduce_cases(suite);
  composed_cases(suite);
  moving_cases(suite);
  reducing_cases(suite);
  sequence_cases(suite, random_operations);
  return suite;
}

template <class C>
Suite<C> full_suite(RandomOperations random_operations = ten_thousand_operations) {
  auto suite = communicator_suite<C>(random_operations);
  region_cases(suite);
  if constexpr (cobre::comm::ChannelProvider<C> && cobre::comm::PointToPoint<C>) channel_cases(suite);
  if constexpr (cobre::comm::Splittable<C>) splitting_cases(suite);
  if constexpr (cobre::comm::NonblockingCollectives<C>) nonblocking_cases(suite);
  if constexpr (cobre::comm::PersistentCollectives<C>) persistent_cases(suite);
  return suite;
}

}  // namespace conformance
