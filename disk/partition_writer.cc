#include "disk/partition_writer.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <utility>

#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/string_map.h"
#include "base/time.h"
#include "disk/checksum_file.h"
#include "disk/column_writer.h"
#include "disk/file_image.h"
#include "disk/left_out_table.h"
#include "disk/partition_name.h"
#include "disk/partition_versions.h"
#include "disk/row_order.h"
#include "disk/rows_of_date.h"
#include "disk/segment_list.h"
#include "disk/segment_moves.h"
#include "disk/symbol_file_writer.h"
#include "mem/tier.h"

namespace tickstack::disk {
namespace {

// Checks a name, which comes from the network and becomes a file name.
absl::Status CheckName(std::string_view what, std::string_view name) {
  const bool plain = !name.empty() && name.front() != '.' && name.back() != '#' &&
                     name.back() != '$' && name.find('/') == std::string_view::npos &&
                     name.find('\0') == std::string_view::npos && name.size() <= 200;
  if (plain) return absl::OkStatus();
  return InvalidArgument("{} \"{}\": not a name for a file", what, name);
}

absl::Status CheckNames(std::span<const Snapshot> tables) {
  StringSet names;
  for (const Snapshot& table : tables) {
    TS_RETURN_IF_ERROR(CheckFileNames(table.schema()));
    if (!names.insert(table.schema().table).second) {
      return InvalidArgument("table {}: given twice", table.schema().table);
    }
  }
  return absl::OkStatus();
}

// Returns the directories of partitions; the database itself if it has no par.txt. Includes missing
// ones, since days are assigned to lines by number.
absl::StatusOr<std::vector<std::string>> Segments(const std::string& database) {
  TS_ASSIGN_OR_RETURN(const std::optional<std::vector<SegmentLine>> lines,
                      ReadSegmentList(database));
  if (!lines) return std::vector<std::string>{database};
  std::vector<std::string> segments;
  for (const SegmentLine& line : *lines) {
    if (!absl::IsNotFound(line.status)) TS_RETURN_IF_ERROR(line.status);
    segments.push_back(line.path);
  }
  if (segments.empty()) {
    return InvalidArgument("{}/par.txt: no lines, expected a folder a line", database);
  }
  return segments;
}

// Returns every symbol in the tables' symbol columns, by number.
std::vector<SymbolId> UsedSymbols(std::span<const Snapshot> tables, size_t ids) {
  std::vector<uint8_t> used(ids, 0);
  for (const Snapshot& table : tables) {
    for (size_t column = 0; column < table.schema().columns.size(); ++column) {
      if (table.schema().columns[column].type != Type::kSymbol) continue;
      if (static_cast<int>(column) == table.table().indexed_column()) {
        for (size_t id = 0; id < ids; ++id) {
          if (table.EndsOf(static_cast<SymbolId>(id))->rows > 0) used[id] = 1;
        }
        continue;
      }
      for (size_t chunk = 0; chunk < table.chunks(); ++chunk) {
        for (const SymbolId id : table.Chunk<SymbolId>(column, chunk)) {
          if (id != kNullSymbol) used[static_cast<size_t>(id)] = 1;
        }
      }
    }
  }
  std::vector<SymbolId> symbols;
  for (size_t id = 0; id < ids; ++id) {
    if (used[id] != 0) symbols.push_back(static_cast<SymbolId>(id));
  }
  return symbols;
}

absl::StatusOr<SymbolPositions> NumberSymbols(std::span<const Snapshot> tables,
                                              SymbolFileWriter& sym) {
  if (tables.empty()) return SymbolPositions(0);
  const SymbolTable& symbols = tables.front().table().symbols();
  const auto ids = static_cast<size_t>(symbols.size());
  const std::vector<SymbolId> used = UsedSymbols(tables, ids);
  std::vector<std::string_view> names;
  for (const SymbolId id : used) names.push_back(symbols.NameOf(id));
  TS_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, sym.Numbers(names));
  SymbolPositions positions(ids);
  for (size_t i = 0; i < used.size(); ++i) positions.Set(used[i], numbers[i]);
  return positions;
}

struct PartitionColumn {
  size_t table;
  size_t column;
  bool parted;     // Needs no reading, so it gives the disk work early.
  uint64_t bytes;  // Approximate: the largest columns start first.
};

// The columns of a table as its partition has them, `sym` first.
std::vector<size_t> StoredColumns(const Schema& schema, int sym_column) {
  std::vector<size_t> stored;
  if (sym_column >= 0) stored.push_back(static_cast<size_t>(sym_column));
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const bool is_partition = schema.columns[i].name == "date";
    if (static_cast<int>(i) != sym_column && !is_partition) stored.push_back(i);
  }
  return stored;
}

class PartitionWriter {
 public:
  PartitionWriter(const PartitionWriterOptions& options, const Storage& storage,
                  std::span<const Snapshot> tables, std::span<const RowsOfDate> rows,
                  std::string folder)
      : options_(options),
        storage_(storage),
        tables_(tables),
        folder_(std::move(folder)),
        checksums_(tables.size()),
        stand_ins_(tables.size()) {
    for (size_t i = 0; i < tables.size(); ++i)
      orders_.emplace_back(tables[i], rows[i], options.workers);
  }

  // Writes and syncs all files of the partition, and their folders.
  absl::StatusOr<uint64_t> Write(const SymbolPositions& positions) {
    TS_RETURN_IF_ERROR(storage_.MakeDirectory(folder_));
    std::vector<PartitionColumn> columns;
    for (size_t table = 0; table < tables_.size(); ++table) {
      TS_RETURN_IF_ERROR(storage_.MakeDirectory(FolderOf(table)));
      const Schema& schema = tables_[table].schema();
      for (const size_t column : StoredColumns(schema, orders_[table].sym_column())) {
        const size_t width = std::max<size_t>(WidthOf(schema.columns[column].type), 1);
        const bool parted = static_cast<int>(column) == orders_[table].sym_column();
        columns.push_back({table, column, parted, orders_[table].rows() * width});
      }
    }
    std::ranges::stable_sort(columns, std::greater(), &PartitionColumn::bytes);
    MakeWindows(columns.empty() ? 0 : columns.front().bytes);
    std::ranges::stable_partition(columns, &PartitionColumn::parted);
    TS_RETURN_IF_ERROR(WriteColumns(columns, positions));
    for (size_t table = 0; table < tables_.size(); ++table) {
      const std::string folder = FolderOf(table);
      ChecksumCollector& checksums = checksums_[table];
      TS_RETURN_IF_ERROR(WriteNewFile(storage_, folder + "/.d", NamesOf(table), &checksums));
      TS_RETURN_IF_ERROR(WriteNewFile(storage_, fmt::format("{}/{}", folder, kChecksumName),
                                      EncodeChecksums(checksums.Take())));
      TS_RETURN_IF_ERROR(storage_.SyncDirectory(folder));
    }
    TS_RETURN_IF_ERROR(storage_.SyncDirectory(folder_));
    return bytes_.load();
  }

  // Returns how many values of a table were written as stand-ins.
  uint64_t stand_ins(size_t table) const { return stand_ins_[table]; }

 private:
  std::string FolderOf(size_t table) const {
    return fmt::format("{}/{}", folder_, tables_[table].schema().table);
  }

  ByteBuffer NamesOf(size_t table) const {
    const Schema& schema = tables_[table].schema();
    const int first = options_.keep_order.contains(schema.table) ? -1 : orders_[table].sym_column();
    std::vector<std::string_view> names;
    for (const size_t column : StoredColumns(schema, first)) {
      names.push_back(schema.columns[column].name);
    }
    return SymbolListFile(names);
  }

  // One per thread, all of the same size, so a free one always exists.
  void MakeWindows(uint64_t column_bytes_max) {
    const size_t threads = options_.workers == nullptr ? 1 : options_.workers->threads() + 1;
    const size_t bytes = std::min<uint64_t>(options_.memory_bytes / threads, column_bytes_max);
    window_bytes_ = mem::Tier::RoundedBytes(std::max(bytes, FileImage::kRoomMin));
    windows_ = mem::MakeDramTier("partition windows",
                                 std::max(threads * window_bytes_, mem::Tier::kHugePageBytes));
  }

  absl::Status WriteColumns(std::span<const PartitionColumn> columns,
                            const SymbolPositions& positions) {
    const auto write = [&](size_t i) -> absl::Status {
      const PartitionColumn& each = columns[i];
      const Schema& schema = tables_[each.table].schema();
      const std::string& name = schema.columns[each.column].name;
      const ColumnWriterOptions how{options_.compression.Of(schema.table, name),
                                    options_.workers,
                                    &storage_,
                                    windows_.get(),
                                    window_bytes_,
                                    &checksums_[each.table],
                                    &stand_ins_[each.table]};
      const absl::StatusOr<uint64_t> bytes =
          WriteColumn(tables_[each.table], each.column, orders_[each.table], positions,
                      fmt::format("{}/{}", FolderOf(each.table), name), how);
      if (!bytes.ok()) {
        return Annotate(bytes.status(), fmt::format("table {}: column {}", schema.table, name));
      }
      bytes_ += *bytes;
      return absl::OkStatus();
    };
    if (options_.workers != nullptr) return options_.workers->ParallelFor(columns.size(), write);
    for (size_t i = 0; i < columns.size(); ++i) TS_RETURN_IF_ERROR(write(i));
    return absl::OkStatus();
  }

  const PartitionWriterOptions& options_;
  const Storage& storage_;
  const std::span<const Snapshot> tables_;
  const std::string folder_;
  std::vector<ChecksumCollector> checksums_;     // By table.
  std::deque<std::atomic<uint64_t>> stand_ins_;  // By table.
  std::deque<RowOrder> orders_;
  std::unique_ptr<mem::Tier> windows_;
  size_t window_bytes_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
};

}  // namespace

absl::Status CheckFileNames(const Schema& schema) {
  TS_RETURN_IF_ERROR(CheckName("table", schema.table));
  StringSet columns;
  for (const ColumnSpec& column : schema.columns) {
    TS_RETURN_IF_ERROR(
        Annotate(CheckName("column", column.name), fmt::format("table {}", schema.table)));
    if (!columns.insert(column.name).second) {
      return InvalidArgument("table {}: two columns {}", schema.table, column.name);
    }
  }
  return absl::OkStatus();
}

CompressionOptions CompressionRules::Of(std::string_view table, std::string_view column) const {
  for (const std::string& key : {fmt::format("{}.{}", table, column), std::string(column),
                                 std::string(table), std::string("default")}) {
    if (const auto at = rules_.find(key); at != rules_.end()) return at->second;
  }
  return {};
}

absl::StatusOr<std::string> SegmentOf(const std::string& database, int32_t date) {
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> segments, Segments(database));
  const auto lines = static_cast<int64_t>(segments.size());
  const std::string& segment = segments[static_cast<size_t>(((date % lines) + lines) % lines)];
  if (segment == database) return segment;
  TS_ASSIGN_OR_RETURN(const bool is_there, IsDirectory(segment));
  if (is_there) return segment;
  return NotFound("{}: a segment of {}/par.txt, expected a folder", segment, database);
}

absl::StatusOr<std::string> FindPartition(const std::string& database, int32_t date) {
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> segments, Segments(database));
  // A day whose move died must not be written a second time. A day that is being moved may get its
  // name back between the first two checks.
  const std::string name = FormatDate(date);
  for (const std::string& each : {name, NameWhileMoved(name), name}) {
    for (const std::string& segment : segments) {
      std::string path = fmt::format("{}/{}", segment, each);
      TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(path));
      if (is_there) return path;
    }
  }
  return std::string();
}

absl::Status CheckHoldsDays(const std::string& database) {
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> segments, Segments(database));
  std::string other;
  for (const std::string& segment : segments) {
    const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(segment);
    if (absl::IsNotFound(entries.status())) continue;
    TS_RETURN_IF_ERROR(entries.status());
    for (const DirectoryEntry& entry : *entries) {
      const std::optional<PartitionName> name = ParsePartitionName(entry.name);
      if (!name || entry.is_file) continue;
      if (name->kind == PartitionKind::kDate) return absl::OkStatus();
      other = fmt::format("{}/{}: a partition by {}", segment, entry.name, NameOf(name->kind));
    }
  }
  if (other.empty()) return absl::OkStatus();
  return InvalidArgument(
      "{}, expected partitions by date: queries would not see it once the database has a day. Use "
      "another database for days",
      other);
}

absl::Status RemoveUnfinished(const std::string& segment, const Storage& storage) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(segment));
  for (const DirectoryEntry& entry : entries) {
    if (!IsUnfinished(entry.name)) continue;
    TS_RETURN_IF_ERROR(storage.Remove(fmt::format("{}/{}", segment, entry.name)));
  }
  return absl::OkStatus();
}

absl::StatusOr<WrittenPartition> WritePartition(const PartitionWriterOptions& options, int32_t date,
                                                std::span<const Snapshot> tables) {
  const Storage storage(options.observer);
  TS_RETURN_IF_ERROR(CheckNames(tables));
  TS_RETURN_IF_ERROR(storage.MakeDurableDirectory(options.database));
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<SymbolFileWriter> sym,
                      SymbolFileWriter::Open(options.database, storage));
  TS_ASSIGN_OR_RETURN(const std::string there, FindPartition(options.database, date));
  if (!there.empty()) return FailedPrecondition("{}: the day is written", there);
  TS_RETURN_IF_ERROR(CheckHoldsDays(options.database));
  TS_ASSIGN_OR_RETURN(const std::string segment, SegmentOf(options.database, date));
  TS_RETURN_IF_ERROR(RemoveUnfinished(segment, storage));

  const std::string unfinished = fmt::format("{}/{}", segment, NameWhileWritten(FormatDate(date)));
  absl::StatusOr<WrittenPartition> written = WrittenPartition();
  const std::string path = fmt::format("{}/{}", segment, FormatDate(date));
  absl::Status status = [&]() -> absl::Status {
    TS_ASSIGN_OR_RETURN(written, WriteTables(options, date, tables, unfinished, *sym));
    for (const LeftOutTable& table : options.left_out) {
      TS_RETURN_IF_ERROR(WriteLeftOut(options.database, unfinished, table, storage));
    }
    if (!options.left_out.empty()) TS_RETURN_IF_ERROR(storage.SyncDirectory(unfinished));
    TS_RETURN_IF_ERROR(storage.Rename(unfinished, path));
    return storage.SyncDirectory(segment);
  }();
  if (!status.ok()) {
    (void)storage.Remove(unfinished);  // May fail, for example on a full disk.
    return status;
  }
  written->path = path;
  return written;
}

absl::StatusOr<WrittenPartition> WriteTables(const PartitionWriterOptions& options, int32_t date,
                                             std::span<const Snapshot> tables,
                                             const std::string& folder, SymbolFileWriter& sym) {
  const Storage storage(options.observer);
  TS_RETURN_IF_ERROR(CheckNames(tables));
  TS_ASSIGN_OR_RETURN(const SymbolPositions positions, NumberSymbols(tables, sym));
  WrittenPartition written;
  std::vector<RowsOfDate> rows;
  for (const Snapshot& table : tables) rows.emplace_back(table, date);
  PartitionWriter writer(options, storage, tables, rows, folder);
  TS_ASSIGN_OR_RETURN(written.bytes, writer.Write(positions));
  for (size_t i = 0; i < tables.size(); ++i) {
    written.tables.push_back({tables[i].schema().table, rows[i].rows(), rows[i].other_rows(),
                              rows[i].leaves_out(), rows[i].first_date(), rows[i].last_date(),
                              writer.stand_ins(i)});
  }
  written.new_names = sym.appended();
  return written;
}

}  // namespace tickstack::disk
