#pragma once

// The metadata of a message in Arrow's format: tables of a FlatBuffer, whose bytes may be anything.
// Each read checks the bytes that it needs, so that nothing can be read without a check. The
// verifiers of FlatBuffers' generated code check all fields before any is read. Then a reader that
// reads one field more than was checked leaves the buffer.

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "interchange/arrow_message.h"

namespace tickstack::interchange::arrow {

// A table, or none. Fields have the numbers of Schema.fbs and Message.fbs, from 0. A field that is
// missing, or whose bytes are not within the buffer, has its default: the given number, no table,
// no text, or no elements. Valid as long as its Metadata.
class MetadataTable;

// Threads: one owner.
class Metadata {
 public:
  // Copies the bytes, since FlatBuffers are read at aligned addresses. They must have less than
  // 2 GiB.
  explicit Metadata(std::span<const std::byte> bytes);
  Metadata(const Metadata&) = delete;
  Metadata& operator=(const Metadata&) = delete;

  // Returns the table that contains all others.
  MetadataTable Root();
  // False after a read of bytes that are not within the buffer.
  bool ok() const { return ok_; }

 private:
  friend class MetadataTable;

  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(words_.data()); }
  bool Check(bool is_within) {
    ok_ = ok_ && is_within;
    return is_within;
  }

  std::vector<uint64_t> words_;
  flatbuffers::Verifier verifier_;
  bool ok_ = true;
};

class MetadataTable {
 public:
  bool is_present() const { return table_ != nullptr; }

  template <typename T>
  T Number(int field, T otherwise) const {
    if (!is_present() || !Check(table_->VerifyField<T>(verifier(), Slot(field), sizeof(T)))) {
      return otherwise;
    }
    return table_->GetField<T>(Slot(field), otherwise);
  }
  std::string_view Text(int field) const {
    const auto* const text = Pointer<flatbuffers::String>(field);
    if (text == nullptr || !Check(verifier().VerifyString(text))) return {};
    return {text->c_str(), text->size()};
  }
  MetadataTable Table(int field) const {
    return MetadataTable(metadata_, Pointer<flatbuffers::Table>(field));
  }
  std::vector<MetadataTable> Tables(int field) const;
  // Copies structures, whose numbers are not aligned in the buffer.
  template <typename T>
  std::vector<T> Structs(int field) const {
    const auto* const found = Pointer<flatbuffers::Vector<const T*>>(field);
    if (found == nullptr || !Check(verifier().VerifyVector(found))) return {};
    std::vector<T> structs(found->size());
    if (!structs.empty()) std::memcpy(structs.data(), found->Data(), structs.size() * sizeof(T));
    return structs;
  }

 private:
  friend class Metadata;

  MetadataTable(Metadata& metadata, const flatbuffers::Table* table);
  flatbuffers::Verifier& verifier() const { return metadata_.verifier_; }
  bool Check(bool is_within) const { return metadata_.Check(is_within); }
  // Returns where a field refers to, which is within the buffer; nullptr if the field is missing.
  template <typename T>
  const T* Pointer(int field) const {
    if (!is_present() || !Check(table_->VerifyOffset(verifier(), Slot(field)))) return nullptr;
    return table_->GetPointer<const T*>(Slot(field));
  }

  Metadata& metadata_;
  const flatbuffers::Table* table_;
};

}  // namespace tickstack::interchange::arrow
