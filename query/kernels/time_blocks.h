#pragma once

// Reads temporal columns block by block, as nanoseconds.

#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"

namespace tickstack::query {

// Calls f with blocks of the slice's items, converted by ToNs(); a datetime is rounded to the
// nearest nanosecond. The slice must have a temporal type. Cost: a call per block of 1,024 items.
absl::Status ForEachTimeBlock(const Slice& slice, Budget& budget,
                              absl::FunctionRef<void(std::span<const int64_t>)> f);

}  // namespace tickstack::query
