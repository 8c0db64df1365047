#pragma once

// Empties the page cache, so that a read measures the storage, and tells what it has.

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "measure/storage_bench/test.h"

namespace tickstack::measure::storage_bench {

enum class CacheDrop : uint8_t {
  kAuto,     // kMachine if this user may, else kFiles.
  kMachine,  // All clean pages and cached names of the machine, by /proc/sys/vm/drop_caches.
  kFiles,    // Only pages of the benchmark's own files, by posix_fadvise(POSIX_FADV_DONTNEED).
  kNone,     // Nothing is dropped.
};

// Parses `auto`, `machine`, `files` or `none`; kInvalidArgument for any other text.
absl::StatusOr<CacheDrop> ParseCacheDrop(std::string_view text);
std::string_view NameOf(CacheDrop drop);

// Syncs all files below `directory` and drops their pages. Returns what it did, which is never
// kAuto. Pages that a process has mapped stay. With kMachine, the error names drop_caches if this
// user may not write to it.
absl::StatusOr<CacheDrop> DropPages(const std::string& directory, CacheDrop drop);
// The same for several directories. Syncing takes ms for each file, so files that have not been
// written since an earlier drop need no sync.
enum class Unwritten : uint8_t { kSync, kNone };
absl::StatusOr<CacheDrop> DropPages(std::span<const std::string> directories, CacheDrop drop,
                                    Unwritten unwritten);

// Returns how many pages of all files below `directory` are in the page cache. Reads none of them.
absl::StatusOr<Pages> PagesBelow(const std::string& directory);

}  // namespace tickstack::measure::storage_bench
