#include "interchange/arrow_body.h"

#include <limits>

#include "base/status.h"

namespace tickstack::interchange::arrow {

absl::StatusOr<std::span<const std::byte>> BodyBuffers::Take() {
  if (left() == 0) return DataLoss("the message has only {} buffers", places_.size());
  const size_t number = taken_++;
  const StreamBuffer& place = places_[number];
  if (place.bytes == 0) return std::span<const std::byte>();  // Its offset may be any number.
  if (place.offset < 0 || place.bytes < 0 || static_cast<uint64_t>(place.offset) > body_.size() ||
      static_cast<uint64_t>(place.bytes) > body_.size() - static_cast<uint64_t>(place.offset)) {
    return DataLoss("buffer {} has {} bytes from byte {} on, the body has {}", number, place.bytes,
                    place.offset, body_.size());
  }
  const auto offset = static_cast<uint64_t>(place.offset);
  const auto bytes = static_cast<uint64_t>(place.bytes);
  if (offset < end_byte_) {
    return DataLoss("buffer {} begins at byte {}, the one before it ends at byte {}", number,
                    offset, end_byte_);
  }
  end_byte_ = offset + bytes;
  return body_.subspan(offset, bytes);
}

absl::StatusOr<std::span<const std::byte>> BodyBuffers::Take(uint64_t bytes) {
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> buffer, Take());
  if (buffer.size() < bytes) {
    return DataLoss("buffer {} has {} bytes, expected {}", taken_ - 1, buffer.size(), bytes);
  }
  return buffer.first(bytes);
}

absl::StatusOr<std::span<const std::byte>> BodyBuffers::TakeElements(uint64_t count, size_t width) {
  TS_DCHECK(width > 0);
  if (count > std::numeric_limits<uint64_t>::max() / width) {
    return DataLoss("buffer {} cannot have {} elements of {} bytes", taken_, count, width);
  }
  return Take(count * width);
}

}  // namespace tickstack::interchange::arrow
