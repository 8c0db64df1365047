#pragma once

// Finds the end of a value, and checks that it is well-formed, in one pass. Used by the codec and
// the reader of upds; other code uses codec.h.

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "table/value_reader.h"

namespace tickstack {

// Moves past the next value and checks all of it: against the grammar, and for everything else that
// codec.h refuses. `depth` is 1 for a whole body, and higher for a value inside another. Only at
// depth 1 may the value be an error (type 0x80).
ReadOutcome WalkValue(ValueReader<const std::byte>& reader, int depth);

// Returns the size of the first value of `bytes`. kInvalidArgument if it is not well-formed, or if
// the bytes end before the value does.
absl::StatusOr<size_t> WalkWholeValue(std::span<const std::byte> bytes);

}  // namespace tickstack
