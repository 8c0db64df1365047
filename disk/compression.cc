#include "disk/compression.h"

#include <lz4hc.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <charconv>
#include <cstring>

#include "base/status.h"
#include "table/lz_stream.h"

namespace tickstack::disk {
namespace {

struct Named {
  std::string_view name;
  Compression algorithm;
  int level;  // Default level.
  int level_max;
};
constexpr std::array kNamed = {
    Named{"none", Compression::kNone, 0, 0}, Named{"ipc", Compression::kIpc, 0, 0},
    Named{"gzip", Compression::kGzip, 6, 9}, Named{"snappy", Compression::kSnappy, 0, 0},
    Named{"lz4", Compression::kLz4, 9, 12},  Named{"zstd", Compression::kZstd, 3, 19},
};

size_t BytesMax(Compression algorithm, size_t bytes) {
  switch (algorithm) {
    case Compression::kGzip:
      return ::compressBound(bytes);
    case Compression::kSnappy:
      return ::snappy_max_compressed_length(bytes);
    case Compression::kLz4:
      return static_cast<size_t>(::LZ4_compressBound(static_cast<int>(bytes)));
    case Compression::kZstd:
      return ::ZSTD_compressBound(bytes);
    case Compression::kNone:
    case Compression::kIpc:
      break;
  }
  return 0;
}

// Returns the number of bytes written; 0 if the library refused.
size_t CompressInto(const CompressionOptions& options, std::span<const std::byte> block,
                    std::span<std::byte> out) {
  const auto* const from = reinterpret_cast<const char*>(block.data());
  auto* const to = reinterpret_cast<char*>(out.data());
  switch (options.algorithm) {
    case Compression::kGzip: {
      uLongf bytes = out.size();
      const int done =
          ::compress2(reinterpret_cast<Bytef*>(to), &bytes, reinterpret_cast<const Bytef*>(from),
                      block.size(), options.level);
      return done == Z_OK ? bytes : 0;
    }
    case Compression::kSnappy: {
      size_t bytes = out.size();
      return ::snappy_compress(from, block.size(), to, &bytes) == SNAPPY_OK ? bytes : 0;
    }
    case Compression::kLz4: {
      const int bytes = ::LZ4_compress_HC(from, to, static_cast<int>(block.size()),
                                          static_cast<int>(out.size()), options.level);
      return bytes > 0 ? static_cast<size_t>(bytes) : 0;
    }
    case Compression::kZstd: {
      const size_t bytes = ::ZSTD_compress(to, out.size(), from, block.size(), options.level);
      return ::ZSTD_isError(bytes) != 0 ? 0 : bytes;
    }
    case Compression::kNone:
    case Compression::kIpc:
      break;
  }
  return 0;
}

// Compresses the block as a whole message without the header. As on the wire, kdb+ gives up at half
// of the message.
std::optional<ByteBuffer> CompressMessage(std::span<const std::byte> block) {
  constexpr uint32_t kMessageTag = 0x00010001;  // Little-endian, compressed.
  ByteBuffer message;
  message.reserve(kLzHeaderBytes + block.size());
  message.AppendLittle(uint64_t{0});
  message.Append(block);
  ByteBuffer out;
  out.reserve(message.size() / 2);
  out.AppendLittle(kMessageTag);
  out.AppendLittle(uint32_t{0});
  out.AppendLittle(static_cast<uint32_t>(message.size()));
  if (!AppendLzStream(message, message.size() / 2, out)) return std::nullopt;
  const auto bytes = static_cast<uint32_t>(out.size());
  std::memcpy(out.data() + sizeof(kMessageTag), &bytes, sizeof(bytes));
  return out;
}

}  // namespace

absl::StatusOr<CompressionOptions> ParseCompression(std::string_view text) {
  const size_t dash = text.find('-');
  const std::string_view name = text.substr(0, dash);
  for (const Named& named : kNamed) {
    if (named.name != name) continue;
    CompressionOptions options{named.algorithm, named.level};
    if (dash == std::string_view::npos) return options;
    const std::string_view level = text.substr(dash + 1);
    const auto [end, error] =
        std::from_chars(level.data(), level.data() + level.size(), options.level);
    if (error == std::errc() && end == level.data() + level.size() && options.level >= 1 &&
        options.level <= named.level_max) {
      return options;
    }
    if (named.level_max == 0) {
      return InvalidArgument("expected {} without a level, found \"{}\"", name, text);
    }
    return InvalidArgument("expected a level of {} from 1 to {}, found \"{}\"", name,
                           named.level_max, text);
  }
  return InvalidArgument(
      "expected none, ipc, gzip, lz4, snappy or zstd, such as gzip-6, found \"{}\"", text);
}

std::optional<ByteBuffer> CompressBlock(const CompressionOptions& options,
                                        std::span<const std::byte> block) {
  if (options.algorithm == Compression::kIpc) return CompressMessage(block);
  ByteBuffer out;
  out.resize(BytesMax(options.algorithm, block.size()));
  const size_t bytes = CompressInto(options, block, out.span());
  if (bytes == 0 || bytes >= block.size()) return std::nullopt;
  out.resize(bytes);
  return out;
}

}  // namespace tickstack::disk
