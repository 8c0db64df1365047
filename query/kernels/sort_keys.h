#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns an unsigned number for each item of a column. The numbers have q's sort order of the
// items, and equal items have equal numbers. In that order, nulls come first, symbols are compared
// by their bytes, and floats are compared exactly, except that both zeros are equal. In lists with
// items of several types, booleans come before bytes, bytes before shorts, and so on.
//
// Cost:   one pass and 8 bytes per item; for symbols, guids and lists also a sort of the distinct
//         items.
// Errors: `nyi` for a list that holds tables or dictionaries.
absl::StatusOr<ScratchVector<uint64_t>> SortKeys(const Slice& slice, Budget& budget);

// Compares two items of a list in the same order and returns -1, 0 or 1. The items are atoms,
// vectors or lists of these.
int CompareValues(const Value& a, const Value& b);

}  // namespace tickstack::query
