#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/scratch.h"

namespace tickstack {

// A growable run of bytes that is not zeroed: std::vector would write every byte of a receive
// buffer or a column once before the real bytes arrive. Grows by doubling with realloc, which the C
// library does for large blocks by moving pages, without a copy. A large buffer that is created or
// grows in a query is in that query's scratch memory, if it has one (base/scratch.h). Growing in
// scratch memory copies the bytes, so reserve the size if it is known. Move-only, except by
// Clone(). Threads: one owner. Errors: running out of memory ends the process, as with operator
// new.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  explicit ByteBuffer(std::span<const std::byte> bytes) { Append(bytes); }
  ByteBuffer(ByteBuffer&& other) noexcept { swap(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    if (this != &other) {
      FreeBlock(data_, capacity_);
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, 0);
    }
    return *this;
  }
  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;
  ~ByteBuffer() { FreeBlock(data_, capacity_); }

  ByteBuffer Clone() const { return ByteBuffer(span()); }
  void swap(ByteBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  std::span<std::byte> span() { return {data_, size_}; }
  std::span<const std::byte> span() const { return {data_, size_}; }
  // Converts to the bytes that it holds. NOLINTNEXTLINE(google-explicit-constructor)
  operator std::span<const std::byte>() const { return span(); }

  void clear() { size_ = 0; }
  void reserve(size_t capacity) {
    if (capacity > capacity_) Reallocate(capacity);
  }
  // Bytes added by growing are indeterminate.
  void resize(size_t size) {
    if (size > capacity_) Grow(size);
    size_ = size;
  }

  // Makes room for `bytes` more and returns where they start; the caller writes all of them.
  std::byte* Extend(size_t bytes) {
    if (size_ + bytes > capacity_) Grow(size_ + bytes);
    std::byte* at = data_ + size_;
    size_ += bytes;
    return at;
  }
  void Append(std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(Extend(bytes.size()), bytes.data(), bytes.size());
  }
  void Append(std::string_view text) { Append(std::as_bytes(std::span(text))); }
  // Appends the bytes of a number, little-endian.
  template <typename T>
    requires std::is_arithmetic_v<T>
  void AppendLittle(T value) {
    static_assert(std::endian::native == std::endian::little,
                  "tickstack runs on little-endian machines");
    std::memcpy(Extend(sizeof(T)), &value, sizeof(T));
  }

 private:
  void Grow(size_t needed) { Reallocate(needed > 2 * capacity_ ? needed : 2 * capacity_); }
  void Reallocate(size_t capacity) {
    data_ = ReallocateBlock(data_, capacity_, size_, capacity);
    capacity_ = capacity;
  }

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Reads a little-endian number from unaligned bytes.
template <typename T>
T LoadLittle(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tickstack
