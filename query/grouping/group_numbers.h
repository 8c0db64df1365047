#pragma once

// Numbers each row's group, for aggregates to accumulate by (group_aggregates.h).
//
//   by sym, time.minute      sym   IBM AIG IBM AIG IBM     minute  09:30 09:30 09:30 09:31 09:31
//                            code  4   2   4   2   4       code    0     0     0     1     1
//   one column                     the code is the number: nothing is hashed; some have no rows
//   several columns                (code, code) to a number, in order of first appearance:
//                                  0   1   0   2   3
//
// A captured symbol's code comes from its symbol number, and that of an item of one byte, such as a
// char, from a table of 256. Any other item's code comes from a hash table, which is used only when
// an item differs from the previous one: times in minutes come in runs. Pairs of codes use a table
// of their product, ordered by the column with the longer runs: while its code stays the same, only
// the part for the other column's codes is accessed, which is 32 KB for 8,000 symbols in a minute.
// If the product is too large for the number of rows, pairs are hashed.
//
// Numbers in order of first appearance are close together for neighbouring rows, so the
// accumulators of a minute stay in the cache although those of the day do not.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// A key column: an item for each row; or one for each run of rows, which ends before the position
// in `run_ends`. With `mapped`, items are one byte each, and a row's key is the item of that vector
// of 256 at the byte's position.
struct KeyColumn {
  Slice items;
  ScratchVector<uint32_t> run_ends = {};
  std::optional<Value> mapped = std::nullopt;

  size_t rows() const { return run_ends.empty() ? items.count() : run_ends.back(); }
};

struct GroupNumbers {
  ScratchVector<uint32_t> of_row;  // By position among the rows.
  uint32_t slots = 0;              // Limit of the numbers; some may have no rows.
  // The groups, which are the numbers that have rows, in ascending order of their keys, by the
  // first column first.
  ScratchVector<uint32_t> order;
};

struct NumberedKeys {
  GroupNumbers numbers;
  // One vector per column, with an item per group in the order of the groups.
  std::vector<Value> keys;
};

// Numbers the groups of rows by their key columns. There must be at least one.
//
// Cost:   1 to 3 ns per row and column, 10 if it has to hash; a counting sort of the groups for
//         each column. Charges the budget for all of it.
// Errors: `length` if the columns have different counts, nyi for a nested column.
absl::StatusOr<NumberedKeys> NumberGroups(std::span<const KeyColumn> keys, Budget& budget);

// Returns the groups of all rows of a captured symbol column whose names' order is known: `ids` are
// those that have rows, in the order of their groups.
absl::StatusOr<GroupNumbers> NumberBySymbol(const Slice& key, std::span<const SymbolId> ids,
                                            Budget& budget);

}  // namespace tickstack::query
