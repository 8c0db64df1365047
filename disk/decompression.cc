#include "disk/decompression.h"

#include <lz4.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>

#include "base/byte_buffer.h"
#include "base/scratch.h"
#include "base/status.h"
#include "table/lz_stream.h"

namespace tickstack::disk {
namespace {

absl::Status Damaged(const char* algorithm, size_t bytes, size_t expected) {
  return DataLoss("a {} block of {} bytes that does not hold the {} bytes it should", algorithm,
                  bytes, expected);
}

// A whole compressed message: header, length of the uncompressed message, stream.
absl::Status ExpandMessage(std::span<const std::byte> block, std::span<std::byte> out) {
  constexpr size_t kStreamBegin = kLzHeaderBytes + 4;
  const size_t total_bytes = kLzHeaderBytes + out.size();
  if (block.size() < kStreamBegin || LoadLittle<uint32_t>(block.data()) != 0x00010001 ||
      LoadLittle<uint32_t>(block.data() + 4) != block.size() ||
      LoadLittle<uint32_t>(block.data() + 8) != total_bytes) {
    return Damaged("q IPC", block.size(), out.size());
  }
  // The expansion may write beyond the end of the data, so it cannot use `out`.
  const internal::ScratchScope outside_of_queries(nullptr);
  ByteBuffer message;
  message.reserve(total_bytes + (size_t{4} << 10));
  message.resize(kLzHeaderBytes);
  const absl::Status expanded = ExpandLzStream(block.subspan(kStreamBegin), total_bytes, message);
  if (!expanded.ok()) return DataLoss("a q IPC block: {}", Message(expanded));
  std::memcpy(out.data(), message.data() + kLzHeaderBytes, out.size());
  return absl::OkStatus();
}

bool Inflate(std::span<const std::byte> block, std::span<std::byte> out) {
  uLongf bytes = out.size();
  uLong used = block.size();
  return ::uncompress2(reinterpret_cast<Bytef*>(out.data()), &bytes,
                       reinterpret_cast<const Bytef*>(block.data()), &used) == Z_OK &&
         bytes == out.size() && used == block.size();
}

}  // namespace

absl::Status DecompressBlock(Compression algorithm, std::span<const std::byte> block,
                             std::span<std::byte> out) {
  const auto* const from = reinterpret_cast<const char*>(block.data());
  auto* const to = reinterpret_cast<char*>(out.data());
  switch (algorithm) {
    case Compression::kNone:
      if (block.size() != out.size()) return Damaged("stored", block.size(), out.size());
      if (!out.empty()) std::memcpy(to, from, out.size());
      return absl::OkStatus();
    case Compression::kIpc:
      return ExpandMessage(block, out);
    case Compression::kGzip:
      if (!Inflate(block, out)) return Damaged("gzip", block.size(), out.size());
      return absl::OkStatus();
    case Compression::kSnappy: {
      size_t bytes = 0;
      const bool right = ::snappy_uncompressed_length(from, block.size(), &bytes) == SNAPPY_OK &&
                         bytes == out.size() &&
                         ::snappy_uncompress(from, block.size(), to, &bytes) == SNAPPY_OK;
      return right ? absl::OkStatus() : Damaged("snappy", block.size(), out.size());
    }
    case Compression::kLz4: {
      const int bytes = ::LZ4_decompress_safe(from, to, static_cast<int>(block.size()),
                                              static_cast<int>(out.size()));
      const bool right = bytes >= 0 && static_cast<size_t>(bytes) == out.size();
      return right ? absl::OkStatus() : Damaged("lz4", block.size(), out.size());
    }
    case Compression::kZstd: {
      const size_t bytes = ::ZSTD_decompress(to, out.size(), from, block.size());
      const bool right = ::ZSTD_isError(bytes) == 0 && bytes == out.size();
      return right ? absl::OkStatus() : Damaged("zstd", block.size(), out.size());
    }
  }
  return Unimplemented("compression algorithm {}, expected 0 to 5", static_cast<int>(algorithm));
}

}  // namespace tickstack::disk
