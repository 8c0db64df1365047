#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace tickstack::wire {

// The most plain bytes that a TLS record holds.
inline constexpr size_t kTlsRecordBytes = size_t{16} << 10;

// Cuts pieces of plain bytes into records. All records but the last are full, because each record
// costs both peers time besides that for its bytes. A record that lies in one piece is a span of
// that piece; the bytes of other records are copied. Threads: one owner.
class TlsRecordCutter {
 public:
  // Takes the first `bytes_max` bytes of the pieces, which must outlive this object.
  TlsRecordCutter(std::span<const std::span<const std::byte>> pieces, size_t bytes_max)
      : pieces_(pieces), left_bytes_(bytes_max) {}

  // Returns the next record, or no bytes at the end. The span is valid until the next call.
  std::span<const std::byte> Next();

 private:
  std::span<const std::byte> Take(size_t bytes_max);

  std::span<const std::span<const std::byte>> pieces_;  // Those after piece_.
  std::span<const std::byte> piece_;                    // Rest of the current one.
  size_t left_bytes_;
  std::array<std::byte, kTlsRecordBytes> copied_;
};

}  // namespace tickstack::wire
