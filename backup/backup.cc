#include "backup/backup.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "backup/file_copy.h"
#include "backup/log_end.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "disk/archive_marker.h"
#include "disk/checksum_file.h"
#include "disk/database_check.h"
#include "disk/partition_name.h"
#include "disk/partition_versions.h"
#include "disk/segment_list.h"
#include "disk/table_revisions.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_state.h"

namespace tickstack::backup {
namespace {

constexpr char kLogFolder[] = "tplog";
constexpr char kDatabase[] = "hdb";
constexpr char kConfig[] = "stack.toml";
constexpr int kTries = 10;  // For files that change while they are copied.

// True for files of a table that is being archived or recalled.
bool IsUnfinished(std::string_view name) {
  return name == disk::kNewArchivedName || name.starts_with(disk::kRecallingPrefix);
}

class Run {
 public:
  explicit Run(const BackupOptions& options) : options_(options), workers_(WorkersOf(options)) {}

  absl::StatusOr<BackupReport> Execute();

 private:
  static size_t WorkersOf(const BackupOptions& options) {
    return static_cast<size_t>(std::max(options.threads, 1) - 1);
  }

  absl::Status CopyDatabase();
  absl::Status CopyPartition(const std::string& name);
  absl::Status CopyVersion(const std::string& name, uint64_t copied,
                           std::vector<std::string>& problems);
  void RestoreFiles(const std::string& prefix);
  absl::StatusOr<bool> IsAnotherVersion(const std::string& table) const;
  absl::Status ForgetOtherVersions(const std::string& partition);
  absl::Status CopyTree(const std::string& source, const std::string& path);
  absl::Status CopyEntries(const std::string& source, const std::string& path);
  absl::Status CopyDomain(const std::string& name);
  absl::Status CopyLogs();
  absl::Status CopyLog(const std::string& name);
  absl::Status CopyLogTo(const LogEnd& end, const std::string& source, const std::string& path,
                         int64_t changed);

  absl::Status CopyFile(const std::string& source, const std::string& path);
  absl::StatusOr<bool> BeginsAsBefore(const File& from, const std::string& path, uint64_t end);
  absl::Status CopyWhole(const File& from, const std::string& path, uint64_t end, int64_t changed,
                         bool replaces);
  absl::Status CopyRest(const File& from, const std::string& path, uint64_t end, int64_t changed);
  absl::StatusOr<File> OpenCopy(const std::string& stored);
  const StoredFile* Before(const std::string& path) const;
  bool IsAsBefore(const std::string& path, const FileFacts& facts) const;
  void Keep(const std::string& path);
  std::string InBackup(const std::string& stored) const {
    return options_.destination + "/" + stored;
  }

  const BackupOptions& options_;
  WorkerPool workers_;
  Manifest before_;
  BackupReport report_;
  Manifest& now_ = report_.manifest;
};

absl::StatusOr<BackupReport> Run::Execute() {
  TS_RETURN_IF_ERROR(CreateDirectories(options_.destination));
  TS_ASSIGN_OR_RETURN(File lock, File::OpenOrCreate(InBackup("lock")));
  TS_RETURN_IF_ERROR(lock.TryLock());
  TS_ASSIGN_OR_RETURN(std::optional<Manifest> before, ReadManifest(options_.destination));
  if (before) before_ = *std::move(before);
  now_ = before_;
  now_.generation = before_.generation + 1;
  now_.time_ns = SystemClock::Instance().NowNs();
  // Logs first: then no day is missing from both, if it ends meanwhile.
  TS_RETURN_IF_ERROR(CopyLogs());
  TS_RETURN_IF_ERROR(CopyDatabase());
  if (!options_.config.empty()) TS_RETURN_IF_ERROR(CopyFile(options_.config, kConfig));
  TS_RETURN_IF_ERROR(WriteManifest(options_.destination, now_));
  for (const auto& [path, file] : before_.files) {
    const auto newer = now_.files.find(path);
    if (newer != now_.files.end() && newer->second.stored == file.stored) continue;
    std::error_code gone;
    std::filesystem::remove(InBackup(file.stored), gone);
  }
  return std::move(report_);
}

// ---- files

const StoredFile* Run::Before(const std::string& path) const {
  const auto found = before_.files.find(path);
  return found == before_.files.end() ? nullptr : &found->second;
}

bool Run::IsAsBefore(const std::string& path, const FileFacts& facts) const {
  const StoredFile* const before = Before(path);
  return before != nullptr && before->bytes == facts.bytes &&
         before->changed_ns == facts.changed_ns;
}

void Run::Keep(const std::string& path) {
  now_.files[path] = *Before(path);
  ++report_.files_kept;
}

absl::StatusOr<File> Run::OpenCopy(const std::string& stored) {
  const std::string path = InBackup(stored);
  TS_RETURN_IF_ERROR(CreateDirectories(DirectoryOf(path)));
  return File::OpenOrCreate(path);
}

// Copies all `end` bytes. `replaces`: the last backup has another copy, or one of a file beside it,
// and needs that until the new manifest is there.
absl::Status Run::CopyWhole(const File& from, const std::string& path, uint64_t end,
                            int64_t changed, bool replaces) {
  const size_t folder = path.find('/');
  const std::string stored = !replaces
                                 ? path
                                 : fmt::format("{}~{}{}", path.substr(0, folder), now_.generation,
                                               folder == path.npos ? "" : path.substr(folder));
  TS_ASSIGN_OR_RETURN(File to, OpenCopy(stored));
  TS_RETURN_IF_ERROR(to.Truncate(0));
  TS_ASSIGN_OR_RETURN(const uint32_t crc, CopyBytes(from, 0, end, 0, to));
  TS_RETURN_IF_ERROR(to.SyncData());
  TS_RETURN_IF_ERROR(SyncDirectory(DirectoryOf(to.path())));
  now_.files[path] = {path, stored, end, crc, changed};
  ++report_.files_copied;
  report_.bytes_copied += end;
  return absl::OkStatus();
}

// True if the first bytes of a file, which the backup has, have not changed.
absl::StatusOr<bool> Run::BeginsAsBefore(const File& from, const std::string& path, uint64_t end) {
  const StoredFile* const before = Before(path);
  if (before == nullptr || before->bytes > end) return false;
  TS_ASSIGN_OR_RETURN(const uint32_t crc, ChecksumOf(from, before->bytes));
  return crc == before->crc;
}

// Appends to the copy of a file that only grows.
absl::Status Run::CopyRest(const File& from, const std::string& path, uint64_t end,
                           int64_t changed) {
  const StoredFile& before = *Before(path);
  if (before.bytes == end) {
    Keep(path);
    now_.files[path].changed_ns = changed;
    return absl::OkStatus();
  }
  TS_ASSIGN_OR_RETURN(File to, OpenCopy(before.stored));
  TS_RETURN_IF_ERROR(to.Truncate(before.bytes));  // An interrupted backup may have added some.
  TS_ASSIGN_OR_RETURN(const uint32_t crc, CopyBytes(from, before.bytes, end, before.crc, to));
  TS_RETURN_IF_ERROR(to.SyncData());
  now_.files[path] = {path, before.stored, end, crc, changed};
  ++report_.files_copied;
  report_.bytes_copied += end - before.bytes;
  return absl::OkStatus();
}

// A file that is replaced as a whole, if at all.
absl::Status Run::CopyFile(const std::string& source, const std::string& path) {
  for (int i = 0; i < kTries; ++i) {
    TS_ASSIGN_OR_RETURN(const FileFacts facts, FactsOf(source));
    if (IsAsBefore(path, facts)) {
      Keep(path);
      return absl::OkStatus();
    }
    TS_ASSIGN_OR_RETURN(const File from, File::OpenForReading(source));
    absl::Status copied =
        CopyWhole(from, path, facts.bytes, facts.changed_ns, Before(path) != nullptr);
    TS_ASSIGN_OR_RETURN(const FileFacts after, FactsOf(source));
    if (copied.ok() && after == facts) return absl::OkStatus();
    if (!copied.ok() && !absl::IsDataLoss(copied)) return copied;
  }
  return Unavailable("{}: it changes while it is copied", source);
}

// ---- the database

absl::Status Run::CopyDatabase() {
  TS_ASSIGN_OR_RETURN(const bool has_database, IsDirectory(options_.database));
  if (!has_database) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const bool is_segmented, FileExists(options_.database + "/par.txt"));
  if (is_segmented) {
    return Unimplemented("{}: a database with par.txt is not backed up: its segments are elsewhere",
                         options_.database);
  }
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(options_.database));
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_directory || entry.name.ends_with('$')) continue;  // One that is being written.
    TS_RETURN_IF_ERROR(disk::ParsePartitionName(entry.name)
                           ? CopyPartition(entry.name)
                           : CopyTree(options_.database + "/" + entry.name,
                                      fmt::format("{}/{}", kDatabase, entry.name)));
  }
  // Partitions refer to the domains, which only grow: these come last.
  for (const DirectoryEntry& entry : entries) {
    if (entry.is_file && !entry.name.ends_with('$')) TS_RETURN_IF_ERROR(CopyDomain(entry.name));
  }
  return absl::OkStatus();
}

// A file of the root: a domain and its checksums, or a table that kdb+ saved.
absl::Status Run::CopyDomain(const std::string& name) {
  const std::string source = options_.database + "/" + name;
  const std::string path = fmt::format("{}/{}", kDatabase, name);
  const std::string checksums = source + std::string(disk::kDomainChecksumSuffix);
  TS_ASSIGN_OR_RETURN(const bool has_checksums, FileExists(checksums));
  if (!has_checksums) return CopyFile(source, path);
  const std::string checksums_path = path + std::string(disk::kDomainChecksumSuffix);
  for (int i = 0; i < kTries; ++i) {
    TS_ASSIGN_OR_RETURN(const FileFacts before, FactsOf(checksums));
    TS_RETURN_IF_ERROR(CopyFile(checksums, checksums_path));
    TS_ASSIGN_OR_RETURN(const FileFacts facts, FactsOf(source));
    TS_ASSIGN_OR_RETURN(const File from, File::OpenForReading(source));
    TS_ASSIGN_OR_RETURN(const bool grew, BeginsAsBefore(from, path, facts.bytes));
    TS_RETURN_IF_ERROR(
        grew ? CopyRest(from, path, facts.bytes, facts.changed_ns)
             : CopyWhole(from, path, facts.bytes, facts.changed_ns, Before(path) != nullptr));
    TS_ASSIGN_OR_RETURN(const FileFacts after, FactsOf(checksums));
    TS_ASSIGN_OR_RETURN(const FileFacts facts_after, FactsOf(source));
    if (after == before && facts_after == facts) return absl::OkStatus();
  }
  return Unavailable("{}: it changes while it is copied", source);
}

absl::Status Run::CopyPartition(const std::string& name) {
  const std::string source = options_.database + "/" + name;
  const uint64_t copied = report_.files_copied;
  for (int i = 0; i < kTries; ++i) {
    const disk::VersionId id = disk::IdOf(source);
    std::vector<std::string> problems;
    const absl::Status status = CopyVersion(name, copied, problems);
    // A merge may have put another version in its place: then the copy has files of both.
    if (!disk::IdOf(source).IsSame(id)) {
      RestoreFiles(fmt::format("{}/{}/", kDatabase, name));
      continue;
    }
    report_.problems.insert(report_.problems.end(), problems.begin(), problems.end());
    return status;
  }
  return Unavailable("{}: it is replaced while it is copied", source);
}

// Makes the files whose paths begin with `prefix` those of the last backup again.
void Run::RestoreFiles(const std::string& prefix) {
  std::erase_if(now_.files, [&](const auto& file) { return file.first.starts_with(prefix); });
  for (auto at = before_.files.lower_bound(prefix);
       at != before_.files.end() && at->first.starts_with(prefix); ++at) {
    now_.files.insert(*at);
  }
}

// Copies a partition, and checks it if that copied a file: if there are more than `copied` now.
absl::Status Run::CopyVersion(const std::string& name, uint64_t copied,
                              std::vector<std::string>& problems) {
  const std::string source = options_.database + "/" + name;
  TS_RETURN_IF_ERROR(CopyTree(source, fmt::format("{}/{}", kDatabase, name)));
  TS_RETURN_IF_ERROR(ForgetOtherVersions(name));
  if (report_.files_copied == copied) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(
      const disk::DatabaseCheck check,
      disk::CheckPartition(options_.database, source, workers_, [] { return false; }));
  for (const disk::Finding& finding : check.findings) {
    problems.push_back(fmt::format("{}: {}", finding.path, finding.what));
  }
  return absl::OkStatus();
}

// True if the version of a table that was copied last is not that of the last backup.
absl::StatusOr<bool> Run::IsAnotherVersion(const std::string& table) const {
  // A person who changed a column in place has written the checksums anew.
  for (const std::string_view name : {disk::kRevisionsName, disk::kChecksumName}) {
    const std::string path = fmt::format("{}/{}/{}", kDatabase, table, name);
    const auto copied = now_.files.find(path);
    if (copied == now_.files.end()) continue;
    TS_ASSIGN_OR_RETURN(const bool is_there,
                        FileExists(fmt::format("{}/{}/{}", options_.database, table, name)));
    const StoredFile* const before = Before(path);
    if (!is_there || before == nullptr || before->stored != copied->second.stored) return true;
  }
  return false;
}

// Leaves out files that only another version of a table had, such as a column that was renamed.
// A file that disappeared from the same version stays in the backup.
absl::Status Run::ForgetOtherVersions(const std::string& partition) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries,
                      ListDirectory(fmt::format("{}/{}", options_.database, partition)));
  for (const DirectoryEntry& entry : entries) {
    const std::string table = fmt::format("{}/{}", partition, entry.name);
    TS_ASSIGN_OR_RETURN(const bool is_another, IsAnotherVersion(table));
    if (!is_another) continue;
    const std::string prefix = fmt::format("{}/{}/", kDatabase, table);
    auto at = now_.files.lower_bound(prefix);
    while (at != now_.files.end() && at->first.starts_with(prefix)) {
      const std::string name = at->first.substr(prefix.size());
      TS_ASSIGN_OR_RETURN(const bool is_there,
                          FileExists(fmt::format("{}/{}/{}", options_.database, table, name)));
      at = is_there ? std::next(at) : now_.files.erase(at);
    }
  }
  return absl::OkStatus();
}

absl::Status Run::CopyTree(const std::string& source, const std::string& path) {
  for (int i = 0; i < kTries; ++i) {
    absl::Status status = CopyEntries(source, path);
    if (!absl::IsNotFound(status)) return status;
    // A table that is being archived has lost a file since its directory was listed, and has a
    // marker instead.
    TS_ASSIGN_OR_RETURN(const bool is_there, IsDirectory(source));
    if (!is_there) return status;
  }
  return Unavailable("{}: its files change while they are copied", source);
}

absl::Status Run::CopyEntries(const std::string& source, const std::string& path) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(source));
  for (const DirectoryEntry& entry : entries) {
    const std::string from = source + "/" + entry.name;
    const std::string to = fmt::format("{}/{}", path, entry.name);
    if (entry.is_directory) {
      TS_RETURN_IF_ERROR(CopyTree(from, to));
    } else if (entry.is_file) {
      if (IsUnfinished(entry.name)) continue;
      TS_RETURN_IF_ERROR(CopyFile(from, to));
    } else {
      TS_RETURN_IF_ERROR(CheckReachable(from));
    }
  }
  return absl::OkStatus();
}

// ---- logs

// True for the name of a log, such as sym2020.03.09.
bool IsLogName(std::string_view name) {
  constexpr size_t kDateBytes = 10;
  return name.size() > kDateBytes && ParseDate(name.substr(name.size() - kDateBytes)).has_value();
}

absl::Status Run::CopyLogs() {
  const std::string folder = options_.data + "/" + kLogFolder;
  TS_ASSIGN_OR_RETURN(const bool has_logs, IsDirectory(folder));
  if (!has_logs) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(folder));
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_file || !IsLogName(entry.name)) continue;
    const absl::Status copied = CopyLog(entry.name);
    // It may be an old one that was removed meanwhile.
    if (!copied.ok() && !absl::IsNotFound(copied)) return copied;
  }
  return absl::OkStatus();
}

absl::Status Run::CopyLog(const std::string& name) {
  const std::string source = fmt::format("{}/{}/{}", options_.data, kLogFolder, name);
  const std::string path = fmt::format("{}/{}", kLogFolder, name);
  const std::string state = tplog::TplogStatePath(source);
  TS_ASSIGN_OR_RETURN(const FileFacts facts, FactsOf(source));
  // The state first: it may not say more than the log that follows has.
  TS_ASSIGN_OR_RETURN(const bool has_state, FileExists(state));
  if (has_state) TS_RETURN_IF_ERROR(CopyFile(state, tplog::TplogStatePath(path)));
  if (IsAsBefore(path, facts)) {
    Keep(path);
    if (Before(tplog::TplogIndexPath(path)) != nullptr) Keep(tplog::TplogIndexPath(path));
    return absl::OkStatus();
  }
  TS_ASSIGN_OR_RETURN(const LogEnd end, FindLogEnd(source));
  if (!end.damage.empty()) report_.problems.push_back(end.damage);
  return CopyLogTo(end, source, path, end.log_bytes == facts.bytes ? facts.changed_ns : 0);
}

// `changed`: 0 if the log has more than `end`.
absl::Status Run::CopyLogTo(const LogEnd& end, const std::string& source, const std::string& path,
                            int64_t changed) {
  TS_ASSIGN_OR_RETURN(const File log, File::OpenForReading(source));
  const std::string index_path = tplog::TplogIndexPath(path);
  const bool replaces = Before(path) != nullptr || Before(index_path) != nullptr;
  uint64_t first = 0;  // Message that is new.
  if (end.is_indexed) {
    TS_ASSIGN_OR_RETURN(const File index, File::OpenForReading(tplog::TplogIndexPath(source)));
    // The index has the checksums of the log, so the log need not be compared itself.
    TS_ASSIGN_OR_RETURN(bool grew, BeginsAsBefore(index, index_path, end.index_bytes));
    grew = grew && Before(path) != nullptr && Before(path)->bytes <= end.log_bytes;
    if (grew && before_.messages.contains(path)) first = before_.messages.at(path);
    TS_RETURN_IF_ERROR(grew ? CopyRest(index, index_path, end.index_bytes, 0)
                            : CopyWhole(index, index_path, end.index_bytes, 0, replaces));
    TS_RETURN_IF_ERROR(grew ? CopyRest(log, path, end.log_bytes, changed)
                            : CopyWhole(log, path, end.log_bytes, changed, replaces));
    now_.messages[path] = end.messages;
  } else {
    TS_RETURN_IF_ERROR(CopyWhole(log, path, end.log_bytes, changed, replaces));
    now_.files.erase(index_path);
    now_.messages.erase(path);
  }
  std::string damage = end.damage.empty() && end.log_bytes >= tplog::kTplogHeaderBytes
                           ? FindDamage(InBackup(now_.files.at(path).stored), first)
                           : "";
  if (!damage.empty()) report_.problems.push_back(std::move(damage));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BackupReport> BackUp(const BackupOptions& options) { return Run(options).Execute(); }

}  // namespace tickstack::backup
