#pragma once

// Gives each row the number of its group, by which aggregates accumulate (group_aggregates.h). Each
// item of a key column first gets a code, which is equal for equal items:
//
//   by sym, time.minute      sym   IBM AIG IBM AIG IBM     minute  09:30 09:30 09:30 09:31 09:31
//                            code  4   2   4   2   4       code    0     0     0     1     1
//   one column               the code is the group's number; some numbers may have no rows
//   several columns          each new tuple of codes gets the next number:
//                                  0   1   0   2   3
//
// The code of a captured symbol is computed from its number, and that of an item of one byte, such
// as a char, comes from a table of 256. Other items are looked up in a hash table, but only if they
// differ from the previous item: times in minutes come in runs.
//
// Pairs of codes are looked up in a table with a place for every possible pair. It is ordered by
// the column with the longer runs: while that column's code stays the same, only a part of the
// table is accessed, such as 32 KB for the 8,000 symbols of a minute. If the table would be too
// large for the number of rows, pairs are hashed.
//
// Because numbers are given in order of first appearance, successive rows have close numbers. So
// the accumulators of a minute stay in the cache, although those of a whole day do not fit.

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

// A key column. `items` has an item for each row or, if `run_ends` is not empty, an item for each
// run of rows that have the same key. `run_ends` has the position after each run. With `mapped`, a
// vector of 256 items, `items` are bytes, and the key of a row is the mapped item at its byte.
struct KeyColumn {
  Slice items;
  ScratchVector<uint32_t> run_ends = {};
  std::optional<Value> mapped = std::nullopt;

  size_t rows() const { return run_ends.empty() ? items.count() : run_ends.back(); }
};

struct GroupNumbers {
  ScratchVector<uint32_t> of_row;  // The group's number of each row, by the row's position.
  uint32_t slots = 0;              // All numbers are below it. Some may have no rows.
  // The numbers that have rows, in ascending order of their keys. The first column decides first.
  ScratchVector<uint32_t> order;
};

struct NumberedKeys {
  GroupNumbers numbers;
  // One vector per key column, with an item per group in the order of `numbers.order`.
  std::vector<Value> keys;
};

// Numbers the groups of rows by their key columns. There must be at least one.
//
// Cost:   1 to 3 ns per row and column, 10 if it has to hash; a counting sort of the groups for
//         each column. Charges the budget for all of it.
// Errors: `length` if the columns have different counts, nyi for a nested column.
absl::StatusOr<NumberedKeys> NumberGroups(std::span<const KeyColumn> keys, Budget& budget);

// Numbers the rows of a captured symbol column by their symbols. `ids` are the symbols that have
// rows, in the ascending order of their names.
absl::StatusOr<GroupNumbers> NumberBySymbol(const Slice& key, std::span<const SymbolId> ids,
                                            Budget& budget);

}  // namespace tickstack::query
