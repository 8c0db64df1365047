#pragma once

// Reads values that AppendLittle wrote to a ByteBuffer. Checks bounds at each step, because the
// bytes come from a file. Threads: one owner.

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/byte_buffer.h"

namespace tickstack {

class RecordReader {
 public:
  explicit RecordReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  // Reads a number. Like ReadBytes and ReadText, returns false if the bytes end too early.
  template <typename T>
    requires std::is_arithmetic_v<T>
  bool Read(T* value) {
    if (rest_.size() < sizeof(T)) return false;
    *value = LoadLittle<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return true;
  }
  // Reads bytes that AppendBytes wrote. The result points into the bytes that were passed to the
  // constructor.
  bool ReadBytes(std::span<const std::byte>* bytes) {
    uint32_t size = 0;
    if (!Read(&size) || rest_.size() < size) return false;
    *bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return true;
  }
  // Reads text that AppendBytes wrote.
  bool ReadText(std::string* text) {
    std::span<const std::byte> bytes;
    if (!ReadBytes(&bytes)) return false;
    *text = AsText(bytes);
    return true;
  }
  bool AtEnd() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

// Appends the number of bytes, then the bytes. ReadBytes and ReadText read them.
inline void AppendBytes(std::span<const std::byte> bytes, ByteBuffer& to) {
  to.AppendLittle(static_cast<uint32_t>(bytes.size()));
  to.Append(bytes);
}

}  // namespace tickstack
