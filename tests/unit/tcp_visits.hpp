// What somebody does at the doors of a job who need not belong to it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/rendezvous.hpp"
#include "comm/backends/tcp/sockets.hpp"

namespace test {

inline cobre::comm::tcp::Address coordinator_address(const cobre::comm::TcpConfig& config) {
  return cobre::comm::tcp::resolve(config.coordinator, config.port).addresses.at(0);
}

/// Connects as soon as somebody listens.
inline cobre::comm::core::Descriptor knock(const cobre::comm::tcp::Address& address) {
  using namespace std::chrono_literals;
  for (int attempt = 0; attempt < 500; ++attempt) {
    auto opened = cobre::comm::tcp::open_connection(address, std::nullopt, cobre::comm::tcp::Clock::now() + 1s);
    if (opened.socket) return std::move(opened.socket);
    std::this_thread::sleep_for(10ms);
  }
  ADD_FAILURE() << "nobody ever listened at " << address.text();
  return {};
}

/// One who has proved to rank 0 that it knows the secret.
struct Proven {
  cobre::comm::core::Descriptor socket;
  cobre::comm::tcp::Session session;
};
inline Proven prove(const cobre::comm::TcpConfig& config) {
  using namespace cobre::comm::tcp;
  using namespace std::chrono_literals;
  Proven one{knock(coordinator_address(config)), {}};
  Introduction met = introduce(one.socket.get(), job_key(config), Purpose::Join, config.rank, 0, Clock::now() + 2s);
  EXPECT_EQ(met.refusal, Refusal::None);
  one.session = met.session;
  return one;
}

/// And says which rank it is.
inline Proven come_as_rank(const cobre::comm::TcpConfig& config) {
  using namespace cobre::comm::tcp;
  using namespace std::chrono_literals;
  Proven one = prove(config);
  Member member = present(config);
  member.door = Address::local_of(one.socket.get()).to_wire();
  const auto frame = sealed(one.session.key, {Direction::ToRankZero, 0}, member);
  EXPECT_TRUE(send_all(one.socket.get(), raw(frame), Clock::now() + 2s));
  return one;
}

/// The next thing that rank 0 says to it.
inline cobre::comm::tcp::Reply hear_reply(const Proven& one, std::uint32_t number,
                                          cobre::comm::tcp::Clock::time_point until) {
  using namespace cobre::comm::tcp;
  Sealed<Reply> frame;
  EXPECT_TRUE(receive_all(one.socket.get(), std::as_writable_bytes(std::span(&frame, 1)), until));
  EXPECT_TRUE(seal_holds(one.session.key, {Direction::FromRankZero, number}, frame));
  return frame.body;
}

/// Until the other side hangs up, or says nothing for that long.
inline std::string all_that_comes(int socket, std::chrono::milliseconds longest) {
  using cobre::comm::tcp::Clock;
  std::string words;
  char byte = 0;
  while (cobre::comm::tcp::receive_all(socket, std::as_writable_bytes(std::span(&byte, 1)), Clock::now() + longest)) {
    words += byte;
  }
  return words;
}

/// Whether the other side has hung up, without waiting for it.
inline bool hung_up(int socket) {
  char byte = 0;
  std::size_t got = 0;
  return cobre::comm::tcp::receive_some(socket, std::as_writable_bytes(std::span(&byte, 1)), got) ==
         cobre::comm::tcp::Moved::Closed;
}

}  // namespace test
