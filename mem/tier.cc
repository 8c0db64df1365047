#include "mem/tier.h"

#include <bit>

#include "base/check.h"
#include "base/logging.h"
#include "base/status.h"
#include "mem/arena.h"
#include "mem/arena_tier.h"
#include "mem/medium.h"
#include "mem/overflow_tier.h"

namespace tickstack::mem {
namespace {

constexpr size_t kFileBytesMin = size_t{16} << 20;

absl::StatusOr<std::unique_ptr<Arena>> MakeArena(const TierOptions& options) {
  switch (options.kind) {
    case TierKind::kDram:
      return MakeAnonymousArena(options);
    case TierKind::kNuma:
      if (options.nodes.empty()) return InvalidArgument("kind numa: expected one node or more");
      return MakeAnonymousArena(options);
    case TierKind::kFilesystem:
      if (options.allocator == FileAllocator::kMemkind) return MakeMemkindArena(options);
      return MakeFileArena(options);
    case TierKind::kSimulate:
      if (options.path.empty()) return MakeAnonymousArena(options);
      return MakeFileArena(options);
    case TierKind::kPersistent:
      break;
  }
  return InvalidArgument("kind {}: not opened here", NameOf(options.kind));
}

// Returns the medium of a simulated tier; nullptr for any other kind. Tiers of one directory share
// one medium, whichever processes they belong to.
absl::StatusOr<std::unique_ptr<Medium>> MakeMedium(const TierOptions& options) {
  if (options.kind != TierKind::kSimulate) return nullptr;
  TS_RETURN_IF_ERROR(CheckMediumModel(options.model));
  auto timeline = std::make_unique<MediumTimeline>();
  if (!options.path.empty()) {
    TS_ASSIGN_OR_RETURN(
        timeline, MediumTimeline::Open(
                      fmt::format("{}/.tickstack-medium-{}", options.path, options.model.name)));
  }
  LogWarn("tier is SIMULATED: who touches its memory waits tier={} model={} figures=\"{}\"",
          options.name, options.model.name, TextOf(options.model));
  return std::make_unique<Medium>(options.model, std::move(timeline));
}

}  // namespace

size_t Tier::RoundedBytes(size_t bytes) {
  if (bytes <= kSmallestBytes) return kSmallestBytes;
  if (bytes <= kHugePageBytes) return std::bit_ceil(bytes);
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

absl::Status CheckFileOptions(const TierOptions& options) {
  if (options.path.empty()) {
    return InvalidArgument("kind {}: expected the path of a directory", NameOf(options.kind));
  }
  if (options.capacity_bytes == SIZE_MAX || options.capacity_bytes < kFileBytesMin) {
    return InvalidArgument(
        "kind {}: expected a size from 16 MiB on, found {}", NameOf(options.kind),
        options.capacity_bytes == SIZE_MAX ? std::string("none")
                                           : fmt::format("{} bytes", options.capacity_bytes));
  }
  return absl::OkStatus();
}

namespace {

absl::StatusOr<std::unique_ptr<ArenaTier>> OpenArenaTier(const TierOptions& options) {
  TierOptions opened = options;
  if (options.kind == TierKind::kFilesystem ||
      (options.kind == TierKind::kSimulate && !options.path.empty())) {
    if (const absl::Status fine = CheckFileOptions(options); !fine.ok()) {
      return Annotate(fine, fmt::format("tier {}", options.name));
    }
    opened.capacity_bytes -= opened.capacity_bytes % Tier::kHugePageBytes;
  }
  absl::StatusOr<std::unique_ptr<Arena>> arena = MakeArena(opened);
  if (!arena.ok()) return Annotate(arena.status(), fmt::format("tier {}", options.name));
  absl::StatusOr<std::unique_ptr<Medium>> medium = MakeMedium(opened);
  if (!medium.ok()) return Annotate(medium.status(), fmt::format("tier {}", options.name));
  auto tier = std::make_unique<ArenaTier>(opened, *std::move(arena), *std::move(medium));
  tier->Start();
  return tier;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tier>> OpenTier(const TierOptions& options) {
  if (options.overflow_bytes == 0) return OpenArenaTier(options);
  if (options.kind != TierKind::kFilesystem && options.kind != TierKind::kNuma) {
    return InvalidArgument("tier {}: kind {} has no overflow: expected filesystem or numa",
                           options.name, NameOf(options.kind));
  }
  TS_ASSIGN_OR_RETURN(std::unique_ptr<ArenaTier> tier, OpenArenaTier(options));
  TierOptions dram;
  dram.name = options.name + ".overflow";
  dram.capacity_bytes = options.overflow_bytes;
  TS_ASSIGN_OR_RETURN(std::unique_ptr<ArenaTier> overflow, OpenArenaTier(dram));
  return std::make_unique<OverflowTier>(std::move(tier), std::move(overflow));
}

std::unique_ptr<Tier> MakeDramTier(std::string_view name, size_t capacity_bytes,
                                   size_t touch_ahead_bytes) {
  TierOptions options;
  options.name = name;
  options.capacity_bytes = capacity_bytes;
  options.touch_ahead_bytes = touch_ahead_bytes;
  absl::StatusOr<std::unique_ptr<Tier>> tier = OpenTier(options);
  TS_CHECK(tier.ok());  // It needs only addresses.
  return *std::move(tier);
}

std::string_view NameOf(TierKind kind) {
  switch (kind) {
    case TierKind::kDram:
      return "dram";
    case TierKind::kFilesystem:
      return "filesystem";
    case TierKind::kPersistent:
      return "persistent";
    case TierKind::kNuma:
      return "numa";
    case TierKind::kSimulate:
      return "simulate";
  }
  return "unknown";
}

}  // namespace tickstack::mem
