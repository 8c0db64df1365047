#pragma once

// The file `.archived` of a table whose column files are objects in a store:
//
//   tickstack-archive 1
//   store s3://history
//   objects stack1/2024.01.29/trade/0f3a...        the common beginning of all keys
//   object_bytes 268435456                         the size of an object, except a file's last one
//   file 123456 0a1b2c3d time                      size, CRC32C, name; one line for each file
//   ...
//   end 89abcdef                                   CRC32C of all lines before
//
// The objects of the n-th file are OBJECTS/n.0, OBJECTS/n.1 and so on. docs/formats.md describes
// the format.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::disk {

inline constexpr std::string_view kArchivedName = ".archived";
// A marker that is being written, and files that are being fetched. Copies of a table leave them
// out.
inline constexpr std::string_view kNewArchivedName = ".archived.new";
inline constexpr std::string_view kRecallingPrefix = ".recalling-";

struct ArchivedFile {
  std::string name;  // Without a directory.
  uint64_t bytes = 0;
  uint32_t crc = 0;  // CRC32C of all bytes.
  friend bool operator==(const ArchivedFile&, const ArchivedFile&) = default;
};

struct ArchiveMarker {
  std::string store;    // ObjectStore::name().
  std::string objects;  // What the keys of all objects begin with.
  uint64_t object_bytes = 0;
  std::vector<ArchivedFile> files;

  // Returns the number of a file; nullopt if the table has none of this name.
  std::optional<size_t> Find(std::string_view name) const;
  // Returns the key of the object that holds byte `offset` of a file.
  std::string KeyOf(size_t file, uint64_t offset) const;
  uint64_t bytes() const;  // Sum over `files`.
  friend bool operator==(const ArchiveMarker&, const ArchiveMarker&) = default;
};

std::string EncodeArchiveMarker(const ArchiveMarker& marker);
// kDataLoss, with the line, if the text is damaged or has numbers that contradict each other. The
// caller adds the path.
absl::StatusOr<ArchiveMarker> ParseArchiveMarker(std::string_view text);
// Reads a marker of a table's directory; nullopt if there is none. kDataLoss, with path and line,
// for damage.
absl::StatusOr<std::optional<ArchiveMarker>> ReadArchiveMarker(const std::string& directory,
                                                               std::string_view name);

// kFailedPrecondition, naming `tickstack hdb recall`, if a table is archived: for tools that need
// its column files, or would keep a second version of it. `what` names the tool's work, such as
// "merge". Cost: a system call.
absl::Status CheckNotArchived(const std::string& table_directory, std::string_view what);
// The same for all tables of a partition. Cost: a listing, and a system call for each table.
absl::Status CheckNoneArchived(const std::string& partition, std::string_view what);

}  // namespace tickstack::disk
