#pragma once

// Whether rows fit into a tier: the verdict of `tickstack tiers`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mem/tier.h"

namespace tickstack::cli {

enum class Fit : uint8_t {
  kFits,
  kNearlyFull,  // Fits, but a running rdb warns: more than 80 % of the capacity.
  kOverflows,   // Fits with the tier's overflow.
  kTooSmall,
  kPassesOn,   // What does not fit goes to the tier of older rows.
  kUnlimited,  // The configuration sets no limit.
};

struct TierVerdict {
  Fit fit = Fit::kUnlimited;
  // Bytes of the rows, plus bytes of pages that stay unused because blocks have different sizes.
  size_t needed_bytes = 0;
};

// Judges a tier that is to hold `row_bytes` of columns and indexes.
TierVerdict JudgeTier(const mem::TierOptions& options, size_t row_bytes);

// Returns the verdict as a word for programs, such as `too_small`.
std::string_view NameOf(Fit fit);
// Returns the verdict as a sentence, such as `tier pmem is too small: ...`.
std::string TextOf(const TierVerdict& verdict, const mem::TierOptions& options);

}  // namespace tickstack::cli
