#include "disk/file_image.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/status.h"

namespace tickstack::disk {
namespace {

constexpr size_t kBatchBytes = size_t{2} << 20;  // A multiple of every block size.
constexpr uint32_t kFormatVersion = 3;

}  // namespace

FileImage::FileImage(FileStream stream, const CompressionOptions& compression, WorkerPool* workers)
    : stream_(std::move(stream)), compression_(compression), workers_(workers) {
  if (compressed()) pending_.resize(kBatchBytes + kRoomMin);
}

absl::StatusOr<FileImage> FileImage::Create(const std::string& path,
                                            const CompressionOptions& compression,
                                            WorkerPool* workers, const Storage* storage,
                                            std::span<std::byte> window,
                                            ChecksumCollector* checksums) {
  const bool plain = compression.algorithm == Compression::kNone;
  TS_ASSIGN_OR_RETURN(
      FileStream stream,
      FileStream::Create(path, storage, plain ? window : std::span<std::byte>(), checksums));
  FileImage image(std::move(stream), compression, workers);
  if (image.compressed()) TS_RETURN_IF_ERROR(image.stream_.Append(AsBytes(kCompressedTag)));
  return image;
}

// Writes the first `bytes` of the pending data.
absl::Status FileImage::WriteBlocks(size_t bytes) {
  const size_t block_bytes = compression_.block_bytes();
  const size_t count = (bytes + block_bytes - 1) / block_bytes;
  std::vector<std::optional<ByteBuffer>> packed(count);
  const auto block = [&](size_t i) {
    const size_t begin = i * block_bytes;
    return pending_.span().subspan(begin, std::min(block_bytes, bytes - begin));
  };
  const auto compress = [&](size_t i) -> absl::Status {
    packed[i] = CompressBlock(compression_, block(i));
    return absl::OkStatus();
  };
  if (workers_ != nullptr) {
    TS_RETURN_IF_ERROR(workers_->ParallelFor(count, compress));
  } else {
    for (size_t i = 0; i < count; ++i) TS_RETURN_IF_ERROR(compress(i));
  }
  for (size_t i = 0; i < count; ++i) {
    const std::span<const std::byte> stored = packed[i] ? packed[i]->span() : block(i);
    blocks_.push_back({static_cast<uint32_t>(stored.size()),
                       packed[i] ? static_cast<uint32_t>(compression_.algorithm) : 0});
    TS_RETURN_IF_ERROR(stream_.Append(stored));
  }
  used_ -= bytes;
  std::memmove(pending_.data(), pending_.data() + bytes, used_);
  return absl::OkStatus();
}

std::span<std::byte> FileImage::Room() {
  return compressed() ? pending_.span().subspan(used_) : stream_.Room();
}

absl::Status FileImage::Filled(size_t bytes) {
  image_bytes_ += bytes;
  if (!compressed()) return stream_.Filled(bytes);
  used_ += bytes;
  // Every block but the file's last is whole.
  return used_ < kBatchBytes ? absl::OkStatus() : WriteBlocks(used_ / kBatchBytes * kBatchBytes);
}

absl::Status FileImage::Append(std::span<const std::byte> bytes) {
  return AppendToRoom(*this, bytes);
}

ByteBuffer FileImage::Trailer() const {
  ByteBuffer out;
  out.AppendLittle(kFormatVersion);
  out.AppendLittle(static_cast<uint8_t>(compression_.algorithm));
  out.AppendLittle(static_cast<uint8_t>(compression_.level));
  out.AppendLittle(uint16_t{0});
  out.AppendLittle(static_cast<int64_t>(image_bytes_));
  out.AppendLittle(static_cast<int64_t>(stream_.bytes()));
  out.AppendLittle(static_cast<int64_t>(compression_.block_bytes()));
  for (const StoredBlock& block : blocks_) {
    out.AppendLittle(block.bytes);
    out.AppendLittle(block.algorithm);
  }
  out.AppendLittle(static_cast<int64_t>(blocks_.size()));
  return out;
}

absl::StatusOr<uint64_t> FileImage::Finish() {
  if (compressed()) {
    TS_RETURN_IF_ERROR(WriteBlocks(used_));
    TS_RETURN_IF_ERROR(stream_.Append(Trailer()));
  }
  return stream_.Finish();
}

}  // namespace tickstack::disk
