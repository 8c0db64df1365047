#pragma once

// Replaces a partition by another version of it, atomically, and keeps the old one:
//
//   1  segment/writing.2024.01.29$/        version 1 is written and synced
//   2  segment/revised.2024.01.29.1$/      is its name once it is complete
//   3  segment/2024.01.29/                 exchanges directories with it, in one step
//   4  segment/replaced.2024.01.29.0$/     is the new name of version 0, which has the name of
//                                          step 2 since step 3
//
// A partition's version is the largest number in its tables' `.revisions` (table_revisions.h); the
// first version has number 0. So after a process died, name and content of a directory tell which
// steps were done: `revised.2024.01.29.1$` with version 1 has not been exchanged, and with version
// 0 it has been. A merge takes effect with step 3.
//
// An undo exchanges the partition with the newest kept version, whose directory then gets the name
// `undone.2024.01.29.1$`.
//
// kdb+ and the hdb ignore directories whose names end in `$`. A database that was opened before
// step 3 continues to read the old version: it finds the version's directory by its inode.
//
// Threads: one writer, who holds the lock of SymbolFileWriter. Any thread may call FindVersion.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/storage.h"

namespace tickstack::disk {

// Name of a partition's directory while it is written: `writing.2024.01.29$`. The next writer
// removes what an interrupted one left under such a name.
std::string NameWhileWritten(std::string_view partition);
bool IsUnfinished(std::string_view name);

// Returns the version of a partition from its directory. kDataLoss as for ReadRevisions.
absl::StatusOr<uint64_t> VersionOf(const std::string& directory);

struct KeptVersion {
  uint64_t number = 0;
  std::string directory;
};
// Returns the replaced versions of a partition, oldest first. Undone ones are not among them.
absl::StatusOr<std::vector<KeptVersion>> KeptVersions(const std::string& partition);

// kFailedPrecondition if the name of step 4 is taken: by a kept version of a partition that was
// removed and written again since. Call FinishVersions first.
absl::Status CheckNames(const std::string& partition);
// Exchanges two directories in a segment: kFailedPrecondition if its file system cannot do that.
absl::Status CheckExchange(const std::string& segment, const Storage& storage);
// Does step 2, and returns the directory's new name. `made` is the new version, complete and
// synced, in the partition's segment; its tables' `.revisions` have its number.
absl::StatusOr<std::string> PrepareVersion(const std::string& partition, const std::string& made,
                                           const Storage& storage);
// Returns the prepared versions of a partition, which have not been exchanged, oldest first.
absl::StatusOr<std::vector<KeptVersion>> PreparedVersions(const std::string& partition);
// Does steps 3 and 4, and returns the directory of the replaced version. kFailedPrecondition if the
// file system cannot exchange directories: then the partition is unchanged. After an error in step
// 4, FinishVersions completes the switch.
absl::StatusOr<std::string> ExchangeVersion(const std::string& partition,
                                            const std::string& prepared, const Storage& storage);

struct UndoneVersion {
  uint64_t number = 0;    // The version that is in effect now.
  std::string directory;  // Where the undone version is.
};
// Puts the newest kept version back. kNotFound if there is none; kFailedPrecondition if it is not
// older than the partition, which was then removed and written again.
absl::StatusOr<UndoneVersion> UndoVersion(const std::string& partition, const Storage& storage);

// Completes what a process left that died in ExchangeVersion or UndoVersion of this partition:
// discards a version that has not been exchanged, and gives the others their final names. Returns
// the number of directories that it discarded or renamed.
absl::StatusOr<size_t> FinishVersions(const std::string& partition, const Storage& storage);

// True for an entry of a segment that only a running or interrupted switch has.
bool IsPartOfSwitch(std::string_view name);

// What tells a directory from others, whatever its name is. A file system may give the inode of a
// removed directory to a new one, but not its birth.
struct VersionId {
  uint64_t inode = 0;   // 0: there is no such directory.
  int64_t born_ns = 0;  // 0: unknown, such as on a file system that does not store it.

  bool IsSame(const VersionId& other) const {
    const bool is_one_unknown = born_ns == 0 || other.born_ns == 0;
    return inode == other.inode && (is_one_unknown || born_ns == other.born_ns);
  }
};
// Cost: a system call.
VersionId IdOf(const std::string& path);

// Returns the path of the directory with this identity: `directory` + `below`, or the same below
// another version of the partition `directory`. Empty if there is none. Cost: a system call, and a
// listing of the segment if it is another version.
std::string FindVersion(const std::string& directory, std::string_view below, const VersionId& id);

// Returns the path of the partition `directory` as it was listed with this inode: `directory` or
// another version of it. Some file systems list inodes that `stat` does not return, so this lists
// the segment again if `stat` returns another one. Returns `directory` if nothing is there; empty
// if another directory is there, and the partition is not among its versions. Errors: those of
// listing. Cost: as for FindVersion.
absl::StatusOr<std::string> FindListedVersion(const std::string& directory, uint64_t inode);

}  // namespace tickstack::disk
