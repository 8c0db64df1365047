#pragma once

// Rows that come from several processes, as columns: joined, compared and sorted. `keys` are
// positions of columns, the most significant one first.
//
// Errors: those of a budget that is exhausted, and of functions that cannot compare the items.
// Threads: that of the context.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/evaluator.h"
#include "table/value.h"

namespace tickstack::query {

// Joins the columns of parts, in order.
class PartRows {
 public:
  // `schema` if a column has another type than before. `table` is its name in the error.
  absl::Status Add(const std::string& table, std::vector<Value> columns, Budget& budget);
  bool empty() const { return columns_.empty(); }
  std::vector<Value> Take() { return std::move(columns_); }

 private:
  std::vector<Value> columns_;
};

// Returns the positions of the rows in the order of their keys; rows with equal keys keep their
// order. nullopt: they are in that order.
absl::StatusOr<std::optional<Value>> OrderOfRows(Context& context,
                                                 const std::vector<Value>& columns,
                                                 std::vector<size_t> keys);

// Sorts rows as OrderOfRows says.
absl::Status SortRows(Context& context, std::vector<Value>& columns, std::vector<size_t> keys);

// Returns whether two rows of different parts have equal keys. The rows are sorted by them; the
// last column, longs, is the part of each row.
absl::StatusOr<bool> HasTies(Context& context, const std::vector<Value>& columns,
                             const std::vector<size_t>& keys);

}  // namespace tickstack::query
