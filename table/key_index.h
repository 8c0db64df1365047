#pragma once

// Finds the row of a key in a keyed table: a hash table of row numbers. Keys stay in the table's
// columns; a slot holds 32 bits of a key's hash, which distinguish nearly all keys, and a row.
//
//   hash       | partition: 8 bits | ... | tag: 32 bits |
//   partition  | tag, row | tag, row | ...     a power of two of slots of 8 bytes, probed linearly
//
// If the index were a single hash table, doubling it at 3 million rows would stop the writer for 50
// ms. Therefore it has 256 partitions, which double separately: moving 12,000 rows to new slots
// takes some 0.1 ms. Since hashes spread evenly, all partitions would reach the same limit at the
// same time. So each has its own limit, from 2/5 of its slots for the first partition to 4/5 for
// the last, and they double one after the other. On average a row takes 15 bytes.
//
// Threads: one owner, the writer of the table; any thread may call bytes().

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "mem/tier.h"

namespace tickstack {

class KeyIndex {
 public:
  static constexpr uint32_t kNoRow = UINT32_MAX;

  // The tier must outlive the index.
  explicit KeyIndex(mem::Tier* tier) : tier_(tier) {}
  ~KeyIndex();
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;

  // Prefetches the slot that Find(hash) reads first, which in a large index is in no cache.
  void Prefetch(uint64_t hash) const {
    const Partition& partition = partitions_[NumberOf(hash)];
    if (partition.slots != nullptr) __builtin_prefetch(&partition.slots[hash & partition.mask]);
  }

  // Returns the row with this hash for which is_key(row) is true, or kNoRow. All 64 bits of a hash
  // must be well mixed.
  template <typename IsKey>
  uint32_t Find(uint64_t hash, IsKey is_key) const {
    const Partition& partition = partitions_[NumberOf(hash)];
    if (partition.slots == nullptr) return kNoRow;
    const auto tag = static_cast<uint32_t>(hash);
    for (uint32_t at = tag & partition.mask;; at = (at + 1) & partition.mask) {
      const Slot slot = partition.slots[at];
      if (slot.row == kNoRow) return kNoRow;
      if (slot.tag == tag && is_key(slot.row)) return slot.row;
    }
  }

  // Makes room for these additional hashes. kResourceExhausted if the tier is full; partitions that
  // have grown by then stay larger.
  absl::Status Reserve(std::span<const uint64_t> hashes);
  // Inserts a new key, for which Reserve made room.
  void Insert(uint64_t hash, uint32_t row);

  // Returns the bytes allocated from the tier, as rounded by the tier.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Returns the medium that callers charge for finding and adding keys; nullptr for real memory.
  mem::Medium* medium() const { return tier_->medium(); }

 private:
  static constexpr int kPartitionBits = 8;
  static constexpr size_t kPartitions = size_t{1} << kPartitionBits;
  static constexpr uint32_t kFirstSlots = 32;

  struct Slot {
    uint32_t tag;
    uint32_t row;  // kNoRow: an empty slot.
  };
  struct Partition {
    Slot* slots = nullptr;
    uint32_t mask = 0;
    uint32_t used = 0;
  };

  static size_t NumberOf(uint64_t hash) { return hash >> (64 - kPartitionBits); }
  // Returns the number of used slots at which a partition doubles.
  static uint64_t LimitOf(size_t number, uint64_t slots) {
    return slots * 2 * (kPartitions + number) / (5 * kPartitions);
  }
  absl::Status Grow(size_t number, uint64_t wanted);
  static void Put(const Partition& partition, Slot slot);

  mem::Tier* const tier_;
  std::array<Partition, kPartitions> partitions_;
  std::array<uint32_t, kPartitions> wanted_{};  // Used within Reserve only.
  std::atomic<size_t> bytes_ = 0;               // Only the writer stores.
};

}  // namespace tickstack
