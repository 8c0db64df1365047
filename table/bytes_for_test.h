#pragma once

// Helpers for tests of the codec: bytes as hex, whole files, and random encoded values.

#include <bit>
#include <charconv>
#include <concepts>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "table/types.h"

namespace tickstack {

// Parses `01 00ff`; blanks and `|` are ignored.
inline ByteBuffer FromHex(std::string_view hex) {
  std::string digits;
  for (char c : hex) {
    if (c != ' ' && c != '|' && c != '\n') digits += c;
  }
  ByteBuffer bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    uint8_t byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    bytes.AppendLittle(byte);
  }
  return bytes;
}

inline std::string ToHex(std::span<const std::byte> bytes) {
  std::string hex;
  for (std::byte byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[std::to_integer<size_t>(byte >> 4)];
    hex += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return hex;
}

inline bool SameBytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return AsText(a) == AsText(b);
}

inline ByteBuffer ReadWholeFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return ByteBuffer(AsBytes(text));
}

// Writes random values in both byte orders. It follows the format's description and shares no code
// with the codec.
class RandomEncoder {
 public:
  explicit RandomEncoder(uint64_t seed) : rng_(seed) {}

  void Value(int depth = 4) {
    const uint64_t kind = rng_() % (depth > 0 ? 12 : 8);
    if (kind < 4) return Atom();
    if (kind < 7) return Vector(AnyVectorType(), Few());
    if (kind == 7) return Function(0);
    if (kind == 8) return List(Few(), depth - 1);
    if (kind == 9) return Dict(depth - 1);
    if (kind == 10) return Table(Few(), depth - 1);
    return Function(depth - 1);
  }

  std::span<const std::byte> little() const { return little_; }
  std::span<const std::byte> big() const { return big_; }

 private:
  size_t Few() { return rng_() % 5; }

  Type AnyVectorType() {
    constexpr std::string_view kLetters = "bgxhijefcspmdznuvt";
    return *TypeOfLetter(kLetters[rng_() % kLetters.size()]);
  }

  template <std::unsigned_integral T>
  void Number(T value) {
    little_.AppendLittle(value);
    for (size_t i = sizeof(T); i-- > 0;) big_.AppendLittle(static_cast<uint8_t>(value >> (8 * i)));
  }
  void Byte(uint8_t byte) { Number(byte); }
  void Code(Type type) { Byte(static_cast<uint8_t>(type)); }
  void Count(size_t count) { Number(static_cast<uint32_t>(count)); }

  void Name() {
    for (size_t n = Few(); n > 0; --n) Byte(static_cast<uint8_t>(1 + rng_() % 255));
    Byte(0);
  }

  void Element(Type type) {
    switch (WidthOf(type)) {
      case 1:
        return Byte(static_cast<uint8_t>(rng_()));
      case 2:
        return Number(static_cast<uint16_t>(rng_()));
      case 4:
        return Number(static_cast<uint32_t>(rng_()));
      case 8:
        return Number(uint64_t{rng_()});
      case 16:
        for (int i = 0; i < 16; ++i) Byte(static_cast<uint8_t>(rng_()));
        return;
      default:
        return Name();
    }
  }

  void Atom() {
    const Type type = AnyVectorType();
    Byte(static_cast<uint8_t>(256 - static_cast<int>(type)));
    Element(type);
  }

  void Vector(Type type, size_t count) {
    Code(type);
    Byte(static_cast<uint8_t>(rng_() % 5));
    Count(count);
    for (size_t i = 0; i < count; ++i) Element(type);
  }

  void List(size_t count, int depth) {
    Code(Type::kList);
    Byte(0);
    Count(count);
    for (size_t i = 0; i < count; ++i) Value(depth);
  }

  void Column(size_t rows, int depth) {
    if (depth > 0 && rng_() % 4 == 0) return List(rows, depth - 1);
    Vector(AnyVectorType(), rows);
  }

  void Table(size_t rows, int depth) {
    const size_t columns = 1 + Few();
    Code(Type::kTable);
    Byte(static_cast<uint8_t>(rng_() % 2));
    Code(Type::kDict);
    Vector(Type::kSymbol, columns);
    Code(Type::kList);
    Byte(0);
    Count(columns);
    for (size_t i = 0; i < columns; ++i) Column(rows, depth);
  }

  void Dict(int depth) {
    const size_t count = Few();
    Code(rng_() % 4 == 0 ? Type::kSortedDict : Type::kDict);
    if (rng_() % 3 == 0) {  // A keyed table.
      Table(count, depth);
      return Table(count, depth);
    }
    Column(count, depth);
    Column(count, depth);
  }

  void Function(int depth) {
    const uint64_t code = depth > 0 ? 100 + rng_() % 13 : 100 + rng_() % 4;
    Byte(static_cast<uint8_t>(code));
    if (code == 100) {
      Name();
      Vector(Type::kChar, Few());
    } else if (code <= 103) {
      Byte(static_cast<uint8_t>(rng_()));
    } else if (code <= 105) {
      const size_t count = Few();
      Count(count);
      for (size_t i = 0; i < count; ++i) Value(depth);
    } else {
      Value(depth);
    }
  }

  std::mt19937_64 rng_;
  ByteBuffer little_, big_;
};

}  // namespace tickstack
