#include "disk/stored_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/byte_buffer.h"
#include "base/mapping.h"
#include "base/status.h"
#include "disk/compressed_file.h"
#include "disk/kdb_format.h"

namespace tickstack::disk {
namespace {

class PlainFile : public StoredFile {
 public:
  PlainFile(std::string path, Mapping mapping, std::unique_ptr<const VerifiedBlocks> blocks)
      : StoredFile(std::move(path), mapping.bytes().size(), mapping.bytes(), std::move(blocks),
                   /*is_compressed=*/false),
        mapping_(std::move(mapping)) {}

  absl::StatusOr<std::span<const std::byte>> Head() const override {
    return mapping_.bytes().first(std::min(kPageBytes, mapping_.bytes().size()));
  }
  absl::StatusOr<PinnedBytes> All() const override {
    TS_RETURN_IF_ERROR(Verify(0, bytes()));
    return PinnedBytes(mapping_.bytes());
  }
  absl::StatusOr<PinnedBytes> InPlace() const override { return PinnedBytes(mapping_.bytes()); }
  absl::Status Visit(Visitor visitor) const override {
    TS_RETURN_IF_ERROR(Verify(0, bytes()));
    return visitor(0, mapping_.bytes());
  }
  absl::Status Read(uint64_t begin, std::span<std::byte> out) const override {
    if (out.empty()) return absl::OkStatus();
    TS_RETURN_IF_ERROR(Verify(begin, begin + out.size()));
    std::memcpy(out.data(), mapping_.bytes().subspan(begin).data(), out.size());
    return absl::OkStatus();
  }

 private:
  const Mapping mapping_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const StoredFile>> StoredFile::Open(const std::string& path,
                                                                   const ChecksumFile* checksums,
                                                                   bool may_grow) {
  TS_ASSIGN_OR_RETURN(Mapping mapping, Mapping::OfFile(path));
  const std::span<const std::byte> bytes = mapping.bytes();
  TS_ASSIGN_OR_RETURN(std::unique_ptr<const VerifiedBlocks> blocks,
                      VerifiedBlocks::Load(checksums, path, bytes.size(), may_grow));
  if (blocks != nullptr) {
    // Before anything is read: a damaged tag or header would be taken for another format.
    const std::optional<DamagedBlock> damage =
        blocks->FindDamage(bytes, 0, std::min(kPageBytes, bytes.size()));
    if (damage) return blocks->ErrorOf(*damage, path, "");
  }
  const std::string_view text = AsText(bytes);
  if (text.starts_with(kEncryptedTag)) return Unimplemented("{}: an encrypted file", path);
  if (text.starts_with(kCompressedTag)) {
    return OpenCompressed(path, std::move(mapping), std::move(blocks));
  }
  return std::make_unique<PlainFile>(path, std::move(mapping), std::move(blocks));
}

absl::Status StoredFile::VerifyOnDisk(uint64_t begin, uint64_t end, uint64_t image_begin,
                                      uint64_t image_end) const {
  if (blocks_ == nullptr) return absl::OkStatus();
  const std::optional<DamagedBlock> damage = blocks_->FindDamage(on_disk_, begin, end);
  if (!damage) return absl::OkStatus();
  if (!is_compressed()) image_begin = damage->begin, image_end = damage->end;
  return blocks_->ErrorOf(*damage, path_, RowsOf(image_begin, image_end));
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
