#include "measure/storage_bench/page_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>

#include "base/file.h"
#include "base/owned_fd.h"
#include "base/status.h"
#include "measure/storage_bench/vector_file.h"

namespace tickstack::measure::storage_bench {
namespace {

constexpr const char* kDropCaches = "/proc/sys/vm/drop_caches";

absl::Status DropFile(const std::string& path, Unwritten unwritten) {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  // Only clean pages can be dropped.
  if (unwritten == Unwritten::kSync && ::fsync(file.fd()) != 0) {
    return Annotate(ErrnoStatus(errno, "fsync"), path);
  }
  const int error = ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  if (error != 0) return Annotate(ErrnoStatus(error, "posix_fadvise"), path);
  return absl::OkStatus();
}

// Calls `use` for each regular file below a directory; its first error is the last call.
absl::Status ForEachFile(const std::string& directory,
                         const std::function<absl::Status(const std::string& path)>& use) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator entries(directory, error);
  for (; !error && entries != std::filesystem::end(entries); entries.increment(error)) {
    if (entries->is_regular_file(error)) {
      TS_RETURN_IF_ERROR(use(entries->path().string()));
    }
  }
  if (error) return Annotate(ErrnoStatus(error.value(), "list"), directory);
  return absl::OkStatus();
}

absl::Status DropMachine() {
  const OwnedFd fd(::open(kDropCaches, O_WRONLY | O_CLOEXEC));
  if (!fd.is_open()) return Annotate(ErrnoStatus(errno, "open"), kDropCaches);
  if (::write(fd.get(), "3", 1) != 1) return Annotate(ErrnoStatus(errno, "write"), kDropCaches);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CacheDrop> ParseCacheDrop(std::string_view text) {
  for (const CacheDrop drop :
       {CacheDrop::kAuto, CacheDrop::kMachine, CacheDrop::kFiles, CacheDrop::kNone}) {
    if (text == NameOf(drop)) return drop;
  }
  return InvalidArgument("drop {}: expected auto, machine, files or none", text);
}

std::string_view NameOf(CacheDrop drop) {
  switch (drop) {
    case CacheDrop::kAuto:
      return "auto";
    case CacheDrop::kMachine:
      return "machine";
    case CacheDrop::kFiles:
      return "files";
    case CacheDrop::kNone:
      return "none";
  }
  return "";
}

absl::StatusOr<CacheDrop> DropPages(const std::string& directory, CacheDrop drop) {
  return DropPages(std::span(&directory, 1), drop, Unwritten::kSync);
}

absl::StatusOr<CacheDrop> DropPages(std::span<const std::string> directories, CacheDrop drop,
                                    Unwritten unwritten) {
  if (drop == CacheDrop::kNone) return drop;
  const auto drop_file = [unwritten](const std::string& path) { return DropFile(path, unwritten); };
  for (const std::string& directory : directories) {
    TS_RETURN_IF_ERROR(ForEachFile(directory, drop_file));
  }
  if (drop == CacheDrop::kFiles) return drop;
  absl::Status machine = DropMachine();
  if (machine.ok()) return CacheDrop::kMachine;
  if (drop == CacheDrop::kMachine) return machine;
  return CacheDrop::kFiles;
}

absl::StatusOr<Pages> PagesBelow(const std::string& directory) {
  Pages pages;
  TS_RETURN_IF_ERROR(ForEachFile(directory, [&pages](const std::string& path) -> absl::Status {
    TS_ASSIGN_OR_RETURN(const Pages found, PagesOf(path));
    pages.resident += found.resident;
    pages.total += found.total;
    return absl::OkStatus();
  }));
  return pages;
}

}  // namespace tickstack::measure::storage_bench
