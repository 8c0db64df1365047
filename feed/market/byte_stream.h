#pragma once

// The bytes of a file in order, decompressed piece by piece. Its first bytes say how it is
// compressed:
//
//   1f 8b         gzip: any number of members, one after the other
//   28 b5 2f fd   zstd: any number of frames, and skippable frames between them
//   other         plain
//
// Memory: some 2 MiB, and at most 128 MiB for the window of a zstd frame, whatever the file's size.

#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/file.h"

namespace tickstack::feed::market {

// Threads: one owner.
class ByteStream {
 public:
  static constexpr size_t kPeekBytesMax = size_t{1} << 20;

  // kNotFound: no such file. kInvalidArgument: not a regular file.
  static absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // Returns the next bytes without consuming them: at least `bytes` of them (up to kPeekBytesMax),
  // fewer only at the end. Valid until the next call. kDataLoss, with the path, if the file does
  // not decompress or is cut off within a member or frame.
  absl::StatusOr<std::span<const std::byte>> Peek(size_t bytes);
  // Consumes bytes that Peek returned.
  void Skip(size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }
  // Consumes up to out.size() bytes; fewer only at the end. Errors as for Peek.
  absl::StatusOr<size_t> Read(std::span<std::byte> out);

  // Number of decompressed bytes before the next one.
  uint64_t offset() const { return offset_; }
  const std::string& path() const { return file_.path(); }

 private:
  enum class Kind { kPlain, kGzip, kZstd };

  explicit ByteStream(File file) : file_(std::move(file)) {}
  absl::Status Start();
  absl::Status FillInput();
  absl::Status Fill();
  absl::Status FillPlain();
  absl::Status FillGzip();
  absl::Status FillZstd();

  File file_;
  Kind kind_ = Kind::kPlain;
  uint64_t file_offset_ = 0;  // Bytes of the file that were read.
  ByteBuffer input_;          // Compressed bytes; input_begin_ is the first unused one.
  size_t input_begin_ = 0;
  bool input_ended_ = false;  // The file's last byte is in input_.
  ByteBuffer output_;         // Decompressed bytes; begin_ is the first unused one.
  size_t begin_ = 0;
  uint64_t offset_ = 0;
  bool ended_ = false;   // output_ has the last byte.
  bool within_ = false;  // A member or frame has begun and not ended.
  bool zlib_open_ = false;
  z_stream zlib_{};
  ZSTD_DStream* zstd_ = nullptr;
};

}  // namespace tickstack::feed::market
