#pragma once

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// The items of a list as numbers 0, 1, 2... of its distinct items, in order of first appearance.
struct NumberedItems {
  ScratchVector<uint32_t> numbers;  // One number per item.
  ScratchVector<uint32_t> firsts;   // By number: the item's first position.
};

// Items are equal if they are exactly equal; in a list that is no vector, if type and all of their
// items are.
// Cost:   a hash per item; a list that is no vector is sorted.
// Errors: `nyi` for a list that holds tables or dictionaries.
absl::StatusOr<NumberedItems> NumberItems(const Slice& slice, Budget& budget);

// Returns a dictionary from the distinct items to their positions.
absl::StatusOr<Value> GroupItems(const Slice& slice, Budget& budget);

}  // namespace tickstack::query
