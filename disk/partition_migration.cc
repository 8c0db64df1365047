#include "disk/partition_migration.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/crc32c.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/archive_marker.h"
#include "disk/checksum_file.h"
#include "disk/column_cast.h"
#include "disk/compressed_file.h"
#include "disk/database.h"
#include "disk/directory_copy.h"
#include "disk/kdb_format.h"
#include "disk/left_out_table.h"
#include "disk/partition_versions.h"
#include "disk/partition_writer.h"
#include "disk/row_reader.h"
#include "disk/segment_moves.h"
#include "disk/symbol_file_writer.h"
#include "disk/table_revisions.h"
#include "mem/tier.h"
#include "table/codec.h"
#include "table/schema.h"
#include "table/table.h"

namespace tickstack::disk {
namespace {

using Kind = ColumnChange::Kind;

constexpr std::string_view kMigrate = "migrate";
constexpr uint64_t kRowsAtATime = 65'536;
// The table and column in which the new column is made: a name that orders no rows.
constexpr std::string_view kMadeColumn = "column";

// Returns the column of a file of a table's directory: `note` of `note##`.
std::string_view ColumnOf(std::string_view file) {
  while (file.ends_with(kCompanionSuffix)) file.remove_suffix(1);
  return file;
}

// The part of a table in one partition.
class PartMigration {
 public:
  PartMigration(const MigrationOptions& options, std::string partition, std::string table,
                const ColumnChange& change, std::shared_ptr<const SymbolDomains> domains)
      : options_(options),
        storage_(options.observer),
        partition_(std::move(partition)),
        table_(std::move(table)),
        directory_(fmt::format("{}/{}", partition_, table_)),
        change_(change),
        domains_(std::move(domains)) {}

  const std::string& partition() const { return partition_; }
  // True if the part already has the change. Errors: those of MigrateTable.
  absl::StatusOr<bool> IsDone();
  // Finds the prepared version of an interrupted migration, or else writes one. Removes other
  // leftovers.
  absl::Status Prepare(SymbolFileWriter& sym);
  absl::StatusOr<std::string> Exchange() const {
    return ExchangeVersion(partition_, prepared_, storage_);
  }
  // True if the new version is in effect, or if that cannot be told.
  bool IsExchanged() const { return VersionOf(partition_).value_or(version_) == version_; }
  // Removes a prepared version. If that fails, the next merge or migration does it.
  void Discard() const { (void)FinishVersions(partition_, storage_); }

 private:
  absl::Status CheckIsFree(const std::string& column) const;
  absl::Status CheckColumn() const;
  // Returns the name in a new version of a file of the table that is a link; empty for other files.
  std::string NameInVersion(const std::string& file) const;
  absl::StatusOr<bool> IsCurrent(const std::string& prepared) const;
  absl::StatusOr<bool> FindPrepared();
  absl::Status WriteVersion(const std::string& made, SymbolFileWriter& sym) const;
  absl::Status LinkColumns(const std::string& made) const;
  absl::Status LinkOtherTables(const std::string& made) const;
  absl::Status MakeColumn(const std::string& made, SymbolFileWriter& sym,
                          std::vector<FileChecksums>& checksums) const;
  absl::StatusOr<std::shared_ptr<Table>> NewElements(SymbolTable& symbols, mem::Tier* tier) const;
  absl::Status AppendDefaults(uint64_t rows, Table& to) const;
  absl::Status AppendCast(Table& to) const;
  absl::Status WriteNames(const std::string& made, std::vector<FileChecksums> checksums) const;
  absl::Status WriteRevision(const std::string& made) const;
  bool MakesColumn() const { return change_.kind == Kind::kAdd || change_.kind == Kind::kRetype; }

  const MigrationOptions& options_;
  const Storage storage_;
  const std::string partition_;
  const std::string table_;
  const std::string directory_;
  const ColumnChange& change_;
  const std::shared_ptr<const SymbolDomains> domains_;
  std::shared_ptr<const SplayedTable> part_;
  uint64_t version_ = 0;  // The new one.
  std::string prepared_;
};

// Checks that no file has the name of a new column.
absl::Status PartMigration::CheckIsFree(const std::string& column) const {
  const std::string path = fmt::format("{}/{}", directory_, column);
  TS_ASSIGN_OR_RETURN(const bool is_there, FileExists(path));
  if (!is_there) return absl::OkStatus();
  return FailedPrecondition("{}: a file that .d does not name has the new name", path);
}

absl::Status PartMigration::CheckColumn() const {
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ColumnFile> column,
                      part_->Column(static_cast<size_t>(part_->Find(change_.column))));
  if (column->attribute() != Attribute::kNone) {
    return FailedPrecondition("{}: has an attribute, by which rows are found: it cannot be changed",
                              column->path());
  }
  if (change_.kind == Kind::kRetype && column->type() != change_.type &&
      !CanCast(column->type(), change_.type)) {
    return InvalidArgument("{}: has type {}, from which there is no cast to {}", column->path(),
                           NameOf(column->type()), NameOf(change_.type));
  }
  if (change_.kind == Kind::kDrop && part_->columns() == 1) {
    return InvalidArgument("{}: is the only column", column->path());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> PartMigration::IsDone() {
  struct stat status{};
  if (::lstat(partition_.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    return FailedPrecondition("{}: a symbolic link, expected a directory", partition_);
  }
  TS_RETURN_IF_ERROR(CheckNoLinks(partition_));
  TS_ASSIGN_OR_RETURN(part_, SplayedTable::Open(directory_, domains_));
  const bool has = part_->Find(change_.column) >= 0;
  switch (change_.kind) {
    case Kind::kAdd: {
      const std::string path = fmt::format("{}/{}", directory_, change_.column);
      if (!has) {
        TS_RETURN_IF_ERROR(CheckIsFree(change_.column));
        return false;
      }
      TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ColumnFile> column,
                          part_->Column(static_cast<size_t>(part_->Find(change_.column))));
      if (column->type() == change_.type) return true;
      return InvalidArgument("{}: is there, with type {}", path, NameOf(column->type()));
    }
    case Kind::kRename: {
      const bool has_new = part_->Find(change_.new_name) >= 0;
      if (has_new && !has) return true;
      if (has_new) {
        return InvalidArgument("{}/{}: is there, beside {}", directory_, change_.new_name,
                               change_.column);
      }
      TS_RETURN_IF_ERROR(CheckIsFree(change_.new_name));
      break;
    }
    case Kind::kRetype:
      break;
    case Kind::kDrop:
      if (!has) return true;
      break;
  }
  if (!has) return InvalidArgument("{}: has no column {}", directory_, change_.column);
  TS_RETURN_IF_ERROR(CheckColumn());
  if (change_.kind != Kind::kRetype) return false;
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ColumnFile> column,
                      part_->Column(static_cast<size_t>(part_->Find(change_.column))));
  return column->type() == change_.type;
}

std::string PartMigration::NameInVersion(const std::string& file) const {
  if (file == ".d" || file == kChecksumName || file == kRevisionsName) return {};
  if (ColumnOf(file) != change_.column) return file;
  if (change_.kind != Kind::kRename) return {};
  return change_.new_name + file.substr(change_.column.size());
}

// True if a prepared version is what Prepare would make of the partition as it is now: its links
// are those of the partition's files, and the files that it has anew are newer than those from
// which they were made. Somebody may have repaired or replaced the partition since.
absl::StatusOr<bool> PartMigration::IsCurrent(const std::string& prepared) const {
  struct stat made{};
  const std::string revisions = fmt::format("{}/{}/{}", prepared, table_, kRevisionsName);
  if (::stat(revisions.c_str(), &made) != 0) return false;
  bool is_current = true;
  const auto compare = [&](const std::string& path, bool is_directory) {
    const std::string below = fmt::format("/{}/", table_);
    const bool is_ours = path.starts_with(below);
    const std::string name = is_ours ? NameInVersion(path.substr(below.size())) : "";
    const std::string copy = prepared + (is_ours ? below + name : path);
    struct stat file{};
    if (is_directory) return absl::OkStatus();
    if (is_ours && name.empty()) {
      const bool is_there = ::stat((partition_ + path).c_str(), &file) == 0;
      // Changes of one tick of the file system's clock have equal times.
      is_current &= is_there && std::tie(file.st_ctim.tv_sec, file.st_ctim.tv_nsec) <
                                    std::tie(made.st_ctim.tv_sec, made.st_ctim.tv_nsec);
    } else {
      const VersionId linked = IdOf(copy);
      is_current &= linked.inode != 0 && linked.IsSame(IdOf(partition_ + path));
    }
    return absl::OkStatus();
  };
  TS_RETURN_IF_ERROR(EachEntry(partition_, compare));
  return is_current;
}

absl::StatusOr<bool> PartMigration::FindPrepared() {
  TS_ASSIGN_OR_RETURN(const std::vector<KeptVersion> prepared, PreparedVersions(partition_));
  for (const KeptVersion& each : prepared) {
    TS_ASSIGN_OR_RETURN(const std::vector<TableRevision> revisions,
                        ReadRevisions(fmt::format("{}/{}", each.directory, table_)));
    const bool is_ours =
        each.number == version_ && !revisions.empty() && revisions.back().number == version_ &&
        revisions.back().action == kMigrate && revisions.back().source.name == change_.text(table_);
    if (!is_ours) continue;
    TS_ASSIGN_OR_RETURN(const bool is_current, IsCurrent(each.directory));
    if (!is_current) continue;
    prepared_ = each.directory;
    return true;
  }
  return false;
}

absl::Status PartMigration::Prepare(SymbolFileWriter& sym) {
  TS_ASSIGN_OR_RETURN(version_, VersionOf(partition_));
  ++version_;
  TS_ASSIGN_OR_RETURN(const bool found, FindPrepared());
  if (found) return absl::OkStatus();
  TS_RETURN_IF_ERROR(FinishVersions(partition_, storage_).status());
  TS_RETURN_IF_ERROR(CheckNames(partition_));
  const std::string name = partition_.substr(partition_.rfind('/') + 1);
  const std::string made = fmt::format("{}/{}", DirectoryOf(partition_), NameWhileWritten(name));
  const absl::Status written = WriteVersion(made, sym);
  if (!written.ok()) {
    (void)storage_.Remove(made);  // May fail, for example on a full disk.
    return Annotate(written, directory_);
  }
  TS_ASSIGN_OR_RETURN(prepared_, PrepareVersion(partition_, made, storage_));
  return absl::OkStatus();
}

absl::Status PartMigration::WriteVersion(const std::string& made, SymbolFileWriter& sym) const {
  TS_RETURN_IF_ERROR(storage_.MakeDirectory(made));
  std::vector<FileChecksums> checksums;
  if (MakesColumn()) {
    TS_RETURN_IF_ERROR(MakeColumn(made, sym, checksums));
  } else {
    TS_RETURN_IF_ERROR(storage_.MakeDirectory(fmt::format("{}/{}", made, table_)));
  }
  TS_RETURN_IF_ERROR(LinkColumns(made));
  TS_RETURN_IF_ERROR(WriteNames(made, std::move(checksums)));
  TS_RETURN_IF_ERROR(WriteRevision(made));
  TS_RETURN_IF_ERROR(storage_.SyncDirectory(fmt::format("{}/{}", made, table_)));
  TS_RETURN_IF_ERROR(LinkOtherTables(made));
  return storage_.SyncDirectory(made);
}

absl::Status PartMigration::LinkColumns(const std::string& made) const {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory_));
  for (const DirectoryEntry& entry : entries) {
    const std::string name = NameInVersion(entry.name);
    if (name.empty() || !entry.is_file) continue;
    TS_RETURN_IF_ERROR(LinkFile(fmt::format("{}/{}", directory_, entry.name),
                                fmt::format("{}/{}/{}", made, table_, name), storage_));
  }
  return absl::OkStatus();
}

absl::Status PartMigration::LinkOtherTables(const std::string& made) const {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(partition_));
  for (const DirectoryEntry& entry : entries) {
    if (entry.name == table_) continue;
    const std::string from = fmt::format("{}/{}", partition_, entry.name);
    const std::string to = fmt::format("{}/{}", made, entry.name);
    TS_RETURN_IF_ERROR(entry.is_directory ? LinkDirectory(from, to, storage_)
                                          : LinkFile(from, to, storage_));
  }
  return absl::OkStatus();
}

absl::Status PartMigration::AppendDefaults(uint64_t rows, Table& to) const {
  ByteBuffer one;
  if (change_.type == Type::kSymbol) {
    one.Append(change_.value.symbol());
    one.AppendLittle(uint8_t{0});
  } else if (change_.type == Type::kList) {
    Encode(change_.value, one);
  } else {
    one.Append(change_.value.elements());
  }
  while (rows > 0) {
    const uint64_t part = std::min(rows, kRowsAtATime);
    ByteBuffer bytes;
    for (uint64_t row = 0; row < part; ++row) bytes.Append(one.span());
    const ColumnView column{change_.type, Attribute::kNone, part, bytes.span()};
    TS_RETURN_IF_ERROR(to.Append({std::span(&column, 1), part}));
    rows -= part;
  }
  return absl::OkStatus();
}

absl::Status PartMigration::AppendCast(Table& to) const {
  const auto column = static_cast<size_t>(part_->Find(change_.column));
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<RowReader> reader, ReadColumn(*part_, table_, column));
  for (uint64_t row = 0; row < reader->rows(); row += kRowsAtATime) {
    const uint64_t end = std::min(row + kRowsAtATime, reader->rows());
    TS_ASSIGN_OR_RETURN(const BatchView batch, reader->Read(row, end));
    ByteBuffer bytes;
    const absl::Status cast = CastColumn(batch.columns[0], row, change_.type, bytes);
    if (!cast.ok()) return Annotate(cast, change_.column);
    const ColumnView made{change_.type, Attribute::kNone, batch.rows, bytes.span()};
    TS_RETURN_IF_ERROR(to.Append({std::span(&made, 1), batch.rows}));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Table>> PartMigration::NewElements(SymbolTable& symbols,
                                                                  mem::Tier* tier) const {
  Schema schema{table_, {{std::string(kMadeColumn), change_.type}}, 0};
  TS_ASSIGN_OR_RETURN(std::shared_ptr<Table> table,
                      Table::Create(std::move(schema), &symbols, {tier, {}, nullptr}));
  if (change_.kind == Kind::kRetype) {
    TS_RETURN_IF_ERROR(AppendCast(*table));
  } else {
    TS_ASSIGN_OR_RETURN(const uint64_t rows, part_->Rows());
    TS_RETURN_IF_ERROR(AppendDefaults(rows, *table));
  }
  return table;
}

// Writes the new column's files, as a table of one column: `made`/TABLE has them afterwards, and
// `checksums` theirs.
absl::Status PartMigration::MakeColumn(const std::string& made, SymbolFileWriter& sym,
                                       std::vector<FileChecksums>& checksums) const {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("migration");
  SymbolTable symbols;
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<Table> elements, NewElements(symbols, tier.get()));
  PartitionWriterOptions writer;
  writer.database = options_.database;
  writer.workers = options_.workers;
  writer.observer = options_.observer;
  const std::string& like =
      change_.kind == Kind::kRetype ? change_.column : part_->column_names().front();
  writer.compression.Set(
      "default",
      CompressionOf(fmt::format("{}/{}", directory_, like)).value_or(CompressionOptions()));
  const Snapshot snapshot = elements->TakeSnapshot();
  TS_RETURN_IF_ERROR(WriteTables(writer, /*date=*/0, std::span(&snapshot, 1), made, sym).status());
  const std::string directory = fmt::format("{}/{}", made, table_);
  const std::string checksum_path = fmt::format("{}/{}", directory, kChecksumName);
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> written,
                      ChecksumFile::Open(checksum_path));
  for (const ChecksumFile::Entry& entry : written->entries()) {
    if (entry.name == ".d") continue;
    std::string name = entry.name;
    name.replace(0, kMadeColumn.size(), change_.column);
    TS_RETURN_IF_ERROR(storage_.Rename(fmt::format("{}/{}", directory, entry.name),
                                       fmt::format("{}/{}", directory, name)));
    TS_ASSIGN_OR_RETURN(std::vector<uint32_t> blocks, written->Load(entry));
    checksums.push_back({std::move(name), entry.bytes, std::move(blocks)});
  }
  TS_RETURN_IF_ERROR(storage_.Remove(checksum_path));
  return storage_.Remove(directory + "/.d");
}

// Writes `.d`, and `.checksums` if the part has that file. `checksums` are those of the new column.
absl::Status PartMigration::WriteNames(const std::string& made,
                                       std::vector<FileChecksums> checksums) const {
  std::vector<std::string_view> names;
  for (const std::string& name : part_->column_names()) {
    if (name != change_.column || change_.kind == Kind::kRetype) {
      names.push_back(name);
    } else if (change_.kind == Kind::kRename) {
      names.push_back(change_.new_name);
    }
  }
  if (change_.kind == Kind::kAdd) names.push_back(change_.column);
  const std::string directory = fmt::format("{}/{}", made, table_);
  ChecksumCollector collector;
  TS_RETURN_IF_ERROR(WriteNewFile(storage_, directory + "/.d", SymbolListFile(names), &collector));
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ChecksumFile> known,
                      ChecksumFile::Open(fmt::format("{}/{}", directory_, kChecksumName)));
  if (known == nullptr) return absl::OkStatus();
  checksums.push_back(std::move(collector.Take().front()));
  for (const ChecksumFile::Entry& entry : known->entries()) {
    std::string name = NameInVersion(entry.name);
    if (name.empty()) continue;
    TS_ASSIGN_OR_RETURN(std::vector<uint32_t> blocks, known->Load(entry));
    checksums.push_back({std::move(name), entry.bytes, std::move(blocks)});
  }
  std::ranges::sort(checksums, {}, &FileChecksums::name);
  return WriteNewFile(storage_, fmt::format("{}/{}", directory, kChecksumName),
                      EncodeChecksums(checksums));
}

absl::Status PartMigration::WriteRevision(const std::string& made) const {
  TS_ASSIGN_OR_RETURN(const uint64_t rows, part_->Rows());
  TS_ASSIGN_OR_RETURN(std::vector<TableRevision> revisions, ReadRevisions(directory_));
  const std::string text = change_.text(table_);
  revisions.push_back(
      {version_, std::string(kMigrate), rows, rows, {Crc32c(AsBytes(text)), text.size(), text}});
  const std::string content = EncodeRevisions(revisions);
  return WriteNewFile(storage_, fmt::format("{}/{}/{}", made, table_, kRevisionsName),
                      AsBytes(content));
}

template <typename T>
absl::StatusOr<Value> ParseNumber(Type type, std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return Value::Atom(type, number);
  return InvalidArgument("\"{}\": expected a value of type {}", text, NameOf(type));
}

// Returns the null of a type with a fixed width.
Value NullOf(Type type) {
  ByteBuffer bytes;
  if (type == Type::kReal) {
    bytes.AppendLittle(kNullRealBits);
  } else if (type == Type::kFloat || type == Type::kDatetime) {
    bytes.AppendLittle(kNullFloatBits);
  } else if (type == Type::kChar) {
    bytes.AppendLittle(uint8_t{' '});
  } else if (type == Type::kShort) {
    bytes.AppendLittle(kNullShort);
  } else if (WidthOf(type) == sizeof(int32_t)) {
    bytes.AppendLittle(kNullInt);
  } else if (WidthOf(type) == sizeof(int64_t)) {
    bytes.AppendLittle(kNullLong);
  } else {
    for (size_t i = 0; i < WidthOf(type); ++i) bytes.AppendLittle(uint8_t{0});
  }
  return Value::AtomFromBytes(type, bytes.span());
}

// The parts of a table in all partitions, oldest first.
absl::StatusOr<std::vector<PartMigration>> PartsToChange(
    const MigrationOptions& options, const Database& database, const std::string& table,
    const ColumnChange& change, const Storage& storage, Migration& migration) {
  std::vector<PartMigration> parts;
  for (const Partition& partition : database.partitions()) {
    TS_ASSIGN_OR_RETURN(const bool has_table,
                        IsDirectory(fmt::format("{}/{}", partition.directory, table)));
    if (!has_table) {
      ++migration.without;
      continue;
    }
    // It will be written with the columns that the schema has then.
    TS_ASSIGN_OR_RETURN(const std::optional<std::string> why_left_out,
                        WhyLeftOut(fmt::format("{}/{}", partition.directory, table)));
    if (why_left_out) {
      ++migration.without;
      continue;
    }
    PartMigration part(options, partition.directory, table, change, database.domains());
    TS_ASSIGN_OR_RETURN(const bool is_done, part.IsDone());
    if (!is_done) {
      TS_RETURN_IF_ERROR(CheckNoneArchived(partition.directory, "a migration"));
      parts.push_back(std::move(part));
      continue;
    }
    ++migration.had_it;
    if (!options.dry_run) {
      TS_RETURN_IF_ERROR(FinishVersions(partition.directory, storage).status());
    }
  }
  if (parts.empty() && migration.had_it == 0) {
    return NotFound("{}: no partition has a table {}", options.database, table);
  }
  return parts;
}

absl::Status CheckNewName(const ColumnChange& change) {
  if (change.kind != Kind::kAdd && change.kind != Kind::kRename) return absl::OkStatus();
  const std::string& name = change.kind == Kind::kAdd ? change.column : change.new_name;
  if (IsSchemaName(name) && name != "date") return absl::OkStatus();
  return InvalidArgument("\"{}\": not a name for a column", name);
}

// Checks that partitions can be exchanged, and that none is being moved.
absl::Status CheckSegments(const Database& database, const Storage& storage) {
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> moves, UnfinishedMoves(database.segments()));
  if (!moves.empty()) {
    return FailedPrecondition(
        "{}: of a move between segments: end it by `tickstack hdb balance --move`", moves.front());
  }
  for (const std::string& segment : database.segments()) {
    TS_RETURN_IF_ERROR(RemoveUnfinished(segment, storage));
    TS_RETURN_IF_ERROR(CheckExchange(segment, storage));
  }
  return absl::OkStatus();
}

// Prepares and exchanges all parts. If nothing was exchanged, removes what was prepared.
absl::Status ChangeParts(std::span<PartMigration> parts, SymbolFileWriter& sym,
                         std::vector<std::string>& replaced) {
  const auto change = [&]() -> absl::Status {
    for (PartMigration& part : parts) TS_RETURN_IF_ERROR(part.Prepare(sym));
    for (const PartMigration& part : parts) {
      TS_ASSIGN_OR_RETURN(replaced.emplace_back(), part.Exchange());
    }
    return absl::OkStatus();
  };
  absl::Status changed = change();
  if (changed.ok() || parts.front().IsExchanged()) return changed;
  for (const PartMigration& part : parts) part.Discard();
  return changed;
}

}  // namespace

std::string ColumnChange::text(std::string_view table) const {
  switch (kind) {
    case Kind::kAdd:
      break;
    case Kind::kRename:
      return fmt::format("{}: rename {} {}", table, column, new_name);
    case Kind::kRetype:
      return fmt::format("{}: retype {} {}", table, column, LetterOf(type));
    case Kind::kDrop:
      return fmt::format("{}: drop {}", table, column);
  }
  ByteBuffer bytes;
  Encode(value, bytes);
  return fmt::format("{}: add {} {} {:08x}", table, column, LetterOf(type), Crc32c(bytes.span()));
}

absl::StatusOr<Value> ParseDefault(Type type, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return InvalidArgument("a default has a NUL");
  if (type == Type::kSymbol) return Value::Symbol(text);
  if (type == Type::kList) return Value::String(text);
  if (text.empty()) return NullOf(type);
  if (type == Type::kChar && text.size() == 1) return Value::Char(text.front());
  if (type == Type::kBoolean && (text == "0" || text == "1")) return Value::Boolean(text == "1");
  if (type == Type::kShort) return ParseNumber<int16_t>(type, text);
  if (type == Type::kInt) return ParseNumber<int32_t>(type, text);
  if (type == Type::kLong) return ParseNumber<int64_t>(type, text);
  if (type == Type::kReal) return ParseNumber<float>(type, text);
  if (type == Type::kFloat) return ParseNumber<double>(type, text);
  if (type == Type::kDate) {
    if (const std::optional<int32_t> date = ParseDate(text)) return Value::Date(*date);
  }
  return InvalidArgument("\"{}\": expected a value of type {}, or none for its null", text,
                         NameOf(type));
}

absl::StatusOr<Migration> MigrateTable(const MigrationOptions& options, const std::string& table,
                                       const ColumnChange& change) {
  TS_RETURN_IF_ERROR(CheckNewName(change));
  const Storage storage(options.observer);
  std::unique_ptr<SymbolFileWriter> sym;
  TS_ASSIGN_OR_RETURN(const bool is_there, IsDirectory(options.database));
  if (!is_there) return NotFound("{}: there is no such directory", options.database);
  if (!options.dry_run) {
    TS_ASSIGN_OR_RETURN(sym, SymbolFileWriter::Open(options.database, storage));
  }
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const Database> database,
                      Database::Open(options.database));
  Migration migration;
  if (!options.dry_run) TS_RETURN_IF_ERROR(CheckSegments(*database, storage));
  TS_ASSIGN_OR_RETURN(std::vector<PartMigration> parts,
                      PartsToChange(options, *database, table, change, storage, migration));
  migration.changed = parts.size();
  if (options.dry_run) return migration;
  TS_RETURN_IF_ERROR(ChangeParts(parts, *sym, migration.replaced));
  return migration;
}

}  // namespace tickstack::disk
