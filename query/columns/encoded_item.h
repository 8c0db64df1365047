#pragma once

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::query {

// Builds the value of one item of a nested column from its bytes in the table: a type byte and the
// data, little-endian (code.kx.com/q/kb/serialization). Takes atoms, vectors, lists, dictionaries
// and tables; `type` for functions, which queries cannot use.
//
// The bytes were checked when they arrived; they are checked again here, because the bytes of a
// table must never end the process: kDataLoss if they end too early.
absl::StatusOr<Value> DecodeItem(std::span<const std::byte> bytes);

}  // namespace tickstack::query
