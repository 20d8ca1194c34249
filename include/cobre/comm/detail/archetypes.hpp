// What concepts are tried on. A template cannot be required for every T, so each is tried on three: a floating-point
// number, an integer, and a struct that only moves.
#pragma once

#include <cstdint>

namespace cobre::comm::detail {

struct StructArchetype {
  double weight;
  std::int32_t label;
};

/// What reduces it.
struct CallableArchetype {
  StructArchetype operator()(const StructArchetype& a, const StructArchetype&) const { return a; }
};

}  // namespace cobre::comm::detail
