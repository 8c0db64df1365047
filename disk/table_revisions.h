#pragma once

// The file `.revisions` in a table's directory: a line for each change of the table's rows or
// columns since its partition was first written. kdb+ reads the files that `.d` names, so it
// ignores this one. A table that never changed has no such file. docs/formats.md describes the
// format.
//
// Threads: any.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::disk {

inline constexpr std::string_view kRevisionsName = ".revisions";

// What a change was made from: the bytes of a file or directory, identified by their checksum, or a
// text.
struct RevisionSource {
  uint32_t crc = 0;
  uint64_t bytes = 0;
  std::string name;  // For people. Control characters become `?`.

  bool HasSameBytes(const RevisionSource& other) const {
    return crc == other.crc && bytes == other.bytes;
  }
};

// Returns the source of rows that are read from a file, or from a directory with all of its files.
// Errors: those of reading. Cost: reads everything.
absl::StatusOr<RevisionSource> SourceOf(const std::string& path);

struct TableRevision {
  uint64_t number = 0;  // The partition's first version that has the change; originally 0.
  std::string action;   // One word: `merge` or `migrate`.
  uint64_t rows_before = 0;
  uint64_t rows_after = 0;
  RevisionSource source;
};

// Returns a table's changes, oldest first; none if it has no such file. kDataLoss, with the line,
// if the file is damaged.
absl::StatusOr<std::vector<TableRevision>> ReadRevisions(const std::string& table_directory);

// Returns the content of the file.
std::string EncodeRevisions(std::span<const TableRevision> revisions);

// Returns how many rows the table had when its partition was first written. `rows` is how many it
// has now. Errors as for ReadRevisions.
absl::StatusOr<uint64_t> RowsBeforeRevisions(const std::string& table_directory, uint64_t rows);

}  // namespace tickstack::disk
