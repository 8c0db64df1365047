#include "disk/table_archive.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/mapping.h"
#include "base/status.h"
#include "disk/checksum_file.h"
#include "disk/verified_blocks.h"

namespace tickstack::disk {
namespace {

// How many bytes of an object are read back at a time; a multiple of kChecksumBlockBytes.
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

std::string InTable(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory, name);
}

// Returns 32 random hexadecimal digits.
absl::StatusOr<std::string> RandomName() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return ErrnoStatus(errno, "getrandom");
  }
  std::string name;
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

// Returns the last two parts of a path, `2024.01.29/trade`, as a part of a key. They are there for
// people who look at the store; the random part makes keys different.
std::string LabelOf(const std::string& directory) {
  const size_t slash = directory.rfind('/');
  const size_t before = slash == std::string::npos || slash == 0 ? std::string::npos
                                                                 : directory.rfind('/', slash - 1);
  std::string label = before == std::string::npos ? directory : directory.substr(before + 1);
  for (char& c : label) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '_' || c == '-';
    if (!is_plain) c = '_';
  }
  // A part `.` or `..` of a URL's path would be removed.
  return label.starts_with('.') || label.find("/.") != std::string::npos ? "table" : label;
}

absl::Status DeleteObjects(const ArchiveMarker& marker, ObjectStore& store) {
  if (marker.store != store.name()) {
    return FailedPrecondition("objects in {}, and this process uses {}", marker.store,
                              store.name());
  }
  for (const std::string& key : marker.Keys()) TS_RETURN_IF_ERROR(store.Delete(key));
  return absl::OkStatus();
}

// A table that is being archived or recalled.
class ArchiveWork {
 public:
  ArchiveWork(std::string directory, const ArchiveOptions& options)
      : directory_(std::move(directory)), options_(options), storage_(options.observer) {}

  absl::StatusOr<ArchivedTable> Archive();
  absl::StatusOr<RecalledTable> Recall(bool delete_objects);

 private:
  struct LocalFile {
    Mapping mapping;
    int64_t modified_ns = 0;
  };

  absl::Status RemoveMarker(std::string_view name);
  absl::Status DropUnfinished();
  absl::StatusOr<std::shared_ptr<const ChecksumFile>> Checksums() const;
  absl::StatusOr<ArchiveMarker> PlanMarker(const ChecksumFile& checksums);
  absl::Status Upload(const ArchiveMarker& marker) const;
  // Calls f(offset, bytes) for all bytes of an archived file, after comparing them with their
  // checksums.
  absl::Status EachVerifiedPiece(
      const ArchiveMarker& marker, size_t file, const ChecksumFile& checksums,
      absl::FunctionRef<absl::Status(uint64_t, std::span<const std::byte>)> f) const;
  absl::Status CheckObjects(const ArchiveMarker& marker, const ChecksumFile& checksums) const;
  absl::Status CheckUnchanged(const ArchiveMarker& marker) const;
  absl::StatusOr<bool> UseRecalled(const ArchiveMarker& plan, const ChecksumFile& checksums);
  absl::Status RemoveLocalFiles(const ArchiveMarker& marker) const;
  absl::StatusOr<bool> IsLocal(const ArchiveMarker& marker, size_t file,
                               const ChecksumFile& checksums) const;
  absl::Status Fetch(const ArchiveMarker& marker, size_t file, const ChecksumFile& checksums) const;
  absl::Status DeleteRecalled(RecalledTable& result);

  const std::string directory_;
  const ArchiveOptions& options_;
  const Storage storage_;
  std::vector<LocalFile> local_;  // The files that PlanMarker chose, in its order.
};

absl::Status ArchiveWork::RemoveMarker(std::string_view name) {
  TS_RETURN_IF_ERROR(storage_.Remove(InTable(directory_, name)));
  return storage_.SyncDirectory(directory_);
}

// Removes what an archiving left that was killed before it took effect.
absl::Status ArchiveWork::DropUnfinished() {
  const absl::StatusOr<std::optional<ArchiveMarker>> left =
      ReadArchiveMarker(directory_, kArchivingName);
  if (left.ok() && !*left) return absl::OkStatus();
  // One that is damaged was not synced, so no object of it was written.
  if (!left.ok() && !absl::IsDataLoss(left.status())) return left.status();
  if (left.ok()) {
    TS_RETURN_IF_ERROR(
        Annotate(DeleteObjects(**left, *options_.store), InTable(directory_, kArchivingName)));
  }
  return RemoveMarker(kArchivingName);
}

absl::StatusOr<std::shared_ptr<const ChecksumFile>> ArchiveWork::Checksums() const {
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const ChecksumFile> checksums,
                      ChecksumFile::Open(InTable(directory_, kChecksumName)));
  if (checksums != nullptr) return checksums;
  return FailedPrecondition(
      "{}: has no checksums, by which archived columns are verified; {} writes them", directory_,
      ChecksumCommand(InTable(directory_, kChecksumName)));
}

absl::StatusOr<ArchiveMarker> ArchiveWork::PlanMarker(const ChecksumFile& checksums) {
  ArchiveMarker marker;
  TS_ASSIGN_OR_RETURN(const std::string unique, RandomName());
  marker.store = options_.store->name();
  marker.objects = fmt::format("{}{}/{}", options_.prefix.empty() ? "" : options_.prefix + "/",
                               LabelOf(directory_), unique);
  marker.object_bytes = options_.object_bytes;
  for (const ChecksumFile::Entry& entry : checksums.entries()) {
    if (entry.name.starts_with('.') || entry.bytes <= options_.keep_bytes) continue;
    if (entry.name.find('\n') != std::string::npos) continue;  // The marker has lines.
    const std::string path = InTable(directory_, entry.name);
    LocalFile local;
    TS_ASSIGN_OR_RETURN(local.modified_ns, ModifiedNs(path));
    TS_ASSIGN_OR_RETURN(local.mapping, Mapping::OfFile(path));
    const std::span<const std::byte> bytes = local.mapping.bytes();
    TS_ASSIGN_OR_RETURN(const std::unique_ptr<const VerifiedBlocks> blocks,
                        VerifiedBlocks::Load(&checksums, path, bytes.size()));
    const std::optional<DamagedBlock> damage = blocks->FindDamage(bytes, 0, bytes.size());
    if (damage) return blocks->ErrorOf(*damage, path, "");
    marker.files.push_back({entry.name, entry.bytes, Crc32c(bytes)});
    local_.push_back(std::move(local));
  }
  return marker;
}

absl::Status ArchiveWork::Upload(const ArchiveMarker& marker) const {
  for (size_t i = 0; i < marker.files.size(); ++i) {
    const std::span<const std::byte> bytes = local_[i].mapping.bytes();
    for (uint64_t at = 0; at < bytes.size(); at += marker.object_bytes) {
      const std::span<const std::byte> object =
          bytes.subspan(at, std::min<uint64_t>(marker.object_bytes, bytes.size() - at));
      TS_RETURN_IF_ERROR(Annotate(options_.store->Put(marker.KeyOf(i, at), object),
                                  InTable(directory_, marker.files[i].name)));
    }
  }
  return absl::OkStatus();
}

absl::Status ArchiveWork::EachVerifiedPiece(
    const ArchiveMarker& marker, size_t file, const ChecksumFile& checksums,
    absl::FunctionRef<absl::Status(uint64_t, std::span<const std::byte>)> f) const {
  const ArchivedFile& archived = marker.files[file];
  const std::string path = InTable(directory_, archived.name);
  const ChecksumFile::Entry* const entry = checksums.Find(archived.name);
  if (entry == nullptr || entry->bytes != archived.bytes) {
    return DataLoss("{}: {} bytes, expected {} by the checksums of the table", path, archived.bytes,
                    entry == nullptr ? 0 : entry->bytes);
  }
  TS_ASSIGN_OR_RETURN(const std::vector<uint32_t> blocks, checksums.Load(*entry));
  ByteBuffer piece;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < archived.bytes;) {
    const uint64_t in_object = at % marker.object_bytes;
    piece.resize(std::min({kPieceBytes, marker.object_bytes - in_object, archived.bytes - at}));
    const std::string key = marker.KeyOf(file, at);
    TS_RETURN_IF_ERROR(Annotate(options_.store->Get(key, in_object, piece.span(), nullptr), path));
    const std::span<const std::byte> bytes(piece.data(), piece.size());
    for (uint64_t block = 0; block < bytes.size(); block += kChecksumBlockBytes) {
      const uint32_t found =
          Crc32c(bytes.subspan(block, std::min(kChecksumBlockBytes, bytes.size() - block)));
      const uint64_t number = (at + block) / kChecksumBlockBytes;
      if (found == blocks[number]) continue;
      return DataLoss("{}: byte {}: block {} of object {}/{} has CRC32C {:08x}, expected {:08x}",
                      path, at + block, number, options_.store->name(), key, found, blocks[number]);
    }
    crc = ExtendCrc32c(crc, bytes);
    TS_RETURN_IF_ERROR(f(at, bytes));
    at += bytes.size();
  }
  if (crc == archived.crc) return absl::OkStatus();
  return DataLoss("{}: its objects have CRC32C {:08x}, expected {:08x} by {}", path, crc,
                  archived.crc, kArchivedName);
}

absl::Status ArchiveWork::CheckObjects(const ArchiveMarker& marker,
                                       const ChecksumFile& checksums) const {
  const auto nothing = [](uint64_t, std::span<const std::byte>) { return absl::OkStatus(); };
  for (size_t i = 0; i < marker.files.size(); ++i) {
    TS_RETURN_IF_ERROR(EachVerifiedPiece(marker, i, checksums, nothing));
  }
  return absl::OkStatus();
}

// Archives the table with the objects that it had before it was recalled. False if it has none, or
// if they do not have the content of `plan`.
absl::StatusOr<bool> ArchiveWork::UseRecalled(const ArchiveMarker& plan,
                                              const ChecksumFile& checksums) {
  TS_ASSIGN_OR_RETURN(const std::optional<ArchiveMarker> recalled,
                      ReadArchiveMarker(directory_, kRecalledName));
  if (!recalled || recalled->store != plan.store || recalled->files != plan.files) return false;
  const absl::Status objects = CheckObjects(*recalled, checksums);
  if (absl::IsNotFound(objects) || absl::IsDataLoss(objects)) return false;
  TS_RETURN_IF_ERROR(objects);
  TS_RETURN_IF_ERROR(CheckUnchanged(*recalled));
  TS_RETURN_IF_ERROR(
      storage_.Rename(InTable(directory_, kRecalledName), InTable(directory_, kArchivedName)));
  TS_RETURN_IF_ERROR(storage_.SyncDirectory(directory_));
  TS_RETURN_IF_ERROR(RemoveLocalFiles(*recalled));
  return true;
}

// kFailedPrecondition if a program has written a file since it was mapped.
absl::Status ArchiveWork::CheckUnchanged(const ArchiveMarker& marker) const {
  for (size_t i = 0; i < marker.files.size(); ++i) {
    const std::string path = InTable(directory_, marker.files[i].name);
    TS_ASSIGN_OR_RETURN(const int64_t modified_ns, ModifiedNs(path));
    if (modified_ns == local_[i].modified_ns) continue;
    return FailedPrecondition("{}: it was changed while it was archived: repeat the command", path);
  }
  return absl::OkStatus();
}

absl::Status ArchiveWork::RemoveLocalFiles(const ArchiveMarker& marker) const {
  for (const ArchivedFile& file : marker.files) {
    TS_RETURN_IF_ERROR(storage_.Remove(InTable(directory_, file.name)));
  }
  return storage_.SyncDirectory(directory_);
}

absl::StatusOr<ArchivedTable> ArchiveWork::Archive() {
  TS_ASSIGN_OR_RETURN(const std::optional<ArchiveMarker> archived,
                      ReadArchiveMarker(directory_, kArchivedName));
  if (archived) {
    TS_RETURN_IF_ERROR(RemoveLocalFiles(*archived));
    return ArchivedTable{archived->files.size(), archived->bytes(), false};
  }
  TS_RETURN_IF_ERROR(DropUnfinished());
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> checksums, Checksums());
  TS_ASSIGN_OR_RETURN(const ArchiveMarker marker, PlanMarker(*checksums));
  if (marker.files.empty()) return ArchivedTable();
  TS_ASSIGN_OR_RETURN(const bool has_objects, UseRecalled(marker, *checksums));
  if (has_objects) return ArchivedTable{marker.files.size(), marker.bytes(), true};
  const std::string archiving = InTable(directory_, kArchivingName);
  TS_RETURN_IF_ERROR(WriteNewFile(storage_, archiving, AsBytes(EncodeArchiveMarker(marker))));
  TS_RETURN_IF_ERROR(storage_.SyncDirectory(directory_));
  TS_RETURN_IF_ERROR(Upload(marker));
  TS_RETURN_IF_ERROR(CheckObjects(marker, *checksums));
  TS_RETURN_IF_ERROR(CheckUnchanged(marker));
  TS_RETURN_IF_ERROR(storage_.Rename(archiving, InTable(directory_, kArchivedName)));
  TS_RETURN_IF_ERROR(storage_.SyncDirectory(directory_));
  TS_RETURN_IF_ERROR(RemoveLocalFiles(marker));
  RecalledTable earlier;  // Objects of an earlier archiving, which this one replaces.
  TS_RETURN_IF_ERROR(DeleteRecalled(earlier));
  return ArchivedTable{marker.files.size(), marker.bytes(), true};
}

// True if a file was fetched by an earlier call.
absl::StatusOr<bool> ArchiveWork::IsLocal(const ArchiveMarker& marker, size_t file,
                                          const ChecksumFile& checksums) const {
  const std::string path = InTable(directory_, marker.files[file].name);
  const absl::StatusOr<Mapping> mapping = Mapping::OfFile(path);
  if (absl::IsNotFound(mapping.status())) return false;
  TS_RETURN_IF_ERROR(mapping.status());
  const absl::StatusOr<std::unique_ptr<const VerifiedBlocks>> blocks =
      VerifiedBlocks::Load(&checksums, path, mapping->bytes().size());
  return blocks.ok() && !(*blocks)->FindDamage(mapping->bytes(), 0, mapping->bytes().size());
}

absl::Status ArchiveWork::Fetch(const ArchiveMarker& marker, size_t file,
                                const ChecksumFile& checksums) const {
  const std::string made = InTable(directory_, fmt::format(".recalling-{}", file));
  const std::string path = InTable(directory_, marker.files[file].name);
  TS_RETURN_IF_ERROR(storage_.Remove(made));
  {
    TS_ASSIGN_OR_RETURN(File out, storage_.Create(made));
    TS_RETURN_IF_ERROR(EachVerifiedPiece(marker, file, checksums,
                                         [&](uint64_t at, std::span<const std::byte> bytes) {
                                           return storage_.Write(out, at, bytes);
                                         }));
    TS_RETURN_IF_ERROR(storage_.Sync(out));
  }
  // A file that is newer than its checksums would pass for one that a program changed.
  TS_RETURN_IF_ERROR(SetModifiedNs(made, checksums.modified_ns()));
  return storage_.Rename(made, path);
}

absl::Status ArchiveWork::DeleteRecalled(RecalledTable& result) {
  TS_ASSIGN_OR_RETURN(const std::optional<ArchiveMarker> recalled,
                      ReadArchiveMarker(directory_, kRecalledName));
  if (!recalled) return absl::OkStatus();
  TS_RETURN_IF_ERROR(
      Annotate(DeleteObjects(*recalled, *options_.store), InTable(directory_, kRecalledName)));
  result.deleted_objects += recalled->Keys().size();
  return RemoveMarker(kRecalledName);
}

absl::StatusOr<RecalledTable> ArchiveWork::Recall(bool delete_objects) {
  RecalledTable result;
  TS_RETURN_IF_ERROR(DropUnfinished());
  TS_ASSIGN_OR_RETURN(const std::optional<ArchiveMarker> archived,
                      ReadArchiveMarker(directory_, kArchivedName));
  if (archived) {
    if (archived->store != options_.store->name()) {
      return FailedPrecondition("{}: archived in {}, and this process uses {}", directory_,
                                archived->store, options_.store->name());
    }
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> checksums, Checksums());
    for (size_t i = 0; i < archived->files.size(); ++i) {
      TS_ASSIGN_OR_RETURN(const bool is_local, IsLocal(*archived, i, *checksums));
      if (is_local) continue;
      TS_RETURN_IF_ERROR(Fetch(*archived, i, *checksums));
      result.files += 1;
      result.bytes += archived->files[i].bytes;
    }
    TS_RETURN_IF_ERROR(storage_.SyncDirectory(directory_));
    TS_RETURN_IF_ERROR(
        storage_.Rename(InTable(directory_, kArchivedName), InTable(directory_, kRecalledName)));
    TS_RETURN_IF_ERROR(storage_.SyncDirectory(directory_));
  }
  if (delete_objects) TS_RETURN_IF_ERROR(DeleteRecalled(result));
  return result;
}

}  // namespace

absl::StatusOr<ArchivedTable> ArchiveTable(const std::string& directory,
                                           const ArchiveOptions& options) {
  return ArchiveWork(directory, options).Archive();
}

absl::StatusOr<RecalledTable> RecallTable(const std::string& directory,
                                          const ArchiveOptions& options, bool delete_objects) {
  return ArchiveWork(directory, options).Recall(delete_objects);
}

}  // namespace tickstack::disk
