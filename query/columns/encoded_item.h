#pragma once

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::query {

// Builds the value of one item of a nested column from its bytes in the table: a type byte and what
// follows it, little-endian (code.kx.com/q/kb/serialization). Atoms, vectors, lists, dictionaries
// and tables; `type` for functions, which no expression of the subset takes.
//
// The bytes were checked when they arrived; they are checked again here, because a table's bytes
// must never end the process: kDataLoss where they end too early.
absl::StatusOr<Value> DecodeItem(std::span<const std::byte> bytes);

}  // namespace tickstack::query
