#pragma once

// Whether a column file holds what it claims: for `tickstack hdb check`.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "disk/symbol_file.h"
#include "table/types.h"

namespace tickstack {

// Something that is not as it should be.
struct Finding {
  std::string path;
  std::optional<uint64_t> byte;  // In the file, uncompressed if it is compressed.
  std::string what;              // What was found, and what was expected.
};

// From an error of a reader, whose message may begin with the path and the byte.
Finding FindingOf(const std::string& path, const absl::Status& status);

struct ColumnCheck {
  std::vector<Finding> findings;  // At most kFindingsMax.
  uint64_t findings_left_off = 0;
  // What was read; nullopt if not even the head was.
  std::optional<uint64_t> rows;
  std::optional<Type> type;
  uint64_t disk_bytes = 0;  // With its companions.
  // For a parted enum whose rows are in order: the first row of each symbol, then the row count.
  std::vector<uint64_t> group_starts;

  static constexpr size_t kFindingsMax = 10;
  void Add(Finding finding);
};

// Reads all of a column: every compressed block, every row. Checked are the count against the
// length; positions against the domain; order where it is claimed (sorted, parted); the index of a
// parted column, its hash table as well, against the rows; the ends or references of nested rows,
// and that each can be built. Not checked: the indexes of `unique` and `grouped`, and of parted
// columns that are no enums, which no description of the format covers.
// Cost: one pass. Memory: a block, and 8 bytes a symbol; a nested compressed column is held whole.
ColumnCheck CheckColumn(const std::string& path, std::shared_ptr<const SymbolDomains> domains);

// Where a column of times goes back within a group of rows (those of a symbol). As-of joins, q's as
// well, expect them to ascend there. `starts` are the groups' first rows, and the count of rows at
// the end. nullopt: nowhere, or the column is none of times, or cannot be read.
std::optional<Finding> FindTimeGoingBack(const std::string& path,
                                         const std::vector<uint64_t>& starts);

}  // namespace tickstack
