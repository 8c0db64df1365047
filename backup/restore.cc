#include "backup/restore.h"

#include <filesystem>
#include <optional>

#include "backup/file_copy.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"

namespace tickstack::backup {
namespace {

absl::StatusOr<Manifest> Read(const std::string& source) {
  TS_ASSIGN_OR_RETURN(std::optional<Manifest> manifest, ReadManifest(source));
  if (!manifest) return NotFound("{}: no backup: it has no file {}", source, kManifestName);
  return *std::move(manifest);
}

absl::Status CheckSum(const StoredFile& file, const std::string& path, uint32_t crc) {
  if (crc == file.crc) return absl::OkStatus();
  return DataLoss("{}: expected the checksum {:08x}, found {:08x}", path, file.crc, crc);
}

absl::Status RestoreFile(const std::string& source, const StoredFile& file,
                         const std::string& folder) {
  TS_ASSIGN_OR_RETURN(const File from, File::OpenForReading(source + "/" + file.stored));
  const std::string path = folder + "/" + file.path;
  TS_RETURN_IF_ERROR(CreateDirectories(DirectoryOf(path)));
  TS_ASSIGN_OR_RETURN(File to, File::Create(path));
  TS_ASSIGN_OR_RETURN(const uint32_t crc, CopyBytes(from, 0, file.bytes, 0, to));
  TS_RETURN_IF_ERROR(CheckSum(file, from.path(), crc));
  // Checksums of partitions know when their files were changed.
  if (file.changed_ns != 0) TS_RETURN_IF_ERROR(SetChangedNs(path, file.changed_ns));
  TS_RETURN_IF_ERROR(to.SyncData());
  return SyncDirectory(DirectoryOf(path));
}

absl::Status RestoreFiles(const std::string& source, const Manifest& manifest,
                          const std::string& folder) {
  for (const auto& [path, file] : manifest.files) {
    TS_RETURN_IF_ERROR(RestoreFile(source, file, folder));
  }
  return absl::OkStatus();
}

// Returns whether a directory is empty or does not exist.
absl::StatusOr<bool> IsFree(const std::string& directory) {
  TS_ASSIGN_OR_RETURN(const bool exists, FileExists(directory));
  if (!exists) return true;
  TS_ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(directory));
  if (!is_directory) return false;
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory));
  return entries.empty();
}

}  // namespace

absl::StatusOr<Manifest> Restore(const RestoreOptions& options) {
  TS_ASSIGN_OR_RETURN(Manifest manifest, Read(options.source));
  TS_ASSIGN_OR_RETURN(const bool is_free, IsFree(options.data));
  if (!is_free) {
    return FailedPrecondition("{}: expected an empty or new directory", options.data);
  }
  std::error_code error;
  std::string data = options.data;
  while (data.size() > 1 && data.ends_with('/')) data.pop_back();
  const std::string folder = data + ".restoring";
  std::filesystem::remove_all(folder, error);  // What an interrupted restore left.
  TS_RETURN_IF_ERROR(CreateDirectories(folder));
  absl::Status restored = RestoreFiles(options.source, manifest, folder);
  if (!restored.ok()) {
    std::filesystem::remove_all(folder, error);
    return restored;
  }
  std::filesystem::remove(data, error);
  TS_RETURN_IF_ERROR(RenameReplacing(folder, data));
  return manifest;
}

absl::StatusOr<Manifest> VerifyBackup(const std::string& source) {
  TS_ASSIGN_OR_RETURN(Manifest manifest, Read(source));
  for (const auto& [path, file] : manifest.files) {
    TS_ASSIGN_OR_RETURN(const File from, File::OpenForReading(source + "/" + file.stored));
    TS_ASSIGN_OR_RETURN(const uint32_t crc, ChecksumOf(from, file.bytes));
    TS_RETURN_IF_ERROR(CheckSum(file, from.path(), crc));
  }
  return manifest;
}

}  // namespace tickstack::backup
