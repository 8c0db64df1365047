#include "interchange/arrow_metadata.h"

namespace tickstack::interchange::arrow {

Metadata::Metadata(std::span<const std::byte> bytes)
    : words_(bytes.size() / sizeof(uint64_t) + 1), verifier_(data(), bytes.size()) {
  if (!bytes.empty()) std::memcpy(words_.data(), bytes.data(), bytes.size());
}

MetadataTable Metadata::Root() {
  const flatbuffers::uoffset_t offset = verifier_.VerifyOffset(size_t{0});
  if (!Check(offset != 0)) return {*this, nullptr};
  return {*this, reinterpret_cast<const flatbuffers::Table*>(data() + offset)};
}

// `table` may be outside of the buffer: elements of a vector of tables are places that nothing
// checked so far.
MetadataTable::MetadataTable(Metadata& metadata, const flatbuffers::Table* table)
    : metadata_(metadata), table_(table) {
  if (table_ == nullptr) return;
  if (!Check(table_->VerifyTableStart(verifier()))) {
    table_ = nullptr;
    return;
  }
  verifier().EndTable();  // Depth is that of calls, and nothing here is recursive.
}

std::vector<MetadataTable> MetadataTable::Tables(int field) const {
  using Tables = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
  const auto* const found = Pointer<Tables>(field);
  if (found == nullptr || !Check(verifier().VerifyVector(found))) return {};
  std::vector<MetadataTable> tables;
  for (flatbuffers::uoffset_t i = 0; i < found->size() && metadata_.ok(); ++i) {
    tables.push_back(MetadataTable(metadata_, found->Get(i)));
  }
  return tables;
}

}  // namespace tickstack::interchange::arrow
