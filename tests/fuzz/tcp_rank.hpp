// A rank over tcp with its sentinel and its wire, as the fuzzer's peer finds it.
#pragma once

#include <cstddef>
#include <span>

namespace fuzz {

/// A neighbour in the control tree that says this, and hangs up.
void watch(std::span<const std::byte> bytes);

/// A peer that sends this in the place of the messages of operations, and hangs up.
void receive(std::span<const std::byte> bytes);

}  // namespace fuzz
