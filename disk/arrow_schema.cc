#include "disk/arrow_schema.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "disk/arrow_message.h"

namespace tickstack::disk::arrow {
namespace {

using flatbuffers::Offset;
using flatbuffers::String;
using flatbuffers::Vector;
using flatbuffers::Verifier;

constexpr size_t kMetadataBytesMax = size_t{64} << 20;
constexpr uint64_t kRowsMax = uint64_t{1} << 40;

// A table of the schema. Each kind of table verifies the fields that are read, so that a reader
// stays within the buffer whatever its bytes are.
struct TableView : private flatbuffers::Table {
  template <typename T>
  T Number(int field, T otherwise) const {
    return GetField<T>(Slot(field), otherwise);
  }
  template <typename T>
  const T* Pointer(int field) const {
    return GetPointer<const T*>(Slot(field));
  }

 protected:
  bool Begin(Verifier& verifier) const { return VerifyTableStart(verifier); }
  template <typename T>
  bool HasNumber(Verifier& verifier, int field) const {
    return VerifyField<T>(verifier, Slot(field), sizeof(T));
  }
  bool HasText(Verifier& verifier, int field) const {
    return VerifyOffset(verifier, Slot(field)) && verifier.VerifyString(Pointer<String>(field));
  }
  template <typename T>
  bool HasTable(Verifier& verifier, int field) const {
    return VerifyOffset(verifier, Slot(field)) && verifier.VerifyTable(Pointer<T>(field));
  }
  template <typename T>
  bool HasTables(Verifier& verifier, int field) const {
    using Tables = Vector<Offset<T>>;
    return VerifyOffset(verifier, Slot(field)) && verifier.VerifyVector(Pointer<Tables>(field)) &&
           verifier.VerifyVectorOfTables(Pointer<Tables>(field));
  }
  template <typename T>
  bool HasStructs(Verifier& verifier, int field) const {
    return VerifyOffset(verifier, Slot(field)) &&
           verifier.VerifyVector(Pointer<Vector<const T*>>(field));
  }
  static bool End(Verifier& verifier) { return verifier.EndTable(); }
};

// Any type's table: all have at most two fields, whose meaning depends on the type. As each is read
// with its own width, the verification is the caller's.
struct TypeView : TableView {
  bool Verify(Verifier& verifier) const { return Begin(verifier) && End(verifier); }
  // Returns a number; nullopt if it is outside of the buffer.
  template <typename T>
  std::optional<T> Checked(Verifier& verifier, int field, T otherwise) const {
    if (!HasNumber<T>(verifier, field)) return std::nullopt;
    return Number<T>(field, otherwise);
  }
};

struct IntView : TableView {
  bool Verify(Verifier& verifier) const {
    return Begin(verifier) && HasNumber<int32_t>(verifier, 0) && HasNumber<uint8_t>(verifier, 1) &&
           End(verifier);
  }
};

struct DictionaryView : TableView {
  bool Verify(Verifier& verifier) const {
    return Begin(verifier) && HasNumber<int64_t>(verifier, 0) && HasTable<IntView>(verifier, 1) &&
           End(verifier);
  }
};

struct FieldView : TableView {
  bool Verify(Verifier& verifier) const {
    return Begin(verifier) && HasText(verifier, 0) && HasNumber<uint8_t>(verifier, 2) &&
           HasTable<TypeView>(verifier, 3) && HasTable<DictionaryView>(verifier, 4) &&
           HasTables<FieldView>(verifier, 5) && End(verifier);
  }
};

struct SchemaView : TableView {
  bool Verify(Verifier& verifier) const {
    return Begin(verifier) && HasNumber<int16_t>(verifier, 0) &&
           HasTables<FieldView>(verifier, 1) && End(verifier);
  }
};

struct NodePair {
  int64_t rows;
  int64_t nulls;
};
struct BufferPair {
  int64_t offset;
  int64_t bytes;
};

struct BatchView : TableView {
  bool Verify(Verifier& verifier) const {
    return Begin(verifier) && HasNumber<int64_t>(verifier, 0) &&
           HasStructs<NodePair>(verifier, 1) && HasStructs<BufferPair>(verifier, 2) &&
           VerifyCompression(verifier) && End(verifier);
  }
  bool is_compressed() const { return Pointer<TypeView>(3) != nullptr; }

 private:
  bool VerifyCompression(Verifier& verifier) const { return HasTable<TypeView>(verifier, 3); }
};

struct DictionaryBatchView : TableView {
  bool Verify(Verifier& verifier) const {
    return Begin(verifier) && HasNumber<int64_t>(verifier, 0) && HasTable<BatchView>(verifier, 1) &&
           HasNumber<uint8_t>(verifier, 2) && End(verifier);
  }
};

struct MessageView : TableView {
  bool Verify(Verifier& verifier) const {
    return Begin(verifier) && HasNumber<int16_t>(verifier, 0) && HasNumber<uint8_t>(verifier, 1) &&
           HasHeader(verifier) && HasNumber<int64_t>(verifier, 3) && End(verifier);
  }
  uint8_t header() const { return Number<uint8_t>(1, 0); }

 private:
  bool HasHeader(Verifier& verifier) const {
    if (header() == kSchemaHeader) return HasTable<SchemaView>(verifier, 2);
    if (header() == kDictionaryHeader) return HasTable<DictionaryBatchView>(verifier, 2);
    if (header() == kBatchHeader) return HasTable<BatchView>(verifier, 2);
    return true;
  }
};

// ---- Columns

std::optional<int64_t> NsPerUnit(int16_t unit) {
  constexpr std::array<int64_t, 4> kNs = {1'000'000'000, 1'000'000, 1000, 1};
  if (unit < 0 || static_cast<size_t>(unit) >= kNs.size()) return std::nullopt;
  return kNs[static_cast<size_t>(unit)];
}

// Sets what a column of numbers holds. False if the numbers are not those of the type.
bool SetInteger(const TypeView& type, Verifier& verifier, StreamColumn& column) {
  const std::optional<int32_t> bits = type.Checked<int32_t>(verifier, 0, 0);
  const std::optional<uint8_t> is_signed = type.Checked<uint8_t>(verifier, 1, 0);
  if (!bits || !is_signed || (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64))
    return false;
  column.content = Content::kInteger;
  column.width = static_cast<size_t>(*bits) / 8;
  column.is_signed = *is_signed != 0;
  return true;
}

bool SetFloat(const TypeView& type, Verifier& verifier, StreamColumn& column) {
  const std::optional<int16_t> precision = type.Checked<int16_t>(verifier, 0, 0);
  if (!precision || (*precision != 1 && *precision != 2)) return false;
  column.content = Content::kFloat;
  column.width = *precision == 1 ? 4 : 8;
  return true;
}

bool SetDate(const TypeView& type, Verifier& verifier, StreamColumn& column) {
  const std::optional<int16_t> unit = type.Checked<int16_t>(verifier, 0, 1);
  if (!unit || (*unit != 0 && *unit != 1)) return false;
  column.content = Content::kDate;
  column.width = *unit == 0 ? 4 : 8;
  column.unit_ns = *unit == 0 ? 86'400'000'000'000 : 1'000'000;
  return true;
}

bool SetTime(const TypeView& type, TypeCode code, Verifier& verifier, StreamColumn& column) {
  const int16_t otherwise = code == TypeCode::kTimestamp ? 0 : 1;
  const std::optional<int16_t> unit = type.Checked<int16_t>(verifier, 0, otherwise);
  const std::optional<int64_t> ns = unit ? NsPerUnit(*unit) : std::nullopt;
  if (!ns) return false;
  column.unit_ns = *ns;
  // The width of a time of day follows from its unit.
  column.width = code == TypeCode::kTime && *ns >= 1'000'000 ? 4 : 8;
  column.content = code == TypeCode::kTimestamp  ? Content::kTimestamp
                   : code == TypeCode::kDuration ? Content::kDuration
                                                 : Content::kTimeOfDay;
  return true;
}

constexpr uint8_t kNullType = 1, kLargeUtf8Type = 20;

bool SetContent(uint8_t code, const TypeView& type, Verifier& verifier, StreamColumn& column) {
  if (code == kNullType) return true;
  if (code == kLargeUtf8Type || code == static_cast<uint8_t>(TypeCode::kUtf8)) {
    column.content = Content::kText;
    column.offset_width = code == kLargeUtf8Type ? 8 : 4;
    return true;
  }
  if (code == static_cast<uint8_t>(TypeCode::kBool)) {
    column.content = Content::kBoolean;
    return true;
  }
  if (code == static_cast<uint8_t>(TypeCode::kInt)) return SetInteger(type, verifier, column);
  if (code == static_cast<uint8_t>(TypeCode::kFloatingPoint)) {
    return SetFloat(type, verifier, column);
  }
  if (code == static_cast<uint8_t>(TypeCode::kDate)) return SetDate(type, verifier, column);
  for (const TypeCode time : {TypeCode::kTime, TypeCode::kTimestamp, TypeCode::kDuration}) {
    if (code == static_cast<uint8_t>(time)) return SetTime(type, time, verifier, column);
  }
  return false;
}

absl::StatusOr<StreamColumn> ColumnOf(const FieldView& field, Verifier& verifier) {
  StreamColumn column;
  if (const auto* const name = field.Pointer<String>(0)) column.name = name->str();
  const auto code = field.Number<uint8_t>(2, 0);
  const auto* const type = field.Pointer<TypeView>(3);
  if (type == nullptr) return DataLoss("column {} has no type", column.name);
  if (!SetContent(code, *type, verifier, column)) {
    return Unimplemented(
        "column {} has Arrow's type {}: leave it out, or convert it to numbers, "
        "times or Utf8",
        column.name, code);
  }
  const auto* const dictionary = field.Pointer<DictionaryView>(4);
  if (dictionary == nullptr) return column;
  if (column.content != Content::kText) {
    return Unimplemented("column {} has a dictionary of other values than texts", column.name);
  }
  column.has_dictionary = true;
  column.dictionary = dictionary->Number<int64_t>(0, 0);
  const auto* const index = dictionary->Pointer<IntView>(1);
  const int32_t bits = index == nullptr ? 32 : index->Number<int32_t>(0, 0);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
    return DataLoss("column {}: numbers of {} bits", column.name, bits);
  }
  column.index_width = static_cast<size_t>(bits) / 8;
  column.index_is_signed = index == nullptr || index->Number<uint8_t>(1, 0) != 0;
  return column;
}

absl::Status ReadSchema(const SchemaView& schema, Verifier& verifier, StreamMessage& message) {
  if (schema.Number<int16_t>(0, 0) != 0) return Unimplemented("a stream of big-endian numbers");
  const auto* const fields = schema.Pointer<Vector<Offset<FieldView>>>(1);
  for (flatbuffers::uoffset_t i = 0; fields != nullptr && i < fields->size(); ++i) {
    TS_ASSIGN_OR_RETURN(message.columns.emplace_back(), ColumnOf(*fields->Get(i), verifier));
  }
  // A batch of such columns has no bytes that bound its rows.
  const bool has_values = std::ranges::any_of(message.columns, [](const StreamColumn& column) {
    return column.content != Content::kNulls;
  });
  if (!has_values) return Unimplemented("a schema without columns that have values");
  return absl::OkStatus();
}

// Returns a structure of a vector. It is copied, since the verifier does not check its alignment.
template <typename T>
T StructAt(const Vector<const T*>& structs, flatbuffers::uoffset_t i) {
  T copy;
  std::memcpy(&copy, structs.Data() + i * sizeof(T), sizeof(T));
  return copy;
}

absl::Status ReadBatch(const BatchView& batch, StreamMessage& message) {
  if (batch.is_compressed()) {
    return Unimplemented("a batch with compressed buffers: write the stream without compression");
  }
  const auto rows = batch.Number<int64_t>(0, 0);
  if (rows < 0 || static_cast<uint64_t>(rows) > kRowsMax)
    return DataLoss("a batch of {} rows", rows);
  message.rows = static_cast<uint64_t>(rows);
  const auto* const nodes = batch.Pointer<Vector<const NodePair*>>(1);
  for (flatbuffers::uoffset_t i = 0; nodes != nullptr && i < nodes->size(); ++i) {
    const NodePair node = StructAt(*nodes, i);
    if (node.rows != rows || node.nulls < 0 || node.nulls > rows) {
      return DataLoss("column {} has {} rows and {} nulls in a batch of {} rows", i, node.rows,
                      node.nulls, rows);
    }
    message.nodes.push_back({message.rows, static_cast<uint64_t>(node.nulls)});
  }
  const auto* const buffers = batch.Pointer<Vector<const BufferPair*>>(2);
  for (flatbuffers::uoffset_t i = 0; buffers != nullptr && i < buffers->size(); ++i) {
    const BufferPair place = StructAt(*buffers, i);
    const auto offset = static_cast<uint64_t>(place.offset);
    const auto bytes = static_cast<uint64_t>(place.bytes);
    if (offset > message.body_bytes || bytes > message.body_bytes - offset) {
      return DataLoss("buffer {} has {} bytes from byte {} on, the body has {}", i, bytes, offset,
                      message.body_bytes);
    }
    message.buffers.push_back({offset, bytes});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StreamMessage> ParseStreamMessage(std::span<const std::byte> metadata) {
  if (metadata.size() > kMetadataBytesMax) return DataLoss("metadata of {} bytes", metadata.size());
  std::vector<uint64_t> aligned((metadata.size() + 7) / 8 + 1);
  std::memcpy(aligned.data(), metadata.data(), metadata.size());
  const auto* const bytes = reinterpret_cast<const uint8_t*>(aligned.data());
  Verifier verifier(bytes, metadata.size());
  if (!verifier.VerifyBuffer<MessageView>(nullptr)) return DataLoss("not a message of Arrow's");
  const auto& view = *flatbuffers::GetRoot<MessageView>(bytes);
  StreamMessage message;
  const auto body_bytes = view.Number<int64_t>(3, 0);
  if (body_bytes < 0) return DataLoss("a body of {} bytes", body_bytes);
  message.body_bytes = static_cast<uint64_t>(body_bytes);
  if (view.Pointer<TableView>(2) == nullptr) return DataLoss("a message without a header");
  if (view.header() == kSchemaHeader) {
    message.kind = StreamMessage::Kind::kSchema;
    TS_RETURN_IF_ERROR(ReadSchema(*view.Pointer<SchemaView>(2), verifier, message));
  } else if (view.header() == kBatchHeader) {
    TS_RETURN_IF_ERROR(ReadBatch(*view.Pointer<BatchView>(2), message));
  } else if (view.header() == kDictionaryHeader) {
    const auto& dictionary = *view.Pointer<DictionaryBatchView>(2);
    const auto* const batch = dictionary.Pointer<BatchView>(1);
    if (batch == nullptr) return DataLoss("a dictionary without texts");
    message.kind = StreamMessage::Kind::kDictionary;
    message.dictionary = dictionary.Number<int64_t>(0, 0);
    message.is_delta = dictionary.Number<uint8_t>(2, 0) != 0;
    TS_RETURN_IF_ERROR(ReadBatch(*batch, message));
  } else {
    return Unimplemented("a message of kind {}", view.header());
  }
  return message;
}

}  // namespace tickstack::disk::arrow
