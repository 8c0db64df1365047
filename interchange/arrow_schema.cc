#include "interchange/arrow_schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/status.h"
#include "interchange/arrow_message.h"
#include "interchange/arrow_metadata.h"

namespace tickstack::interchange::arrow {
namespace {

constexpr int64_t kRowsMax = int64_t{1} << 40;
constexpr size_t kShownBytes = 64;

// ---- Columns

std::optional<int64_t> NsPerUnit(int16_t unit) {
  constexpr std::array<int64_t, 4> kNs = {1'000'000'000, 1'000'000, 1000, 1};
  if (unit < 0 || static_cast<size_t>(unit) >= kNs.size()) return std::nullopt;
  return kNs[static_cast<size_t>(unit)];
}

// Returns the width of a whole number in bytes, from its bits; 0 if there is none of that width.
size_t WidthOf(int32_t bits) {
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? static_cast<size_t>(bits) / 8 : 0;
}

// Sets what a column of numbers holds. False if the numbers are not those of the type.
bool SetInteger(const MetadataTable& type, StreamColumn& column) {
  column.content = Content::kInteger;
  column.width = WidthOf(type.Number<int32_t>(0, 0));
  column.is_signed = type.Number<uint8_t>(1, 0) != 0;
  return column.width != 0;
}

bool SetFloat(const MetadataTable& type, StreamColumn& column) {
  const auto precision = type.Number<int16_t>(0, 0);
  column.content = Content::kFloat;
  column.width = precision == 1 ? 4 : 8;
  return precision == 1 || precision == 2;
}

bool SetDate(const MetadataTable& type, StreamColumn& column) {
  const auto unit = type.Number<int16_t>(0, 1);
  column.content = Content::kDate;
  column.width = unit == 0 ? 4 : 8;
  column.unit_ns = unit == 0 ? 86'400'000'000'000 : 1'000'000;
  return unit == 0 || unit == 1;
}

bool SetTime(const MetadataTable& type, TypeCode code, StreamColumn& column) {
  const int16_t otherwise = code == TypeCode::kTimestamp ? 0 : 1;
  const std::optional<int64_t> ns = NsPerUnit(type.Number<int16_t>(0, otherwise));
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

bool SetContent(uint8_t code, const MetadataTable& type, StreamColumn& column) {
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
  if (code == static_cast<uint8_t>(TypeCode::kInt)) return SetInteger(type, column);
  if (code == static_cast<uint8_t>(TypeCode::kFloatingPoint)) return SetFloat(type, column);
  if (code == static_cast<uint8_t>(TypeCode::kDate)) return SetDate(type, column);
  for (const TypeCode time : {TypeCode::kTime, TypeCode::kTimestamp, TypeCode::kDuration}) {
    if (code == static_cast<uint8_t>(time)) return SetTime(type, time, column);
  }
  return false;
}

absl::Status SetDictionary(const MetadataTable& dictionary, StreamColumn& column) {
  if (column.content != Content::kText) {
    return Unimplemented("column {} has a dictionary of other values than texts", Shown(column));
  }
  column.has_dictionary = true;
  column.dictionary = dictionary.Number<int64_t>(0, 0);
  column.index_width = 4;
  const MetadataTable index = dictionary.Table(1);
  if (!index.is_present()) return absl::OkStatus();
  column.index_width = WidthOf(index.Number<int32_t>(0, 0));
  column.index_is_signed = index.Number<uint8_t>(1, 0) != 0;
  if (column.index_width != 0) return absl::OkStatus();
  return DataLoss("column {}: numbers of {} bits", Shown(column), index.Number<int32_t>(0, 0));
}

absl::StatusOr<StreamColumn> ColumnOf(const MetadataTable& field) {
  StreamColumn column;
  column.name = field.Text(0);
  const auto code = field.Number<uint8_t>(2, 0);
  const MetadataTable type = field.Table(3);
  if (!type.is_present()) return DataLoss("column {} has no type", Shown(column));
  if (!SetContent(code, type, column)) {
    return Unimplemented(
        "column {} has Arrow's type {}: leave it out, or convert it to numbers, "
        "times or Utf8",
        Shown(column), code);
  }
  const MetadataTable dictionary = field.Table(4);
  if (dictionary.is_present()) TS_RETURN_IF_ERROR(SetDictionary(dictionary, column));
  return column;
}

// The numbers of columns that share a dictionary refer to the same texts.
absl::Status CheckDictionaries(std::span<const StreamColumn> columns) {
  std::map<int64_t, size_t> offset_widths;
  for (const StreamColumn& column : columns) {
    if (!column.has_dictionary) continue;
    const auto [first, is_new] = offset_widths.try_emplace(column.dictionary, column.offset_width);
    if (first->second != column.offset_width) {
      return DataLoss("column {}: its dictionary {} has texts of another type in another column",
                      Shown(column), column.dictionary);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadSchema(const MetadataTable& schema, size_t metadata_bytes,
                        StreamMessage& message) {
  if (schema.Number<int16_t>(0, 0) != 0) return Unimplemented("a stream of big-endian numbers");
  size_t name_bytes = 0;
  for (const MetadataTable& field : schema.Tables(1)) {
    // Fields may refer to the same name. Without a limit, their copies could take any memory.
    name_bytes += field.Text(0).size();
    if (name_bytes > metadata_bytes) return DataLoss("names of more bytes than the metadata has");
    TS_ASSIGN_OR_RETURN(message.columns.emplace_back(), ColumnOf(field));
  }
  // A batch of such columns has no bytes that bound its rows.
  const bool has_values = std::ranges::any_of(message.columns, [](const StreamColumn& column) {
    return column.content != Content::kNulls;
  });
  if (!has_values) return Unimplemented("a schema without columns that have values");
  return CheckDictionaries(message.columns);
}

// ---- Batches

// A structure of Message.fbs.
struct NodePair {
  int64_t rows;
  int64_t nulls;
};

absl::Status ReadBatch(const MetadataTable& batch, StreamMessage& message) {
  if (batch.Table(3).is_present()) {
    return Unimplemented("a batch with compressed buffers: write the stream without compression");
  }
  const auto rows = batch.Number<int64_t>(0, 0);
  if (rows < 0 || rows > kRowsMax) return DataLoss("a batch of {} rows", rows);
  for (const NodePair& node : batch.Structs<NodePair>(1)) {
    if (node.rows != rows || node.nulls < 0 || node.nulls > rows) {
      return DataLoss("column {} has {} rows and {} nulls in a batch of {} rows",
                      message.nodes.size(), node.rows, node.nulls, rows);
    }
    message.nodes.push_back({static_cast<uint64_t>(rows), static_cast<uint64_t>(node.nulls)});
  }
  message.buffers = batch.Structs<StreamBuffer>(2);
  message.rows = static_cast<uint64_t>(rows);
  return absl::OkStatus();
}

absl::Status ReadMessage(const MetadataTable& root, size_t metadata_bytes, StreamMessage& message) {
  const auto body_bytes = root.Number<int64_t>(3, 0);
  if (body_bytes < 0) return DataLoss("a body of {} bytes", body_bytes);
  message.body_bytes = static_cast<uint64_t>(body_bytes);
  const auto kind = root.Number<uint8_t>(1, 0);
  const MetadataTable header = root.Table(2);
  if (!header.is_present()) return DataLoss("a message without a header");
  if (kind == kSchemaHeader) {
    message.kind = StreamMessage::Kind::kSchema;
    return ReadSchema(header, metadata_bytes, message);
  }
  if (kind == kBatchHeader) return ReadBatch(header, message);
  if (kind != kDictionaryHeader) return Unimplemented("a message of kind {}", kind);
  const MetadataTable texts = header.Table(1);
  if (!texts.is_present()) return DataLoss("a dictionary without texts");
  message.kind = StreamMessage::Kind::kDictionary;
  message.dictionary = header.Number<int64_t>(0, 0);
  message.is_delta = header.Number<uint8_t>(2, 0) != 0;
  return ReadBatch(texts, message);
}

}  // namespace

std::string Shown(const StreamColumn& column) {
  return Printable(std::string_view(column.name).substr(0, kShownBytes));
}

absl::StatusOr<StreamMessage> ParseStreamMessage(std::span<const std::byte> metadata) {
  Metadata checked(metadata);
  StreamMessage message;
  const absl::Status status = ReadMessage(checked.Root(), metadata.size(), message);
  // Before other errors, which may come from the default of a number that is not there.
  if (!checked.ok()) return DataLoss("not a message of Arrow's");
  TS_RETURN_IF_ERROR(status);
  return message;
}

}  // namespace tickstack::interchange::arrow
