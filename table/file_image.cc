#include "table/file_image.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/status.h"

namespace tickstack {
namespace {

constexpr size_t kBatchBytes = size_t{2} << 20;  // A multiple of every size of block.
constexpr uint32_t kFormatVersion = 3;

}  // namespace

FileImage::FileImage(File file, const CompressionOptions& compression, WorkerPool* workers,
                     const Storage* storage)
    : file_(std::move(file)), compression_(compression), workers_(workers), storage_(storage) {
  pending_.resize(kBatchBytes + kRoomMin);
}

absl::StatusOr<FileImage> FileImage::Create(const std::string& path,
                                            const CompressionOptions& compression,
                                            WorkerPool* workers, const Storage* storage) {
  TS_ASSIGN_OR_RETURN(File file, storage->Create(path));
  FileImage image(std::move(file), compression, workers, storage);
  if (image.compressed()) TS_RETURN_IF_ERROR(image.Write(AsBytes(kCompressedTag)));
  return image;
}

absl::Status FileImage::Write(std::span<const std::byte> bytes) {
  TS_RETURN_IF_ERROR(storage_->Write(file_, file_bytes_, bytes));
  file_.StartWriting(file_bytes_, bytes.size());
  file_bytes_ += bytes.size();
  return absl::OkStatus();
}

absl::Status FileImage::WriteBlocks(std::span<const std::byte> bytes) {
  const size_t block_bytes = compression_.block_bytes();
  const size_t count = (bytes.size() + block_bytes - 1) / block_bytes;
  std::vector<std::optional<ByteBuffer>> packed(count);
  const auto block = [&](size_t i) {
    return bytes.subspan(i * block_bytes, std::min(block_bytes, bytes.size() - i * block_bytes));
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
    TS_RETURN_IF_ERROR(Write(stored));
  }
  return absl::OkStatus();
}

absl::Status FileImage::WriteFirst(size_t bytes) {
  const std::span<const std::byte> first = pending_.span().first(bytes);
  if (first.empty()) return absl::OkStatus();
  TS_RETURN_IF_ERROR(compressed() ? WriteBlocks(first) : Write(first));
  used_ -= bytes;
  std::memmove(pending_.data(), pending_.data() + bytes, used_);
  return absl::OkStatus();
}

std::span<std::byte> FileImage::Room() { return pending_.span().subspan(used_); }

absl::Status FileImage::Filled(size_t bytes) {
  used_ += bytes;
  image_bytes_ += bytes;
  // Every block but the file's last is whole, and so is every page of the disk's.
  return used_ < kBatchBytes ? absl::OkStatus() : WriteFirst(used_ / kBatchBytes * kBatchBytes);
}

absl::Status FileImage::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> room = Room();
    const size_t part = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), part);
    TS_RETURN_IF_ERROR(Filled(part));
    bytes = bytes.subspan(part);
  }
  return absl::OkStatus();
}

ByteBuffer FileImage::Trailer() const {
  ByteBuffer out;
  out.AppendLittle(kFormatVersion);
  out.AppendLittle(static_cast<uint8_t>(compression_.algorithm));
  out.AppendLittle(static_cast<uint8_t>(compression_.level));
  out.AppendLittle(uint16_t{0});
  out.AppendLittle(static_cast<int64_t>(image_bytes_));
  out.AppendLittle(static_cast<int64_t>(file_bytes_));
  out.AppendLittle(static_cast<int64_t>(compression_.block_bytes()));
  for (const StoredBlock& block : blocks_) {
    out.AppendLittle(block.bytes);
    out.AppendLittle(block.algorithm);
  }
  out.AppendLittle(static_cast<int64_t>(blocks_.size()));
  return out;
}

absl::StatusOr<uint64_t> FileImage::Finish() {
  TS_RETURN_IF_ERROR(WriteFirst(used_));
  if (compressed()) TS_RETURN_IF_ERROR(Write(Trailer()));
  TS_RETURN_IF_ERROR(storage_->Sync(file_));
  return file_bytes_;
}

}  // namespace tickstack
