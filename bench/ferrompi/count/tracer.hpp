// Counting instructions exactly: the program runs one instruction at a time while a region lasts.
#pragma once

#include "probe.hpp"

#include <string>
#include <vector>

struct Counted {
  probe::Record record;
  long instructions;  // the cost of an empty region is taken off
};

/// Runs the program and counts its regions. Throws std::runtime_error if that fails.
std::vector<Counted> count_instructions(const std::string& program);
