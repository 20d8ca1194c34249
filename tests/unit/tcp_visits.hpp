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
