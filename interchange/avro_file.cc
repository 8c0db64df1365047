#include "interchange/avro_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "interchange/answer_cells.h"
#include "table/element_text.h"
#include "table/utf8.h"

namespace tickstack::interchange {
namespace {

constexpr size_t kRowsPerBlock = size_t{1} << 16;
constexpr size_t kTextMax = std::numeric_limits<int32_t>::max();  // A string of Java.
constexpr size_t kSyncBytes = 16;

// Appends an int or a long: in zigzag order, 7 bits a byte, the lowest first.
void AppendWhole(std::string& out, int64_t value) {
  uint64_t rest = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  while (rest >= 0x80) {
    out += static_cast<char>(rest | 0x80);
    rest >>= 7;
  }
  out += static_cast<char>(rest);
}

void AppendText(std::string& out, std::string_view text) {
  AppendWhole(out, static_cast<int64_t>(text.size()));
  out += text;
}

// Appends U+10FF00 plus the byte, which is 0x80 or more.
void AppendEscaped(std::string& out, unsigned char byte) {
  out += "\xf4\x8f";
  out += static_cast<char>(0xbc | byte >> 6);
  out += static_cast<char>(0x80 | (byte & 0x3f));
}

// True for U+10FF80 to U+10FFFF.
bool IsEscape(std::string_view character) {
  return character.starts_with("\xf4\x8f") && static_cast<unsigned char>(character[2]) >= 0xbe;
}

std::string AsUnicode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0 || IsEscape(text.substr(0, length))) {
      AppendEscaped(out, static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

// The branches of a union.
void AppendNull(std::string& out) { AppendWhole(out, 0); }
void AppendIsValue(std::string& out) { AppendWhole(out, 1); }

void AppendNullable(std::string& out, std::optional<int64_t> value) {
  if (!value) return AppendNull(out);
  AppendIsValue(out);
  AppendWhole(out, *value);
}

// Appends a float or double, or null.
void AppendCopy(std::string& out, const Value& values, size_t row) {
  const std::span<const std::byte> element = ElementAt(values, row);
  if (FiniteOf(values.type(), element) == Finite::kNull) return AppendNull(out);
  AppendIsValue(out);
  out.append(reinterpret_cast<const char*>(element.data()), element.size());
}

void AppendGuid(std::string& out, const Value& values, size_t row) {
  const std::span<const std::byte> element = ElementAt(values, row);
  if (FiniteOf(Type::kGuid, element) == Finite::kNull) return AppendNull(out);
  AppendIsValue(out);
  AppendText(out, ElementText(Type::kGuid, element, TimeStyle::kIso));
}

void AppendTextCell(std::string& out, const Value& values, size_t row) {
  bool null = false;
  const std::string_view text = TextAt(values, row, null);
  if (null) return AppendNull(out);
  AppendIsValue(out);
  AppendText(out, AsUnicode(text));
}

// Returns an item of a type of time in its own unit; nullopt for nulls and infinities.
std::optional<int64_t> TimeAt(const Value& values, size_t row) {
  const std::optional<int64_t> whole = WholeAt(values, row);
  const int64_t infinity = WidthOf(values.type()) == 8 ? kInfinityLong : kInfinityInt;
  const bool is_infinite = whole && (*whole == infinity || *whole == -infinity);
  return is_infinite ? std::nullopt : whole;
}

std::optional<int64_t> UnixMsAt(const Value& values, size_t row) {
  constexpr int64_t kNsPerMs = 1'000'000;
  const std::optional<int64_t> ns = UnixNsAt(values, row);
  return ns ? std::optional(*ns / kNsPerMs) : std::nullopt;
}

void AppendBoolean(std::string& out, const Value& values, size_t row) {
  out += static_cast<char>(ElementOf<uint8_t>(values, row) != 0 ? 1 : 0);
}

void AppendByte(std::string& out, const Value& values, size_t row) {
  AppendWhole(out, ElementOf<uint8_t>(values, row));
}

void AppendChar(std::string& out, const Value& values, size_t row) {
  bool null = false;
  AppendText(out, AsUnicode(TextAt(values, row, null)));
}

// Appends what `item` returns, which is a number or null.
template <auto item>
void AppendItem(std::string& out, const Value& values, size_t row) {
  AppendNullable(out, item(values, row));
}

// How a column of a type is written.
struct AvroField {
  Type type;
  std::string_view json;  // Avro's type, without the union with null.
  bool has_nulls;
  void (*append)(std::string& out, const Value& values, size_t row);
};

constexpr AvroField kAvroFields[] = {
    {Type::kBoolean, R"("boolean")", false, AppendBoolean},
    {Type::kByte, R"("int")", false, AppendByte},
    {Type::kChar, R"("string")", false, AppendChar},
    {Type::kShort, R"("int")", true, AppendItem<WholeAt>},
    {Type::kInt, R"("int")", true, AppendItem<WholeAt>},
    {Type::kLong, R"("long")", true, AppendItem<WholeAt>},
    {Type::kMinute, R"("int")", true, AppendItem<TimeAt>},
    {Type::kSecond, R"("int")", true, AppendItem<TimeAt>},
    {Type::kTime, R"("int")", true, AppendItem<TimeAt>},
    {Type::kTimespan, R"("long")", true, AppendItem<TimeAt>},
    {Type::kReal, R"("float")", true, AppendCopy},
    {Type::kFloat, R"("double")", true, AppendCopy},
    {Type::kGuid, R"({"type":"string","logicalType":"uuid"})", true, AppendGuid},
    {Type::kTimestamp, R"({"type":"long","logicalType":"local-timestamp-nanos"})", true,
     AppendItem<UnixNsAt>},
    {Type::kDatetime, R"({"type":"long","logicalType":"local-timestamp-millis"})", true,
     AppendItem<UnixMsAt>},
    {Type::kMonth, R"({"type":"int","logicalType":"date"})", true, AppendItem<UnixDaysAt>},
    {Type::kDate, R"({"type":"int","logicalType":"date"})", true, AppendItem<UnixDaysAt>},
};
// Of symbols, and of lists that CheckTexts accepts.
constexpr AvroField kAvroText = {Type::kList, R"("string")", true, AppendTextCell};

const AvroField& AvroFieldOf(Type type) {
  const auto* const found = std::ranges::find(kAvroFields, type, &AvroField::type);
  return found == std::end(kAvroFields) ? kAvroText : *found;
}

// Returns the bytes that end each block. The specification wants random ones, so that a reader can
// find the next block from anywhere in a large file; these depend on the schema.
std::string SyncOf(std::string_view schema) {
  std::string sync;
  uint64_t hash = 0xcbf29ce484222325;
  while (sync.size() < kSyncBytes) {
    for (const char letter : schema) {
      hash = (hash ^ static_cast<uint8_t>(letter)) * 0x100000001b3;
    }
    for (size_t i = 0; i < sizeof hash; ++i) sync += static_cast<char>(hash >> (8 * i));
  }
  return sync;
}

absl::StatusOr<Schema> SchemaOf(std::string_view name, std::span<const AnswerColumn> columns) {
  Schema schema{.table = std::string(name), .columns = {}};
  if (!IsSchemaName(name)) return InvalidArgument("{}: not a name of a table", name);
  for (const AnswerColumn& column : columns) {
    if (!IsSchemaName(column.name) || schema.Find(column.name) >= 0) {
      return InvalidArgument("column {}: not a name, or there is another of this name",
                             column.name);
    }
    const Type type = column.values->type();
    if (&AvroFieldOf(type) == &kAvroText) {
      TS_RETURN_IF_ERROR(CheckTexts(column.name, *column.values, kTextMax));
    }
    schema.columns.push_back({std::string(column.name), type});
  }
  return schema;
}

}  // namespace

std::string AvroSchema(const Schema& schema) {
  std::string json = fmt::format(
      R"({{"type":"record","name":"{}","namespace":"tickstack","fields":[)", schema.table);
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSpec& column = schema.columns[i];
    const AvroField& field = AvroFieldOf(column.type);
    json += fmt::format(R"({}{{"name":"{}","type":)", i > 0 ? "," : "", column.name);
    json += field.has_nulls ? fmt::format(R"(["null",{}],"default":null)", field.json)
                            : std::string(field.json);
    json += fmt::format(R"(,"q":"{}"}})", NameOf(column.type));
  }
  return json += "]}";
}

absl::StatusOr<std::string> FormatAvro(std::string_view name, const Value& table) {
  TS_ASSIGN_OR_RETURN(const std::vector<AnswerColumn> columns, ColumnsOf(table));
  TS_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(name, columns));
  const std::string json = AvroSchema(schema);
  const std::string sync = SyncOf(json);
  std::string file("Obj\x01", 4);
  AppendWhole(file, 2);  // Items of the map of metadata.
  AppendText(file, "avro.schema");
  AppendText(file, json);
  AppendText(file, "avro.codec");
  AppendText(file, "null");
  AppendWhole(file, 0);  // The end of the map.
  file += sync;
  const size_t rows = columns.empty() ? 0 : columns.front().values->count();
  std::vector<const AvroField*> fields;
  for (const ColumnSpec& column : schema.columns) fields.push_back(&AvroFieldOf(column.type));
  std::string block;
  for (size_t begin = 0; begin < rows; begin += kRowsPerBlock) {
    const size_t end = std::min(rows, begin + kRowsPerBlock);
    block.clear();
    for (size_t row = begin; row < end; ++row) {
      for (size_t i = 0; i < columns.size(); ++i) {
        fields[i]->append(block, *columns[i].values, row);
      }
    }
    AppendWhole(file, static_cast<int64_t>(end - begin));
    AppendText(file, block);
    file += sync;
  }
  return file;
}

}  // namespace tickstack::interchange
