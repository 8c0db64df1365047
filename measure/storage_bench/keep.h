#pragma once

namespace tickstack::measure::storage_bench {

// Makes the compiler compute a value whose use it cannot see.
template <typename T>
void Keep(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

}  // namespace tickstack::measure::storage_bench
