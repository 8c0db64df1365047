#pragma once

// The body of a message in Arrow's format. A message names the place of each buffer in its body,
// and may lie. BodyBuffers is the only code that turns such places into bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "interchange/arrow_schema.h"

namespace tickstack::interchange::arrow {

// Takes the buffers of a message one after the other. Writers put them into the body in this order,
// so a buffer that begins before the end of the previous one is refused. Reading a batch therefore
// costs no more than the bytes of its body, however many columns its metadata lists.
//
// Errors: kDataLoss if there are no more buffers; if the next one is not within the body, or
// overlaps the previous one; if it is too small.
class BodyBuffers {
 public:
  // The body and the places must outlive this object; what it returns is valid as long as the body.
  BodyBuffers(std::span<const std::byte> body, std::span<const StreamBuffer> places)
      : body_(body), places_(places) {}

  // Returns the next buffer.
  absl::StatusOr<std::span<const std::byte>> Take();
  // Returns the first `bytes` bytes of the next buffer, which writers may pad.
  absl::StatusOr<std::span<const std::byte>> Take(uint64_t bytes);
  // Returns the bytes of `count` elements of `width` bytes.
  absl::StatusOr<std::span<const std::byte>> TakeElements(uint64_t count, size_t width);
  // Returns the bytes of `count` bits.
  absl::StatusOr<std::span<const std::byte>> TakeBits(uint64_t count) {
    return Take(count / 8 + (count % 8 == 0 ? 0 : 1));
  }

  size_t left() const { return places_.size() - taken_; }

 private:
  std::span<const std::byte> body_;
  std::span<const StreamBuffer> places_;
  size_t taken_ = 0;       // Number of buffers.
  uint64_t end_byte_ = 0;  // End of the last buffer that is not empty.
};

// Returns element `i`. The caller has checked that the bytes have it.
template <typename T>
T ElementAt(std::span<const std::byte> bytes, uint64_t i) {
  TS_DCHECK(i < bytes.size() / sizeof(T));
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

inline bool BitAt(std::span<const std::byte> bits, uint64_t i) {
  return (ElementAt<uint8_t>(bits, i / 8) >> (i % 8) & 1) != 0;
}

}  // namespace tickstack::interchange::arrow
