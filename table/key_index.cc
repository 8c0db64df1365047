#include "table/key_index.h"

#include <algorithm>

#include "base/check.h"
#include "base/status.h"

namespace tickstack {

KeyIndex::~KeyIndex() {
  for (const Partition& partition : partitions_) {
    if (partition.slots == nullptr) continue;
    tier_->Free(reinterpret_cast<std::byte*>(partition.slots),
                (size_t{partition.mask} + 1) * sizeof(Slot));
  }
}

void KeyIndex::Put(const Partition& partition, Slot slot) {
  uint32_t at = slot.tag & partition.mask;
  while (partition.slots[at].row != kNoRow) at = (at + 1) & partition.mask;
  partition.slots[at] = slot;
}

absl::Status KeyIndex::Grow(size_t number, uint64_t wanted) {
  Partition& partition = partitions_[number];
  const uint64_t before = partition.slots == nullptr ? 0 : uint64_t{partition.mask} + 1;
  uint64_t slots = std::max<uint64_t>(before, kFirstSlots);
  while (LimitOf(number, slots) < wanted) slots *= 2;
  if (slots == before) return absl::OkStatus();
  // More slots would be useless, because tags have 32 bits. A partition with half as many has 2
  // billion of the 4 billion rows that a table takes.
  TS_CHECK(slots <= uint64_t{1} << 32);
  TS_ASSIGN_OR_RETURN(std::byte * memory, tier_->Allocate(slots * sizeof(Slot)));
  const Partition grown{reinterpret_cast<Slot*>(memory), static_cast<uint32_t>(slots - 1),
                        partition.used};
  std::fill_n(grown.slots, slots, Slot{0, kNoRow});
  for (uint64_t at = 0; at < before; ++at) {
    if (partition.slots[at].row != kNoRow) Put(grown, partition.slots[at]);
  }
  size_t bytes = bytes_.load(std::memory_order_relaxed);
  bytes += mem::Tier::RoundedBytes(slots * sizeof(Slot));
  if (before > 0) {
    bytes -= mem::Tier::RoundedBytes(before * sizeof(Slot));
    tier_->Free(reinterpret_cast<std::byte*>(partition.slots), before * sizeof(Slot));
  }
  bytes_.store(bytes, std::memory_order_relaxed);
  partition = grown;
  return absl::OkStatus();
}

absl::Status KeyIndex::Reserve(std::span<const uint64_t> hashes) {
  if (hashes.empty()) return absl::OkStatus();
  wanted_.fill(0);
  for (const uint64_t hash : hashes) ++wanted_[NumberOf(hash)];
  for (size_t number = 0; number < kPartitions; ++number) {
    if (wanted_[number] == 0) continue;
    TS_RETURN_IF_ERROR(Grow(number, uint64_t{partitions_[number].used} + wanted_[number]));
  }
  return absl::OkStatus();
}

void KeyIndex::Insert(uint64_t hash, uint32_t row) {
  Partition& partition = partitions_[NumberOf(hash)];
  ++partition.used;
  Put(partition, {static_cast<uint32_t>(hash), row});
}

}  // namespace tickstack
