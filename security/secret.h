#pragma once

// Bytes that must not reach a swap file or a core dump.

#include <cstddef>
#include <span>
#include <string_view>

namespace tickstack::security {

// A copy of some bytes in locked memory between guard pages. Core dumps omit this memory, and it is
// wiped before it is freed. It is not locked if the limit on locked memory (RLIMIT_MEMLOCK) is too
// low. Threads: any thread may call const members.
class Secret {
 public:
  // Ends the process if the memory cannot be allocated.
  explicit Secret(std::string_view bytes);
  // Returns random bytes.
  static Secret Random(size_t bytes);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();

  std::string_view text() const { return {static_cast<const char*>(memory_), bytes_}; }
  std::span<const unsigned char> bytes() const {
    return {static_cast<const unsigned char*>(memory_), bytes_};
  }
  // Compares in a time that depends only on the lengths.
  bool Equals(std::string_view other) const;

 private:
  void* memory_;
  size_t bytes_;
};

}  // namespace tickstack::security
