#include "interchange/partition_export.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/crc32c.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/file_stream.h"
#include "interchange/parquet_footer.h"
#include "interchange/parquet_stored_column.h"

namespace tickstack::interchange {
namespace {

// Changes whenever the same rows become other bytes, so that existing files are written again.
constexpr int kExportVersion = 1;
constexpr uint64_t kFooterBytesMax = uint64_t{256} << 20;
constexpr std::string_view kLockName = ".tickstack-export.lock";
// Incomplete files. It is outside of the directories of tables, where readers would find them.
constexpr std::string_view kWritingName = ".tickstack-export.writing";

// A table of which partitions are exported.
struct ExportedTable {
  const disk::PartitionedTable* table;
  std::vector<ColumnSpec> columns;
};

// One file.
struct ExportTask {
  const ExportedTable* exported;
  const disk::SplayedTable* part;
  std::string directory;
  std::string name;  // Such as part-0.parquet.
  std::string path() const { return directory + "/" + name; }
};

class Exporter {
 public:
  Exporter(const disk::Database& database, const ExportOptions& options,
           const disk::Storage& storage)
      : database_(database), options_(options), storage_(storage) {}

  absl::StatusOr<ExportReport> Run();

 private:
  absl::Status SelectTables();
  absl::Status SelectColumns(ExportedTable& exported) const;
  absl::Status CheckSkipped() const;
  absl::Status SelectPartitions();
  absl::StatusOr<std::optional<int64_t>> Bound(std::string_view option,
                                               const std::string& text) const;
  absl::Status PlanTable(const ExportedTable& exported);
  absl::Status RefuseOtherFiles() const;

  void SumNames();
  std::string NamesRemark(size_t domain, size_t count) const;
  bool IsUpToDate(const ExportTask& task, const std::string& source) const;
  absl::Status Export(size_t number);
  absl::StatusOr<std::string> SourceOf(const ExportTask& task) const;
  absl::StatusOr<std::shared_ptr<const disk::SplayedTable>> OpenAgain(
      const disk::SplayedTable& part) const;
  absl::StatusOr<ExportedFile> Write(const ExportTask& task, const disk::SplayedTable& part,
                                     const std::string& source, const std::string& path) const;
  absl::StatusOr<std::vector<parquet::StoredColumnWriter>> Open(const ExportTask& task,
                                                                const disk::SplayedTable& part,
                                                                ExportedFile& file) const;

  const disk::Database& database_;
  const ExportOptions& options_;
  const disk::Storage& storage_;
  std::vector<ExportedTable> tables_;
  size_t begin_partition_ = 0, end_partition_ = 0;
  std::vector<ExportTask> tasks_;
  // For each domain, the checksums of its first 0, 1, 2 ... names.
  std::vector<std::vector<uint32_t>> name_sums_;
  std::mutex mutex_;
  ExportReport report_;  // Guarded by mutex_.
};

// ---- Which files

absl::Status Exporter::SelectTables() {
  for (const std::unique_ptr<disk::PartitionedTable>& table : database_.partitioned_tables()) {
    const bool wanted =
        options_.tables.empty() || std::ranges::count(options_.tables, table->name()) > 0;
    if (wanted) tables_.push_back({table.get(), {}});
  }
  for (const std::string& name : options_.tables) {
    if (database_.FindPartitioned(name) != nullptr) continue;
    return NotFound("{}: no partitioned table {}", database_.root(), name);
  }
  for (ExportedTable& exported : tables_) TS_RETURN_IF_ERROR(SelectColumns(exported));
  return CheckSkipped();
}

absl::Status Exporter::SelectColumns(ExportedTable& exported) const {
  for (const ColumnSpec& column : exported.table->schema().columns) {
    const std::string name = exported.table->name() + "." + column.name;
    if (std::ranges::count(options_.skip_columns, name) > 0) continue;
    exported.columns.push_back(column);
  }
  const std::string_view partition = database_.partition_column();
  const std::string hidden = fmt::format("{}.{}", exported.table->name(), partition);
  if (exported.table->hides_column() && std::ranges::count(options_.skip_columns, hidden) == 0) {
    return InvalidArgument(
        "{}: readers have a column {} from the names of directories; leave this one out", hidden,
        partition);
  }
  if (!exported.columns.empty()) return absl::OkStatus();
  return InvalidArgument("{}: no column is left to export", exported.table->name());
}

absl::Status Exporter::CheckSkipped() const {
  for (const std::string& name : options_.skip_columns) {
    const size_t dot = name.find('.');
    const disk::PartitionedTable* const table = database_.FindPartitioned(name.substr(0, dot));
    const std::string column = dot == std::string::npos ? std::string() : name.substr(dot + 1);
    const bool is_hidden =
        table != nullptr && table->hides_column() && column == database_.partition_column();
    if (table != nullptr && (is_hidden || table->schema().Find(column) >= 0)) continue;
    return NotFound("{}: no column {}, expected TABLE.COLUMN", database_.root(), name);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int64_t>> Exporter::Bound(std::string_view option,
                                                       const std::string& text) const {
  if (text.empty()) return std::nullopt;
  const std::optional<disk::PartitionName> name = disk::ParsePartitionName(text);
  const disk::PartitionKind kind = database_.partition_kind();
  // Four digits are a year, unless the partitions are numbers.
  const bool is_number = name.has_value() && name->kind == disk::PartitionKind::kYear &&
                         kind == disk::PartitionKind::kInt;
  if (!name.has_value() || (name->kind != kind && !is_number)) {
    return InvalidArgument("{} {}: expected a partition's {}, such as {}", option, text,
                           NameOf(kind),
                           disk::FormatPartition(kind, database_.partitions().front().value));
  }
  return name->value;
}

absl::Status Exporter::SelectPartitions() {
  const std::span<const disk::Partition> partitions = database_.partitions();
  if (partitions.empty()) return NotFound("{}: has no partitions", database_.root());
  TS_ASSIGN_OR_RETURN(const std::optional<int64_t> from, Bound("--from", options_.from));
  TS_ASSIGN_OR_RETURN(const std::optional<int64_t> to, Bound("--to", options_.to));
  while (end_partition_ < partitions.size() && (!to || partitions[end_partition_].value <= *to)) {
    ++end_partition_;
  }
  while (begin_partition_ < end_partition_ && from && partitions[begin_partition_].value < *from) {
    ++begin_partition_;
  }
  return absl::OkStatus();
}

absl::Status Exporter::PlanTable(const ExportedTable& exported) {
  size_t number = 0;  // The partition's number among those with its value.
  for (size_t i = begin_partition_; i < end_partition_; ++i) {
    const int64_t value = database_.partitions()[i].value;
    number = i > begin_partition_ && database_.partitions()[i - 1].value == value ? number + 1 : 0;
    TS_ASSIGN_OR_RETURN(const disk::SplayedTable* const part, exported.table->In(i));
    if (part == nullptr) continue;
    tasks_.push_back({&exported, part,
                      fmt::format("{}/{}/{}", options_.destination, exported.table->name(),
                                  HiveName(database_.partition_kind(), value)),
                      fmt::format("part-{}.parquet", number)});
  }
  return absl::OkStatus();
}

absl::Status Exporter::RefuseOtherFiles() const {
  std::set<std::string> expected, directories;
  for (const ExportTask& task : tasks_) {
    expected.insert(task.path());
    directories.insert(task.directory);
  }
  for (const std::string& directory : directories) {
    const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(directory);
    if (entries.status().code() == absl::StatusCode::kNotFound) continue;
    TS_RETURN_IF_ERROR(entries.status());
    for (const DirectoryEntry& entry : *entries) {
      const std::string path = directory + "/" + entry.name;
      if (!entry.name.ends_with(".parquet") || expected.contains(path)) continue;
      return FailedPrecondition(
          "{}: not a file of this export; move it away, since readers would add its rows", path);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ExportReport> Exporter::Run() {
  TS_RETURN_IF_ERROR(SelectTables());
  TS_RETURN_IF_ERROR(SelectPartitions());
  for (const ExportedTable& exported : tables_) TS_RETURN_IF_ERROR(PlanTable(exported));
  TS_RETURN_IF_ERROR(storage_.MakeDurableDirectory(options_.destination));
  TS_ASSIGN_OR_RETURN(File lock,
                      File::OpenOrCreate(fmt::format("{}/{}", options_.destination, kLockName)));
  TS_RETURN_IF_ERROR(lock.TryLock());
  TS_RETURN_IF_ERROR(RefuseOtherFiles());
  const std::string writing = fmt::format("{}/{}", options_.destination, kWritingName);
  TS_RETURN_IF_ERROR(storage_.Remove(writing));  // Left by an export that was interrupted.
  TS_RETURN_IF_ERROR(storage_.MakeDirectory(writing));
  SumNames();
  const auto one = [this](size_t number) { return Export(number); };
  absl::Status status;
  if (options_.workers != nullptr) {
    status = options_.workers->ParallelFor(tasks_.size(), one);
  } else {
    for (size_t i = 0; i < tasks_.size() && status.ok(); ++i) status = one(i);
  }
  TS_RETURN_IF_ERROR(status);
  TS_RETURN_IF_ERROR(storage_.Remove(writing));
  return std::move(report_);
}

// ---- One file

// Returns the name, size and time of each file in a directory.
absl::StatusOr<std::string> FilesIn(const std::string& directory) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory));
  std::string text;
  for (const DirectoryEntry& entry : entries) {
    const std::string path = fmt::format("{}/{}", directory, entry.name);
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) return ErrnoStatus(errno, path);
    text += fmt::format(" {}={}@{}.{:09}", entry.name, found.st_size, found.st_mtim.tv_sec,
                        found.st_mtim.tv_nsec);
  }
  return text;
}

absl::Status Replaced(const disk::SplayedTable& part) {
  return Unavailable("{}: another directory has taken its place: repeat the export",
                     part.directory());
}

// Returns those of the version that was opened, whose rows are exported: a later export must not
// take the file for one of the version that has replaced it.
absl::StatusOr<std::string> FilesOf(const disk::SplayedTable& part) {
  constexpr int kAttempts = 4;  // Each is repeated only if the directory is renamed meanwhile.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string directory = part.DirectoryNow();
    if (directory.empty()) break;
    absl::StatusOr<std::string> files = FilesIn(directory);
    if (part.DirectoryNow() == directory) return files;
  }
  return Replaced(part);
}

void Exporter::SumNames() {
  for (const std::unique_ptr<disk::SymbolDomain>& domain : database_.domains()->all()) {
    std::vector<uint32_t>& sums = name_sums_.emplace_back(1, 0);
    sums.reserve(domain->ids().size() + 1);
    for (const SymbolId id : domain->ids()) {
      const std::string name = std::string(database_.domains()->symbols().NameOf(id)) + '\0';
      sums.push_back(ExtendCrc32c(sums.back(), std::as_bytes(std::span(name))));
    }
  }
}

// Describes the first `count` names of a domain. Names are only ever added, so later databases have
// the same ones, unless their file was replaced.
std::string Exporter::NamesRemark(size_t domain, size_t count) const {
  return fmt::format("; {} names of {}: {:08x}", count, database_.domains()->all()[domain]->name(),
                     name_sums_[domain][count]);
}

// Describes everything else that the bytes of the file depend on.
absl::StatusOr<std::string> Exporter::SourceOf(const ExportTask& task) const {
  const std::string text =
      fmt::format("export {} of {} rows per group, zstd {}, {} types, columns {}; from",
                  kExportVersion, options_.rows_per_group, options_.zstd_level,
                  options_.dialect == parquet::Dialect::kSpark ? "Spark's" : "exact",
                  FormatSchema({task.exported->table->name(), task.exported->columns}));
  TS_ASSIGN_OR_RETURN(const std::string files, FilesOf(*task.part));
  return text + files;
}

// Returns the footer of a complete Parquet file; empty if it is none.
std::string FooterOf(const std::string& path) {
  const absl::StatusOr<File> file = File::OpenForReading(path);
  if (!file.ok()) return {};
  constexpr size_t kEndBytes = sizeof(uint32_t) + parquet::kMagic.size();
  const uint64_t bytes = file->Bytes().value_or(0);
  if (bytes < kEndBytes) return {};
  std::array<char, kEndBytes> end{};
  const std::span<std::byte> out = std::as_writable_bytes(std::span(end));
  if (file->ReadAt(bytes - kEndBytes, out).value_or(0) != kEndBytes) return {};
  if (!std::string_view(end.data(), end.size()).ends_with(parquet::kMagic)) return {};
  uint32_t footer_bytes = 0;
  std::memcpy(&footer_bytes, end.data(), sizeof footer_bytes);
  if (footer_bytes > std::min(bytes - kEndBytes, kFooterBytesMax)) return {};
  std::string footer(footer_bytes, '\0');
  const absl::StatusOr<size_t> read =
      file->ReadAt(bytes - kEndBytes - footer_bytes, std::as_writable_bytes(std::span(footer)));
  return read.value_or(0) == footer_bytes ? footer : std::string();
}

// True if the task's file exists, and its remark has the same source, and names that the domains
// still begin with.
bool Exporter::IsUpToDate(const ExportTask& task, const std::string& source) const {
  const std::string footer = FooterOf(task.path());
  const size_t found = footer.find(source);
  if (found == std::string::npos) return false;
  std::string_view names = std::string_view(footer).substr(found + source.size());
  for (size_t i = 0; i < name_sums_.size(); ++i) {
    if (!names.starts_with("; ")) return false;
    size_t count = 0;
    const auto [end, error] = std::from_chars(names.data() + 2, names.data() + names.size(), count);
    if (error != std::errc() || count >= name_sums_[i].size()) return false;
    const std::string expected = NamesRemark(i, count);
    if (!names.starts_with(expected)) return false;
    names.remove_prefix(expected.size());
  }
  return names.starts_with('.');
}

absl::Status Exporter::Export(size_t number) {
  const ExportTask& task = tasks_[number];
  TS_ASSIGN_OR_RETURN(const std::string source, SourceOf(task));
  if (!options_.force && IsUpToDate(task, source)) {
    const std::lock_guard lock(mutex_);
    ++report_.unchanged;
    return absl::OkStatus();
  }
  const std::string writing = fmt::format("{}/{}/{}", options_.destination, kWritingName, number);
  const int64_t begin_ns = MonotonicNs();
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::SplayedTable> part, OpenAgain(*task.part));
  TS_ASSIGN_OR_RETURN(ExportedFile file, Write(task, *part, source, writing));
  TS_RETURN_IF_ERROR(storage_.MakeDurableDirectory(task.directory));
  TS_RETURN_IF_ERROR(storage_.Rename(writing, task.path()));
  TS_RETURN_IF_ERROR(storage_.SyncDirectory(task.directory));
  file.path = task.path();
  file.ns = MonotonicNs() - begin_ns;
  const std::lock_guard lock(mutex_);
  if (options_.on_file) options_.on_file(file);
  report_.written.push_back(std::move(file));
  return absl::OkStatus();
}

// Opens the version of the part once more, after its files were listed: what a program has changed
// in place since the database was opened must not be in the remark without being in the rows. Later
// exports would take the file for one of the changed table.
absl::StatusOr<std::shared_ptr<const disk::SplayedTable>> Exporter::OpenAgain(
    const disk::SplayedTable& part) const {
  constexpr int kAttempts = 4;  // Each is repeated only if the directory is renamed meanwhile.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string directory = part.DirectoryNow();
    if (directory.empty()) break;
    absl::StatusOr<std::shared_ptr<const disk::SplayedTable>> opened =
        disk::SplayedTable::Open(directory, database_.domains());
    const bool is_in_place = !opened.ok() || (*opened)->DirectoryNow() == directory;
    if (is_in_place && part.DirectoryNow() == directory) return opened;
  }
  return Replaced(part);
}

absl::StatusOr<std::vector<parquet::StoredColumnWriter>> Exporter::Open(
    const ExportTask& task, const disk::SplayedTable& part, ExportedFile& file) const {
  TS_ASSIGN_OR_RETURN(file.rows, part.Rows());
  std::vector<parquet::StoredColumnWriter> columns;
  for (const ColumnSpec& column : task.exported->columns) {
    const int place = part.Find(column.name);
    std::shared_ptr<const disk::ColumnFile> stored;
    if (place >= 0) {
      TS_ASSIGN_OR_RETURN(stored, part.Column(static_cast<size_t>(place)));
      file.source_bytes += stored->file().bytes();
    }
    TS_ASSIGN_OR_RETURN(
        parquet::StoredColumnWriter writer,
        parquet::StoredColumnWriter::Make(column, options_.dialect, std::move(stored),
                                          database_.domains()->symbols()));
    columns.push_back(std::move(writer));
  }
  return columns;
}

absl::StatusOr<ExportedFile> Exporter::Write(const ExportTask& task, const disk::SplayedTable& part,
                                             const std::string& source,
                                             const std::string& path) const {
  ExportedFile file;
  TS_ASSIGN_OR_RETURN(const std::vector<parquet::StoredColumnWriter> columns,
                      Open(task, part, file));
  TS_ASSIGN_OR_RETURN(disk::FileStream stream, disk::FileStream::Create(path, &storage_));
  parquet::PageWriter pages(options_.zstd_level);
  pages.bytes = parquet::kMagic;
  std::vector<parquet::RowGroup> groups;
  for (uint64_t begin = 0; begin < file.rows; begin += options_.rows_per_group) {
    const disk::RowRange rows{begin, std::min(file.rows, begin + options_.rows_per_group)};
    parquet::RowGroup& group = groups.emplace_back();
    group.rows = rows.rows();
    for (const parquet::StoredColumnWriter& column : columns) {
      TS_ASSIGN_OR_RETURN(group.chunks.emplace_back(), column.WriteRows(rows, pages));
      TS_RETURN_IF_ERROR(stream.Append(std::as_bytes(std::span(pages.bytes))));
      pages.offset = pages.end();
      pages.bytes.clear();
    }
  }
  std::vector<parquet::ColumnSchema> schema;
  for (const ColumnSpec& column : task.exported->columns) {
    schema.push_back(parquet::ExportSchema(column.name, column.type, options_.dialect));
  }
  parquet::Remark remark{"tickstack.source", source};
  for (size_t i = 0; i < name_sums_.size(); ++i) {
    remark.value += NamesRemark(i, name_sums_[i].size() - 1);
  }
  remark.value += '.';
  pages.bytes += parquet::FileEnd(schema, groups, std::span(&remark, 1));
  TS_RETURN_IF_ERROR(stream.Append(std::as_bytes(std::span(pages.bytes))));
  TS_ASSIGN_OR_RETURN(file.bytes, stream.Finish());
  return file;
}

}  // namespace

std::string HiveName(disk::PartitionKind kind, int64_t value) {
  switch (kind) {
    case disk::PartitionKind::kDate: {
      const Civil day = CivilFromDays(static_cast<int32_t>(value));
      return fmt::format("date={:04}-{:02}-{:02}", day.year, day.month, day.day);
    }
    case disk::PartitionKind::kMonth: {
      const int64_t year = 2000 + (value >= 0 ? value / 12 : (value - 11) / 12);
      return fmt::format("month={:04}-{:02}", year, value - (year - 2000) * 12 + 1);
    }
    case disk::PartitionKind::kYear:
    case disk::PartitionKind::kInt:
      break;
  }
  return fmt::format("{}={}", NameOf(kind), value);
}

absl::StatusOr<ExportReport> ExportPartitions(const disk::Database& database,
                                              const ExportOptions& options,
                                              const disk::Storage& storage) {
  return Exporter(database, options, storage).Run();
}

}  // namespace tickstack::interchange
