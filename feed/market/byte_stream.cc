#include "feed/market/byte_stream.h"

#include <algorithm>
#include <array>

#include "base/status.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kInputBytes = size_t{256} << 10;
constexpr size_t kOutputBytes = size_t{512} << 10;  // Decompressed by one step.
constexpr std::array kGzipMagic = {std::byte{0x1f}, std::byte{0x8b}};
constexpr std::array kZstdMagic = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f},
                                   std::byte{0xfd}};
constexpr int kGzipWindowBits = 15 + 16;  // The largest window, with a gzip header.

bool BeginsWith(std::span<const std::byte> bytes, std::span<const std::byte> magic) {
  return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), magic);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteStream>> ByteStream::Open(const std::string& path) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenForReading(path));
  std::unique_ptr<ByteStream> stream(new ByteStream(std::move(file)));
  TS_RETURN_IF_ERROR(stream->Start());
  return stream;
}

ByteStream::~ByteStream() {
  if (zlib_open_) inflateEnd(&zlib_);
  ZSTD_freeDStream(zstd_);
}

absl::Status ByteStream::Start() {
  TS_RETURN_IF_ERROR(FillInput());
  if (BeginsWith(input_, kGzipMagic)) {
    kind_ = Kind::kGzip;
    if (inflateInit2(&zlib_, kGzipWindowBits) != Z_OK) {
      return ResourceExhausted("{}: no memory to decompress it", path());
    }
    zlib_open_ = true;
  } else if (BeginsWith(input_, kZstdMagic)) {
    kind_ = Kind::kZstd;
    zstd_ = ZSTD_createDStream();
    if (zstd_ == nullptr) return ResourceExhausted("{}: no memory to decompress it", path());
  }
  return absl::OkStatus();
}

// Replaces the used bytes of input_ by the file's next ones.
absl::Status ByteStream::FillInput() {
  const size_t unused = input_.size() - input_begin_;
  if (unused > 0 && input_begin_ > 0) {
    std::memmove(input_.data(), input_.data() + input_begin_, unused);
  }
  input_begin_ = 0;
  input_.resize(kInputBytes);
  const std::span<std::byte> room = input_.span().subspan(unused);
  TS_ASSIGN_OR_RETURN(const size_t read, file_.ReadAt(file_offset_, room));
  input_ended_ = read < room.size();
  file_offset_ += read;
  input_.resize(unused + read);
  return absl::OkStatus();
}

absl::StatusOr<std::span<const std::byte>> ByteStream::Peek(size_t bytes) {
  bytes = std::min(bytes, kPeekBytesMax);
  while (output_.size() - begin_ < bytes && !ended_) TS_RETURN_IF_ERROR(Fill());
  return output_.span().subspan(begin_);
}

absl::StatusOr<size_t> ByteStream::Read(std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> next, Peek(1));
    if (next.empty()) break;
    const size_t bytes = std::min(next.size(), out.size() - done);
    std::memcpy(out.data() + done, next.data(), bytes);
    Skip(bytes);
    done += bytes;
  }
  return done;
}

// Adds bytes to output_, or sets ended_.
absl::Status ByteStream::Fill() {
  const size_t unused = output_.size() - begin_;
  if (unused > 0 && begin_ > 0) std::memmove(output_.data(), output_.data() + begin_, unused);
  output_.resize(unused);
  begin_ = 0;
  switch (kind_) {
    case Kind::kPlain:
      return FillPlain();
    case Kind::kGzip:
      return FillGzip();
    case Kind::kZstd:
      return FillZstd();
  }
  return absl::OkStatus();
}

absl::Status ByteStream::FillPlain() {
  if (input_begin_ == input_.size() && !input_ended_) TS_RETURN_IF_ERROR(FillInput());
  output_.Append(input_.span().subspan(input_begin_));
  input_begin_ = input_.size();
  ended_ = input_ended_;
  return absl::OkStatus();
}

absl::Status ByteStream::FillGzip() {
  if (input_begin_ == input_.size() && !input_ended_) TS_RETURN_IF_ERROR(FillInput());
  std::span<std::byte> input = input_.span().subspan(input_begin_);
  if (input.empty()) {
    if (within_) {
      return DataLoss("{}: byte {} of the decompressed data: the gzip file is cut off", path(),
                      offset_ + output_.size());
    }
    ended_ = true;
    return absl::OkStatus();
  }
  if (!within_) {
    // Padding after a member, as tapes have it.
    size_t zeros = 0;
    while (zeros < input.size() && input[zeros] == std::byte{0}) ++zeros;
    if (zeros > 0) {
      input_begin_ += zeros;
      return absl::OkStatus();
    }
    within_ = true;
  }
  const size_t before = output_.size();
  output_.resize(before + kOutputBytes);
  zlib_.next_in = reinterpret_cast<Bytef*>(input.data());
  zlib_.avail_in = static_cast<uInt>(input.size());
  zlib_.next_out = reinterpret_cast<Bytef*>(output_.data() + before);
  zlib_.avail_out = static_cast<uInt>(kOutputBytes);
  const int result = inflate(&zlib_, Z_NO_FLUSH);
  output_.resize(before + kOutputBytes - zlib_.avail_out);
  input_begin_ += input.size() - zlib_.avail_in;
  if (result == Z_STREAM_END) {
    within_ = false;
    if (inflateReset(&zlib_) != Z_OK) return Internal("{}: inflateReset failed", path());
    return absl::OkStatus();
  }
  if (result == Z_OK) return absl::OkStatus();
  return DataLoss("{}: byte {} of the decompressed data: not gzip: {}", path(),
                  offset_ + output_.size(), zlib_.msg == nullptr ? "damaged" : zlib_.msg);
}

absl::Status ByteStream::FillZstd() {
  if (input_begin_ == input_.size() && !input_ended_) TS_RETURN_IF_ERROR(FillInput());
  const size_t before = output_.size();
  output_.resize(before + kOutputBytes);
  ZSTD_inBuffer in = {input_.data(), input_.size(), input_begin_};
  ZSTD_outBuffer out = {output_.data() + before, kOutputBytes, 0};
  const bool had_input = in.pos < in.size;
  if (!had_input && !within_) {
    output_.resize(before);
    ended_ = true;
    return absl::OkStatus();
  }
  const size_t result = ZSTD_decompressStream(zstd_, &out, &in);
  output_.resize(before + out.pos);
  const bool progressed = in.pos > input_begin_ || out.pos > 0;
  input_begin_ = in.pos;
  if (ZSTD_isError(result) != 0) {
    return DataLoss("{}: byte {} of the decompressed data: not zstd: {}", path(),
                    offset_ + output_.size(), ZSTD_getErrorName(result));
  }
  within_ = result != 0;
  if (within_ && !had_input && !progressed) {
    return DataLoss("{}: byte {} of the decompressed data: the zstd file is cut off", path(),
                    offset_ + output_.size());
  }
  return absl::OkStatus();
}

}  // namespace tickstack::feed::market
