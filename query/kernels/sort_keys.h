#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the items of a column as unsigned numbers in q's sort order: nulls first, symbols by
// their bytes, floats exactly (no comparison tolerance) with both zeros equal; in lists of several
// types, booleans before bytes before shorts... Equal items have equal numbers.
//
// Cost:   one pass and 8 bytes per item; symbols, guids and lists also sort their distinct names or
//         items.
// Errors: `nyi` for a list that holds tables or dictionaries.
absl::StatusOr<ScratchVector<uint64_t>> SortKeys(const Slice& slice, Budget& budget);

// Compares two items of a list, each an atom, a vector or a list of these: -1, 0, 1.
int CompareValues(const Value& a, const Value& b);

}  // namespace tickstack::query
