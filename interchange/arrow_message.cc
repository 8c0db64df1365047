#include "interchange/arrow_message.h"

#include <flatbuffers/flatbuffers.h>

namespace tickstack::interchange::arrow {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using TableOffset = flatbuffers::Offset<flatbuffers::Table>;
template <typename T>
using VectorOffset = flatbuffers::Offset<flatbuffers::Vector<T>>;

constexpr int16_t kVersion = 4;   // MetadataVersion.V5.
constexpr size_t kAlignment = 8;  // Of messages and buffers.

// Structures of Message.fbs, in their layout.
struct FieldNode {
  int64_t rows;
  int64_t nulls;
};
struct BufferPlace {
  int64_t offset;
  int64_t bytes;
};

void Pad(std::string& bytes) {
  bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
}

// Returns a whole message.
std::string Framed(Builder& builder, uint8_t header_type, TableOffset header,
                   std::string_view body) {
  const flatbuffers::uoffset_t start = builder.StartTable();
  builder.AddElement<int64_t>(Slot(3), static_cast<int64_t>(body.size()), 0);
  builder.AddOffset(Slot(2), header);
  builder.AddElement<int16_t>(Slot(0), kVersion, 0);
  builder.AddElement<uint8_t>(Slot(1), header_type, 0);
  builder.Finish(TableOffset(builder.EndTable(start)));
  std::string metadata(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                       builder.GetSize());
  Pad(metadata);
  const auto bytes = static_cast<uint32_t>(metadata.size());
  std::string message("\xff\xff\xff\xff");
  message.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return message.append(metadata).append(body);
}

// Fields with the default of Schema.fbs are left out, as in every FlatBuffer.
TableOffset WriteType(const Field& field, Builder& builder) {
  constexpr int16_t kDays = 0, kDefaultDateUnit = 1, kDefaultTimeUnit = 1;
  const auto unit = static_cast<int16_t>(field.unit);
  const flatbuffers::uoffset_t start = builder.StartTable();
  switch (field.type) {
    case TypeCode::kInt:
      builder.AddElement<int32_t>(Slot(0), field.bits, 0);
      builder.AddElement<uint8_t>(Slot(1), field.is_unsigned ? 0 : 1, 0);
      break;
    case TypeCode::kFloatingPoint:
      builder.AddElement<int16_t>(Slot(0), field.bits == 64 ? 2 : 1, 0);
      break;
    case TypeCode::kDate:
      builder.AddElement<int16_t>(Slot(0), kDays, kDefaultDateUnit);
      break;
    case TypeCode::kTime:
      builder.AddElement<int32_t>(Slot(1), field.bits, 32);
      builder.AddElement<int16_t>(Slot(0), unit, kDefaultTimeUnit);
      break;
    case TypeCode::kTimestamp:
      builder.AddElement<int16_t>(Slot(0), unit, 0);
      break;
    case TypeCode::kDuration:
      builder.AddElement<int16_t>(Slot(0), unit, kDefaultTimeUnit);
      break;
    case TypeCode::kFixedSizeBinary:
      builder.AddElement<int32_t>(Slot(0), 16, 0);
      break;
    case TypeCode::kUtf8:
    case TypeCode::kBool:
      break;
  }
  return TableOffset(builder.EndTable(start));
}

TableOffset WriteKeyValue(const char* key, const char* value, Builder& builder) {
  const auto key_text = builder.CreateString(key), value_text = builder.CreateString(value);
  const flatbuffers::uoffset_t start = builder.StartTable();
  builder.AddOffset(Slot(0), key_text);
  builder.AddOffset(Slot(1), value_text);
  return TableOffset(builder.EndTable(start));
}

TableOffset WriteField(const Field& field, Builder& builder) {
  const auto name = builder.CreateString(field.name);
  const TableOffset type = WriteType(field, builder);
  const auto children = builder.CreateVector(std::vector<TableOffset>());
  VectorOffset<TableOffset> metadata;
  if (field.type == TypeCode::kFixedSizeBinary) {
    metadata = builder.CreateVector(
        std::vector<TableOffset>{WriteKeyValue("ARROW:extension:name", "arrow.uuid", builder),
                                 WriteKeyValue("ARROW:extension:metadata", "", builder)});
  }
  const flatbuffers::uoffset_t start = builder.StartTable();
  builder.AddOffset(Slot(0), name);
  builder.AddOffset(Slot(3), type);
  builder.AddOffset(Slot(5), children);
  if (!metadata.IsNull()) builder.AddOffset(Slot(6), metadata);
  builder.AddElement<uint8_t>(Slot(1), 1, 0);  // It may have nulls.
  builder.AddElement<uint8_t>(Slot(2), static_cast<uint8_t>(field.type), 0);
  return TableOffset(builder.EndTable(start));
}

}  // namespace

std::string SchemaMessage(std::span<const Field> fields) {
  Builder builder;
  std::vector<TableOffset> offsets;
  for (const Field& field : fields) offsets.push_back(WriteField(field, builder));
  const auto all = builder.CreateVector(offsets);
  const flatbuffers::uoffset_t start = builder.StartTable();
  builder.AddOffset(Slot(1), all);
  const TableOffset schema(builder.EndTable(start));
  return Framed(builder, kSchemaHeader, schema, "");
}

std::string BatchMessage(size_t rows, std::span<const ColumnBuffers> columns) {
  const auto count = static_cast<int64_t>(rows);
  std::vector<FieldNode> nodes;
  std::vector<BufferPlace> places;
  std::string body;
  for (const ColumnBuffers& column : columns) {
    nodes.push_back({count, column.nulls});
    for (const std::string& buffer : column.buffers) {
      places.push_back({static_cast<int64_t>(body.size()), static_cast<int64_t>(buffer.size())});
      body += buffer;
      Pad(body);
    }
  }
  Builder builder;
  const auto all_nodes = builder.CreateVectorOfStructs(nodes);
  const auto all_places = builder.CreateVectorOfStructs(places);
  const flatbuffers::uoffset_t start = builder.StartTable();
  builder.AddElement<int64_t>(Slot(0), count, 0);
  builder.AddOffset(Slot(1), all_nodes);
  builder.AddOffset(Slot(2), all_places);
  const TableOffset batch(builder.EndTable(start));
  return Framed(builder, kBatchHeader, batch, body);
}

}  // namespace tickstack::interchange::arrow
