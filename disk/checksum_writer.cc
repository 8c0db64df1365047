#include "disk/checksum_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/mapping.h"
#include "base/status.h"
#include "disk/archive_marker.h"
#include "disk/checksum_file.h"
#include "disk/database.h"
#include "disk/kdb_format.h"
#include "disk/partition_versions.h"
#include "disk/symbol_file.h"
#include "disk/verified_blocks.h"

namespace tickstack::disk {
namespace {

// Computes the checksums of a file, by all threads.
absl::StatusOr<FileChecksums> ChecksumsOf(const std::string& path, WorkerPool& workers) {
  constexpr size_t kTaskBlocks = 256;
  TS_ASSIGN_OR_RETURN(const Mapping mapping, Mapping::OfFile(path));
  const std::span<const std::byte> bytes = mapping.bytes();
  FileChecksums file{path.substr(path.rfind('/') + 1), bytes.size(), {}};
  file.blocks.resize((bytes.size() + kChecksumBlockBytes - 1) / kChecksumBlockBytes);
  const size_t tasks = (file.blocks.size() + kTaskBlocks - 1) / kTaskBlocks;
  TS_RETURN_IF_ERROR(workers.ParallelFor(tasks, [&](size_t task) {
    const size_t end = std::min(file.blocks.size(), (task + 1) * kTaskBlocks);
    for (size_t i = task * kTaskBlocks; i < end; ++i) {
      const size_t begin = i * kChecksumBlockBytes;
      file.blocks[i] =
          Crc32c(bytes.subspan(begin, std::min(kChecksumBlockBytes, bytes.size() - begin)));
    }
    return absl::OkStatus();
  }));
  return file;
}

// kDataLoss if a file has other checksums than those on the disk, although nobody wrote it since.
absl::Status CheckUndamaged(const ChecksumFile& known, const std::string& directory,
                            const FileChecksums& file) {
  const ChecksumFile::Entry* const entry = known.Find(file.name);
  if (entry == nullptr || entry->bytes != file.bytes) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const int64_t modified_ns, ModifiedNs(directory + "/" + file.name));
  if (modified_ns > known.modified_ns()) return absl::OkStatus();
  const absl::StatusOr<std::vector<uint32_t>> blocks = known.Load(*entry);
  if (!blocks.ok()) return absl::OkStatus();  // The checksums are damaged, not the file.
  const auto [found, expected] = std::ranges::mismatch(file.blocks, *blocks);
  if (found == file.blocks.end()) return absl::OkStatus();
  const auto block = static_cast<uint64_t>(found - file.blocks.begin());
  return DataLoss(
      "{}/{}: byte {}: block {} has CRC32C {:08x}, expected {:08x}: nobody has written the file "
      "since its checksums, so disk or memory changed it; restore the file, or accept it as it is "
      "by --accept-damage",
      directory, file.name, block * kChecksumBlockBytes, block, *found, *expected);
}

class ChecksumWriting {
 public:
  ChecksumWriting(const ChecksumWriterOptions& options, const Storage& storage)
      : options_(options), storage_(storage) {}

  void Table(const std::string& directory) { Note(WriteTable(directory)); }
  void Domain(const std::string& path) {
    Note(Write(DirectoryOf(path), {path.substr(path.rfind('/') + 1)},
               path + std::string(kDomainChecksumSuffix)));
  }
  ChecksumsWritten Finish() && { return std::move(result_); }

 private:
  void Note(const absl::Status& status) {
    if (!status.ok()) result_.errors.emplace_back(Message(status));
  }

  absl::Status WriteTable(const std::string& directory) {
    TS_RETURN_IF_ERROR(CheckNotArchived(directory, "writing checksums"));
    TS_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadColumnNames(directory + "/.d"));
    std::vector<std::string> files = {".d"};
    for (const std::string& name : names) {
      files.push_back(name);
      for (std::string companion = name + kCompanionSuffix;; companion += kCompanionSuffix) {
        TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(directory + "/" + companion));
        if (!is_there) break;
        files.push_back(companion);
      }
    }
    std::ranges::sort(files);
    return Write(directory, files, fmt::format("{}/{}", directory, kChecksumName));
  }

  // Writes the checksums of files in a directory to `path`.
  absl::Status Write(const std::string& directory, const std::vector<std::string>& names,
                     const std::string& path) {
    const VersionId id = IdOf(directory);
    const absl::StatusOr<std::shared_ptr<const ChecksumFile>> known = ChecksumFile::Open(path);
    std::vector<FileChecksums> files;
    for (const std::string& name : names) {
      TS_ASSIGN_OR_RETURN(files.emplace_back(),
                          ChecksumsOf(directory + "/" + name, *options_.workers));
      result_.bytes += files.back().bytes;
      if (options_.accept_damage || !known.ok() || *known == nullptr) continue;
      TS_RETURN_IF_ERROR(CheckUndamaged(**known, directory, files.back()));
    }
    const ByteBuffer content = EncodeChecksums(files);
    const absl::StatusOr<ByteBuffer> before = ReadWholeFile(path, content.size());
    if (before.ok() && std::ranges::equal(before->span(), content.span())) {
      result_.unchanged += 1;
      return absl::OkStatus();
    }
    const std::string made = path + ".new$";
    TS_RETURN_IF_ERROR(storage_.Remove(made));
    TS_RETURN_IF_ERROR(WriteNewFile(storage_, made, content));
    // If another version takes its place after this, it does not have the file that is renamed.
    if (!IdOf(directory).IsSame(id)) {
      (void)storage_.Remove(made);
      return Unavailable("{}: another directory has taken its place: repeat the command",
                         directory);
    }
    TS_RETURN_IF_ERROR(storage_.Rename(made, path));
    TS_RETURN_IF_ERROR(storage_.SyncDirectory(directory));
    result_.written += 1;
    return absl::OkStatus();
  }

  const ChecksumWriterOptions& options_;
  const Storage& storage_;
  ChecksumsWritten result_;
};

}  // namespace

absl::StatusOr<ChecksumsWritten> WriteChecksums(const std::string& directory,
                                                const ChecksumWriterOptions& options,
                                                const Storage& storage) {
  ChecksumWriting writing(options, storage);
  TS_ASSIGN_OR_RETURN(const bool is_table, FileExists(directory + "/.d"));
  if (is_table) {
    writing.Table(directory);
    return std::move(writing).Finish();
  }
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const Database> database,
                      Database::Open(directory, {.allow_missing_segments = true}));
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> root, ListDirectory(directory));
  for (const DirectoryEntry& entry : root) {
    const std::string path = directory + "/" + entry.name;
    TS_ASSIGN_OR_RETURN(const bool has_checksums,
                        FileExists(path + std::string(kDomainChecksumSuffix)));
    const bool is_domain = database->domains()->Find(entry.name) != nullptr || has_checksums;
    if (entry.is_file && is_domain) writing.Domain(path);
  }
  for (const Partition& partition : database->partitions()) {
    TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> tables,
                        ListDirectory(partition.directory));
    for (const DirectoryEntry& table : tables) {
      const std::string path = partition.directory + "/" + table.name;
      TS_ASSIGN_OR_RETURN(const bool has_columns, FileExists(path + "/.d"));
      if (table.is_directory && has_columns) writing.Table(path);
    }
  }
  for (const Database::RootTable& table : database->splayed_tables()) {
    writing.Table(table.table->directory());
  }
  return std::move(writing).Finish();
}

}  // namespace tickstack::disk
