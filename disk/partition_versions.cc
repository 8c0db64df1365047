#include "disk/partition_versions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/partition_name.h"
#include "disk/table_revisions.h"

namespace tickstack::disk {
namespace {

constexpr std::string_view kUnfinished = "writing.";
constexpr std::string_view kRevised = "revised.";
constexpr std::string_view kReplaced = "replaced.";
constexpr std::string_view kUndone = "undone.";

struct VersionName {
  std::string partition;
  uint64_t number = 0;
};

std::optional<VersionName> ParseVersionName(std::string_view name, std::string_view mark) {
  if (!name.starts_with(mark) || !name.ends_with('$')) return std::nullopt;
  name = name.substr(mark.size(), name.size() - mark.size() - 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || !ParsePartitionName(name.substr(0, dot))) {
    return std::nullopt;
  }
  VersionName version{std::string(name.substr(0, dot)), 0};
  const char* const end = name.data() + name.size();
  const auto [ptr, ec] = std::from_chars(name.data() + dot + 1, end, version.number);
  if (ec != std::errc() || ptr != end) return std::nullopt;
  return version;
}

// Returns the name of the partition of which a directory is a version.
std::string PartitionNameOf(std::string_view name) {
  for (const std::string_view mark : {kRevised, kReplaced, kUndone}) {
    if (std::optional<VersionName> version = ParseVersionName(name, mark)) {
      return version->partition;
    }
  }
  return std::string(name);
}

std::string LastName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string PathOf(const std::string& partition, std::string_view mark, uint64_t number) {
  return fmt::format("{}/{}{}.{}$", DirectoryOf(partition), mark, LastName(partition), number);
}

// Returns a partition's directories with a mark, by number.
absl::StatusOr<std::vector<KeptVersion>> Marked(const std::string& partition,
                                                std::string_view mark) {
  const std::string segment = DirectoryOf(partition), of = LastName(partition);
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(segment));
  std::vector<KeptVersion> versions;
  for (const DirectoryEntry& entry : entries) {
    const std::optional<VersionName> name = ParseVersionName(entry.name, mark);
    if (entry.is_directory && name && name->partition == of) {
      versions.push_back({name->number, fmt::format("{}/{}", segment, entry.name)});
    }
  }
  std::ranges::sort(versions, {}, &KeptVersion::number);
  return versions;
}

absl::Status RenameDurably(const std::string& from, const std::string& to, const Storage& storage) {
  TS_RETURN_IF_ERROR(storage.Rename(from, to));
  return storage.SyncDirectory(DirectoryOf(to));
}

// Removes a version that is complete but not in effect. Under its own name, one that is half
// removed would pass for another version.
absl::Status Discard(const std::string& partition, const std::string& directory,
                     const Storage& storage) {
  const std::string unfinished =
      fmt::format("{}/{}", DirectoryOf(partition), NameWhileWritten(LastName(partition)));
  TS_RETURN_IF_ERROR(storage.Remove(unfinished));
  TS_RETURN_IF_ERROR(RenameDurably(directory, unfinished, storage));
  return storage.Remove(unfinished);
}

// Gives the undone version `number` its final name. An earlier one of that name is removed.
absl::StatusOr<std::string> KeepUndone(const std::string& partition, const std::string& directory,
                                       uint64_t number, const Storage& storage) {
  std::string undone = PathOf(partition, kUndone, number);
  TS_RETURN_IF_ERROR(storage.Remove(undone));
  TS_RETURN_IF_ERROR(RenameDurably(directory, undone, storage));
  return undone;
}

}  // namespace

std::string NameWhileWritten(std::string_view partition) {
  return fmt::format("{}{}$", kUnfinished, partition);
}

bool IsUnfinished(std::string_view name) {
  return name.starts_with(kUnfinished) && name.ends_with('$');
}

absl::StatusOr<uint64_t> VersionOf(const std::string& directory) {
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory));
  uint64_t version = 0;
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_directory) continue;
    TS_ASSIGN_OR_RETURN(const std::vector<TableRevision> revisions,
                        ReadRevisions(fmt::format("{}/{}", directory, entry.name)));
    for (const TableRevision& each : revisions) version = std::max(version, each.number);
  }
  return version;
}

absl::StatusOr<std::vector<KeptVersion>> KeptVersions(const std::string& partition) {
  return Marked(partition, kReplaced);
}

absl::Status CheckNames(const std::string& partition) {
  TS_ASSIGN_OR_RETURN(const uint64_t version, VersionOf(partition));
  const std::string replaced = PathOf(partition, kReplaced, version);
  TS_ASSIGN_OR_RETURN(const bool is_taken, FileExists(replaced));
  if (!is_taken) return absl::OkStatus();
  return FailedPrecondition(
      "{}: is there although the partition has version {}: move it out of the database", replaced,
      version);
}

absl::Status CheckExchange(const std::string& segment, const Storage& storage) {
  const std::string one = fmt::format("{}/{}", segment, NameWhileWritten("one"));
  const std::string other = fmt::format("{}/{}", segment, NameWhileWritten("other"));
  for (const std::string& each : {one, other}) {
    TS_RETURN_IF_ERROR(storage.Remove(each));
    TS_RETURN_IF_ERROR(storage.MakeDirectory(each));
  }
  absl::Status checked = storage.Exchange(one, other);
  TS_RETURN_IF_ERROR(storage.Remove(one));
  TS_RETURN_IF_ERROR(storage.Remove(other));
  return checked;
}

absl::StatusOr<std::string> PrepareVersion(const std::string& partition, const std::string& made,
                                           const Storage& storage) {
  TS_ASSIGN_OR_RETURN(const uint64_t before, VersionOf(partition));
  TS_ASSIGN_OR_RETURN(const uint64_t after, VersionOf(made));
  if (after <= before) {
    return Internal("{}: version {}, expected one after {}", made, after, before);
  }
  std::string prepared = PathOf(partition, kRevised, after);
  TS_RETURN_IF_ERROR(RenameDurably(made, prepared, storage));
  return prepared;
}

absl::StatusOr<std::vector<KeptVersion>> PreparedVersions(const std::string& partition) {
  TS_ASSIGN_OR_RETURN(std::vector<KeptVersion> versions, Marked(partition, kRevised));
  std::vector<KeptVersion> prepared;
  for (KeptVersion& each : versions) {
    TS_ASSIGN_OR_RETURN(const uint64_t found, VersionOf(each.directory));
    if (found == each.number) prepared.push_back(std::move(each));
  }
  return prepared;
}

absl::StatusOr<std::string> ExchangeVersion(const std::string& partition,
                                            const std::string& prepared, const Storage& storage) {
  TS_ASSIGN_OR_RETURN(const uint64_t before, VersionOf(partition));
  if (absl::Status exchanged = storage.Exchange(prepared, partition); !exchanged.ok()) {
    (void)Discard(partition, prepared, storage);  // If it fails, FinishVersions does it.
    return exchanged;
  }
  TS_RETURN_IF_ERROR(storage.SyncDirectory(DirectoryOf(partition)));
  std::string replaced = PathOf(partition, kReplaced, before);
  TS_RETURN_IF_ERROR(RenameDurably(prepared, replaced, storage));
  return replaced;
}

absl::StatusOr<UndoneVersion> UndoVersion(const std::string& partition, const Storage& storage) {
  TS_ASSIGN_OR_RETURN(const std::vector<KeptVersion> kept, KeptVersions(partition));
  if (kept.empty()) return NotFound("{}: no version is kept that could be put back", partition);
  TS_ASSIGN_OR_RETURN(const uint64_t undone, VersionOf(partition));
  if (kept.back().number + 1 != undone) {
    return FailedPrecondition("{}: version {}, expected the one before that of the partition, {}",
                              kept.back().directory, kept.back().number, undone);
  }
  TS_RETURN_IF_ERROR(storage.Exchange(kept.back().directory, partition));
  TS_RETURN_IF_ERROR(storage.SyncDirectory(DirectoryOf(partition)));
  UndoneVersion version{kept.back().number, {}};
  TS_ASSIGN_OR_RETURN(version.directory,
                      KeepUndone(partition, kept.back().directory, undone, storage));
  return version;
}

absl::StatusOr<size_t> FinishVersions(const std::string& partition, const Storage& storage) {
  size_t finished = 0;
  TS_ASSIGN_OR_RETURN(const std::vector<KeptVersion> revised, Marked(partition, kRevised));
  for (const KeptVersion& each : revised) {
    TS_ASSIGN_OR_RETURN(const uint64_t found, VersionOf(each.directory));
    ++finished;
    if (found >= each.number) {
      TS_RETURN_IF_ERROR(Discard(partition, each.directory, storage));
    } else {
      const std::string replaced = PathOf(partition, kReplaced, found);
      TS_RETURN_IF_ERROR(RenameDurably(each.directory, replaced, storage));
    }
  }
  TS_ASSIGN_OR_RETURN(const std::vector<KeptVersion> replaced, KeptVersions(partition));
  for (const KeptVersion& each : replaced) {
    TS_ASSIGN_OR_RETURN(const uint64_t found, VersionOf(each.directory));
    if (found == each.number) continue;
    ++finished;
    TS_RETURN_IF_ERROR(KeepUndone(partition, each.directory, found, storage).status());
  }
  return finished;
}

bool IsPartOfSwitch(std::string_view name) { return ParseVersionName(name, kRevised).has_value(); }

VersionId IdOf(const std::string& path) {
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &status) != 0) return {};
  VersionId id{status.stx_ino, 0};
  if ((status.stx_mask & STATX_BTIME) != 0) {
    id.born_ns = status.stx_btime.tv_sec * kNsPerSecond + status.stx_btime.tv_nsec;
  }
  return id;
}

// On a file system whose inode numbers change, as they may over a network, a directory is known by
// its name. A switch keeps the version before, so where there is none, nothing has been replaced.
std::string FindVersion(const std::string& directory, std::string_view below, const VersionId& id) {
  std::string in_place = directory + std::string(below);
  const VersionId now = IdOf(in_place);
  if (now.IsSame(id)) return in_place;
  const bool may_be_same = now.inode != 0 && VersionId{id.inode, now.born_ns}.IsSame(id);
  const std::string segment = DirectoryOf(directory);
  const std::string of = PartitionNameOf(LastName(directory));
  if (!ParsePartitionName(of)) return {};
  const absl::StatusOr<std::vector<DirectoryEntry>> entries = ListDirectory(segment);
  if (!entries.ok()) return {};
  bool has_versions = false;
  for (const DirectoryEntry& entry : *entries) {
    if (!entry.is_directory || PartitionNameOf(entry.name) != of) continue;
    has_versions |= entry.name != of;
    std::string path = fmt::format("{}/{}{}", segment, entry.name, below);
    if (IdOf(path).IsSame(id)) return path;
  }
  return may_be_same && !has_versions ? in_place : std::string();
}

absl::StatusOr<std::string> FindListedVersion(const std::string& directory, uint64_t inode) {
  const VersionId now = IdOf(directory);
  if (now.inode == inode || now.inode == 0) return directory;
  const std::string segment = DirectoryOf(directory), name = LastName(directory);
  TS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(segment));
  std::string version;
  bool has_versions = false;
  for (const DirectoryEntry& entry : entries) {
    if (PartitionNameOf(entry.name) != name) continue;
    has_versions |= entry.name != name;
    if (entry.inode != inode) continue;
    if (entry.name == name) return directory;
    version = fmt::format("{}/{}", segment, entry.name);
  }
  // As for FindVersion, if no birth tells directories apart.
  const bool may_be_same = version.empty() && now.born_ns == 0 && !has_versions;
  return may_be_same ? directory : version;
}

}  // namespace tickstack::disk
