#include "cli/tier_verdict.h"

#include <fmt/format.h>

#include "base/human_text.h"
#include "mem/page_allocator.h"

namespace tickstack::cli {
namespace {

constexpr size_t kNearlyFullPercent = 80;

// Each of the 13 sizes of small blocks may leave a page unused, except its first block. Anonymous
// memory has addresses to spare for that (anonymous_arena.cc).
size_t UnusedBytes(const mem::TierOptions& options) {
  constexpr size_t kBlockSizes = 13;
  if (options.path.empty()) return 0;
  return kBlockSizes * mem::PageAllocator::PageBytesFor(options.capacity_bytes);
}

size_t PercentOf(size_t bytes, size_t capacity) {
  return static_cast<size_t>(100.0 * static_cast<double>(bytes) / static_cast<double>(capacity));
}

}  // namespace

TierVerdict JudgeTier(const mem::TierOptions& options, size_t row_bytes) {
  const size_t capacity = options.capacity_bytes;
  const size_t needed = row_bytes == 0 ? 0 : row_bytes + UnusedBytes(options);
  if (capacity == SIZE_MAX) return {Fit::kUnlimited, needed};
  if (needed > capacity) {
    const bool overflows = needed - capacity <= options.overflow_bytes;
    return {overflows ? Fit::kOverflows : Fit::kTooSmall, needed};
  }
  return {PercentOf(needed, capacity) > kNearlyFullPercent ? Fit::kNearlyFull : Fit::kFits, needed};
}

std::string_view NameOf(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return "fits";
    case Fit::kNearlyFull:
      return "nearly_full";
    case Fit::kOverflows:
      return "overflows";
    case Fit::kTooSmall:
      return "too_small";
    case Fit::kPassesOn:
      return "passes_on";
    case Fit::kUnlimited:
      break;
  }
  return "unlimited";
}

std::string TextOf(const TierVerdict& verdict, const mem::TierOptions& options) {
  const auto figures = [&] {
    return fmt::format("the rows need {} of {} ({} %)", BytesText(verdict.needed_bytes),
                       BytesText(options.capacity_bytes),
                       PercentOf(verdict.needed_bytes, options.capacity_bytes));
  };
  switch (verdict.fit) {
    case Fit::kFits:
      return fmt::format("tier {} is large enough: {}", options.name, figures());
    case Fit::kNearlyFull:
      return fmt::format("tier {} is large enough, but an rdb warns from {} % on: {}", options.name,
                         kNearlyFullPercent, figures());
    case Fit::kOverflows:
      return fmt::format("tier {} is too small, and its overflow of {} in DRAM takes the rest: {}",
                         options.name, BytesText(options.overflow_bytes), figures());
    case Fit::kTooSmall:
      return fmt::format("tier {} is too small, rows will be refused: {}", options.name, figures());
    case Fit::kPassesOn:
      return fmt::format("tier {} passes its rows on when they are old or it is nearly full",
                         options.name);
    case Fit::kUnlimited:
      break;
  }
  return fmt::format("tier {} has no limit: the rows need {}", options.name,
                     BytesText(verdict.needed_bytes));
}

}  // namespace tickstack::cli
