#pragma once

// Files of one vector of longs or floats in kdb+'s format (disk/kdb_format.h), as the tests write
// and read them. Every error names the path.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mapping.h"
#include "measure/storage_bench/test.h"
#include "table/types.h"

namespace tickstack::measure::storage_bench {

// Writes a vector and replaces the file if there is one, as q's `set` does. Does not sync.
absl::Status WriteVector(const std::string& path, Type type, std::span<const std::byte> items);

// Opens the file, or creates one of longs, appends items, updates the count and closes it, as q's
// `.[file;();,;items]` does. Does not sync.
absl::Status AppendItems(const std::string& path, std::span<const std::byte> items);

// Opens a file, replaces the items of these rows by `value` through a mapping, and closes it, as
// q's `@[file;rows;:;value]` does. The rows must be smaller than the count.
absl::Status ReplaceItems(const std::string& path, std::span<const size_t> rows, uint64_t value);

// Removes a file that the benchmark wrote; OK if there is none.
absl::Status RemoveFile(const std::string& path);

// Makes the contents of a file durable, like the command `sync FILE`.
absl::Status SyncFile(const std::string& path);

// The bytes [begin, end) of a file.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Returns how many of the file's pages are in the page cache: all of its pages, or those of some
// ranges, which may share pages and must be within the file. Reads none of them.
absl::StatusOr<Pages> PagesOf(const std::string& path);
absl::StatusOr<Pages> PagesOf(const std::string& path, std::span<const ByteRange> ranges);

// Returns the items of a mapped vector.
template <typename T>
std::span<const T> ItemsOf(const Mapping& mapping) {
  const std::span<const std::byte> bytes = mapping.bytes();
  if (bytes.size() < 16) return {};
  return {reinterpret_cast<const T*>(bytes.data() + 16), (bytes.size() - 16) / sizeof(T)};
}

inline std::span<const std::byte> BytesOf(std::span<const int64_t> items) {
  return std::as_bytes(items);
}

}  // namespace tickstack::measure::storage_bench
