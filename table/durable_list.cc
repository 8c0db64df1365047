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
  record.AppendLittle(uint64_t{size_});
  record.AppendLittle(crc_);
}

absl::Status DurableList::Load(RecordReader& record) {
  uint64_t link = 0, count = 0;
  uint32_t crc = 0;
  if (!record.Read(&link) || !record.Read(&count) || !record.Read(&crc)) {
    return DataLoss("a list's record is cut short");
  }
  while (size_ < count) {
    if (link == 0) return DataLoss("a list of {} words ends after {}", count, size_);
    TS_ASSIGN_OR_RETURN(std::byte * block, tier_->Find(link - 1, kBlockBytes));
    blocks_.push_back(reinterpret_cast<uint64_t*>(block));
    link = blocks_.back()[0];
    const size_t words = std::min<size_t>(kWords, count - size_);
    crc_ = ExtendCrc32c(crc_, {block + sizeof(uint64_t), words * sizeof(uint64_t)});
    size_ += words;
  }
  if (crc_ != crc) return DataLoss("the checksum of a list of {} words disagrees", count);
  return absl::OkStatus();
}

absl::Status DurableList::Append(uint64_t word) {
  if (size_ == blocks_.size() * kWords) {
    TS_ASSIGN_OR_RETURN(std::byte * memory, tier_->Allocate(kBlockBytes));
    auto* const block = reinterpret_cast<uint64_t*>(memory);
    block[0] = 0;
    tier_->Flush(memory, sizeof(uint64_t));
    if (!blocks_.empty()) {
      blocks_.back()[0] = tier_->OffsetOf(memory) + 1;
      tier_->Flush(Bytes(blocks_.back()), sizeof(uint64_t));
    }
    blocks_.push_back(block);
  }
  uint64_t* const at = blocks_[size_ / kWords] + 1 + size_ % kWords;
  *at = word;
  crc_ = ExtendCrc32c(crc_, std::as_bytes(std::span(at, 1)));
  tier_->Flush(Bytes(at), sizeof(uint64_t));
  ++size_;
  return absl::OkStatus();
}

}  // namespace tickstack
