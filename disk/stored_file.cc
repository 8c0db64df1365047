#include "disk/stored_file.h"

#include <algorithm>
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
  PlainFile(std::string path, Mapping mapping)
      : StoredFile(std::move(path), mapping.bytes().size(), mapping.bytes().size()),
        mapping_(std::move(mapping)) {}

  absl::StatusOr<std::span<const std::byte>> Head() const override {
    return mapping_.bytes().first(std::min(kPageBytes, mapping_.bytes().size()));
  }
  absl::StatusOr<PinnedBytes> All() const override { return PinnedBytes(mapping_.bytes()); }
  absl::Status Visit(Visitor visitor) const override { return visitor(0, mapping_.bytes()); }

 private:
  const Mapping mapping_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const StoredFile>> StoredFile::Open(const std::string& path) {
  TS_ASSIGN_OR_RETURN(Mapping mapping, Mapping::OfFile(path));
  const std::string_view text = AsText(mapping.bytes());
  if (text.starts_with(kEncryptedTag)) return Unimplemented("{}: an encrypted file", path);
  if (text.starts_with(kCompressedTag)) return OpenCompressed(path, std::move(mapping));
  return std::make_unique<PlainFile>(path, std::move(mapping));
}

}  // namespace tickstack::disk
