#pragma once

// Copies directories of a database, such as partitions, durably.

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "disk/storage.h"

namespace tickstack::disk {

// Calls f(path below `directory`, whether it is a directory) for everything in it; a directory
// comes before its contents. kInvalidArgument for an entry that is neither a file nor a directory.
absl::Status EachEntry(const std::string& directory,
                       absl::FunctionRef<absl::Status(const std::string&, bool)> f);

// kFailedPrecondition if an entry of a directory is a link to a directory: a copy would not be one.
absl::Status CheckNoLinks(const std::string& directory);

// Copies a directory with all of its contents, and syncs the copy, but not the directory that
// contains it. Each file is read back and compared: kDataLoss if its copy differs. Copies have the
// times of the last change of their originals, since a file that is newer than its checksums would
// pass for one that somebody changed.
absl::Status CopyDirectory(const std::string& from, const std::string& to, const Storage& storage);

// Makes `to` a directory with the same contents as `from`. Its files are hard links to those of
// `from` where the file system supports that, and copies elsewhere. Syncs as CopyDirectory does.
absl::Status LinkDirectory(const std::string& from, const std::string& to, const Storage& storage);

// Makes `to` a hard link to the file `from`, or a copy as LinkDirectory does. Syncs a copy, but not
// its directory.
absl::Status LinkFile(const std::string& from, const std::string& to, const Storage& storage);

}  // namespace tickstack::disk
