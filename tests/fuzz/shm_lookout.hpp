// The lookout of an MPI job, called by the fuzzer.
#pragma once

#include <cstddef>
#include <span>

namespace fuzz {

void call_lookout(std::span<const std::byte> bytes);

}  // namespace fuzz
