#pragma once

// Checks that the content of a column file agrees with its header and index, for `tickstack hdb
// check`.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "disk/symbol_file.h"
#include "table/types.h"

namespace tickstack::disk {

// A problem that a check found.
struct Finding {
  std::string path;
  // Position in the file; for a compressed file, in its uncompressed content.
  std::optional<uint64_t> byte;
  std::string what;  // What was found and what was expected.
};

// Returns a reader's error as a finding. The error's message may begin with the path and the byte.
Finding FindingOf(const std::string& path, const absl::Status& status);

struct ColumnCheck {
  std::vector<Finding> findings;  // At most kFindingsMax.
  uint64_t findings_left_off = 0;
  // Row count; nullopt if not even the header could be read.
  std::optional<uint64_t> rows;
  std::optional<Type> type;
  bool is_plain_symbols = false;  // Symbols without a domain.
  uint64_t disk_bytes = 0;        // Including companion files.
  // For a parted enum whose rows are in order: the first row of each symbol, then the row count.
  std::vector<uint64_t> group_starts;

  static constexpr size_t kFindingsMax = 10;
  void Add(Finding finding);
};

// Reads all of a column: every compressed block and every row. It checks the count against the
// length; positions against the domain; the order if it is claimed (sorted, parted); a parted
// column's index, including its hash table, against the rows; and the ends or references of nested
// rows, and that each row can be built. It does not check the indexes of columns with `unique` or
// `grouped`, or of parted columns that are not enums, since no description of the format covers
// them.
// Cost: one pass. Memory: a block, and 8 bytes per symbol; for a compressed nested column, the
// whole column.
ColumnCheck CheckColumn(const std::string& path, std::shared_ptr<const SymbolDomains> domains);

// Finds the first place where a column of times decreases within the rows of one symbol. As-of
// joins, also those of q, require that these times ascend. `starts` has the first row of each
// symbol, and finally the row count. nullopt if no time decreases, or if the column has no times or
// cannot be read.
std::optional<Finding> FindTimeGoingBack(const std::string& path,
                                         const std::vector<uint64_t>& starts);

}  // namespace tickstack::disk
