#include "disk/table_archive.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/checksum_file.h"

namespace tickstack::disk {
namespace {

// How many bytes of an object are read back at a time; a multiple of kChecksumBlockBytes.
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

std::string InTable(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory, name);
}

// What tells whether a program has written or replaced a file.
struct FileIdentity {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

absl::StatusOr<FileIdentity> IdentityOf(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return ErrnoStatus(errno, path);
  const auto ns = [](const timespec& time) { return time.tv_sec * kNsPerSecond + time.tv_nsec; };
  return FileIdentity{status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
                      ns(status.st_mtim), ns(status.st_ctim)};
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    TS_CHECK(context_ != nullptr);
    TS_CHECK(EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
  }
  ~Sha256() { EVP_MD_CTX_free(context_); }
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::span<const std::byte> bytes) {
    TS_CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1);
  }
  // Returns 64 hexadecimal digits. Call it once.
  std::string Digits() {
    std::array<unsigned char, 32> digest{};
    TS_CHECK(EVP_DigestFinal_ex(context_, digest.data(), nullptr) == 1);
    std::string digits;
    for (const unsigned char byte : digest) digits += fmt::format("{:02x}", byte);
    return digits;
  }

 private:
  EVP_MD_CTX* const context_;
};

// Returns the last two parts of a path, `2024.01.29/trade`, as a part of a key. They are there for
// people who look at the store; the hash makes keys different.
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

// Returns the checksums of a file's blocks. kDataLoss if it does not have `bytes` bytes by them.
absl::StatusOr<std::vector<uint32_t>> BlocksOf(const ChecksumFile& checksums,
                                               const std::string& path, std::string_view name,
                                               uint64_t bytes) {
  const ChecksumFile::Entry* const entry = checksums.Find(name);
  if (entry != nullptr && entry->bytes == bytes) return checksums.Load(*entry);
  return DataLoss("{}: {} bytes, expected {} by the checksums of the table", path, bytes,
                  entry == nullptr ? 0 : entry->bytes);
}

// Compares bytes of a file, from byte `begin` on, with its checksums. `begin` is a multiple of
// kChecksumBlockBytes; `of` names the bytes in errors.
absl::Status CheckBlocks(std::span<const std::byte> bytes, uint64_t begin,
                         std::span<const uint32_t> blocks, const std::string& of) {
  for (uint64_t at = 0; at < bytes.size(); at += kChecksumBlockBytes) {
    const uint64_t number = (begin + at) / kChecksumBlockBytes;
    const uint32_t found =
        Crc32c(bytes.subspan(at, std::min(kChecksumBlockBytes, bytes.size() - at)));
    if (found == blocks[number]) continue;
    return DataLoss("{}: byte {}: block {} has CRC32C {:08x}, expected {:08x}", of, begin + at,
                    number, found, blocks[number]);
  }
  return absl::OkStatus();
}

// Reads exactly `bytes` bytes.
absl::Status ReadPiece(const File& file, uint64_t at, uint64_t bytes, ByteBuffer& out) {
  out.resize(bytes);
  TS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(at, out.span()));
  if (got == bytes) return absl::OkStatus();
  return FailedPrecondition("{}: it became shorter while it was read: repeat the command",
                            file.path());
}

// A table that is being archived or recalled.
class ArchiveWork {
 public:
  ArchiveWork(std::string directory, const ArchiveOptions& options)
      : directory_(std::move(directory)), options_(options), storage_(options.observer) {}

  absl::StatusOr<ArchivedTable> Archive();
  absl::StatusOr<RecalledTable> Recall();

 private:
  // A file as it was when it was read.
  struct LocalFile {
    ArchivedFile file;
    FileIdentity identity;
  };

  absl::StatusOr<std::shared_ptr<const ChecksumFile>> Checksums() const;
  absl::StatusOr<LocalFile> ReadLocal(const ChecksumFile& checksums, const std::string& name,
                                      Sha256* content) const;
  absl::StatusOr<ArchiveMarker> PlanMarker(const ChecksumFile& checksums);
  absl::Status UploadMissing(const ArchiveMarker& marker, const ChecksumFile& checksums) const;
  absl::Status UploadObject(const ArchiveMarker& marker, size_t file, uint64_t begin,
                            std::span<const uint32_t> blocks) const;
  // Calls f(offset, bytes) for all bytes of an archived file, after comparing them with their
  // checksums.
  absl::Status EachVerifiedPiece(
      const ArchiveMarker& marker, size_t file, const ChecksumFile& checksums,
      absl::FunctionRef<absl::Status(uint64_t, std::span<const std::byte>)> f) const;
  absl::Status EachPieceOfObject(
      const ArchiveMarker& marker, size_t file, uint64_t begin, std::span<const uint32_t> blocks,
      absl::FunctionRef<absl::Status(uint64_t, std::span<const std::byte>)> f) const;
  absl::Status CheckObjects(const ArchiveMarker& marker, const ChecksumFile& checksums) const;
  absl::Status CheckUnchanged(const ArchiveMarker& marker) const;
  absl::Status CheckStore(const ArchiveMarker& marker) const;
  absl::StatusOr<File> Lock() const { return options_.lock ? options_.lock() : File(); }
  absl::Status WriteMarker(const ArchiveMarker& marker) const;
  absl::Status RemoveLocalFiles(const ArchiveMarker& marker) const;
  absl::Status RemoveLeftovers() const;
  absl::StatusOr<ArchivedTable> FinishArchived(const ArchiveMarker& archived);
  absl::StatusOr<std::optional<LocalFile>> LocalOf(const ArchivedFile& file,
                                                   const ChecksumFile& checksums) const;
  absl::Status Fetch(const ArchiveMarker& marker, size_t file, const ChecksumFile& checksums) const;

  const std::string directory_;
  const ArchiveOptions& options_;
  const Storage storage_;
  std::vector<LocalFile> local_;  // The marker's files in their order, while archiving.
};

absl::StatusOr<std::shared_ptr<const ChecksumFile>> ArchiveWork::Checksums() const {
  TS_ASSIGN_OR_RETURN(std::shared_ptr<const ChecksumFile> checksums,
                      ChecksumFile::Open(InTable(directory_, kChecksumName)));
  if (checksums != nullptr) return checksums;
  return FailedPrecondition(
      "{}: has no checksums, by which archived columns are verified; {} writes them", directory_,
      ChecksumCommand(InTable(directory_, kChecksumName)));
}

// Reads a file, and compares it with its checksums. Adds its bytes to `content`, unless that is
// nullptr. It reads instead of mapping the file, which another program may truncate.
absl::StatusOr<ArchiveWork::LocalFile> ArchiveWork::ReadLocal(const ChecksumFile& checksums,
                                                              const std::string& name,
                                                              Sha256* content) const {
  const std::string path = InTable(directory_, name);
  LocalFile local;
  TS_ASSIGN_OR_RETURN(local.identity, IdentityOf(path));
  TS_ASSIGN_OR_RETURN(const std::vector<uint32_t> blocks,
                      BlocksOf(checksums, path, name, local.identity.bytes));
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  local.file = {name, local.identity.bytes, 0};
  ByteBuffer piece;
  for (uint64_t at = 0; at < local.file.bytes; at += piece.size()) {
    TS_RETURN_IF_ERROR(ReadPiece(file, at, std::min(kPieceBytes, local.file.bytes - at), piece));
    const absl::Status right = CheckBlocks(piece.span(), at, blocks, path);
    if (!right.ok()) {
      return DataLoss("{}; if a program changed the file on purpose, {} writes its checksums anew",
                      Message(right), ChecksumCommand(InTable(directory_, kChecksumName)));
    }
    local.file.crc = ExtendCrc32c(local.file.crc, piece.span());
    if (content != nullptr) content->Add(piece.span());
  }
  return local;
}

absl::StatusOr<ArchiveMarker> ArchiveWork::PlanMarker(const ChecksumFile& checksums) {
  ArchiveMarker marker;
  Sha256 content;
  marker.store = options_.store->name();
  marker.object_bytes = options_.object_bytes;
  for (const ChecksumFile::Entry& entry : checksums.entries()) {
    if (entry.name.starts_with('.') || entry.bytes <= options_.keep_bytes) continue;
    if (entry.name.find('\n') != std::string::npos) continue;  // The marker has lines.
    content.Add(AsBytes(fmt::format("{} {}\n", entry.bytes, entry.name)));
    TS_ASSIGN_OR_RETURN(local_.emplace_back(), ReadLocal(checksums, entry.name, &content));
    marker.files.push_back(local_.back().file);
  }
  content.Add(AsBytes(fmt::format("{}\n", marker.object_bytes)));
  marker.objects = fmt::format("{}{}/{}", options_.prefix.empty() ? "" : options_.prefix + "/",
                               LabelOf(directory_), content.Digits());
  return marker;
}

// Writes the objects that the store does not have, or has with other bytes. Objects that are right
// stay as they are: other tables may refer to them.
absl::Status ArchiveWork::UploadMissing(const ArchiveMarker& marker,
                                        const ChecksumFile& checksums) const {
  const auto nothing = [](uint64_t, std::span<const std::byte>) { return absl::OkStatus(); };
  for (size_t i = 0; i < marker.files.size(); ++i) {
    const ArchivedFile& file = marker.files[i];
    const std::string path = InTable(directory_, file.name);
    TS_ASSIGN_OR_RETURN(const std::vector<uint32_t> blocks,
                        BlocksOf(checksums, path, file.name, file.bytes));
    for (uint64_t at = 0; at < file.bytes; at += marker.object_bytes) {
      const absl::Status there = EachPieceOfObject(marker, i, at, blocks, nothing);
      // Without the right to list a bucket, services answer so if there is no such object.
      const bool may_be_missing = absl::IsNotFound(there) || absl::IsPermissionDenied(there);
      if (may_be_missing || absl::IsDataLoss(there)) {
        TS_RETURN_IF_ERROR(UploadObject(marker, i, at, blocks));
        TS_RETURN_IF_ERROR(EachPieceOfObject(marker, i, at, blocks, nothing));
      } else {
        TS_RETURN_IF_ERROR(there);
      }
    }
  }
  return absl::OkStatus();
}

// Writes one object: a copy of its bytes that was compared with the checksums, whatever happens to
// the file meanwhile.
absl::Status ArchiveWork::UploadObject(const ArchiveMarker& marker, size_t file, uint64_t begin,
                                       std::span<const uint32_t> blocks) const {
  const std::string path = InTable(directory_, marker.files[file].name);
  TS_ASSIGN_OR_RETURN(const File from, File::OpenForReading(path));
  ByteBuffer object;
  const uint64_t bytes = std::min(marker.object_bytes, marker.files[file].bytes - begin);
  TS_RETURN_IF_ERROR(ReadPiece(from, begin, bytes, object));
  TS_RETURN_IF_ERROR(CheckBlocks(object.span(), begin, blocks, path));
  return Annotate(options_.store->Put(marker.KeyOf(file, begin), object.span()), path);
}

// Passes all bytes of an object to f(offset, bytes), after comparing them with their checksums.
absl::Status ArchiveWork::EachPieceOfObject(
    const ArchiveMarker& marker, size_t file, uint64_t begin, std::span<const uint32_t> blocks,
    absl::FunctionRef<absl::Status(uint64_t, std::span<const std::byte>)> f) const {
  const std::string path = InTable(directory_, marker.files[file].name);
  const std::string key = marker.KeyOf(file, begin);
  const uint64_t end = std::min(begin + marker.object_bytes, marker.files[file].bytes);
  ByteBuffer piece;
  for (uint64_t at = begin; at < end; at += piece.size()) {
    piece.resize(std::min(kPieceBytes, end - at));
    TS_RETURN_IF_ERROR(Annotate(options_.store->Get(key, at - begin, piece.span(), nullptr), path));
    TS_RETURN_IF_ERROR(CheckBlocks(piece.span(), at, blocks,
                                   fmt::format("{}: object {}/{}", path, marker.store, key)));
    TS_RETURN_IF_ERROR(f(at, piece.span()));
  }
  return absl::OkStatus();
}

absl::Status ArchiveWork::EachVerifiedPiece(
    const ArchiveMarker& marker, size_t file, const ChecksumFile& checksums,
    absl::FunctionRef<absl::Status(uint64_t, std::span<const std::byte>)> f) const {
  const ArchivedFile& archived = marker.files[file];
  const std::string path = InTable(directory_, archived.name);
  TS_ASSIGN_OR_RETURN(const std::vector<uint32_t> blocks,
                      BlocksOf(checksums, path, archived.name, archived.bytes));
  uint32_t crc = 0;
  for (uint64_t at = 0; at < archived.bytes; at += marker.object_bytes) {
    TS_RETURN_IF_ERROR(EachPieceOfObject(marker, file, at, blocks,
                                         [&](uint64_t offset, std::span<const std::byte> bytes) {
                                           crc = ExtendCrc32c(crc, bytes);
                                           return f(offset, bytes);
                                         }));
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

// kFailedPrecondition if a program has written or replaced a file since it was mapped.
absl::Status ArchiveWork::CheckUnchanged(const ArchiveMarker& marker) const {
  for (size_t i = 0; i < marker.files.size(); ++i) {
    const std::string path = InTable(directory_, marker.files[i].name);
    const absl::StatusOr<FileIdentity> identity = IdentityOf(path);
    if (!identity.ok() && !absl::IsNotFound(identity.status())) return identity.status();
    if (identity.ok() && *identity == local_[i].identity) continue;
    return FailedPrecondition("{}: it was changed while it was archived: repeat the command", path);
  }
  return absl::OkStatus();
}

absl::Status ArchiveWork::CheckStore(const ArchiveMarker& marker) const {
  if (marker.store == options_.store->name()) return absl::OkStatus();
  return FailedPrecondition("{}: archived in {}, and this process uses {}", directory_,
                            marker.store, options_.store->name());
}

absl::Status ArchiveWork::WriteMarker(const ArchiveMarker& marker) const {
  const std::string made = InTable(directory_, kNewArchivedName);
  TS_RETURN_IF_ERROR(storage_.Remove(made));
  TS_RETURN_IF_ERROR(WriteNewFile(storage_, made, AsBytes(EncodeArchiveMarker(marker))));
  TS_RETURN_IF_ERROR(storage_.Rename(made, InTable(directory_, kArchivedName)));
  return storage_.SyncDirectory(directory_);
}

absl::Status ArchiveWork::RemoveLocalFiles(const ArchiveMarker& marker) const {
  for (const ArchivedFile& file : marker.files) {
    TS_RETURN_IF_ERROR(storage_.Remove(InTable(directory_, file.name)));
  }
  return storage_.SyncDirectory(directory_);
}

// Returns the local file of this name if there is one. kFailedPrecondition if it differs from the
// archived file: a person must say which of them is right.
absl::StatusOr<std::optional<ArchiveWork::LocalFile>> ArchiveWork::LocalOf(
    const ArchivedFile& file, const ChecksumFile& checksums) const {
  const std::string path = InTable(directory_, file.name);
  TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(path));
  if (!is_there) return std::nullopt;
  absl::StatusOr<LocalFile> local = ReadLocal(checksums, file.name, nullptr);
  if (!local.ok() && !absl::IsDataLoss(local.status())) return local.status();
  if (local.ok() && local->file == file) return *std::move(local);
  return FailedPrecondition(
      "{}: differs from the file that {} names, so it was changed or put there after the table was "
      "archived: move it away, or remove {} if the local files are right",
      path, kArchivedName, kArchivedName);
}

// Removes the local files of an archived table: a killed command or a restored backup left them.
absl::StatusOr<ArchivedTable> ArchiveWork::FinishArchived(const ArchiveMarker& archived) {
  const ArchivedTable unchanged{archived.files.size(), archived.bytes(), false};
  ArchiveMarker left = archived;
  left.files.clear();
  for (const ArchivedFile& file : archived.files) {
    TS_ASSIGN_OR_RETURN(const bool is_local, FileExists(InTable(directory_, file.name)));
    if (is_local) left.files.push_back(file);
  }
  if (left.files.empty()) return unchanged;
  TS_RETURN_IF_ERROR(CheckStore(archived));
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> checksums, Checksums());
  for (const ArchivedFile& file : left.files) {
    TS_ASSIGN_OR_RETURN(std::optional<LocalFile> local, LocalOf(file, *checksums));
    if (!local) return Unavailable("{}: its files change meanwhile", directory_);
    local_.push_back(*std::move(local));
  }
  TS_RETURN_IF_ERROR(CheckObjects(archived, *checksums));
  TS_ASSIGN_OR_RETURN(const File lock, Lock());
  TS_ASSIGN_OR_RETURN(const std::optional<ArchiveMarker> now,
                      ReadArchiveMarker(directory_, kArchivedName));
  if (!now || *now != archived) return Unavailable("{}: its files change meanwhile", directory_);
  TS_RETURN_IF_ERROR(CheckUnchanged(left));
  TS_RETURN_IF_ERROR(RemoveLocalFiles(left));
  return unchanged;
}

absl::StatusOr<ArchivedTable> ArchiveWork::Archive() {
  TS_ASSIGN_OR_RETURN(const std::optional<ArchiveMarker> archived,
                      ReadArchiveMarker(directory_, kArchivedName));
  if (archived) return FinishArchived(*archived);
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> checksums, Checksums());
  TS_ASSIGN_OR_RETURN(const ArchiveMarker marker, PlanMarker(*checksums));
  if (marker.files.empty()) return ArchivedTable();
  TS_RETURN_IF_ERROR(UploadMissing(marker, *checksums));
  TS_ASSIGN_OR_RETURN(const File lock, Lock());
  TS_RETURN_IF_ERROR(CheckUnchanged(marker));
  TS_RETURN_IF_ERROR(RemoveLeftovers());
  TS_RETURN_IF_ERROR(WriteMarker(marker));
  TS_RETURN_IF_ERROR(RemoveLocalFiles(marker));
  return ArchivedTable{marker.files.size(), marker.bytes(), true};
}

absl::Status ArchiveWork::Fetch(const ArchiveMarker& marker, size_t file,
                                const ChecksumFile& checksums) const {
  const std::string made = InTable(directory_, fmt::format("{}{}", kRecallingPrefix, file));
  const std::string path = InTable(directory_, marker.files[file].name);
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

// Removes what a recall left that failed or was killed while it fetched a file.
absl::Status ArchiveWork::RemoveLeftovers() const {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory_));
  for (const DirectoryEntry& entry : entries) {
    if (!entry.name.starts_with(kRecallingPrefix)) continue;
    TS_RETURN_IF_ERROR(storage_.Remove(InTable(directory_, entry.name)));
  }
  return absl::OkStatus();
}

absl::StatusOr<RecalledTable> ArchiveWork::Recall() {
  RecalledTable result;
  TS_ASSIGN_OR_RETURN(const std::optional<ArchiveMarker> archived,
                      ReadArchiveMarker(directory_, kArchivedName));
  TS_RETURN_IF_ERROR(RemoveLeftovers());
  if (!archived) return result;
  TS_RETURN_IF_ERROR(CheckStore(*archived));
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> checksums, Checksums());
  for (size_t i = 0; i < archived->files.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const std::optional<LocalFile> local,
                        LocalOf(archived->files[i], *checksums));
    if (local) continue;
    const absl::Status fetched = Fetch(*archived, i, *checksums);
    if (!fetched.ok()) RemoveLeftovers().IgnoreError();
    TS_RETURN_IF_ERROR(fetched);
    result.files += 1;
    result.bytes += archived->files[i].bytes;
  }
  TS_RETURN_IF_ERROR(storage_.SyncDirectory(directory_));
  TS_RETURN_IF_ERROR(storage_.Remove(InTable(directory_, kArchivedName)));
  TS_RETURN_IF_ERROR(storage_.SyncDirectory(directory_));
  result.objects = archived->objects;
  return result;
}

}  // namespace

absl::StatusOr<ArchivedTable> ArchiveTable(const std::string& directory,
                                           const ArchiveOptions& options) {
  return ArchiveWork(directory, options).Archive();
}

absl::StatusOr<RecalledTable> RecallTable(const std::string& directory,
                                          const ArchiveOptions& options) {
  return ArchiveWork(directory, options).Recall();
}

}  // namespace tickstack::disk
