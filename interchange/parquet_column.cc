#include "interchange/parquet_column.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "interchange/answer_cells.h"
#include "interchange/parquet_elements.h"
#include "table/element_text.h"

namespace tickstack::interchange::parquet {
namespace {

// A page of texts ends at this many bytes; with more bytes of names than that, there is no
// dictionary.
constexpr size_t kPageBytesMax = size_t{16} << 20;

}  // namespace

ColumnWriter::ColumnWriter(std::string_view name, const Value& values)
    : values_(values), schema_(ExportSchema(name, values.type(), Dialect::kExact)) {}

absl::StatusOr<ColumnWriter> ColumnWriter::For(std::string_view name, const Value& values) {
  ColumnWriter column(name, values);
  // A span of time beyond a day is written as a number.
  if (column.schema_.meaning == Meaning::kTimeOfDay || values.is(Type::kTimespan)) {
    column.schema_.meaning = IsTimeOfDay(values) ? Meaning::kTimeOfDay : Meaning::kNumber;
  }
  if (column.schema_.meaning == Meaning::kText && !values.is(Type::kChar)) {
    TS_RETURN_IF_ERROR(CheckTexts(name, values, kTextBytesMax));
  }
  return column;
}

std::string ColumnWriter::PlainNumbers(size_t begin, size_t end, Validity& valid) const {
  std::string out;
  out.reserve((end - begin) * sizeof(int64_t));
  const Type type = values_.type();
  std::string booleans((end - begin + 7) / 8, '\0');
  for (size_t row = begin; row < end; ++row) {
    bool is_valid = true;
    const auto append = [&](auto found) {
      is_valid = found.has_value();
      if (is_valid) AppendBytes(out, *found);
    };
    if (type == Type::kBoolean) {
      if (ElementOf<uint8_t>(values_, row) != 0) SetBit(booleans, row - begin);
    } else if (schema_.meaning == Meaning::kTimestamp) {
      append(UnixNsAt(values_, row));
    } else if (schema_.meaning == Meaning::kDate) {
      append(UnixDaysAt(values_, row));
    } else if (type == Type::kGuid || IsFloating(type)) {
      const std::span<const std::byte> element = ElementAt(values_, row);
      is_valid = FiniteOf(type, element) != Finite::kNull;
      if (is_valid) out.append(reinterpret_cast<const char*>(element.data()), element.size());
    } else {
      std::optional<int64_t> whole = WholeAt(values_, row);
      if (whole.has_value() && schema_.meaning == Meaning::kTimeOfDay && type != Type::kTimespan) {
        *whole *= UnitsPerDay(Type::kTime) / UnitsPerDay(type);  // ms.
      }
      if (schema_.physical == Physical::kInt64) {
        append(whole);
      } else {
        append(whole.has_value() ? std::optional(static_cast<int32_t>(*whole)) : std::nullopt);
      }
    }
    if (is_valid) valid.Set(row - begin);
  }
  return type == Type::kBoolean ? booleans : out;
}

bool ColumnWriter::WriteNames(size_t begin, size_t end, PageWriter& pages, Chunk& chunk) const {
  absl::flat_hash_map<std::string_view, uint32_t> numbers;
  std::vector<uint32_t> indices;
  Validity valid(end - begin);
  std::string names;
  for (size_t row = begin; row < end; ++row) {
    bool null = false;
    const std::string_view text = TextAt(values_, row, null);
    if (null) continue;
    valid.Set(row - begin);
    const auto [found, is_new] = numbers.try_emplace(text, static_cast<uint32_t>(numbers.size()));
    if (is_new) AppendText(names, text);
    indices.push_back(found->second);
    if (names.size() > kPageBytesMax) return false;
  }
  pages.WriteDictionary(numbers.size(), names, chunk);
  pages.WriteIndices(valid, numbers.size(), indices, chunk);
  return true;
}

Chunk ColumnWriter::WriteRows(size_t begin, size_t end, PageWriter& pages) const {
  Chunk chunk = pages.Begin(end - begin);
  if (values_.is(Type::kSymbol) && WriteNames(begin, end, pages, chunk)) return chunk;
  if (schema_.meaning != Meaning::kText) {
    Validity valid(end - begin);
    const std::string body = PlainNumbers(begin, end, valid);
    pages.WriteRows(valid, Encoding::kPlain, body, chunk);
    return chunk;
  }
  while (begin < end) {
    std::string body;
    Validity valid(0);
    for (; begin < end && body.size() < kPageBytesMax; ++begin) {
      bool null = false;
      const std::string_view text = TextAt(values_, begin, null);
      valid.Append(!null);
      if (!null) AppendText(body, text);
    }
    pages.WriteRows(valid, Encoding::kPlain, body, chunk);
  }
  return chunk;
}

}  // namespace tickstack::interchange::parquet
