#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

// The items of a column as unsigned numbers in the order in which q sorts them: nulls first,
// symbols by their bytes, floats exactly (no comparison tolerance) with both zeros equal, booleans
// before bytes before shorts... where a list holds several types. Equal items have equal numbers.
//
// Cost:   one pass and 8 bytes an item; symbols, guids and lists sort their distinct names or items
//         on top.
// Errors: `nyi` for a list that holds tables or dictionaries.
absl::StatusOr<ScratchVector<uint64_t>> SortKeys(const Slice& slice, Budget& budget);

// -1, 0, 1: the order of two items of a list, each an atom, a vector or a list of these.
int CompareValues(const Value& a, const Value& b);

}  // namespace tickstack::query
