#pragma once

// The grammar of a kdb+ value, once: sizes, checks and byte order all follow from this walk. For
// the codec and the readers of logs; codec.h is the way in for others.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack {

// As ValueBytes, for a value that sits at `depth` (1: a whole body) and, in the messages of errors,
// at byte `place`. Only at depth 1 may it be an error (type 0x80).
absl::StatusOr<std::optional<size_t>> WalkValue(std::span<const std::byte> bytes, int depth,
                                                size_t place);

// The same where the bytes are all there are: kInvalidArgument if they end before the value does.
absl::StatusOr<size_t> WalkWholeValue(std::span<const std::byte> bytes, int depth, size_t place);

}  // namespace tickstack
