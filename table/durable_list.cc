#include "table/durable_list.h"

#include <algorithm>

#include "base/crc32c.h"
#include "base/status.h"

namespace tickstack {

DurableList::~DurableList() {
  for (uint64_t* const block : blocks_) {
    tier_->Free(reinterpret_cast<std::byte*>(block), kBlockBytes);
  }
}

void DurableList::Save(ByteBuffer& record) const {
  record.AppendLittle(blocks_.empty() ? uint64_t{0} : tier_->OffsetOf(Bytes(blocks_[0])) + 1);
  record.AppendLittle(uint64_t{blocks_.size()});
  record.AppendLittle(uint64_t{size_});
  record.AppendLittle(links_crc_);
  record.AppendLittle(words_crc_);
}

absl::Status DurableList::Load(RecordReader& record) {
  uint64_t link = 0, blocks = 0, count = 0;
  uint32_t links_crc = 0, words_crc = 0;
  if (!record.Read(&link) || !record.Read(&blocks) || !record.Read(&count) ||
      !record.Read(&links_crc) || !record.Read(&words_crc)) {
    return DataLoss("a list's record is cut short");
  }
  if (blocks > tier_->Stats().capacity_bytes / kBlockBytes || count > blocks * kWords) {
    return DataLoss("a list of {} words in {} blocks", count, blocks);
  }
  TS_RETURN_IF_ERROR(LoadBlocks(link, blocks));
  if (links_crc_ != links_crc) return Damaged("links");
  for (size_t i = 0; size_ < count; ++i) {
    const size_t words = std::min<size_t>(kWords, count - size_);
    words_crc_ = ExtendCrc32c(words_crc_, {Bytes(blocks_[i] + 1), words * sizeof(uint64_t)});
    size_ += words;
  }
  if (words_crc_ != words_crc) return Damaged("words");
  return absl::OkStatus();
}

absl::Status DurableList::Damaged(std::string_view what) const {
  const std::string place =
      blocks_.empty() ? "nowhere" : tier_->PlaceOf(Bytes(blocks_[0]), kBlockBytes);
  return DataLoss("the checksum of the {} of a list disagrees: {} words in {} blocks, the first {}",
                  what, size_, blocks_.size(), place);
}

absl::Status DurableList::LoadBlocks(uint64_t link, uint64_t blocks) {
  while (blocks_.size() < blocks) {
    if (link == 0) return DataLoss("a list of {} blocks ends after {}", blocks, blocks_.size());
    if (!blocks_.empty()) {
      links_crc_ = ExtendCrc32c(links_crc_, std::as_bytes(std::span(&link, 1)));
    }
    TS_ASSIGN_OR_RETURN(std::byte * block, tier_->Find(link - 1, kBlockBytes));
    blocks_.push_back(reinterpret_cast<uint64_t*>(block));
    link = blocks_.back()[0];
  }
  return absl::OkStatus();
}

absl::Status DurableList::AddBlock() {
  TS_ASSIGN_OR_RETURN(std::byte * memory, tier_->Allocate(kBlockBytes));
  auto* const block = reinterpret_cast<uint64_t*>(memory);
  block[0] = 0;
  tier_->Flush(memory, sizeof(uint64_t));
  if (!blocks_.empty()) {
    uint64_t* const link = blocks_.back();
    *link = tier_->OffsetOf(memory) + 1;
    tier_->Flush(Bytes(link), sizeof(uint64_t));
    links_crc_ = ExtendCrc32c(links_crc_, std::as_bytes(std::span(link, 1)));
  }
  blocks_.push_back(block);
  return absl::OkStatus();
}

absl::Status DurableList::Reserve(size_t words) {
  while (capacity() < words) TS_RETURN_IF_ERROR(AddBlock());
  return absl::OkStatus();
}

absl::Status DurableList::Append(uint64_t word) {
  TS_RETURN_IF_ERROR(Reserve(size_ + 1));
  uint64_t* const at = blocks_[size_ / kWords] + 1 + size_ % kWords;
  *at = word;
  words_crc_ = ExtendCrc32c(words_crc_, std::as_bytes(std::span(at, 1)));
  tier_->Flush(Bytes(at), sizeof(uint64_t));
  ++size_;
  return absl::OkStatus();
}

}  // namespace tickstack
