#pragma once

// An append-only list of 64-bit words in a persistent tier: where a column's chunks are. Whoever
// keeps its record in a committed root finds the words again.
//
//   block of 4 KiB  | link to the next block | 511 words |
//
// A link is the next block's offset + 1, 0 where there is none yet. What lies behind the committed
// count is of no meaning and is written over.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "mem/persistent_tier.h"
#include "table/record.h"

namespace tickstack {

class DurableList {
 public:
  explicit DurableList(mem::PersistentTier* tier) : tier_(tier) {}
  // Gives the blocks back to the tier.
  ~DurableList();
  DurableList(const DurableList&) = delete;
  DurableList& operator=(const DurableList&) = delete;

  // Appends the list's location, length and checksum.
  void Save(ByteBuffer& record) const;
  // Restores a saved list into an empty one. kDataLoss if the tier does not have it.
  absl::Status Load(RecordReader& record);
  // kResourceExhausted if the tier is full; nothing was appended then. The word is durable with the
  // tier's next commit.
  absl::Status Append(uint64_t word);

  uint64_t operator[](size_t i) const { return blocks_[i / kWords][1 + i % kWords]; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kBlockBytes = 4096;
  static constexpr size_t kWords = kBlockBytes / sizeof(uint64_t) - 1;
  static const std::byte* Bytes(const uint64_t* words) {
    return reinterpret_cast<const std::byte*>(words);
  }

  mem::PersistentTier* const tier_;
  std::vector<uint64_t*> blocks_;
  size_t size_ = 0;
  uint32_t crc_ = 0;  // CRC of all words.
};

}  // namespace tickstack
