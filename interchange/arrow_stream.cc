#include "interchange/arrow_stream.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "interchange/answer_cells.h"
#include "interchange/arrow_message.h"
#include "table/element_text.h"
#include "table/utf8.h"

namespace tickstack::interchange {
namespace {

using arrow::ColumnBuffers;
using arrow::Field;
using arrow::TimeUnit;
using arrow::TypeCode;

constexpr size_t kRowsPerBatch = size_t{1} << 16;
constexpr size_t kBatchTextMax = std::numeric_limits<int32_t>::max();  // Offsets have 32 bits.

// Rows [begin, end) of a column.
struct Rows {
  const Value& values;
  size_t begin, end;
  size_t count() const { return end - begin; }
};

void SetRow(std::string& bits, size_t row) {
  bits[row / 8] = static_cast<char>(bits[row / 8] | 1 << (row % 8));
}

// Fills the buffers of a column of T. `item` returns a row's value, or nullopt for null.
template <typename T, typename Item>
ColumnBuffers Numbers(const Rows& rows, Item item) {
  ColumnBuffers column;
  std::string valid((rows.count() + 7) / 8, '\0');
  std::string elements(rows.count() * sizeof(T), '\0');
  for (size_t i = 0; i < rows.count(); ++i) {
    const std::optional<T> value = item(rows.begin + i);
    if (!value.has_value()) {
      ++column.nulls;
      continue;
    }
    SetRow(valid, i);
    std::memcpy(elements.data() + i * sizeof(T), &*value, sizeof(T));
  }
  column.buffers = {std::move(valid), std::move(elements)};
  return column;
}

template <typename T>
ColumnBuffers WholeNumbers(const Rows& rows) {
  return Numbers<T>(rows, [&rows](size_t row) -> std::optional<T> {
    const std::optional<int64_t> whole = WholeAt(rows.values, row);
    return whole.has_value() ? std::optional(static_cast<T>(*whole)) : std::nullopt;
  });
}

// Items that are copied unless they are null: floats and guids.
template <typename T>
ColumnBuffers Copies(const Rows& rows) {
  return Numbers<T>(rows, [&rows](size_t row) -> std::optional<T> {
    const bool null = FiniteOf(rows.values.type(), ElementAt(rows.values, row)) == Finite::kNull;
    return null ? std::nullopt : std::optional(ElementOf<T>(rows.values, row));
  });
}

// Items of a type of time in units of which `factor` are one unit of the type.
template <typename T>
ColumnBuffers Times(const Rows& rows, int64_t factor) {
  const int64_t infinity = WidthOf(rows.values.type()) == 8 ? kInfinityLong : kInfinityInt;
  return Numbers<T>(rows, [&rows, factor, infinity](size_t row) -> std::optional<T> {
    const std::optional<int64_t> whole = WholeAt(rows.values, row);
    if (!whole.has_value() || *whole == infinity || *whole == -infinity) return std::nullopt;
    return static_cast<T>(*whole * factor);
  });
}

ColumnBuffers Booleans(const Rows& rows) {
  ColumnBuffers column;
  std::string bits((rows.count() + 7) / 8, '\0');
  for (size_t i = 0; i < rows.count(); ++i) {
    if (ElementOf<uint8_t>(rows.values, rows.begin + i) != 0) SetRow(bits, i);
  }
  column.buffers = {std::string(), std::move(bits)};  // No bits of validity: none is null.
  return column;
}

absl::StatusOr<ColumnBuffers> Texts(const Rows& rows) {
  ColumnBuffers column;
  std::string valid((rows.count() + 7) / 8, '\0'), offsets(sizeof(int32_t), '\0'), texts;
  for (size_t i = 0; i < rows.count(); ++i) {
    bool null = false;
    const std::string_view text = TextAt(rows.values, rows.begin + i, null);
    if (null) {
      ++column.nulls;
    } else {
      SetRow(valid, i);
      AppendUtf8(texts, text);
      if (texts.size() > kBatchTextMax) {
        return InvalidArgument("rows {} to {}: texts of more than {} bytes", rows.begin, rows.end,
                               kBatchTextMax);
      }
    }
    const auto end = static_cast<int32_t>(texts.size());
    offsets.append(reinterpret_cast<const char*>(&end), sizeof end);
  }
  column.buffers = {std::move(valid), std::move(offsets), std::move(texts)};
  return column;
}

struct GuidWords {
  uint64_t words[2];
};

// Returns the number of the field's units in one unit of a type of time.
int64_t FactorOf(Type type) { return type == Type::kMinute ? 60 : 1; }

Field TimeField(std::string name, const Value& values) {
  const Type type = values.type();
  Field field{.name = std::move(name), .type = TypeCode::kDuration, .bits = 64};
  field.unit = type == Type::kTimespan ? TimeUnit::kNs
               : type == Type::kTime   ? TimeUnit::kMs
                                       : TimeUnit::kSecond;
  if (!IsTimeOfDay(values)) return field;
  field.type = TypeCode::kTime;
  field.bits = type == Type::kTimespan ? 64 : 32;
  return field;
}

absl::StatusOr<Field> FieldOf(const AnswerColumn& column) {
  std::string name;
  AppendUtf8(name, column.name);
  const Type type = column.values->type();
  switch (type) {
    case Type::kBoolean:
      return Field{.name = name, .type = TypeCode::kBool};
    case Type::kGuid:
      return Field{.name = name, .type = TypeCode::kFixedSizeBinary};
    case Type::kByte:
      return Field{.name = name, .type = TypeCode::kInt, .bits = 8, .is_unsigned = true};
    case Type::kShort:
    case Type::kInt:
    case Type::kLong:
      return Field{
          .name = name, .type = TypeCode::kInt, .bits = static_cast<int32_t>(WidthOf(type) * 8)};
    case Type::kReal:
      return Field{.name = name, .type = TypeCode::kFloatingPoint, .bits = 32};
    case Type::kFloat:
      return Field{.name = name, .type = TypeCode::kFloatingPoint, .bits = 64};
    case Type::kTimestamp:
    case Type::kDatetime:
      return Field{.name = name, .type = TypeCode::kTimestamp};
    case Type::kMonth:
    case Type::kDate:
      return Field{.name = name, .type = TypeCode::kDate};
    case Type::kTimespan:
    case Type::kMinute:
    case Type::kSecond:
    case Type::kTime:
      return TimeField(std::move(name), *column.values);
    case Type::kChar:
      return Field{.name = name, .type = TypeCode::kUtf8};
    case Type::kSymbol:
    case Type::kList:
    case Type::kTable:
    case Type::kDict:
    case Type::kLambda:
    case Type::kUnary:
    case Type::kOperator:
    case Type::kIterator:
    case Type::kProjection:
    case Type::kComposition:
    case Type::kSortedDict:
    case Type::kError:
      break;
  }
  TS_RETURN_IF_ERROR(CheckTexts(column.name, *column.values, kBatchTextMax));
  return Field{.name = name, .type = TypeCode::kUtf8};
}

absl::StatusOr<ColumnBuffers> BuffersOf(const Field& field, const Rows& rows) {
  const Type type = rows.values.type();
  switch (field.type) {
    case TypeCode::kBool:
      return Booleans(rows);
    case TypeCode::kFixedSizeBinary:
      return Copies<GuidWords>(rows);
    case TypeCode::kInt:
      return field.bits == 8    ? WholeNumbers<uint8_t>(rows)
             : field.bits == 16 ? WholeNumbers<int16_t>(rows)
             : field.bits == 32 ? WholeNumbers<int32_t>(rows)
                                : WholeNumbers<int64_t>(rows);
    case TypeCode::kFloatingPoint:
      return field.bits == 32 ? Copies<float>(rows) : Copies<double>(rows);
    case TypeCode::kTimestamp:
      return Numbers<int64_t>(rows, [&rows](size_t row) { return UnixNsAt(rows.values, row); });
    case TypeCode::kDate:
      return Numbers<int32_t>(rows, [&rows](size_t row) { return UnixDaysAt(rows.values, row); });
    case TypeCode::kTime:
    case TypeCode::kDuration:
      return field.bits == 32 ? Times<int32_t>(rows, FactorOf(type))
                              : Times<int64_t>(rows, FactorOf(type));
    case TypeCode::kUtf8:
      break;
  }
  return Texts(rows);
}

}  // namespace

absl::StatusOr<std::string> FormatArrow(const Value& table) {
  TS_ASSIGN_OR_RETURN(const std::vector<AnswerColumn> columns, ColumnsOf(table));
  std::vector<Field> fields;
  for (const AnswerColumn& column : columns) {
    TS_ASSIGN_OR_RETURN(fields.emplace_back(), FieldOf(column));
  }
  std::string stream = arrow::SchemaMessage(fields);
  const size_t rows = columns.empty() ? 0 : columns.front().values->count();
  for (size_t begin = 0; begin < rows; begin += kRowsPerBatch) {
    const size_t end = std::min(rows, begin + kRowsPerBatch);
    std::vector<ColumnBuffers> buffers;
    for (size_t i = 0; i < columns.size(); ++i) {
      absl::StatusOr<ColumnBuffers> found = BuffersOf(fields[i], {*columns[i].values, begin, end});
      if (!found.ok()) {
        return Annotate(found.status(), fmt::format("column {}", columns[i].name));
      }
      buffers.push_back(*std::move(found));
    }
    stream += arrow::BatchMessage(end - begin, buffers);
  }
  return stream.append(arrow::kEndOfStream);
}

}  // namespace tickstack::interchange
