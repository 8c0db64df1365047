#pragma once

// Finds the right row of each left row of an as-of join: from the indexes of both sides, from the
// right one's index, or by hashing the keys of both.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/joins/max_age.h"

namespace tickstack::query {

// The columns of a join, by their numbers in either table. Keys are in the same order, and of the
// same types, as the times are.
struct AsofColumns {
  std::vector<size_t> left_keys, right_keys;
  size_t left_time = 0, right_time = 0;
};

// Sets matched[i] to the number of the right row that prevails for the i-th left row. Leaves
// `matched` unchanged where there is none.
//
// Errors: `type` for keys without a hash and times without an order, and those of the budget.
absl::Status MatchRows(const AsofColumns& columns, const TableView& left, const TableView& right,
                       const MaxAge& max_age, std::span<uint32_t> matched, Budget& budget);

}  // namespace tickstack::query
