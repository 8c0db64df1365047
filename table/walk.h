#pragma once

// The grammar of a kdb+ value, implemented once: sizes, checks and byte order all use this walk.
// For the codec and the readers of logs; others use codec.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack {

// Like ValueBytes, for a value at nesting `depth` (1: a whole body) and, for error messages, at
// byte `place`. Only at depth 1 may it be an error (type 0x80).
absl::StatusOr<std::optional<size_t>> WalkValue(std::span<const std::byte> bytes, int depth,
                                                size_t place);

// The same if no further bytes follow: kInvalidArgument if they end before the value does.
absl::StatusOr<size_t> WalkWholeValue(std::span<const std::byte> bytes, int depth, size_t place);

}  // namespace tickstack
