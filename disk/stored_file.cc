#include "disk/stored_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/byte_buffer.h"
#include "base/mapping.h"
#include "base/scratch.h"
#include "base/status.h"
#include "disk/compressed_file.h"
#include "disk/kdb_format.h"

namespace tickstack::disk {
namespace {

class PlainFile : public StoredFile {
 public:
  // `head` are the first bytes of an archived file.
  PlainFile(std::string path, uint64_t bytes, StoredBytes stored, ByteBuffer head)
      : StoredFile(std::move(path), bytes, std::move(stored), /*is_compressed=*/false),
        head_(std::move(head)) {}

  absl::StatusOr<std::span<const std::byte>> Head() const override {
    if (is_archived()) return head_.span();
    return on_disk().first(std::min(kPageBytes, on_disk().size()));
  }
  absl::StatusOr<PinnedBytes> All() const override {
    PinnedBytes pinned(on_disk(), Pin());
    TS_RETURN_IF_ERROR(Verify(0, bytes()));
    return pinned;
  }
  absl::StatusOr<PinnedBytes> InPlace() const override { return PinnedBytes(on_disk(), Pin()); }
  absl::Status Visit(Visitor visitor) const override {
    TS_ASSIGN_OR_RETURN(const PinnedBytes pinned, All());
    return visitor(0, pinned.span());
  }
  absl::Status Read(uint64_t begin, std::span<std::byte> out) const override {
    if (out.empty()) return absl::OkStatus();
    const std::shared_ptr<const void> pin = Pin();
    TS_RETURN_IF_ERROR(Verify(begin, begin + out.size()));
    std::memcpy(out.data(), on_disk().subspan(begin).data(), out.size());
    return absl::OkStatus();
  }

 private:
  const ByteBuffer head_;
};

// Opens the bytes of a file, and verifies the first block: a damaged tag or header would be taken
// for another format. A table may be archived or recalled meanwhile: then its file is looked for
// again.
absl::StatusOr<StoredBytes> OpenStoredBytes(const std::string& path, const ChecksumFile* checksums,
                                            bool may_grow) {
  constexpr int kAttempts = 4;
  for (int attempt = 1;; ++attempt) {
    StoredBytes stored;
    absl::StatusOr<Mapping> mapping = Mapping::OfFile(path);
    if (mapping.ok()) {
      stored.mapping = *std::move(mapping);
      const std::span<const std::byte> bytes = stored.bytes();
      TS_ASSIGN_OR_RETURN(stored.blocks,
                          VerifiedBlocks::Load(checksums, path, bytes.size(), may_grow));
      if (stored.blocks == nullptr) return stored;
      const std::optional<DamagedBlock> damage =
          stored.blocks->FindDamage(bytes, 0, std::min(kPageBytes, bytes.size()));
      if (damage) return stored.blocks->ErrorOf(*damage, path, "");
      return stored;
    }
    if (!absl::IsNotFound(mapping.status())) return mapping.status();
    TS_ASSIGN_OR_RETURN(stored.archived, ArchivedBytes::Open(path, checksums));
    if (stored.archived != nullptr) {
      stored.blocks = stored.archived->blocks();
      return stored;
    }
    if (attempt == kAttempts) return mapping.status();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<const StoredFile>> StoredFile::Open(const std::string& path,
                                                                   const ChecksumFile* checksums,
                                                                   bool may_grow) {
  TS_ASSIGN_OR_RETURN(StoredBytes stored, OpenStoredBytes(path, checksums, may_grow));
  const std::span<const std::byte> bytes = stored.bytes();
  const size_t head_bytes = std::min(kPageBytes, bytes.size());
  ByteBuffer head;
  std::string_view text = AsText(bytes);
  if (stored.archived != nullptr) {
    const std::shared_ptr<const void> pin = stored.archived->Pin();
    TS_RETURN_IF_ERROR(stored.archived->Need(0, head_bytes));
    const internal::ScratchScope outside_of_queries(nullptr);
    head = ByteBuffer(bytes.first(head_bytes));
    text = AsText(head.span());
  }
  if (text.starts_with(kEncryptedTag)) return Unimplemented("{}: an encrypted file", path);
  if (text.starts_with(kCompressedTag)) return OpenCompressed(path, std::move(stored));
  return std::make_unique<PlainFile>(path, bytes.size(), std::move(stored), std::move(head));
}

absl::Status StoredFile::VerifyOnDisk(uint64_t begin, uint64_t end, uint64_t image_begin,
                                      uint64_t image_end) const {
  if (is_archived()) return stored_.archived->Need(begin, end);
  if (!has_checksums()) return absl::OkStatus();
  uint64_t verified_bytes = 0;
  const std::optional<DamagedBlock> damage =
      stored_.blocks->FindDamage(on_disk(), begin, end, &verified_bytes);
  if (verified_bytes > 0) ArchiveCache::CountLocal(verified_bytes);
  if (!damage) return absl::OkStatus();
  if (!is_compressed()) image_begin = damage->begin, image_end = damage->end;
  return stored_.blocks->ErrorOf(*damage, path_, RowsOf(image_begin, image_end));
}

// Returns the rows that these bytes hold, as words of a message.
std::string StoredFile::RowsOf(uint64_t begin, uint64_t end) const {
  if (rows_.width == 0 || begin >= end || end <= rows_.offset) return "";
  const uint64_t first = (std::max(begin, rows_.offset) - rows_.offset) / rows_.width;
  const uint64_t last = std::min((end - 1 - rows_.offset) / rows_.width + 1, rows_.count);
  if (first >= last) return "";
  return fmt::format("rows {} to {}, ", first, last - 1);
}

}  // namespace tickstack::disk
