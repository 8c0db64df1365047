#include "disk/compressed_file.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "base/byte_buffer.h"
#include "base/scratch.h"
#include "base/status.h"
#include "disk/decompressed_image.h"
#include "disk/decompression.h"

namespace tickstack::disk {
namespace {

constexpr uint32_t kVersionMin = 2;  // From 2015.
constexpr uint32_t kVersionMax = 3;  // Since then.
// How often a reader fills another image after errors of other readers.
constexpr int kFillsMax = 20;

class CompressedFile : public StoredFile {
 public:
  CompressedFile(std::string path, StoredBytes stored, CompressedLayout layout)
      : StoredFile(std::move(path), layout.image_bytes, std::move(stored),
                   /*is_compressed=*/true),
        layout_(std::move(layout)) {}

  ~CompressedFile() override {
    if (const std::shared_ptr<DecompressedImage> image = image_.lock()) {
      DecompressedCache::Instance().Remove(image.get());
    }
  }

  absl::StatusOr<std::span<const std::byte>> Head() const override {
    if (!has_head_.load(std::memory_order_acquire)) TS_RETURN_IF_ERROR(ReadHead());
    return head_.span();
  }

  absl::StatusOr<PinnedBytes> All() const override {
    const std::shared_ptr<const void> pin = Pin();
    for (int attempt = 0;; ++attempt) {
      TS_ASSIGN_OR_RETURN(const std::shared_ptr<DecompressedImage> image, Image());
      absl::Status own;
      absl::Status filled = image->Fill([&](size_t i, std::span<std::byte> out) {
        const absl::Status status = Decompress(i, out);
        if (!status.ok()) own = status;
        return status;
      });
      if (filled.ok()) {
        DecompressedCache::Instance().Use(image);
        return PinnedBytes(image->bytes(), image);
      }
      ForgetImage(image);
      // Another thread's error may be that its query has ended.
      if (!own.ok() || attempt == kFillsMax) return filled;
    }
  }

  absl::Status Visit(Visitor visitor) const override {
    const std::shared_ptr<const void> pin = Pin();
    ByteBuffer block;
    for (size_t i = 0; i < layout_.blocks.size(); ++i) {
      block.resize(layout_.bytes_of_block(i));
      TS_RETURN_IF_ERROR(Decompress(i, block.span()));
      TS_RETURN_IF_ERROR(visitor(i * layout_.block_bytes, block.span()));
    }
    return absl::OkStatus();
  }

  absl::Status Read(uint64_t begin, std::span<std::byte> out) const override {
    const std::shared_ptr<const void> pin = Pin();
    ByteBuffer block;
    while (!out.empty()) {
      const size_t i = begin / layout_.block_bytes, skipped = begin % layout_.block_bytes;
      const size_t block_bytes = layout_.bytes_of_block(i);
      const size_t part = std::min(block_bytes - skipped, out.size());
      if (part == block_bytes) {
        TS_RETURN_IF_ERROR(Decompress(i, out.first(part)));
      } else {
        block.resize(block_bytes);
        TS_RETURN_IF_ERROR(Decompress(i, block.span()));
        std::memcpy(out.data(), block.data() + skipped, part);
      }
      begin += part;
      out = out.subspan(part);
    }
    return absl::OkStatus();
  }

 private:
  size_t HeadBytes() const { return std::min<uint64_t>(kPageBytes, bytes()); }

  absl::Status Decompress(size_t i, std::span<std::byte> out) const {
    const CompressedBlock& block = layout_.blocks[i];
    const uint64_t begin = i * layout_.block_bytes;
    const std::shared_ptr<const void> pin = Pin();
    TS_RETURN_IF_ERROR(
        VerifyOnDisk(block.offset, block.offset + block.bytes, begin, begin + out.size()));
    const absl::Status status =
        DecompressBlock(block.algorithm, on_disk().subspan(block.offset, block.bytes), out);
    return Annotate(status, fmt::format("{}: byte {}: block {}", path(), block.offset, i));
  }

  // The smallest block has a page.
  absl::Status ReadHead() const {
    if (layout_.blocks.empty()) return absl::OkStatus();  // It stays empty.
    const internal::ScratchScope outside_of_queries(nullptr);
    ByteBuffer block;
    block.resize(layout_.bytes_of_block(0));
    TS_RETURN_IF_ERROR(Decompress(0, block.span()));
    const std::lock_guard lock(mutex_);
    if (has_head_.load(std::memory_order_relaxed)) return absl::OkStatus();
    head_ = ByteBuffer(block.span().first(HeadBytes()));
    has_head_.store(true, std::memory_order_release);
    return absl::OkStatus();
  }

  // Returns the image that has readers, or a new one.
  absl::StatusOr<std::shared_ptr<DecompressedImage>> Image() const {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<DecompressedImage> image = image_.lock()) return image;
    absl::StatusOr<std::shared_ptr<DecompressedImage>> image =
        DecompressedImage::Make(bytes(), layout_.block_bytes, layout_.blocks.size());
    if (!image.ok()) return Annotate(image.status(), path());
    image_ = *image;
    return image;
  }

  // The next reader makes another image.
  void ForgetImage(const std::shared_ptr<DecompressedImage>& image) const {
    const std::lock_guard lock(mutex_);
    if (image_.lock() == image) image_.reset();
  }

  const CompressedLayout layout_;

  mutable std::mutex mutex_;
  // Written once, under mutex_, before has_head_ is set with release.
  mutable ByteBuffer head_;
  mutable std::atomic<bool> has_head_{false};
  mutable std::weak_ptr<DecompressedImage> image_;  // Guarded by mutex_.
};

// Fetches what ParseCompressedLayout reads of an archived file: its end. The last number says how
// long that is.
absl::Status FetchTrailer(ArchivedBytes& archived) {
  const std::span<const std::byte> file = archived.bytes();
  constexpr uint64_t kCountBytes = 8;
  if (file.size() < kCountBytes) return archived.Need(0, file.size());
  TS_RETURN_IF_ERROR(archived.Need(file.size() - kCountBytes, file.size()));
  const auto blocks = LoadLittle<uint64_t>(file.data() + file.size() - kCountBytes);
  const uint64_t blocks_max = file.size() / kBlockEntryBytes;
  const uint64_t bytes =
      std::min(blocks, blocks_max) * kBlockEntryBytes + kTrailerBytes + kCountBytes;
  return archived.Need(file.size() - std::min<uint64_t>(bytes, file.size()), file.size());
}

}  // namespace

absl::StatusOr<CompressedLayout> ParseCompressedLayout(std::span<const std::byte> file) {
  constexpr size_t kTagBytes = kCompressedTag.size();
  constexpr size_t kFixedBytes = kTagBytes + kTrailerBytes + 8;
  if (file.size() < kFixedBytes) {
    return DataLoss("byte {}: the file ends here, a compressed one has {} bytes or more",
                    file.size(), kFixedBytes);
  }
  const uint64_t count_at = file.size() - 8;
  const auto blocks = LoadLittle<uint64_t>(file.data() + count_at);
  const uint64_t blocks_max = (file.size() - kFixedBytes) / kBlockEntryBytes;
  if (blocks > blocks_max) {
    return DataLoss("byte {}: {} blocks, but the file has room for {}", count_at, blocks,
                    blocks_max);
  }
  const uint64_t entries_at = count_at - blocks * kBlockEntryBytes;
  const uint64_t trailer_at = entries_at - kTrailerBytes;
  const std::byte* const trailer = file.data() + trailer_at;

  CompressedLayout layout;
  const auto version = LoadLittle<uint32_t>(trailer);
  if (version < kVersionMin || version > kVersionMax) {
    return DataLoss("byte {}: version {}, expected 2 or 3", trailer_at, version);
  }
  layout.algorithm = static_cast<Compression>(LoadLittle<uint8_t>(trailer + 4));
  layout.level = LoadLittle<uint8_t>(trailer + 5);
  layout.image_bytes = LoadLittle<uint64_t>(trailer + 8);
  if (const auto place = LoadLittle<uint64_t>(trailer + 16); place != trailer_at) {
    return DataLoss("byte {}: the trailer says that it is at byte {}", trailer_at, place);
  }
  layout.block_bytes = LoadLittle<uint64_t>(trailer + 24);
  if (!std::has_single_bit(layout.block_bytes) || layout.block_bytes < kBlockBytesMin ||
      layout.block_bytes > kBlockBytesMax) {
    return DataLoss("byte {}: blocks of {} bytes, expected a power of two from {} to {}",
                    trailer_at + 24, layout.block_bytes, kBlockBytesMin, kBlockBytesMax);
  }
  // No overflow: the file has room for the blocks' entries, so they are far fewer than 2^44.
  const bool right = layout.image_bytes <= blocks * layout.block_bytes &&
                     layout.image_bytes > (std::max<uint64_t>(blocks, 1) - 1) * layout.block_bytes;
  if (!right && (blocks != 0 || layout.image_bytes != 0)) {
    return DataLoss("byte {}: {} bytes in {} blocks of {}", trailer_at + 8, layout.image_bytes,
                    blocks, layout.block_bytes);
  }

  layout.blocks.resize(blocks);
  uint64_t at = kTagBytes;
  for (uint64_t i = 0; i < blocks; ++i) {
    const std::byte* const entry = file.data() + entries_at + i * kBlockEntryBytes;
    CompressedBlock& block = layout.blocks[i];
    block.offset = at;
    block.bytes = LoadLittle<uint32_t>(entry);
    const auto algorithm = LoadLittle<uint32_t>(entry + 4);
    if (algorithm > static_cast<uint32_t>(Compression::kZstd)) {
      return DataLoss("byte {}: block {} is compressed by algorithm {}, expected 0 to 5",
                      entries_at + i * kBlockEntryBytes + 4, i, algorithm);
    }
    block.algorithm = static_cast<Compression>(algorithm);
    at += block.bytes;
    if (at > trailer_at) {
      return DataLoss("byte {}: block {} ends at byte {}, the trailer begins at {}",
                      entries_at + i * kBlockEntryBytes, i, at, trailer_at);
    }
  }
  if (at != trailer_at) {
    return DataLoss("byte {}: the blocks end here, the trailer begins at {}", at, trailer_at);
  }
  return layout;
}

std::optional<CompressionOptions> CompressionOf(const std::string& path) {
  const absl::StatusOr<Mapping> mapping = Mapping::OfFile(path);
  if (!mapping.ok()) return std::nullopt;
  const absl::StatusOr<CompressedLayout> layout = ParseCompressedLayout(mapping->bytes());
  if (!layout.ok()) return std::nullopt;
  return CompressionOptions{layout->algorithm, layout->level,
                            std::countr_zero(layout->block_bytes)};
}

absl::StatusOr<std::unique_ptr<const StoredFile>> OpenCompressed(std::string path,
                                                                 StoredBytes stored) {
  const std::span<const std::byte> file = stored.bytes();
  std::shared_ptr<const void> pin;
  if (stored.archived != nullptr) {
    pin = stored.archived->Pin();
    TS_RETURN_IF_ERROR(FetchTrailer(*stored.archived));
  }
  absl::StatusOr<CompressedLayout> layout = ParseCompressedLayout(file);
  if (stored.archived == nullptr && stored.blocks != nullptr) {
    // A damaged count moves the trailer, so without a layout all blocks are verified.
    uint64_t trailer_at = 0;
    if (layout.ok() && !layout->blocks.empty()) {
      trailer_at = layout->blocks.back().offset + layout->blocks.back().bytes;
    }
    const std::optional<DamagedBlock> damage =
        stored.blocks->FindDamage(file, trailer_at, file.size());
    if (damage) return stored.blocks->ErrorOf(*damage, path, "");
  }
  if (!layout.ok()) return Annotate(layout.status(), path);
  return std::make_unique<CompressedFile>(std::move(path), std::move(stored), *std::move(layout));
}

}  // namespace tickstack::disk
