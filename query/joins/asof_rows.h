#pragma once

// Finds the match of each left row in an as-of join, in one of three ways: with the indexes of both
// sides, with the index of the right side, or by hashing the keys of both.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/joins/max_age.h"

namespace tickstack::query {

// The columns of a join, by their numbers in either table. The keys of both tables are in the same
// order. Columns that are joined have the same type.
struct AsofColumns {
  std::vector<size_t> left_keys, right_keys;
  size_t left_time = 0, right_time = 0;
};

// Sets matched[i] to the number of the right row that prevails for the i-th left row. Leaves
// matched[i] unchanged if there is none.
//
// Errors: `type` if keys cannot be hashed or times have no order, and those of the budget.
absl::Status MatchRows(const AsofColumns& columns, const TableView& left, const TableView& right,
                       const MaxAge& max_age, std::span<uint32_t> matched, Budget& budget);

}  // namespace tickstack::query
