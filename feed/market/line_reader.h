#pragma once

// The lines of a text file, plain or compressed, one after the other. A line ends with LF or CR LF;
// the last one may lack its end.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "feed/market/byte_stream.h"

namespace tickstack::feed::market {

struct TextLine {
  std::string_view text;  // Without its end.
  int64_t number = 0;     // From 1.
  uint64_t offset = 0;    // Offset of its first byte in the decompressed data.
  bool has_end = true;    // False: the file ends after `text`, so it may have been cut off.
};

// Threads: one owner. Memory: that of ByteStream, and lines that are longer than its pieces.
class LineReader {
 public:
  static constexpr size_t kLineBytesMax = size_t{64} << 10;

  // `line_bytes_max`: the longest line. Errors of ByteStream::Open.
  static absl::StatusOr<std::unique_ptr<LineReader>> Open(const std::string& path,
                                                          size_t line_bytes_max = kLineBytesMax);

  // Returns the next line, valid until the next call; nullopt at the end. kDataLoss, with the file
  // and the place, if a line has more bytes than the longest, or for errors of ByteStream. The
  // lines before that place have been returned.
  absl::StatusOr<std::optional<TextLine>> Next();

  const std::string& path() const { return bytes_->path(); }

 private:
  LineReader(std::unique_ptr<ByteStream> bytes, size_t line_bytes_max)
      : bytes_(std::move(bytes)), line_bytes_max_(line_bytes_max) {}
  TextLine Take(std::string_view text, bool has_end);

  std::unique_ptr<ByteStream> bytes_;
  const size_t line_bytes_max_;
  uint64_t begin_ = 0;  // Byte at which the line begins.
  std::string pieces_;  // The beginning of a line that is longer than a piece.
  int64_t number_ = 0;
  size_t unread_ = 0;  // Bytes of the line and its end, which the next call skips.
};

}  // namespace tickstack::feed::market
