#include "table/durable_symbols.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/status.h"

namespace tickstack {

DurableSymbols::~DurableSymbols() {
  for (std::byte* const block : memory_) tier_->Free(block, kBlockBytes);
}

absl::Status DurableSymbols::Load(RecordReader& record, SymbolTable& symbols) {
  uint64_t bytes = 0;
  int32_t names = 0;
  uint32_t crc = 0;
  TS_RETURN_IF_ERROR(Annotate(blocks_.Load(record), "symbols"));
  if (!record.Read(&bytes) || !record.Read(&names) || !record.Read(&crc)) {
    return DataLoss("symbols: the record is cut short");
  }
  if (bytes > blocks_.size() * kBlockBytes) {
    return DataLoss("symbols: {} bytes in {} blocks", bytes, blocks_.size());
  }
  ByteBuffer text;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    TS_ASSIGN_OR_RETURN(std::byte * block, tier_->Find(blocks_[i], kBlockBytes));
    memory_.push_back(block);
    text.Append(
        std::span<const std::byte>(block, std::min<size_t>(kBlockBytes, bytes - text.size())));
  }
  if (Crc32c(text) != crc) return DataLoss("symbols: the checksum of {} bytes disagrees", bytes);
  int32_t found = 0;
  for (size_t at = 0; at < text.size(); ++found) {
    const std::string_view rest = AsText(text.span().subspan(at));
    const std::string_view name = rest.substr(0, rest.find('\0'));
    if (symbols.Intern(name) != found) return DataLoss("symbols: name {} is there twice", found);
    at += name.size() + 1;
  }
  if (found != names) return DataLoss("symbols: {} names, expected {}", found, names);
  bytes_ = bytes;
  names_ = names;
  crc_ = crc;
  return absl::OkStatus();
}

absl::Status DurableSymbols::Append(std::span<const std::byte> bytes) {
  // Takes all blocks first, so that a name is there whole or not at all.
  while (memory_.size() * kBlockBytes < bytes_ + bytes.size()) {
    TS_ASSIGN_OR_RETURN(std::byte * block, tier_->Allocate(kBlockBytes));
    if (const absl::Status noted = blocks_.Append(tier_->OffsetOf(block)); !noted.ok()) {
      tier_->Free(block, kBlockBytes);
      return noted;
    }
    memory_.push_back(block);
  }
  crc_ = ExtendCrc32c(crc_, bytes);
  while (!bytes.empty()) {
    const size_t in_block = bytes_ % kBlockBytes;
    const size_t part = std::min(bytes.size(), kBlockBytes - in_block);
    std::byte* const at = memory_[bytes_ / kBlockBytes] + in_block;
    std::memcpy(at, bytes.data(), part);
    tier_->Flush(at, part);
    bytes = bytes.subspan(part);
    bytes_ += part;
  }
  return absl::OkStatus();
}

absl::Status DurableSymbols::Save(const SymbolTable& symbols, ByteBuffer& record) {
  ByteBuffer text;
  for (; names_ < symbols.size(); ++names_) {
    text.clear();
    text.Append(symbols.NameOf(names_));
    text.AppendLittle(uint8_t{0});
    TS_RETURN_IF_ERROR(Annotate(Append(text), "symbols"));
  }
  blocks_.Save(record);
  record.AppendLittle(bytes_);
  record.AppendLittle(names_);
  record.AppendLittle(crc_);
  return absl::OkStatus();
}

}  // namespace tickstack
