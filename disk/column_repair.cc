#include "disk/column_repair.h"

#include <memory>
#include <utility>

#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/archive_marker.h"
#include "disk/checksum_file.h"
#include "disk/compressed_file.h"
#include "disk/kdb_format.h"

namespace tickstack::disk {
namespace {

// The column's files that the partition has checksums of.
std::vector<ChecksumFile::Entry> FilesOf(const ChecksumFile& checksums, std::string_view column) {
  std::vector<ChecksumFile::Entry> files;
  for (std::string name(column);; name += kCompanionSuffix) {
    const ChecksumFile::Entry* const entry = checksums.Find(name);
    if (entry == nullptr) return files;
    files.push_back(*entry);
  }
}

}  // namespace

absl::StatusOr<RepairedColumn> RepairColumn(const PartitionWriterOptions& options, int32_t date,
                                            const Snapshot& table, std::string_view column) {
  const Storage storage(options.observer);
  const std::string& name = table.schema().table;
  TS_ASSIGN_OR_RETURN(const std::string partition, FindPartition(options.database, date));
  if (partition.empty()) {
    return NotFound("{}: no partition {}", options.database, FormatDate(date));
  }
  // The lock is held until the end: no other version may take the partition's place meanwhile.
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<SymbolFileWriter> sym,
                      SymbolFileWriter::Open(options.database, storage));
  const std::string directory = fmt::format("{}/{}", partition, name);
  TS_ASSIGN_OR_RETURN(const bool has_table, IsDirectory(directory));
  if (!has_table) return NotFound("{}: no such table in the partition", directory);
  TS_RETURN_IF_ERROR(CheckNotArchived(directory, "a repair"));
  const std::string checksum_path = fmt::format("{}/{}", directory, kChecksumName);
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> checksums,
                      ChecksumFile::Open(checksum_path));
  if (checksums == nullptr) {
    return FailedPrecondition(
        "{}: not there, so nothing proves that the log gives the rows of the partition; to write "
        "the day from its log, move {} away and use `tickstack eod --date`",
        checksum_path, partition);
  }
  const std::vector<ChecksumFile::Entry> files = FilesOf(*checksums, column);
  if (files.empty()) return NotFound("{}/{}: no such column", directory, column);

  PartitionWriterOptions how = options;
  if (const std::optional<CompressionOptions> found =
          CompressionOf(fmt::format("{}/{}", directory, column))) {
    how.compression.Set(fmt::format("{}.{}", name, column), *found);
  }
  const std::string folder = fmt::format("{}/repair.{}$", DirectoryOf(partition), FormatDate(date));
  TS_RETURN_IF_ERROR(storage.Remove(folder));
  RepairedColumn repaired;
  const absl::Status status = [&]() -> absl::Status {
    TS_RETURN_IF_ERROR(WriteTables(how, date, std::span(&table, 1), folder, *sym).status());
    const std::string made = fmt::format("{}/{}", folder, name);
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> again,
                        ChecksumFile::Open(fmt::format("{}/{}", made, kChecksumName)));
    for (const ChecksumFile::Entry& file : files) {
      const ChecksumFile::Entry* const found = again->Find(file.name);
      if (found == nullptr || found->bytes != file.bytes || found->crc != file.crc) {
        return FailedPrecondition(
            "{}/{}: the log gives a file with other checksums, so it does not have the rows that "
            "were written, or the column was compressed in another way; nothing was changed",
            directory, file.name);
      }
    }
    for (const ChecksumFile::Entry& file : files) {
      const std::string from = fmt::format("{}/{}", made, file.name);
      const std::string to = fmt::format("{}/{}", directory, file.name);
      // Not later than the checksums, as before.
      TS_RETURN_IF_ERROR(SetModifiedNs(from, checksums->modified_ns()));
      TS_RETURN_IF_ERROR(storage.Rename(from, to));
      repaired.files.push_back(to);
      repaired.bytes += file.bytes;
    }
    return storage.SyncDirectory(directory);
  }();
  const absl::Status removed = storage.Remove(folder);
  TS_RETURN_IF_ERROR(status);
  TS_RETURN_IF_ERROR(removed);
  return repaired;
}

}  // namespace tickstack::disk
