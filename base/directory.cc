#include "base/directory.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace tickstack {
namespace {

DirectoryEntry EntryOf(const std::string& directory, const dirent& found) {
  DirectoryEntry entry;
  entry.name = found.d_name;
  entry.is_directory = found.d_type == DT_DIR;
  entry.is_file = found.d_type == DT_REG;
  if (found.d_type != DT_LNK) entry.inode = found.d_ino;
  struct stat status{};
  if ((found.d_type == DT_LNK || found.d_type == DT_UNKNOWN) &&
      ::stat((directory + "/" + entry.name).c_str(), &status) == 0) {
    entry.is_directory = S_ISDIR(status.st_mode);
    entry.is_file = S_ISREG(status.st_mode);
  }
  return entry;
}

}  // namespace

absl::StatusOr<std::vector<DirectoryEntry>> ListDirectory(const std::string& path) {
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return Annotate(ErrnoStatus(errno, "opendir"), path);
  std::vector<DirectoryEntry> entries;
  errno = 0;
  while (const dirent* found = ::readdir(directory)) {
    const std::string_view name = found->d_name;
    if (name != "." && name != "..") entries.push_back(EntryOf(path, *found));
    errno = 0;  // readdir distinguishes its end from an error only by errno.
  }
  const int error_number = errno;
  ::closedir(directory);
  if (error_number != 0) return Annotate(ErrnoStatus(error_number, "readdir"), path);
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

absl::StatusOr<bool> IsDirectory(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return S_ISDIR(status.st_mode);
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return Annotate(ErrnoStatus(errno, "stat"), path);
}

absl::Status CheckReachable(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    const int error_number = errno;
    const bool is_link = ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
    return Annotate(ErrnoStatus(error_number, is_link ? "a link that leads nowhere" : "stat"),
                    path);
  }
  if (S_ISDIR(status.st_mode) || S_ISREG(status.st_mode)) return absl::OkStatus();
  return InvalidArgument("{}: a device or pipe, expected a file or directory", path);
}

}  // namespace tickstack
