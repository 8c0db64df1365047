#pragma once

// Finds the right row of each left row of an as-of join: out of the indexes of both sides, out of
// the right one's, or by hashing the keys of both.

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

// Sets matched[i] to the row number of the right row that prevails for the i-th left row. Where
// there is none `matched` stays what it is.
//
// Errors: `type` for keys and times that have no order or hash, and what the budget says.
absl::Status MatchRows(const AsofColumns& columns, const TableView& left, const TableView& right,
                       const MaxAge& max_age, std::span<uint32_t> matched, Budget& budget);

}  // namespace tickstack::query
