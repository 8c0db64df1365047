#pragma once

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Each distinct item of a list has a number 0, 1, 2... in order of first appearance.
struct NumberedItems {
  ScratchVector<uint32_t> numbers;  // The number of each item.
  ScratchVector<uint32_t> firsts;   // By number: the first position of its item.
};

// Numbers the items of a list. Floats are equal only if they are exactly equal. Two items of a list
// that is no vector are equal if their types and all of their own items are equal.
//
// Cost:   a hash per item; a list that is no vector is sorted.
// Errors: `nyi` for a list that holds tables or dictionaries.
absl::StatusOr<NumberedItems> NumberItems(const Slice& slice, Budget& budget);

// Returns a dictionary from each distinct item to a list of its positions.
absl::StatusOr<Value> GroupItems(const Slice& slice, Budget& budget);

}  // namespace tickstack::query
