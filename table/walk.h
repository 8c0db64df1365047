#pragma once

// A whole value in one walk: where it ends, and whether it is well-formed. For the codec and the
// reader of upds; codec.h is the way in for others.

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "table/value_reader.h"

namespace tickstack {

// Moves past the value that comes next and checks all of it: what the grammar says, and what
// codec.h refuses beyond that. The value sits at `depth` (1: a whole body); only at depth 1 may it
// be an error (type 0x80).
ReadOutcome WalkValue(ValueReader<const std::byte>& reader, int depth);

// Returns the bytes of the first value of `bytes`. kInvalidArgument also if they end before it
// does.
absl::StatusOr<size_t> WalkWholeValue(std::span<const std::byte> bytes);

}  // namespace tickstack
