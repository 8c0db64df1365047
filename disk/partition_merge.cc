#include "disk/partition_merge.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/directory.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/string_map.h"
#include "base/time.h"
#include "disk/archive_marker.h"
#include "disk/compressed_file.h"
#include "disk/database.h"
#include "disk/directory_copy.h"
#include "disk/rows_of_date.h"
#include "disk/splayed_table.h"
#include "disk/symbol_file_writer.h"

namespace tickstack::disk {
namespace {

constexpr std::string_view kAction = "merge";
constexpr std::string_view kOtherBars =
    "give the configuration that has its definition by --stack, or use --leave-bars";

// Returns the directory of a partition whose versions can be exchanged.
absl::StatusOr<std::string> PartitionOf(const Database& database, int32_t date) {
  const std::string& root = database.root();
  TS_ASSIGN_OR_RETURN(std::string path, FindPartition(root, date));
  if (path.empty()) return NotFound("{}: no partition {}", root, FormatDate(date));
  if (!path.ends_with("/" + FormatDate(date))) {
    return FailedPrecondition(
        "{}: of a move between segments: end it by `tickstack hdb balance --move`", path);
  }
  const auto has_date = [date](const Partition& each) { return each.value == date; };
  if (std::ranges::count_if(database.partitions(), has_date) > 1) {
    return FailedPrecondition("{}: partition {} is in several segments, expected one", root,
                              FormatDate(date));
  }
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    return FailedPrecondition("{}: a symbolic link, expected a directory", path);
  }
  TS_RETURN_IF_ERROR(CheckNoLinks(path));
  return path;
}

// Returns the number of rows with a time on another date, and one of these dates.
absl::StatusOr<std::pair<uint64_t, int32_t>> RowsOfOtherDates(RowReader& late, int32_t date) {
  const int column = late.schema().Find("time");
  std::pair<uint64_t, int32_t> others{0, 0};
  if (column < 0 || late.schema().columns[static_cast<size_t>(column)].type != Type::kTimestamp) {
    return others;
  }
  constexpr uint64_t kRows = 65'536;
  late.Select({static_cast<size_t>(column)});
  const int64_t begin_ns = int64_t{date} * kNsPerDay;
  for (uint64_t row = 0; row < late.rows(); row += kRows) {
    TS_ASSIGN_OR_RETURN(const BatchView batch, late.Read(row, std::min(row + kRows, late.rows())));
    for (size_t i = 0; i < batch.rows; ++i) {
      const auto time = LoadLittle<int64_t>(batch.columns[0].data.data() + i * sizeof(int64_t));
      if (time == kNullLong || (time >= begin_ns && time - begin_ns < kNsPerDay)) continue;
      ++others.first;
      const int64_t day = time / kNsPerDay;
      others.second = static_cast<int32_t>(time % kNsPerDay < 0 ? day - 1 : day);
    }
  }
  return others;
}

// True for times by which the writer does not order rows.
bool IsUnordered(Type type) {
  return type == Type::kTime || type == Type::kDatetime || type == Type::kMinute ||
         type == Type::kSecond;
}

// Checks that the writer will give the columns what kdb+ may have given them: it orders rows by
// `sym` (parted) and then `time`, and numbers symbols in the domain `sym`.
absl::Status CheckCanBeKept(const SplayedTable& stored) {
  Attribute of_sym = Attribute::kNone;
  if (const int sym = stored.Find("sym"); sym >= 0) {
    TS_ASSIGN_OR_RETURN(const auto file, stored.Column(static_cast<size_t>(sym)));
    of_sym = file->attribute();
  }
  for (size_t i = 0; i < stored.columns(); ++i) {
    const std::string& name = stored.column_names()[i];
    TS_ASSIGN_OR_RETURN(const auto file, stored.Column(i));
    if (file->kind() == ColumnKind::kEnum && file->domain_name() != SymbolFileWriter::kDomain) {
      return FailedPrecondition("{}: its symbols are in the domain {}, expected {}", file->path(),
                                file->domain_name(), SymbolFileWriter::kDomain);
    }
    if (name == "time" && IsUnordered(file->type())) {
      return FailedPrecondition(
          "{}: has type {}, by which rows are not put in order: expected timestamp or timespan",
          file->path(), NameOf(file->type()));
    }
    const bool is_ordered_by_sym = of_sym == Attribute::kParted || stored.Find("sym") < 0;
    const bool is_ours =
        (name == "sym" && file->attribute() == Attribute::kParted) ||
        (name == "time" && file->attribute() == Attribute::kSorted && is_ordered_by_sym);
    if (file->attribute() == Attribute::kNone || is_ours) continue;
    return FailedPrecondition(
        "{}: has the attribute {}#, which it would lose: expected p# of sym, or s# of time, in a "
        "table that is ordered by them",
        file->path(), "?supg"[static_cast<size_t>(file->attribute())]);
  }
  return absl::OkStatus();
}

class PartitionMerge {
 public:
  PartitionMerge(const MergeOptions& options, int32_t date, std::string partition,
                 std::shared_ptr<const SymbolDomains> domains)
      : options_(options),
        storage_(options.writer.observer),
        date_(date),
        partition_(std::move(partition)),
        segment_(DirectoryOf(partition_)),
        domains_(std::move(domains)),
        tier_(mem::MakeDramTier("merge")) {}

  // Returns the version in which the table got the rows of the source; nullopt if it lacks them.
  absl::StatusOr<std::optional<uint64_t>> VersionWithRows(const std::string& table) const;
  // Makes the changed tables in memory.
  absl::Status Make(std::span<const LateRows* const> late);
  // Writes them and switches to the new version.
  absl::Status Write(SymbolFileWriter& sym, MergedPartition& merged) const;

  const std::vector<MergedTable>& counts() const { return counts_; }

 private:
  std::string DirectoryOfTable(const std::string& table) const {
    return fmt::format("{}/{}", partition_, table);
  }
  absl::StatusOr<std::shared_ptr<const SplayedTable>> OpenTable(const std::string& table) const;
  absl::StatusOr<std::vector<std::string>> StoredTables() const;
  absl::Status CheckDates(const LateRows& late) const;
  absl::Status MakeTable(const LateRows& late);
  absl::Status Derive();
  absl::Status CheckColumns(const Schema& made, const SplayedTable& stored) const;
  absl::Status KeepCompression(PartitionWriterOptions& writer) const;
  absl::Status WriteRevisions(const std::string& made, uint64_t version) const;
  absl::Status LinkTheRest(const std::string& made) const;
  absl::Status WriteVersion(SymbolFileWriter& sym, const std::string& made, uint64_t version) const;

  const MergeOptions& options_;
  const Storage storage_;
  const int32_t date_;
  const std::string partition_;
  const std::string segment_;
  const std::shared_ptr<const SymbolDomains> domains_;
  const std::unique_ptr<mem::Tier> tier_;
  SymbolTable symbols_;
  std::vector<std::shared_ptr<Table>> tables_;
  std::vector<Snapshot> snapshots_;  // Of tables_.
  std::vector<MergedTable> counts_;  // The same order.
};

absl::StatusOr<std::shared_ptr<const SplayedTable>> PartitionMerge::OpenTable(
    const std::string& table) const {
  const std::string directory = DirectoryOfTable(table);
  TS_ASSIGN_OR_RETURN(const bool is_there, IsDirectory(directory));
  if (is_there) return SplayedTable::Open(directory, domains_);
  return NotFound("{}: no such table in the partition", directory);
}

absl::StatusOr<std::vector<std::string>> PartitionMerge::StoredTables() const {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(partition_));
  std::vector<std::string> tables;
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_directory) continue;
    TS_ASSIGN_OR_RETURN(const bool is_table, FileExists(DirectoryOfTable(entry.name) + "/.d"));
    if (is_table) tables.push_back(entry.name);
  }
  return tables;
}

absl::StatusOr<std::optional<uint64_t>> PartitionMerge::VersionWithRows(
    const std::string& table) const {
  TS_ASSIGN_OR_RETURN(const std::vector<TableRevision> revisions,
                      ReadRevisions(DirectoryOfTable(table)));
  for (const TableRevision& each : revisions) {
    if (each.action == kAction && each.source.HasSameBytes(options_.source)) return each.number;
  }
  return std::nullopt;
}

absl::Status PartitionMerge::CheckDates(const LateRows& late) const {
  if (options_.other_dates) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const auto others, RowsOfOtherDates(*late.rows, date_));
  if (others.first == 0) return absl::OkStatus();
  return InvalidArgument(
      "table {}: the times of {} of {} rows are on other dates than {}, such as {}: merge them "
      "into their own partition, or allow it by --other-dates",
      late.table, others.first, late.rows->rows(), FormatDate(date_), FormatDate(others.second));
}

absl::Status PartitionMerge::MakeTable(const LateRows& late) {
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const SplayedTable> stored, OpenTable(late.table));
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<RowReader> old, ReadRows(*stored, late.table));
  const Schema& schema = old->schema();
  if (schema.Find("date") >= 0) {
    return InvalidArgument("{}: has a column date, which a partition gives its rows itself",
                           stored->directory());
  }
  TS_RETURN_IF_ERROR(CheckCanBeKept(*stored));
  TS_RETURN_IF_ERROR(CheckDates(late));
  TS_RETURN_IF_ERROR(SelectColumns(schema, *late.rows));
  TS_ASSIGN_OR_RETURN(std::shared_ptr<Table> table,
                      Table::Create(schema, &symbols_, {tier_.get(), {}, nullptr}));
  TS_ASSIGN_OR_RETURN(const RowMergeCounts rows,
                      MergeRows(*old, *late.rows, options_.keys, *table));
  tables_.push_back(std::move(table));
  counts_.push_back({late.table, rows, false});
  return absl::OkStatus();
}

// Checks that a derived table has the columns of the stored one, which it replaces.
absl::Status PartitionMerge::CheckColumns(const Schema& made, const SplayedTable& stored) const {
  size_t found = 0;
  for (const ColumnSpec& column : made.columns) {
    if (column.name == "date") continue;
    const int at = stored.Find(column.name);
    if (at < 0) {
      return FailedPrecondition("{}: has no column {}, which its definition has: {}",
                                stored.directory(), column.name, kOtherBars);
    }
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ColumnFile> file,
                        stored.Column(static_cast<size_t>(at)));
    if (file->type() != column.type) {
      return FailedPrecondition("{}: has type {}, its definition has {}: {}", file->path(),
                                NameOf(file->type()), NameOf(column.type), kOtherBars);
    }
    ++found;
  }
  if (found == stored.columns()) return absl::OkStatus();
  return FailedPrecondition("{}: {} columns, its definition has {}: {}", stored.directory(),
                            stored.columns(), found, kOtherBars);
}

absl::Status PartitionMerge::Derive() {
  if (!options_.derive) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> stored, StoredTables());
  TS_ASSIGN_OR_RETURN(const std::vector<std::shared_ptr<Table>> derived,
                      options_.derive(snapshots_, stored, {&symbols_, tier_.get()}));
  for (const std::shared_ptr<Table>& table : derived) {
    const std::string& name = table->schema().table;
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const SplayedTable> old, OpenTable(name));
    TS_RETURN_IF_ERROR(CheckCanBeKept(*old));
    TS_RETURN_IF_ERROR(CheckColumns(table->schema(), *old));
    TS_ASSIGN_OR_RETURN(const uint64_t before, old->Rows());
    tables_.push_back(table);
    snapshots_.push_back(table->TakeSnapshot());
    const uint64_t after = RowsOfDate(snapshots_.back(), date_).rows();
    counts_.push_back({name, {before, 0, 0, after}, true});
  }
  return absl::OkStatus();
}

absl::Status PartitionMerge::Make(std::span<const LateRows* const> late) {
  StringSet names;
  for (const LateRows* const each : late) {
    if (!names.insert(each->table).second) {
      return InvalidArgument("table {}: given twice", each->table);
    }
    TS_RETURN_IF_ERROR(MakeTable(*each));
  }
  for (const std::shared_ptr<Table>& table : tables_) snapshots_.push_back(table->TakeSnapshot());
  return Derive();
}

// Makes the writer compress each column as it is compressed now.
absl::Status PartitionMerge::KeepCompression(PartitionWriterOptions& writer) const {
  for (const MergedTable& each : counts_) {
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const SplayedTable> stored, OpenTable(each.table));
    for (const std::string& column : stored->column_names()) {
      const std::string path = fmt::format("{}/{}", stored->directory(), column);
      writer.compression.Set(fmt::format("{}.{}", each.table, column),
                             CompressionOf(path).value_or(CompressionOptions()));
    }
  }
  return absl::OkStatus();
}

absl::Status PartitionMerge::WriteRevisions(const std::string& made, uint64_t version) const {
  for (const MergedTable& each : counts_) {
    TS_ASSIGN_OR_RETURN(std::vector<TableRevision> revisions,
                        ReadRevisions(DirectoryOfTable(each.table)));
    revisions.push_back(
        {version, std::string(kAction), each.rows.before, each.rows.after, options_.source});
    const std::string directory = fmt::format("{}/{}", made, each.table);
    const std::string content = EncodeRevisions(revisions);
    TS_RETURN_IF_ERROR(
        WriteNewFile(storage_, fmt::format("{}/{}", directory, kRevisionsName), AsBytes(content)));
    TS_RETURN_IF_ERROR(storage_.SyncDirectory(directory));
  }
  return absl::OkStatus();
}

// Adds to the new version what the partition has besides the changed tables.
absl::Status PartitionMerge::LinkTheRest(const std::string& made) const {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(partition_));
  for (const DirectoryEntry& entry : entries) {
    if (std::ranges::find(counts_, entry.name, &MergedTable::table) != counts_.end()) continue;
    const std::string from = DirectoryOfTable(entry.name);
    const std::string to = fmt::format("{}/{}", made, entry.name);
    TS_RETURN_IF_ERROR(entry.is_directory ? LinkDirectory(from, to, storage_)
                                          : LinkFile(from, to, storage_));
  }
  return absl::OkStatus();
}

absl::Status PartitionMerge::WriteVersion(SymbolFileWriter& sym, const std::string& made,
                                          uint64_t version) const {
  PartitionWriterOptions writer = options_.writer;
  TS_RETURN_IF_ERROR(KeepCompression(writer));
  for (const MergedTable& each : counts_) {
    if (!each.derived) writer.keep_order.insert(each.table);
  }
  TS_ASSIGN_OR_RETURN(const WrittenPartition written,
                      WriteTables(writer, date_, snapshots_, made, sym));
  for (const WrittenTable& table : written.tables) {
    if (table.stand_ins == 0) continue;
    LogWarn("values that no database can store were merged as strings table={} values={}",
            table.table, table.stand_ins);
  }
  TS_RETURN_IF_ERROR(WriteRevisions(made, version));
  TS_RETURN_IF_ERROR(LinkTheRest(made));
  return storage_.SyncDirectory(made);
}

absl::Status PartitionMerge::Write(SymbolFileWriter& sym, MergedPartition& merged) const {
  TS_ASSIGN_OR_RETURN(merged.version, VersionOf(partition_));
  ++merged.version;
  const std::string made = fmt::format("{}/{}", segment_, NameWhileWritten(FormatDate(date_)));
  absl::Status written = WriteVersion(sym, made, merged.version);
  if (!written.ok()) {
    (void)storage_.Remove(made);  // May fail, for example on a full disk.
    return written;
  }
  TS_ASSIGN_OR_RETURN(const std::string prepared, PrepareVersion(partition_, made, storage_));
  TS_ASSIGN_OR_RETURN(merged.replaced, ExchangeVersion(partition_, prepared, storage_));
  merged.new_names = sym.appended();
  return absl::OkStatus();
}

// A partition that this process may change, without what an interrupted merge left.
struct OwnedPartition {
  std::unique_ptr<SymbolFileWriter> sym;  // Holds the lock.
  std::shared_ptr<const Database> database;
  std::string path;
};

absl::StatusOr<OwnedPartition> Own(const std::string& root, int32_t date, const Storage& storage) {
  OwnedPartition owned;
  TS_ASSIGN_OR_RETURN(const bool is_there, IsDirectory(root));
  if (!is_there) return NotFound("{}: there is no such directory", root);
  TS_ASSIGN_OR_RETURN(owned.sym, SymbolFileWriter::Open(root, storage));
  TS_ASSIGN_OR_RETURN(owned.database, Database::Open(root));
  TS_ASSIGN_OR_RETURN(owned.path, PartitionOf(*owned.database, date));
  TS_RETURN_IF_ERROR(FinishVersions(owned.path, storage).status());
  TS_RETURN_IF_ERROR(RemoveUnfinished(DirectoryOf(owned.path), storage));
  return owned;
}

}  // namespace

absl::StatusOr<MergedPartition> MergePartition(const MergeOptions& options, int32_t date,
                                               std::span<const LateRows> late) {
  const std::string& root = options.writer.database;
  const Storage storage(options.writer.observer);
  OwnedPartition owned;
  if (options.dry_run) {
    TS_ASSIGN_OR_RETURN(owned.database, Database::Open(root));
    TS_ASSIGN_OR_RETURN(owned.path, PartitionOf(*owned.database, date));
  } else {
    TS_ASSIGN_OR_RETURN(owned, Own(root, date, storage));
    TS_RETURN_IF_ERROR(CheckNames(owned.path));
    TS_RETURN_IF_ERROR(CheckExchange(DirectoryOf(owned.path), storage));
  }
  TS_RETURN_IF_ERROR(CheckNoneArchived(owned.path, "a merge"));
  PartitionMerge merge(options, date, owned.path, owned.database->domains());
  MergedPartition merged;
  merged.path = owned.path;
  std::vector<const LateRows*> missing;  // Tables that do not have the rows yet.
  for (const LateRows& each : late) {
    TS_ASSIGN_OR_RETURN(const std::optional<uint64_t> version, merge.VersionWithRows(each.table));
    if (!version || options.again) missing.push_back(&each);
    merged.version = std::max(merged.version, version.value_or(0));
  }
  if (missing.empty()) {
    merged.already = true;
    return merged;
  }
  TS_RETURN_IF_ERROR(merge.Make(missing));
  merged.tables = merge.counts();
  if (options.dry_run) return merged;
  TS_RETURN_IF_ERROR(merge.Write(*owned.sym, merged));
  return merged;
}

absl::StatusOr<UndoneVersion> UndoMerge(const std::string& database, int32_t date,
                                        const Storage& storage) {
  TS_ASSIGN_OR_RETURN(const OwnedPartition owned, Own(database, date, storage));
  TS_RETURN_IF_ERROR(CheckNoneArchived(owned.path, "undoing a merge"));
  return UndoVersion(owned.path, storage);
}

absl::StatusOr<std::vector<KeptVersion>> FinishMerge(const std::string& database, int32_t date,
                                                     const Storage& storage) {
  TS_ASSIGN_OR_RETURN(const OwnedPartition owned, Own(database, date, storage));
  return KeptVersions(owned.path);
}

}  // namespace tickstack::disk
