#pragma once

// Numbers and texts in the bytes of a message. Offsets are those of the exchanges' specifications;
// the caller has checked that the message has these bytes.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tickstack::feed::market {

inline uint16_t BigU16(const std::byte* at) {
  uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap16(value);
}
inline uint32_t BigU32(const std::byte* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap32(value);
}
inline uint64_t BigU64(const std::byte* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap64(value);
}
inline uint64_t BigU48(const std::byte* at) {
  return uint64_t{BigU16(at)} << 32 | BigU32(at + sizeof(uint16_t));
}

inline char CharAt(const std::byte* at) { return static_cast<char>(*at); }

// Returns a text of `bytes` bytes without the spaces that pad it on the right.
inline std::string_view PaddedText(const std::byte* at, size_t bytes) {
  std::string_view text(reinterpret_cast<const char*>(at), bytes);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// True if all characters are printable ASCII.
inline bool IsPrintable(std::string_view text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') return false;
  }
  return true;
}

}  // namespace tickstack::feed::market
