#pragma once

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::query {

// Builds the value of one item of a nested column from its bytes in the table: a type byte and the
// data, little-endian (code.kx.com/q/kb/serialization). An item may be an atom, vector, list,
// dictionary or table.
//
// Errors: `type` for a function, which queries cannot use; kDataLoss if the bytes end too early.
//         The bytes were checked when they arrived. They are checked again, because no content of a
//         table may crash the process.
absl::StatusOr<Value> DecodeItem(std::span<const std::byte> bytes);

}  // namespace tickstack::query
