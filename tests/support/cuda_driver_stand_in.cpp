// Plays libcuda.so.1 for the tests: it knows the memory that the test has claimed for a device.

#include "support/cuda_driver_stand_in.hpp"

namespace {

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int memory_type = 2;
constexpr int is_managed = 8;
constexpr unsigned device = 2;

unsigned long long begin = 0;
unsigned long long end = 0;
bool managed = false;

}  // namespace

extern "C" {

void claim_for_device(const ClaimedMemory* memory) {
  begin = reinterpret_cast<unsigned long long>(memory->data);
  end = begin + memory->bytes;
  managed = memory->managed;
}

int cuPointerGetAttribute(void* value, int attribute, unsigned long long pointer) {
  if (pointer < begin || pointer >= end) return invalid_value;
  if (attribute == memory_type) {
    *static_cast<unsigned*>(value) = device;
  } else if (attribute == is_managed) {
    *static_cast<unsigned*>(value) = managed ? 1U : 0U;
  } else {
    return invalid_value;
  }
  return success;
}
}
