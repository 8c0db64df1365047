#include "disk/database.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/directory.h"
#include "base/file.h"
#include "base/mapping.h"
#include "base/status.h"
#include "disk/kdb_format.h"
#include "disk/partition_versions.h"
#include "disk/segment_list.h"
#include "disk/segment_moves.h"

namespace tickstack::disk {
namespace {

constexpr std::string_view kSegmentList = "par.txt";

// kdb+ ignores hidden entries and names that end in $, so programs keep their files there.
bool IsIgnored(std::string_view name) { return name.starts_with('.') || name.ends_with('$'); }

absl::Status CheckRoot(const std::string& root) {
  struct stat status{};
  if (::stat(root.c_str(), &status) != 0) {
    const int error_number = errno;
    if (error_number == ENOENT) return NotFound("{}: there is no such directory", root);
    return Annotate(ErrnoStatus(error_number, "stat"), root);
  }
  if (S_ISDIR(status.st_mode)) return absl::OkStatus();
  return InvalidArgument("{}: no directory, expected that of a database", root);
}

enum class RootFileKind { kDomain, kValue, kForeign };

absl::StatusOr<RootFileKind> KindOf(const std::string& path) {
  // Only domains have checksums in the root. A damaged one must not pass for another kind of file.
  TS_ASSIGN_OR_RETURN(const bool has_checksums,
                      FileExists(path + std::string(kDomainChecksumSuffix)));
  if (has_checksums) return RootFileKind::kDomain;
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<const StoredFile> file, StoredFile::Open(path));
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, file->Head());
  if (HoldsNames(head)) return RootFileKind::kDomain;
  const absl::StatusOr<ColumnLayout> layout = ParseColumnLayout(head, file->bytes());
  return layout.ok() ? RootFileKind::kValue : RootFileKind::kForeign;
}

// Returns the directory of the version that was loaded; empty if it is gone.
absl::StatusOr<std::string> FindLoaded(const Partition& partition) {
  if (partition.inode == 0) return partition.directory;
  return FindListedVersion(partition.directory, partition.inode);
}

}  // namespace

struct PartitionedTable::Part {
  enum State : uint8_t { kUnknown, kAbsent, kOpen };
  std::atomic<State> state = kUnknown;
  std::shared_ptr<const SplayedTable> table;
};

PartitionedTable::PartitionedTable(std::string name, std::span<const Partition> partitions,
                                   std::shared_ptr<const SymbolDomains> domains)
    : partitions_(partitions),
      domains_(std::move(domains)),
      schema_{std::move(name), {}, 0},
      parts_(std::make_unique<Part[]>(partitions.size())) {}

PartitionedTable::~PartitionedTable() = default;

absl::StatusOr<std::shared_ptr<const SplayedTable>> PartitionedTable::Open(
    const Partition& partition) const {
  constexpr int kAttempts = 4;  // Each is repeated only if the version is renamed meanwhile.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    TS_ASSIGN_OR_RETURN(const std::string version, FindLoaded(partition));
    if (version.empty()) {
      return Unavailable(
          "{}: another directory has taken its place since it was loaded: reload the database",
          partition.directory);
    }
    const std::string directory = fmt::format("{}/{}", version, name());
    absl::StatusOr<std::shared_ptr<const SplayedTable>> table =
        SplayedTable::Open(directory, domains_);
    // Two versions may have changed places before the table was opened, and perhaps again after.
    TS_ASSIGN_OR_RETURN(const std::string version_after, FindLoaded(partition));
    const bool is_in_place = !table.ok() || (*table)->DirectoryNow() == directory;
    if (version_after == version && is_in_place) return table;
  }
  return Unavailable("{}: renamed {} times while it was opened", partition.directory, kAttempts);
}

absl::StatusOr<const SplayedTable*> PartitionedTable::In(size_t partition) const {
  if (partition >= partitions_.size()) {
    return InvalidArgument("{}: partition {} of {}", name(), partition, partitions_.size());
  }
  Part& part = parts_[partition];
  const auto known = [&part](Part::State state) {
    return state == Part::kOpen ? part.table.get() : nullptr;
  };
  Part::State state = part.state.load(std::memory_order_acquire);  // Pairs with the stores below.
  if (state != Part::kUnknown) return known(state);

  const std::lock_guard lock(mutex_);
  state = part.state.load(std::memory_order_relaxed);
  if (state != Part::kUnknown) return known(state);
  const std::string directory = partitions_[partition].directory + "/" + name();
  absl::StatusOr<std::shared_ptr<const SplayedTable>> table = Open(partitions_[partition]);
  if (!table.ok()) {
    // A table is absent if it has no entry in a partition that still exists: a link to an unmounted
    // disk is an entry, and a partition may have been moved since.
    struct stat status{};
    const bool has_entry = ::lstat(directory.c_str(), &status) == 0 || errno != ENOENT;
    if (has_entry) TS_RETURN_IF_ERROR(CheckReachable(directory));
    if (has_entry || table.status().code() != absl::StatusCode::kNotFound) return table.status();
    TS_ASSIGN_OR_RETURN(const bool is_there, IsDirectory(partitions_[partition].directory));
    if (!is_there) {
      return NotFound(
          "{}: directory not found: it was moved or unmounted after the database was loaded",
          partitions_[partition].directory);
    }
    part.state.store(Part::kAbsent, std::memory_order_release);
    return nullptr;
  }
  TS_RETURN_IF_ERROR(CheckNames(**table));
  part.table = *std::move(table);
  part.state.store(Part::kOpen, std::memory_order_release);
  return part.table.get();
}

// A column that the part's `.d` does not name is read as nulls, since it is newer than the part. If
// its file exists, however, the `.d` is damaged.
absl::Status PartitionedTable::CheckNames(const SplayedTable& part) const {
  for (const ColumnSpec& column : schema_.columns) {
    if (part.Find(column.name) >= 0) continue;
    const std::string path = part.directory() + "/" + column.name;
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) {
      if (errno == ENOENT) continue;
      return Annotate(ErrnoStatus(errno, "lstat"), path);
    }
    if (part.DirectoryNow() != part.directory()) continue;  // The file is of another version.
    return DataLoss("{}/.d: does not name column {}, whose file is there", part.directory(),
                    column.name);
  }
  return absl::OkStatus();
}

// The newest partition with a readable `.d` defines the columns, and the newest one in which a
// column can be opened defines its type. So damage in the newest partition affects only queries
// that read it there.
void PartitionedTable::ReadSchema() {
  std::vector<size_t> untyped;  // Numbers of columns.
  for (size_t p = partitions_.size(); p-- > 0;) {
    const absl::StatusOr<const SplayedTable*> part = In(p);
    if (!part.ok() || *part == nullptr) continue;
    if (schema_.columns.empty()) {
      for (const std::string& column : (*part)->column_names()) {
        untyped.push_back(schema_.columns.size());
        schema_.columns.push_back({column, Type::kList});
      }
    }
    std::erase_if(untyped, [this, part](size_t i) {
      ColumnSpec& spec = schema_.columns[i];
      const int at = (*part)->Find(spec.name);
      if (at < 0) return false;
      const absl::StatusOr<std::shared_ptr<const ColumnFile>> column =
          (*part)->Column(static_cast<size_t>(at));
      if (column.ok()) spec.type = (*column)->type();
      return column.ok();
    });
    if (untyped.empty()) return;
  }
}

absl::StatusOr<std::shared_ptr<const Database>> Database::Open(const std::string& root,
                                                               const Options& options) {
  // A file that cannot be mapped is not damaged; without it the database would be a different one.
  const MappingReserve reserve;
  std::shared_ptr<Database> database(new Database());
  database->root_ = root;
  TS_RETURN_IF_ERROR(database->ReadRoot(options));
  database->ReadPartitionedTables();
  TS_RETURN_IF_ERROR(reserve.refused());
  return database;
}

absl::Status Database::Missing(absl::Status status, const Options& options) {
  if (status.ok() || !options.allow_missing_segments) return status;
  problems_.emplace_back(Message(status));
  return absl::OkStatus();
}

absl::Status Database::ReadRoot(const Options& options) {
  TS_RETURN_IF_ERROR(CheckRoot(root_));
  TS_RETURN_IF_ERROR(ReadSegments(options));
  // Before the domains: so they have all names of the partitions that are found.
  TS_RETURN_IF_ERROR(ReadPartitions(options));
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(root_));
  const auto domains = std::make_shared<SymbolDomains>();
  std::vector<std::string> domain_paths;
  for (const DirectoryEntry& entry : entries) {
    if (entry.is_directory || IsIgnored(entry.name) || entry.name == kSegmentList ||
        entry.name.ends_with(kCompanionSuffix)) {
      continue;
    }
    const std::string path = root_ + "/" + entry.name;
    if (!entry.is_file) {
      // ReadPartitions checks a partition's link.
      const absl::Status reachable = CheckReachable(path);
      if (!reachable.ok() && !ParsePartitionName(entry.name)) {
        problems_.emplace_back(Message(reachable));
      }
      continue;
    }
    const absl::StatusOr<RootFileKind> kind = KindOf(path);
    if (!kind.ok()) {
      problems_.emplace_back(Message(kind.status()));
    } else if (*kind == RootFileKind::kDomain) {
      domain_paths.push_back(path);
    } else if (*kind == RootFileKind::kValue) {
      flat_.push_back({entry.name, path});
    } else {
      problems_.push_back(path + ": no file of kdb+");
    }
  }

  // `sym` first, so that its positions are the numbers of its names.
  std::ranges::stable_partition(domain_paths,
                                [this](const std::string& path) { return path == root_ + "/sym"; });
  for (const std::string& path : domain_paths) {
    const absl::StatusOr<size_t> torn_bytes = domains->Add(path);
    if (!torn_bytes.ok()) {
      problems_.emplace_back(Message(torn_bytes.status()));
    } else if (*torn_bytes > 0) {
      problems_.push_back(
          fmt::format("{}: the last {} bytes are no whole name: left out", path, *torn_bytes));
    }
  }
  domains_ = domains;

  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_directory || IsIgnored(entry.name)) continue;
    const std::string path = root_ + "/" + entry.name;
    if (std::ranges::find(segments_, path) != segments_.end()) continue;
    const absl::StatusOr<bool> has_columns = FileExists(path + "/.d");
    if (!has_columns.ok()) {
      problems_.emplace_back(Message(has_columns.status()));
    } else if (*has_columns) {
      absl::StatusOr<std::shared_ptr<const SplayedTable>> table =
          SplayedTable::Open(path, domains_);
      if (table.ok()) {
        splayed_.push_back({entry.name, *std::move(table)});
      } else {
        problems_.emplace_back(Message(table.status()));
      }
    } else if (!ParsePartitionName(entry.name)) {
      problems_.push_back(path + ": neither a partition nor a table: it has no .d");
    } else if (is_segmented_) {
      problems_.push_back(path + ": a partition beside par.txt, which says where partitions are");
    }
  }
  return absl::OkStatus();
}

absl::Status Database::ReadSegments(const Options& options) {
  TS_ASSIGN_OR_RETURN(const std::optional<std::vector<SegmentLine>> lines, ReadSegmentList(root_));
  is_segmented_ = lines.has_value();
  if (!is_segmented_) segments_ = {root_};
  for (const SegmentLine& line : lines.value_or(std::vector<SegmentLine>())) {
    TS_RETURN_IF_ERROR(Missing(line.status, options));
    if (line.status.ok()) segments_.push_back(line.path);
  }
  return absl::OkStatus();
}

absl::Status Database::ReadPartitions(const Options& options) {
  struct Found {
    PartitionName name;
    std::string directory;
    uint64_t inode;
  };
  std::vector<Found> found;
  for (const std::string& segment : segments_) {
    TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(segment));
    for (const DirectoryEntry& entry : entries) {
      const std::string path = segment + "/" + entry.name;
      if (IsPartOfMove(entry.name)) {
        problems_.push_back(path +
                            ": of a move between segments that runs, or that died: "
                            "`tickstack hdb balance --move` ends it");
      }
      if (IsPartOfSwitch(entry.name)) {
        problems_.push_back(path +
                            ": of a merge or migration that runs, or that died: the same command "
                            "again ends it");
      }
      const std::optional<PartitionName> name = ParsePartitionName(entry.name);
      if (!name || entry.is_file) continue;
      if (entry.is_directory) {
        found.push_back({*name, path, entry.inode});
      } else {
        TS_RETURN_IF_ERROR(Missing(CheckReachable(path), options));
      }
    }
  }

  // Four digits are a year unless there are numbers of other lengths. If several kinds match, the
  // most specific one is meant: nobody names a directory 2024.01.29 by chance.
  const auto has = [&found](PartitionKind kind) {
    return std::ranges::any_of(found, [kind](const Found& f) { return f.name.kind == kind; });
  };
  if (has(PartitionKind::kInt)) {
    for (Found& f : found) {
      if (f.name.kind == PartitionKind::kYear) f.name.kind = PartitionKind::kInt;
    }
  }
  for (const PartitionKind kind :
       {PartitionKind::kInt, PartitionKind::kYear, PartitionKind::kMonth, PartitionKind::kDate}) {
    if (has(kind)) partition_kind_ = kind;
  }
  for (Found& f : found) {
    if (f.name.kind == partition_kind_) {
      partitions_.push_back({f.name.value, std::move(f.directory), f.inode});
    } else {
      problems_.push_back(fmt::format("{}: a partition by {}, where the others are by {}",
                                      f.directory, NameOf(f.name.kind), NameOf(partition_kind_)));
    }
  }
  std::ranges::stable_sort(partitions_, {}, &Partition::value);
  return absl::OkStatus();
}

void Database::ReadPartitionedTables() {
  if (partitions_.empty()) return;
  std::vector<std::string> names;
  for (const Partition& partition : partitions_) {
    if (partition.value != partitions_.back().value) continue;
    const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(partition.directory);
    if (!entries.ok()) {
      problems_.emplace_back(Message(entries.status()));
      continue;
    }
    for (const DirectoryEntry& entry : *entries) {
      if (!entry.is_file && !IsIgnored(entry.name)) names.push_back(entry.name);
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (std::string& name : names) {
    auto table = std::make_unique<PartitionedTable>(std::move(name), partitions_, domains_);
    table->ReadSchema();
    // Each row has the partition's value in this column, also if a file has its name.
    table->hides_column_ = std::erase_if(table->schema_.columns, [this](const ColumnSpec& column) {
                             return column.name == partition_column();
                           }) > 0;
    if (!table->schema().columns.empty()) {
      partitioned_.push_back(std::move(table));
    } else {
      problems_.push_back(
          fmt::format("{}/{}: no table: no partition has a .d for it that can be "
                      "read",
                      partitions_.back().directory, table->name()));
    }
  }
}

const PartitionedTable* Database::FindPartitioned(std::string_view name) const {
  for (const std::unique_ptr<PartitionedTable>& table : partitioned_) {
    if (table->name() == name) return table.get();
  }
  return nullptr;
}

const SplayedTable* Database::FindSplayed(std::string_view name) const {
  for (const RootTable& table : splayed_) {
    if (table.name == name) return table.table.get();
  }
  return nullptr;
}

}  // namespace tickstack::disk
