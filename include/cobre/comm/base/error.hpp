// The root of every exception that either layer throws.
#pragma once

#include <stdexcept>

namespace cobre::comm {

/// Catch this to catch everything: errors of cobre-comm and of ferrompi alike.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace cobre::comm
