#pragma once

// An append-only list of 64-bit words in a persistent tier, for example the places of a column's
// chunks. A record in a committed root says where the words are.
//
//   block of 4 KiB  | link to the next block | 511 words |
//
// A link is the next block's offset + 1. The record has the numbers of blocks and words, and the
// checksums of these words and of the links between these blocks. Later links and words in the
// blocks were not committed: they are ignored, and overwritten later.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <string_view>
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

  // Appends the list's location, lengths and checksums.
  void Save(ByteBuffer& record) const;
  // Restores a saved list into an empty one. kDataLoss if the tier does not have it.
  absl::Status Load(RecordReader& record);
  // Appends a word, which becomes durable with the tier's next commit. kResourceExhausted, without
  // any change, if the tier is full; this cannot happen if Reserve made room for the word.
  absl::Status Append(uint64_t word);
  // Makes room for `words` words in total. kResourceExhausted if the tier is full.
  absl::Status Reserve(size_t words);

  uint64_t operator[](size_t i) const { return blocks_[i / kWords][1 + i % kWords]; }
  size_t size() const { return size_; }
  size_t capacity() const { return blocks_.size() * kWords; }

 private:
  static constexpr size_t kBlockBytes = 4096;
  static constexpr size_t kWords = kBlockBytes / sizeof(uint64_t) - 1;
  static const std::byte* Bytes(const uint64_t* words) {
    return reinterpret_cast<const std::byte*>(words);
  }

  absl::Status AddBlock();
  absl::Status LoadBlocks(uint64_t link, uint64_t blocks);
  absl::Status Damaged(std::string_view what) const;

  mem::PersistentTier* const tier_;
  std::vector<uint64_t*> blocks_;
  size_t size_ = 0;
  uint32_t words_crc_ = 0;
  uint32_t links_crc_ = 0;  // CRC of the links to all blocks but the first.
};

}  // namespace tickstack
