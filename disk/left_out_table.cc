#include "disk/left_out_table.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/archive_marker.h"
#include "disk/column_file_header.h"
#include "disk/database.h"
#include "disk/partition_versions.h"
#include "disk/symbol_file_writer.h"

namespace tickstack::disk {
namespace {

// Returns the columns that the newest partition with this table has; none if no partition has it.
std::vector<std::string> ColumnsOfPartitions(const std::string& database,
                                             const std::string& table) {
  const absl::StatusOr<std::shared_ptr<const Database>> opened =
      Database::Open(database, {.allow_missing_segments = true});
  if (!opened.ok()) return {};
  for (size_t i = (*opened)->partitions().size(); i-- > 0;) {
    const std::string folder = (*opened)->partitions()[i].directory + "/" + table;
    const absl::StatusOr<std::shared_ptr<const SplayedTable>> part = SplayedTable::Open(folder);
    if (part.ok()) return {(*part)->column_names().begin(), (*part)->column_names().end()};
  }
  return {};
}

// Puts a table that was written at `made` into its partition.
absl::Status PutInPlace(const std::string& made, const std::string& folder,
                        const Storage& storage) {
  TS_ASSIGN_OR_RETURN(const bool is_there, IsDirectory(folder));
  if (!is_there) return storage.Rename(made, folder);
  absl::Status exchanged = storage.Exchange(made, folder);
  if (!absl::IsFailedPrecondition(exchanged)) return exchanged;
  // This file system cannot exchange directories. Nobody has read a row from the other one.
  TS_RETURN_IF_ERROR(storage.Remove(folder));
  return storage.Rename(made, folder);
}

}  // namespace

absl::StatusOr<std::optional<std::string>> WhyLeftOut(const std::string& folder) {
  constexpr size_t kReasonMax = size_t{64} << 10;
  const std::string path = fmt::format("{}/{}", folder, kLeftOutName);
  TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(path));
  if (!is_there) return std::nullopt;
  TS_ASSIGN_OR_RETURN(const ByteBuffer text, ReadWholeFile(path, kReasonMax));
  std::string_view why = AsText(text.span());
  while (why.ends_with('\n')) why.remove_suffix(1);
  return std::string(why);
}

absl::Status WriteLeftOut(const std::string& database, const std::string& partition,
                          const LeftOutTable& table, const Storage& storage) {
  std::vector<std::string> columns;
  const Schema& schema = table.schema;
  if (!CheckFileNames(schema).ok()) return absl::OkStatus();
  for (const ColumnSpec& column : schema.columns) {
    if (column.name != "date") columns.push_back(column.name);
  }
  if (columns.empty()) columns = ColumnsOfPartitions(database, schema.table);
  if (columns.empty()) return absl::OkStatus();
  const std::string folder = fmt::format("{}/{}", partition, schema.table);
  TS_RETURN_IF_ERROR(storage.MakeDirectory(folder));
  const std::vector<std::string_view> names(columns.begin(), columns.end());
  TS_RETURN_IF_ERROR(WriteNewFile(storage, folder + "/.d", SymbolListFile(names).span()));
  TS_RETURN_IF_ERROR(
      WriteNewFile(storage, fmt::format("{}/{}", folder, kLeftOutName), AsBytes(table.why + "\n")));
  return storage.SyncDirectory(folder);
}

absl::StatusOr<WrittenPartition> AddTables(const PartitionWriterOptions& options, int32_t date,
                                           std::span<const Snapshot> tables) {
  const Storage storage(options.observer);
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<SymbolFileWriter> sym,
                      SymbolFileWriter::Open(options.database, storage));
  // Under the lock, no other version takes the partition's place.
  TS_ASSIGN_OR_RETURN(const std::string partition, FindPartition(options.database, date));
  if (partition.empty()) {
    return NotFound("{}: no partition {}", options.database, FormatDate(date));
  }
  for (const Snapshot& table : tables) {
    const std::string folder = fmt::format("{}/{}", partition, table.schema().table);
    TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(folder));
    if (!is_there) continue;
    TS_ASSIGN_OR_RETURN(const std::optional<std::string> why, WhyLeftOut(folder));
    if (!why) return FailedPrecondition("{}: the table is written", folder);
  }
  const std::string segment = DirectoryOf(partition);
  TS_RETURN_IF_ERROR(RemoveUnfinished(segment, storage));
  const std::string made = fmt::format("{}/{}", segment, NameWhileWritten(FormatDate(date)));
  absl::StatusOr<WrittenPartition> written = WrittenPartition();
  const absl::Status status = [&]() -> absl::Status {
    TS_ASSIGN_OR_RETURN(written, WriteTables(options, date, tables, made, *sym));
    for (const Snapshot& table : tables) {
      const std::string& name = table.schema().table;
      TS_RETURN_IF_ERROR(PutInPlace(fmt::format("{}/{}", made, name),
                                    fmt::format("{}/{}", partition, name), storage));
    }
    return storage.SyncDirectory(partition);
  }();
  (void)storage.Remove(made);  // The next writer removes the rest.
  TS_RETURN_IF_ERROR(status);
  written->path = partition;
  return written;
}

}  // namespace tickstack::disk
