// What a test tells the library that plays the CUDA driver.
#pragma once

#include <cstddef>

struct ClaimedMemory {
  const void* data;
  std::size_t bytes;
  bool managed;  // of the host and the device alike
};

extern "C" {
void claim_for_device(const ClaimedMemory* memory);
int cuPointerGetAttribute(void* value, int attribute, unsigned long long pointer);
}
