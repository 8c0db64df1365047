#pragma once

// Which group each row is in, as a number: what aggregates accumulate by (group_aggregates.h).
//
//   by sym, time.minute      sym    IBM  AIG  IBM  AIG  IBM       minute  09:30 09:30 09:30 09:31
//   09:31
//                            code   4    2    4    2    4         code    0     0     0     1     1
//   one column                       the code is the number: nothing is hashed, some have no rows
//   several                          (code, code) to a number, in order of first appearance:
//                                    0    1    0    2    3
//
// A captured symbol's code comes from its symbol number, that of an item of one byte, such as a
// char, out of a table of 256. Any other item's is out of a hash table, which is asked only where
// an item differs from the one before: times in minutes come in runs. Pairs of codes go through a
// table of their product, laid out by the column with the longer runs: as long as its code stays,
// only the part of the other column's codes is visited, 32 KB for 8,000 symbols in a minute. Where
// the product is larger than the rows are worth, pairs are hashed.
//
// Numbers given in order of first appearance are close together for rows that are, so that the
// accumulators of a minute stay in the cache although those of the day do not.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

// A key column: an item for each row; or one for each run of rows, which ends before the position
// that `run_ends` has for it. With `mapped`, items are a byte each, and the key of a row is the
// item of that vector of 256 which has the byte as its position.
struct KeyColumn {
  Slice items;
  ScratchVector<uint32_t> run_ends = {};
  std::optional<Value> mapped = std::nullopt;

  size_t rows() const { return run_ends.empty() ? items.count() : run_ends.back(); }
};

struct GroupNumbers {
  ScratchVector<uint32_t> of_row;  // By position among the rows.
  uint32_t slots = 0;              // Numbers are below this; some may have no rows.
  // The groups, which are the numbers that have rows, ascending by key: first column first.
  ScratchVector<uint32_t> order;
};

struct NumberedKeys {
  GroupNumbers numbers;
  std::vector<Value> keys;  // A vector a column, an item a group in the order of the groups.
};

// Numbers the groups of rows by their key columns, of which there is one at least.
//
// Cost:   1 to 3 ns a row and column, 10 where it has to hash; a counting sort of the groups for
//         each column. Charges the budget for all of it.
// Errors: `length` if the columns have different counts, nyi for a nested column.
absl::StatusOr<NumberedKeys> NumberGroups(std::span<const KeyColumn> keys, Budget& budget);

// The groups of all rows of a captured symbol column whose names' order is known: `ids` are those
// that have rows, in the order of their groups.
absl::StatusOr<GroupNumbers> NumberBySymbol(const Slice& key, std::span<const SymbolId> ids,
                                            Budget& budget);

}  // namespace tickstack::query
