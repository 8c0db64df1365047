#include "cli/hdb_archive.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/directory.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/stack_config.h"
#include "disk/database.h"
#include "disk/partition_name.h"
#include "disk/symbol_file_writer.h"
#include "disk/table_archive.h"

namespace tickstack::cli {
namespace {

// A recall releases the lock of the database between two tables; in a pause an rdb, which asks
// every few seconds, gets it and writes its day.
constexpr std::chrono::seconds kBetweenLockPauses{60}, kLockPause{6};

// How long an archived table waits for the lock, which a day that ends may have.
constexpr std::chrono::minutes kLockWait{10};

bool IsOfStore(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsPermissionDenied(status);
}

class LockPauses {
 public:
  // Call it without the lock.
  void MaybePause() {
    if (std::chrono::steady_clock::now() < next_) return;
    std::this_thread::sleep_for(kLockPause);
    next_ = std::chrono::steady_clock::now() + kBetweenLockPauses;
  }

 private:
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + kBetweenLockPauses;
};

// Returns the directories of a partition's tables, of those that are named if any are.
absl::StatusOr<std::vector<std::string>> TablesOf(const std::string& partition,
                                                  const std::vector<std::string>& names) {
  std::vector<std::string> directories;
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(partition));
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_directory || entry.name.starts_with('.') || entry.name.ends_with('$')) continue;
    if (!names.empty() && std::ranges::find(names, entry.name) == names.end()) continue;
    const std::string directory = partition + "/" + entry.name;
    TS_ASSIGN_OR_RETURN(const bool is_table, FileExists(directory + "/.d"));
    if (is_table) directories.push_back(directory);
  }
  return directories;
}

absl::Status CheckDates(const disk::Database& database) {
  if (database.partitions().empty() || database.partition_kind() == disk::PartitionKind::kDate) {
    return absl::OkStatus();
  }
  return Unimplemented("{}: partitions by {}, expected partitions by date", database.root(),
                       NameOf(database.partition_kind()));
}

struct ArchiveTotals {
  uint64_t tables = 0, files = 0, bytes = 0;
  uint64_t errors = 0;  // Tables that failed; their errors were printed.
};

void PrintTotals(std::string_view verb, const std::string& directory, const ArchiveTotals& totals,
                 bool json) {
  if (json) {
    const nlohmann::ordered_json all = {{"database", directory},
                                        {"tables", totals.tables},
                                        {"files", totals.files},
                                        {"bytes", totals.bytes},
                                        {"errors", totals.errors}};
    fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print("{}: {} {} tables, {} files, {} bytes\n", Printable(directory), verb, totals.tables,
             totals.files, totals.bytes);
}

// Returns the bytes that archiving a table would move.
absl::StatusOr<uint64_t> LargeBytesOf(const std::string& directory, uint64_t keep_bytes) {
  TS_ASSIGN_OR_RETURN(const bool is_archived,
                      FileExists(fmt::format("{}/{}", directory, disk::kArchivedName)));
  uint64_t bytes = 0;
  if (is_archived) return bytes;
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory));
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_file || entry.name.starts_with('.')) continue;
    TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(directory + "/" + entry.name));
    TS_ASSIGN_OR_RETURN(const uint64_t of_file, file.Bytes());
    if (of_file > keep_bytes) bytes += of_file;
  }
  return bytes;
}

absl::StatusOr<ArchiveTotals> Archive(const HdbArchiveOptions& options) {
  TS_ASSIGN_OR_RETURN(const s3::ArchiveSettings settings, ArchiveSettingsOf(options.config));
  const int days = options.older_than_days.value_or(settings.older_than_days);
  if (!options.older_than_days && days == 0) {
    return InvalidArgument(
        "expected --older-than DAYS, or hdb.tiers.older_than_days in the configuration");
  }
  disk::ArchiveOptions how;
  how.prefix = settings.prefix;
  // A dry run must not fail for lack of credentials that only the hdb's user can read.
  if (!options.dry_run) {
    TS_ASSIGN_OR_RETURN(how.store, s3::OpenStoreOf(settings));
  }
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> database,
                      disk::Database::Open(options.directory));
  TS_RETURN_IF_ERROR(CheckDates(*database));
  const int64_t today = DayOf(SystemClock::Instance().NowNs());
  how.lock = [&options] { return disk::LockDatabase(options.directory, kLockWait); };
  ArchiveTotals totals;
  for (const disk::Partition& partition : database->partitions()) {
    // The newest partition defines the tables, so each load reads it.
    const bool is_newest = partition.value == database->partitions().back().value;
    if (is_newest || today - partition.value <= days) continue;
    TS_ASSIGN_OR_RETURN(const std::vector<std::string> tables,
                        TablesOf(partition.directory, options.tables));
    for (const std::string& table : tables) {
      if (options.dry_run) {
        TS_ASSIGN_OR_RETURN(const uint64_t bytes, LargeBytesOf(table, how.keep_bytes));
        if (bytes == 0) continue;
        fmt::print(stderr, "would archive {} bytes={}\n", Printable(table), bytes);
        totals.tables += 1;
        totals.bytes += bytes;
        continue;
      }
      const absl::StatusOr<disk::ArchivedTable> archived = disk::ArchiveTable(table, how);
      if (!archived.ok()) {
        fmt::print(stderr, "tickstack hdb archive: {}\n", Message(archived.status()));
        totals.errors += 1;
        // Each further table would wait as long for the store, or be refused as well.
        if (IsOfStore(archived.status())) return totals;
        continue;
      }
      if (!archived->has_changed) continue;
      fmt::print(stderr, "archived {} files={} bytes={}\n", Printable(table), archived->files,
                 archived->bytes);
      totals.tables += 1;
      totals.files += archived->files;
      totals.bytes += archived->bytes;
    }
  }
  return totals;
}

absl::StatusOr<ArchiveTotals> Recall(const HdbRecallOptions& options) {
  TS_ASSIGN_OR_RETURN(const s3::ArchiveSettings settings, ArchiveSettingsOf(options.config));
  disk::ArchiveOptions how;
  how.prefix = settings.prefix;
  TS_ASSIGN_OR_RETURN(how.store, s3::OpenStoreOf(settings));
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const disk::Database> database,
                      disk::Database::Open(options.directory));
  TS_RETURN_IF_ERROR(CheckDates(*database));
  ArchiveTotals totals;
  LockPauses pauses;
  for (const std::string& date : options.dates) {
    const std::optional<int32_t> day = ParseDate(date);
    if (!day) return InvalidArgument("--date {}: expected a date such as 2024.01.29", date);
    bool is_there = false;
    for (const disk::Partition& partition : database->partitions()) {
      if (partition.value != *day) continue;
      is_there = true;
      TS_ASSIGN_OR_RETURN(const std::vector<std::string> tables,
                          TablesOf(partition.directory, options.tables));
      for (const std::string& table : tables) {
        pauses.MaybePause();
        TS_ASSIGN_OR_RETURN(const File lock, disk::LockDatabase(options.directory));
        TS_ASSIGN_OR_RETURN(const disk::RecalledTable recalled, disk::RecallTable(table, how));
        if (recalled.objects.empty()) continue;
        fmt::print(stderr, "recalled {} files={} bytes={} objects={}/{}\n", Printable(table),
                   recalled.files, recalled.bytes, how.store->name(), recalled.objects);
        totals.tables += 1;
        totals.files += recalled.files;
        totals.bytes += recalled.bytes;
      }
    }
    if (!is_there) return NotFound("{}: no partition {}", options.directory, date);
  }
  return totals;
}

}  // namespace

absl::Status ReadArchiveSettings(const ConfigTable& table, s3::ArchiveSettings& settings) {
  TS_RETURN_IF_ERROR(table.Read("store", &settings.store));
  TS_RETURN_IF_ERROR(table.Read("bucket", &settings.bucket));
  TS_RETURN_IF_ERROR(table.Read("prefix", &settings.prefix));
  TS_RETURN_IF_ERROR(table.Read("region", &settings.region));
  TS_RETURN_IF_ERROR(table.Read("credentials", &settings.credentials));
  int64_t timeout_ns = std::chrono::nanoseconds(settings.timeout).count();
  TS_RETURN_IF_ERROR(table.ReadDuration("timeout", &timeout_ns));
  constexpr int64_t kNsPerMillisecond = 1'000'000;
  if (timeout_ns < kNsPerMillisecond || timeout_ns > kNsPerDay) {
    return table.ErrorAt("timeout", "expected a time from 1ms to 1d");
  }
  settings.timeout = std::chrono::milliseconds(timeout_ns / kNsPerMillisecond);
  TS_RETURN_IF_ERROR(table.Read("requests", &settings.requests, size_t{1}, size_t{256}));
  TS_RETURN_IF_ERROR(table.ReadBytes("cache", &settings.cache_bytes));
  TS_RETURN_IF_ERROR(table.Read("older_than_days", &settings.older_than_days, 0, 1'000'000));
  if (!settings.store.empty() && settings.bucket.empty()) {
    return table.ErrorAt("bucket", "expected the name of a bucket of the store");
  }
  return absl::OkStatus();
}

absl::StatusOr<s3::ArchiveSettings> ArchiveSettingsOf(const std::string& path) {
  if (path.empty()) return s3::ArchiveSettings();
  TS_ASSIGN_OR_RETURN(const StackConfig config, LoadStackConfig(path));
  if (!config.hdb) return s3::ArchiveSettings();
  if (config.shard_map != nullptr && !config.hdb->archive.store.empty()) {
    return Unimplemented(
        "{}: it has shards, whose objects have different prefixes: expected a "
        "configuration without [[shard]], with prefix = \"{}\" for the shard {}",
        path, config.hdb->archive.prefix, config.shard_map->shards().front());
  }
  return config.hdb->archive;
}

void AddHdbArchiveOptions(CLI::App& command, HdbArchiveOptions& options) {
  command.add_option("directory", options.directory, "Database directory")->required();
  command
      .add_option("--stack", options.config,
                  "Stack configuration, whose [hdb.tiers] names the object store")
      ->required();
  command
      .add_option("--older-than", options.older_than_days,
                  "Move partitions that are older than this number of days (default: "
                  "hdb.tiers.older_than_days); the newest partition stays")
      ->check(CLI::Range(0, 1'000'000));
  command.add_option("--table", options.tables, "Move only this table; can be given several times")
      ->allow_extra_args(false);
  command.add_flag("--dry-run", options.dry_run, "Only show what would be moved");
  command.add_flag("--json", options.json, "Print one JSON object");
}

void AddHdbRecallOptions(CLI::App& command, HdbRecallOptions& options) {
  command.add_option("directory", options.directory, "Database directory")->required();
  command
      .add_option("--stack", options.config,
                  "Stack configuration, whose [hdb.tiers] names the object store")
      ->required();
  command
      .add_option("--date", options.dates,
                  "Partition to fetch, such as 2024.01.02; can be given several times")
      ->allow_extra_args(false)
      ->required();
  command
      .add_option("--table", options.tables, "Fetch only this table; can be given several times")
      ->allow_extra_args(false);
  command.add_flag("--json", options.json, "Print one JSON object");
}

int RunHdbArchive(const HdbArchiveOptions& options) {
  const absl::StatusOr<ArchiveTotals> totals = Archive(options);
  if (!totals.ok()) {
    fmt::print(stderr, "tickstack hdb archive: {}\n", Message(totals.status()));
    return 1;
  }
  PrintTotals(options.dry_run ? "would archive" : "archived", options.directory, *totals,
              options.json);
  return totals->errors == 0 ? 0 : 1;
}

int RunHdbRecall(const HdbRecallOptions& options) {
  const absl::StatusOr<ArchiveTotals> totals = Recall(options);
  if (!totals.ok()) {
    fmt::print(stderr, "tickstack hdb recall: {}\n", Message(totals.status()));
    return 1;
  }
  PrintTotals("recalled", options.directory, *totals, options.json);
  return 0;
}

}  // namespace tickstack::cli
