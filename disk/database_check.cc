#include "disk/database_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "base/byte_buffer.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/string_map.h"
#include "disk/archive_marker.h"
#include "disk/checksum_file.h"
#include "disk/column_file.h"
#include "disk/database.h"
#include "disk/kdb_format.h"
#include "disk/left_out_table.h"
#include "disk/object_store.h"
#include "disk/partition_versions.h"
#include "disk/stored_file.h"
#include "disk/stored_value.h"
#include "disk/symbol_file_writer.h"
#include "disk/table_revisions.h"

namespace tickstack::disk {
namespace {

void AddFinding(Finding finding, DatabaseCheck& check) {
  if (check.findings.size() < DatabaseCheck::kFindingsMax) {
    check.findings.push_back(std::move(finding));
  } else {
    ++check.findings_left_off;
  }
}

void AddWarning(Finding warning, DatabaseCheck& check) {
  if (check.warnings.size() < DatabaseCheck::kFindingsMax) {
    check.warnings.push_back(std::move(warning));
  }
}

// Adds `part` to the whole.
void MergeTable(DatabaseCheck part, DatabaseCheck& whole) {
  whole.tables += part.tables;
  whole.columns += part.columns;
  whole.rows += part.rows;
  whole.disk_bytes += part.disk_bytes;
  whole.unchecksummed_tables += part.unchecksummed_tables;
  whole.findings_left_off += part.findings_left_off;
  for (Finding& finding : part.findings) AddFinding(std::move(finding), whole);
  for (Finding& warning : part.warnings) AddWarning(std::move(warning), whole);
}

// Reports repeated names: rows may have either position, and a query by name finds only those of
// one.
void CheckDomain(const SymbolDomains& domains, const SymbolDomain& domain, const std::string& path,
                 DatabaseCheck& check) {
  std::vector<SymbolId> sorted(domain.ids().begin(), domain.ids().end());
  std::ranges::sort(sorted);
  for (auto at = std::ranges::adjacent_find(sorted); at != sorted.end();
       at = std::adjacent_find(std::upper_bound(at, sorted.end(), *at), sorted.end())) {
    AddFinding({path, std::nullopt,
                fmt::format("name '{}' is there {} times", domains.symbols().NameOf(*at),
                            std::upper_bound(at, sorted.end(), *at) - at)},
               check);
  }
}

// Returns the directories of a partition's tables, whether or not the newest partition has them,
// including dangling links.
absl::StatusOr<std::vector<std::string>> TableDirectories(const std::string& partition) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(partition));
  std::vector<std::string> directories;
  for (const DirectoryEntry& entry : entries) {
    const bool ignored = entry.name.starts_with('.') || entry.name.ends_with('$');
    if (!entry.is_file && !ignored) directories.push_back(partition + "/" + entry.name);
  }
  return directories;
}

struct TableToCheck {
  std::string directory;
  std::string name;  // Name of a partitioned table that can be queried; else empty.
  bool is_partitioned = false;
  std::vector<std::pair<std::string, Type>> types;  // Found: of columns that can be opened.
  std::vector<std::string> unnamed;  // Found: files that may be columns, which `.d` does not name.
  std::vector<std::string> names;    // Found: the names in `.d`.
};

// Returns the column that a file of a table's directory belongs to, as its `column#` or `column##`.
std::string_view ColumnOfFile(std::string_view name) {
  while (name.ends_with('#')) name.remove_suffix(1);
  return name;
}

// Checks the parts of a `.d` that kdb+ ignores.
void CheckColumnList(const std::string& path, size_t names, DatabaseCheck& check) {
  const absl::StatusOr<std::unique_ptr<const StoredFile>> file = StoredFile::Open(path);
  if (!file.ok()) return;
  const absl::StatusOr<PinnedBytes> bytes = (*file)->All();
  if (!bytes.ok() || bytes->span().size() < kSerialisedVectorBytes) return;
  if (const auto attribute = static_cast<int>(bytes->span()[3]); attribute != 0) {
    AddWarning({path, 3, fmt::format("attribute {}, expected 0", attribute)}, check);
  }
  const auto count = LoadLittle<int32_t>(bytes->span().data() + 4);
  if (count != 0 && static_cast<size_t>(count) != names) {
    AddWarning({path, 4, fmt::format("{} names by its head, the file has {}", count, names)},
               check);
  }
}

// Files beside the columns that `.d` does not name.
std::vector<std::string> UnnamedFiles(const std::string& directory,
                                      std::span<const std::string> names) {
  std::vector<std::string> unnamed;
  const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(directory);
  if (!entries.ok()) return unnamed;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.name.starts_with('.') || !entry.is_file) continue;
    if (std::ranges::find(names, ColumnOfFile(entry.name)) == names.end()) {
      unnamed.push_back(entry.name);
    }
  }
  std::ranges::sort(unnamed);
  return unnamed;
}

// A file that has checksums: a column that knows its rows, or another file.
struct ChecksummedFile {
  std::string path;
  std::shared_ptr<const ColumnFile> column;
  std::unique_ptr<const StoredFile> other;

  const StoredFile& file() const { return column != nullptr ? column->file() : *other; }
};

absl::StatusOr<ChecksummedFile> OpenChecksummed(
    const std::string& path, bool is_column, const ChecksumFile& checksums,
    const std::shared_ptr<const SymbolDomains>& domains) {
  ChecksummedFile file{path, nullptr, nullptr};
  if (is_column) {
    TS_ASSIGN_OR_RETURN(file.column, ColumnFile::Open(path, domains, &checksums));
  } else {
    TS_ASSIGN_OR_RETURN(file.other, StoredFile::Open(path, &checksums));
  }
  return file;
}

// Returns a finding for each damaged block among bytes [begin, end) of a file, as they are on the
// disk.
std::vector<Finding> FindDamagedBlocks(const ChecksummedFile& each, uint64_t begin, uint64_t end) {
  std::vector<Finding> findings;
  const StoredFile& file = each.file();
  if (file.VerifyOnDisk(begin, end).ok()) return findings;
  for (; begin < end; begin += kChecksumBlockBytes) {
    absl::Status status = file.VerifyOnDisk(begin, std::min(begin + kChecksumBlockBytes, end));
    if (status.ok()) continue;
    if (file.is_compressed()) {
      // Decompressing finds the first damaged block again, and knows its rows.
      const absl::Status named =
          file.Visit([](uint64_t, std::span<const std::byte>) { return absl::OkStatus(); });
      if (!named.ok() && findings.empty()) status = named;
    }
    findings.push_back(FindingOf(each.path, status));
  }
  return findings;
}

// Compares every file of a table with its checksums, except those that `is_left_out`. All threads
// share each file.
absl::Status CheckChecksums(const std::string& directory, std::span<const std::string> names,
                            absl::FunctionRef<bool(std::string_view)> is_left_out,
                            const std::shared_ptr<const SymbolDomains>& domains,
                            WorkerPool& workers, absl::FunctionRef<bool()> stop,
                            DatabaseCheck& check) {
  constexpr uint64_t kTaskBytes = 256 * kChecksumBlockBytes;
  const std::string path = fmt::format("{}/{}", directory, kChecksumName);
  const absl::StatusOr<std::shared_ptr<const ChecksumFile>> checksums = ChecksumFile::Open(path);
  if (!checksums.ok()) {
    AddFinding(FindingOf(path, checksums.status()), check);
    return absl::OkStatus();
  }
  if (*checksums == nullptr) {
    check.unchecksummed_tables += 1;
    return absl::OkStatus();
  }
  std::vector<std::string> files;
  for (const ChecksumFile::Entry& entry : (*checksums)->entries()) {
    if (!is_left_out(entry.name)) files.push_back(entry.name);
  }
  for (const std::string& name : names) {
    // Its error says so.
    if ((*checksums)->Find(name) == nullptr && !is_left_out(name)) files.push_back(name);
  }
  struct Task {
    size_t file;
    uint64_t begin;
  };
  std::vector<ChecksummedFile> open;
  std::vector<Task> tasks;
  for (const std::string& name : files) {
    const std::string each = directory + "/" + name;
    absl::StatusOr<ChecksummedFile> file =
        OpenChecksummed(each, std::ranges::find(names, name) != names.end(), **checksums, domains);
    if (!file.ok()) {
      const bool of_checksums = Message(file.status()).starts_with(path);
      AddFinding(FindingOf(of_checksums ? path : each, file.status()), check);
      continue;
    }
    for (uint64_t begin = 0; begin < file->file().disk_bytes(); begin += kTaskBytes) {
      tasks.push_back({open.size(), begin});
    }
    open.push_back(*std::move(file));
  }
  std::mutex mutex;  // Of `check`, while the tasks run.
  return workers.ParallelFor(tasks.size(), [&](size_t i) -> absl::Status {
    if (stop()) return absl::CancelledError("stopped");
    const ChecksummedFile& file = open[tasks[i].file];
    std::vector<Finding> findings = FindDamagedBlocks(
        file, tasks[i].begin, std::min(tasks[i].begin + kTaskBytes, file.file().disk_bytes()));
    const std::lock_guard lock(mutex);
    for (Finding& finding : findings) AddFinding(std::move(finding), check);
    return absl::OkStatus();
  });
}

// The domains of a database, and the size that `sym` had before they were read.
struct KnownDomains {
  std::string root;
  uint64_t sym_bytes = 0;
  std::shared_ptr<const SymbolDomains> domains;
};

uint64_t SymBytes(const std::string& root) {
  const absl::StatusOr<File> sym =
      File::OpenForReading(fmt::format("{}/{}", root, SymbolFileWriter::kDomain));
  return sym.ok() ? sym->Bytes().value_or(0) : 0;
}

// `domains` as for SplayedTable.
absl::StatusOr<DatabaseCheck> CheckVersion(TableToCheck& table,
                                           const std::shared_ptr<const SymbolDomains>& domains,
                                           WorkerPool& workers, absl::FunctionRef<bool()> stop) {
  const std::string& directory = table.directory;
  DatabaseCheck check;
  if (const absl::Status reachable = CheckReachable(directory); !reachable.ok()) {
    AddFinding(FindingOf(directory, reachable), check);
    return check;
  }
  check.tables = 1;
  const std::string names_path = directory + "/.d";
  const absl::StatusOr<std::vector<std::string>> names = ReadColumnNames(names_path);
  if (!names.ok()) {
    AddFinding(FindingOf(names_path, names.status()), check);
    return check;
  }
  CheckColumnList(names_path, names->size(), check);
  const absl::StatusOr<std::optional<std::string>> why_left_out = WhyLeftOut(directory);
  if (!why_left_out.ok() || *why_left_out) {
    AddFinding(why_left_out.ok()
                   ? Finding{directory, std::nullopt,
                             "the table of this day is not written: " + **why_left_out}
                   : FindingOf(directory, why_left_out.status()),
               check);
    return check;
  }
  if (const auto revisions = ReadRevisions(directory); !revisions.ok()) {
    AddFinding(FindingOf(fmt::format("{}/{}", directory, kRevisionsName), revisions.status()),
               check);
  }
  const absl::StatusOr<std::optional<ArchiveMarker>> marker =
      ReadArchiveMarker(directory, kArchivedName);
  if (!marker.ok()) {
    AddFinding(FindingOf(fmt::format("{}/{}", directory, kArchivedName), marker.status()), check);
    return check;
  }
  // Without the store, files that are not here are not read.
  ArchiveMarker left_out;
  if (*marker && GetObjectStore() == nullptr) {
    for (const ArchivedFile& file : (*marker)->files) {
      TS_ASSIGN_OR_RETURN(const bool is_local,
                          FileExists(fmt::format("{}/{}", directory, file.name)));
      if (!is_local) left_out.files.push_back(file);
    }
  }
  const auto is_left_out = [&left_out](std::string_view name) {
    return left_out.Find(name).has_value();
  };
  if (!left_out.files.empty()) {
    AddWarning({directory, std::nullopt,
                fmt::format("{} files with {} bytes are archived in {} and were not read: "
                            "`--stack` names the configuration with that store",
                            left_out.files.size(), left_out.bytes(), (*marker)->store)},
               check);
  }
  TS_RETURN_IF_ERROR(CheckChecksums(directory, *names, is_left_out, domains, workers, stop, check));
  table.unnamed = UnnamedFiles(directory, *names);
  table.names = *names;
  std::vector<ColumnCheck> columns(names->size());
  const auto path_of = [&](size_t i) { return directory + "/" + (*names)[i]; };
  // Results are in `columns`.
  TS_RETURN_IF_ERROR(workers.ParallelFor(columns.size(), [&](size_t i) -> absl::Status {
    if (stop()) return absl::CancelledError("stopped");
    if (is_left_out((*names)[i])) return absl::OkStatus();
    columns[i] = CheckColumn(path_of(i), domains);
    return absl::OkStatus();
  }));

  const auto first =
      std::ranges::find_if(columns, [](const ColumnCheck& c) { return c.rows.has_value(); });
  const auto parted =
      std::ranges::find_if(columns, [](const ColumnCheck& c) { return !c.group_starts.empty(); });
  for (size_t i = 0; i < columns.size(); ++i) {
    ColumnCheck& column = columns[i];
    check.columns += 1;
    check.disk_bytes += column.disk_bytes;
    check.findings_left_off += column.findings_left_off;
    for (Finding& finding : column.findings) AddFinding(std::move(finding), check);
    if (column.rows && *column.rows != *first->rows) {
      AddFinding(
          {path_of(i), std::nullopt,
           fmt::format("{} rows, column {} has {}", *column.rows,
                       (*names)[static_cast<size_t>(first - columns.begin())], *first->rows)},
          check);
    }
    if (column.type) table.types.emplace_back((*names)[i], *column.type);
    if (column.is_plain_symbols) {
      AddWarning({path_of(i), std::nullopt,
                  "symbols that are not enumerated: each process that reads them takes 4 bytes of "
                  "memory a row, and `where` finds no index"},
                 check);
    }
  }
  if (first != columns.end()) check.rows = *first->rows;
  const auto time = std::ranges::find(*names, "time");
  if (parted != columns.end() && time != names->end()) {
    std::optional<Finding> back = FindTimeGoingBack(directory + "/time", parted->group_starts);
    if (back) AddWarning(*std::move(back), check);
  }
  return check;
}

// Checks a table again if a merge has put another version in its place meanwhile, or if it may have
// names that `domains` lack: both would pass for damage.
absl::StatusOr<DatabaseCheck> CheckTable(TableToCheck& table, KnownDomains domains,
                                         WorkerPool& workers, absl::FunctionRef<bool()> stop) {
  constexpr int kAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    const VersionId id = IdOf(table.directory);
    TableToCheck checked = table;
    TS_ASSIGN_OR_RETURN(DatabaseCheck check, CheckVersion(checked, domains.domains, workers, stop));
    const uint64_t sym_bytes = SymBytes(domains.root);
    const bool knows_names = check.findings.empty() || sym_bytes == domains.sym_bytes;
    if (attempt == kAttempts || (knows_names && IdOf(table.directory).IsSame(id))) {
      table = std::move(checked);
      return check;
    }
    TS_ASSIGN_OR_RETURN(const std::shared_ptr<const Database> database,
                        Database::Open(domains.root, {.allow_missing_segments = true}));
    domains = {domains.root, sym_bytes, database->domains()};
  }
}

absl::Status CheckTables(std::span<TableToCheck> tables, const KnownDomains& domains,
                         WorkerPool& workers, absl::FunctionRef<bool()> stop,
                         DatabaseCheck& check) {
  std::mutex mutex;  // Of `check`, while the tasks run.
  return workers.ParallelFor(tables.size(), [&](size_t i) -> absl::Status {
    TS_ASSIGN_OR_RETURN(DatabaseCheck table, CheckTable(tables[i], domains, workers, stop));
    const std::lock_guard lock(mutex);
    MergeTable(std::move(table), check);
    return absl::OkStatus();
  });
}

// Reports columns whose type differs from the newest partition's, which queries refuse. `tables`
// are in the order of their partitions.
void CheckTypes(std::span<const TableToCheck> tables, DatabaseCheck& check) {
  std::map<std::pair<std::string_view, std::string_view>, Type> newest;  // By table and column.
  for (size_t i = tables.size(); i-- > 0;) {
    if (tables[i].name.empty()) continue;
    for (const auto& [column, type] : tables[i].types) {
      const Type expected = newest.try_emplace({tables[i].name, column}, type).first->second;
      if (type == expected) continue;
      AddFinding({tables[i].directory + "/" + column, std::nullopt,
                  fmt::format("a column of {}, expected {} as in the newest partition",
                              NameOf(type), NameOf(expected))},
                 check);
    }
  }
}

// Reports columns that the newest partition of their table lacks: queries do not find them in any.
// `tables` are in the order of their partitions. Each column is reported once, in the newest
// partition that has it.
void CheckColumnsOfNewest(const Database& database, std::span<const TableToCheck> tables,
                          DatabaseCheck& check) {
  std::map<std::string_view, std::set<std::string_view>> told;  // By table; with the newest's.
  for (size_t i = tables.size(); i-- > 0;) {
    const TableToCheck& table = tables[i];
    if (table.name.empty() || table.types.empty()) continue;
    const auto [at, is_newest] = told.try_emplace(table.name);
    if (is_newest) {
      at->second.insert(table.names.begin(), table.names.end());
      for (const std::string& file : table.unnamed) at->second.insert(ColumnOfFile(file));
      continue;
    }
    for (const auto& [column, type] : table.types) {
      if (column == database.partition_column()) continue;  // CheckPartitionColumn reports it.
      if (!at->second.insert(column).second) continue;
      AddFinding({table.directory + "/" + column, std::nullopt,
                  fmt::format("a column that the newest partition of {} lacks: queries do not find "
                              "it in any partition",
                              table.name)},
                 check);
    }
  }
}

// Reports columns that other parts of the table have, and whose file exists, but which this `.d`
// does not name: they would be read as nulls. A file that is a column in no part is foreign.
void CheckUnnamed(std::span<const TableToCheck> tables, DatabaseCheck& check) {
  std::map<std::string_view, std::set<std::string_view>> columns;  // By table.
  for (const TableToCheck& table : tables) {
    for (const auto& [column, type] : table.types) {
      if (!table.name.empty()) columns[table.name].insert(column);
    }
  }
  for (const TableToCheck& table : tables) {
    for (const std::string& file : table.unnamed) {
      const std::string_view column = ColumnOfFile(file);
      if (columns[table.name].contains(column)) {
        AddFinding({table.directory + "/.d", std::nullopt,
                    fmt::format("does not name column {}, whose file is there, and which other "
                                "partitions have",
                                column)},
                   check);
      } else {
        AddWarning({table.directory + "/" + file, std::nullopt, "a file that .d does not name"},
                   check);
      }
    }
  }
}

// Reports columns that have the name of the partitions' column: queries show the partition's value
// instead.
void CheckPartitionColumn(const Database& database, std::span<const TableToCheck> tables,
                          DatabaseCheck& check) {
  for (const TableToCheck& table : tables) {
    if (!table.is_partitioned) continue;
    for (const auto& [column, type] : table.types) {
      if (column != database.partition_column()) continue;
      AddFinding({table.directory + "/" + column, std::nullopt,
                  fmt::format("a column {}, which the partitions are named for: queries show the "
                              "partition's value, and kdb+ has two columns of this name",
                              column)},
                 check);
    }
  }
}

// Reports files in a partition, which has only folders: one for each table.
void CheckFilesOfPartition(const std::string& partition, DatabaseCheck& check) {
  const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(partition);
  if (!entries.ok()) return;  // Reported with its tables.
  for (const DirectoryEntry& entry : *entries) {
    if (!entry.is_file || entry.name.starts_with('.') || entry.name.ends_with('$')) continue;
    const std::string path = partition + "/" + entry.name;
    const absl::StatusOr<std::unique_ptr<const StoredFile>> file = StoredFile::Open(path);
    const absl::StatusOr<std::span<const std::byte>> head =
        file.ok() ? (*file)->Head() : file.status();
    const bool is_value = head.ok() && ParseColumnLayout(*head, (*file)->bytes()).ok();
    Finding finding{path, std::nullopt,
                    "a file, expected only folders of tables: queries do not see it"};
    is_value ? AddFinding(std::move(finding), check) : AddWarning(std::move(finding), check);
  }
}

// Reports missing tables: a table should be in all partitions from its first one on, as `.Q.chk`
// ensures. Queries here and in kdb+ know the tables of the newest partition; one that another
// partition lacks has no rows there.
void CheckTablesOfPartitions(const Database& database, std::span<const TableToCheck> tables,
                             DatabaseCheck& check) {
  std::map<std::string, std::set<std::string>> directories_of;  // Of partitions, by table.
  for (const TableToCheck& table : tables) {
    if (!table.is_partitioned) continue;
    const size_t slash = table.directory.rfind('/');
    directories_of[table.directory.substr(slash + 1)].insert(table.directory.substr(0, slash));
  }
  const std::span<const Partition> partitions = database.partitions();
  for (const auto& [name, having] : directories_of) {
    bool exists = false;
    for (size_t p = 0; p < partitions.size();) {
      const Partition& first = partitions[p];
      bool has =
          false;  // In one of the directories of a value, of which segments may have several.
      for (; p < partitions.size() && partitions[p].value == first.value; ++p) {
        has = has || having.contains(partitions[p].directory);
      }
      if (exists && !has) {
        const std::string_view what = p == partitions.size()
                                          ? "no such table in the newest partition, so queries do "
                                            "not see the older ones"
                                          : "no such table, which an older partition has";
        AddFinding({first.directory + "/" + name, std::nullopt, std::string(what)}, check);
      }
      exists = exists || has;
    }
  }
}

void SortFindings(DatabaseCheck& check) {
  for (std::vector<Finding>* findings : {&check.findings, &check.warnings}) {
    std::ranges::sort(*findings, [](const Finding& a, const Finding& b) {
      return std::tie(a.path, a.byte, a.what) < std::tie(b.path, b.byte, b.what);
    });
  }
}

}  // namespace

absl::StatusOr<DatabaseCheck> CheckPartition(const std::string& root, const std::string& directory,
                                             WorkerPool& workers, absl::FunctionRef<bool()> stop) {
  const uint64_t sym_bytes = SymBytes(root);
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const Database> database,
                      Database::Open(root, {.allow_missing_segments = true}));
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> directories, TableDirectories(directory));
  DatabaseCheck check;
  check.partitions = 1;
  std::vector<TableToCheck> tables;
  for (const std::string& each : directories) tables.push_back({each, {}, false, {}, {}, {}});
  TS_RETURN_IF_ERROR(
      CheckTables(tables, {root, sym_bytes, database->domains()}, workers, stop, check));
  CheckUnnamed(tables, check);
  SortFindings(check);
  return check;
}

absl::StatusOr<DatabaseCheck> CheckDatabase(const std::string& root, WorkerPool& workers) {
  const uint64_t sym_bytes = SymBytes(root);
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const Database> database,
                      Database::Open(root, {.allow_missing_segments = true}));
  DatabaseCheck check;
  check.partitions = database->partitions().size();
  for (const std::string& problem : database->problems()) {
    // `path: what`; in any database that kdb+ loads, such a path has no blank before its end.
    const std::string path = problem.substr(0, problem.find(": "));
    AddFinding(FindingOf(path, absl::DataLossError(problem)), check);
  }
  const SymbolDomains& domains = *database->domains();
  for (const std::unique_ptr<SymbolDomain>& domain : domains.all()) {
    CheckDomain(domains, *domain, root + "/" + domain->name(), check);
  }

  std::vector<TableToCheck> tables;
  for (const Partition& partition : database->partitions()) {
    CheckFilesOfPartition(partition.directory, check);
    const absl::StatusOr<std::vector<std::string>> directories =
        TableDirectories(partition.directory);
    if (!directories.ok()) {
      AddFinding(FindingOf(partition.directory, directories.status()), check);
      continue;
    }
    for (const std::string& directory : *directories) {
      std::string name = directory.substr(partition.directory.size() + 1);
      if (database->FindPartitioned(name) == nullptr) name.clear();  // Queries cannot name it.
      tables.push_back({directory, std::move(name), true, {}, {}, {}});
    }
  }
  for (const Database::RootTable& table : database->splayed_tables()) {
    tables.push_back({table.table->directory(), {}, false, {}, {}, {}});
  }

  const auto never = [] { return false; };
  TS_RETURN_IF_ERROR(
      CheckTables(tables, {root, sym_bytes, database->domains()}, workers, never, check));
  CheckTypes(tables, check);
  CheckColumnsOfNewest(*database, tables, check);
  CheckUnnamed(tables, check);
  CheckPartitionColumn(*database, tables, check);
  CheckTablesOfPartitions(*database, tables, check);
  std::mutex mutex;  // Of `check`, while the tasks run.
  workers
      .ParallelFor(database->flat_files().size(),
                   [&](size_t i) {
                     const std::string& path = database->flat_files()[i].path;
                     const absl::Status read = ReadStoredValue(path, database->domains()).status();
                     const std::lock_guard lock(mutex);
                     if (!read.ok()) AddFinding(FindingOf(path, read), check);
                     return absl::OkStatus();
                   })
      .IgnoreError();

  SortFindings(check);
  return check;
}

}  // namespace tickstack::disk
