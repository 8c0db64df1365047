#pragma once

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

// The items of a list as numbers 0, 1, 2... of its distinct ones, in order of first appearance.
struct NumberedItems {
  ScratchVector<uint32_t> numbers;  // One an item.
  ScratchVector<uint32_t> firsts;   // By number, where the item is first.
};

// Items are equal exactly; those of a list that is no vector by type and all of their items.
// Cost:   a hash an item; a list that is no vector is sorted.
// Errors: `nyi` for a list that holds tables or dictionaries.
absl::StatusOr<NumberedItems> NumberItems(const Slice& slice, Budget& budget);

// A dictionary of the distinct items to their positions.
absl::StatusOr<Value> GroupItems(const Slice& slice, Budget& budget);

}  // namespace tickstack::query
