#include "wire/tls_record_cutter.h"

#include <algorithm>
#include <cstring>

namespace tickstack::wire {

// Returns the next bytes of the current piece, which has some.
std::span<const std::byte> TlsRecordCutter::Take(size_t bytes_max) {
  const std::span<const std::byte> taken =
      piece_.first(std::min({piece_.size(), bytes_max, left_bytes_}));
  piece_ = piece_.subspan(taken.size());
  left_bytes_ -= taken.size();
  return taken;
}

std::span<const std::byte> TlsRecordCutter::Next() {
  size_t filled = 0;
  while (filled < kTlsRecordBytes && left_bytes_ > 0) {
    if (piece_.empty()) {
      if (pieces_.empty()) break;
      piece_ = pieces_.front();
      pieces_ = pieces_.subspan(1);
      continue;
    }
    const std::span<const std::byte> part = Take(kTlsRecordBytes - filled);
    if (part.size() == kTlsRecordBytes) return part;
    std::memcpy(copied_.data() + filled, part.data(), part.size());
    filled += part.size();
  }
  return std::span(copied_).first(filled);
}

}  // namespace tickstack::wire
