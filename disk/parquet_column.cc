#include "disk/parquet_column.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "base/time.h"
#include "table/element_text.h"
#include "table/utf8.h"

namespace tickstack::disk::parquet {
namespace {

constexpr int kZstdLevel = 3;
// A page of texts ends at this many bytes; with more bytes of names than that, there is no
// dictionary.
constexpr size_t kPageBytesMax = size_t{16} << 20;
// A page's length has 31 bits, and an invalid UTF-8 byte becomes three.
constexpr size_t kTextBytesMax = size_t{256} << 20;
constexpr int64_t kUnixNs = 946'684'800 * kNsPerSecond;  // 2000-01-01 since 1970.
constexpr int32_t kUnixDays = 10'957;

template <typename T>
void AppendBytes(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AppendText(std::string& out, std::string_view text) {
  const size_t at = out.size();
  AppendBytes(out, uint32_t{0});
  AppendUtf8(out, text);
  const auto bytes = static_cast<uint32_t>(out.size() - at - sizeof(uint32_t));
  std::memcpy(out.data() + at, &bytes, sizeof bytes);
}

// Encodes numbers of `width` bits as one bit-packed run or, if all are equal, as a repeated run.
std::string HybridRun(std::span<const uint32_t> numbers, int width) {
  std::string out;
  if (std::ranges::all_of(numbers, [&](uint32_t n) { return n == numbers.front(); })) {
    AppendVarint(out, uint64_t{numbers.size()} << 1);
    for (int bits = 0; bits < width; bits += 8) {
      out += static_cast<char>(numbers.empty() ? 0 : numbers.front() >> bits);
    }
    return out;
  }
  const size_t groups = (numbers.size() + 7) / 8;
  AppendVarint(out, uint64_t{groups} << 1 | 1);
  const size_t end = out.size() + groups * static_cast<size_t>(width);
  uint64_t buffer = 0;
  int held = 0;
  for (const uint32_t number : numbers) {
    buffer |= uint64_t{number} << held;
    for (held += width; held >= 8; held -= 8, buffer >>= 8) out += static_cast<char>(buffer);
  }
  if (held > 0) out += static_cast<char>(buffer);
  out.resize(end, '\0');  // The last group is padded.
  return out;
}

// Encodes which rows are not null, preceded by the length.
std::string DefinitionLevels(const Validity& valid) {
  std::string run;
  if (valid.nulls() == 0 || valid.nulls() == valid.rows()) {
    AppendVarint(run, uint64_t{valid.rows()} << 1);
    run += valid.nulls() == 0 ? '\1' : '\0';
  } else {
    AppendVarint(run, uint64_t{valid.bits().size()} << 1 | 1);
    run += valid.bits();
  }
  std::string out;
  AppendBytes(out, static_cast<uint32_t>(run.size()));
  return out + run;
}

struct Page {
  bool is_dictionary = false;
  size_t values = 0;
  Encoding encoding = Encoding::kPlain;
  std::string body;
};

void WritePage(const Page& page, std::string& file, Chunk& chunk) {
  std::string packed(::ZSTD_compressBound(page.body.size()), '\0');
  const size_t bytes =
      ::ZSTD_compress(packed.data(), packed.size(), page.body.data(), page.body.size(), kZstdLevel);
  TS_CHECK(::ZSTD_isError(bytes) == 0);  // With such a bound, only lack of memory can fail.
  packed.resize(bytes);
  std::string head;
  ThriftWriter out(head);
  out.I32(1, page.is_dictionary ? 2 : 0);
  out.I32(2, static_cast<int32_t>(page.body.size()));
  out.I32(3, static_cast<int32_t>(packed.size()));
  out.Struct(page.is_dictionary ? 7 : 5);
  out.I32(1, static_cast<int32_t>(page.values));
  out.I32(2, static_cast<int32_t>(page.encoding));
  if (!page.is_dictionary) {
    out.I32(3, static_cast<int32_t>(Encoding::kRle));
    out.I32(4, static_cast<int32_t>(Encoding::kRle));
  }
  out.End();
  out.End();
  chunk.bytes += static_cast<int64_t>(head.size() + page.body.size());
  chunk.bytes_in_file += static_cast<int64_t>(head.size() + packed.size());
  file += head;
  file += packed;
}

void WriteRowsPage(const Validity& valid, Encoding encoding, const std::string& body,
                   std::string& file, Chunk& chunk) {
  chunk.nulls += static_cast<int64_t>(valid.nulls());
  WritePage({.is_dictionary = false,
             .values = valid.rows(),
             .encoding = encoding,
             .body = DefinitionLevels(valid) + body},
            file, chunk);
}

template <typename T>
T ElementOf(const Value& values, size_t row) {
  T element;
  std::memcpy(&element, values.elements().data() + row * sizeof(T), sizeof(T));
  return element;
}

// Returns an item of a type of whole numbers; nullopt for a null.
std::optional<int64_t> WholeAt(const Value& values, size_t row) {
  const Type type = values.type();
  if (FiniteOf(type, ElementAt(values, row)) == Finite::kNull) return std::nullopt;
  switch (WidthOf(type)) {
    case 1:
      return ElementOf<uint8_t>(values, row);
    case 2:
      return ElementOf<int16_t>(values, row);
    case 4:
      return ElementOf<int32_t>(values, row);
    default:
      return ElementOf<int64_t>(values, row);
  }
}

// Converts ns since 2000 to ns since 1970, if 64 bits can hold it.
std::optional<int64_t> UnixNs(int64_t ns) {
  if (ns == kInfinityLong || ns == -kInfinityLong) return std::nullopt;
  if (ns > std::numeric_limits<int64_t>::max() - kUnixNs) return std::nullopt;
  return ns + kUnixNs;
}

std::optional<int64_t> UnixNsAt(const Value& values, size_t row) {
  if (values.is(Type::kTimestamp)) {
    const std::optional<int64_t> ns = WholeAt(values, row);
    return ns.has_value() ? UnixNs(*ns) : std::nullopt;
  }
  const double days = ElementOf<double>(values, row);
  const double ns = days * static_cast<double>(kNsPerDay);
  if (!(std::abs(ns) < 0x1p63)) return std::nullopt;
  constexpr int64_t kNsPerMs = kNsPerSecond / 1000;  // The precision of a datetime's digits.
  return UnixNs(static_cast<int64_t>(std::round(ns / double{kNsPerMs})) * kNsPerMs);
}

std::optional<int32_t> UnixDaysAt(const Value& values, size_t row) {
  const std::optional<int64_t> found = WholeAt(values, row);
  if (!found.has_value() || *found == kInfinityInt || *found == -int64_t{kInfinityInt}) {
    return std::nullopt;
  }
  int64_t days = *found;
  if (values.is(Type::kMonth)) {
    const auto year = static_cast<int>(2000 + (days >= 0 ? days / 12 : (days - 11) / 12));
    const auto month = static_cast<int>(days - (int64_t{year} - 2000) * 12 + 1);
    if (year < -9999 || year > 9999) return std::nullopt;
    days = DaysFromCivil(year, month, 1);
  }
  const int64_t unix = days + kUnixDays;
  if (unix > kInfinityInt) return std::nullopt;
  return static_cast<int32_t>(unix);
}

// Returns the number of a type's units in a day.
int64_t UnitsPerDay(Type type) {
  if (type == Type::kMinute) return 1440;
  if (type == Type::kSecond) return 86'400;
  if (type == Type::kTime) return 86'400'000;
  return kNsPerDay;
}

}  // namespace

ColumnWriter::ColumnWriter(std::string_view name, const Value& values) : values_(values) {
  AppendUtf8(name_, name);
}

absl::StatusOr<ColumnWriter> ColumnWriter::For(std::string_view name, const Value& values) {
  ColumnWriter column(name, values);
  const auto set = [&](Physical physical, Meaning meaning) {
    column.physical_ = physical;
    column.meaning_ = meaning;
  };
  switch (values.type()) {
    case Type::kBoolean:
      set(Physical::kBoolean, Meaning::kNumber);
      break;
    case Type::kByte:
      set(Physical::kInt32, Meaning::kUnsignedByte);
      break;
    case Type::kShort:
      set(Physical::kInt32, Meaning::kShort);
      break;
    case Type::kInt:
      set(Physical::kInt32, Meaning::kNumber);
      break;
    case Type::kLong:
      set(Physical::kInt64, Meaning::kNumber);
      break;
    case Type::kReal:
      set(Physical::kFloat, Meaning::kNumber);
      break;
    case Type::kFloat:
      set(Physical::kDouble, Meaning::kNumber);
      break;
    case Type::kGuid:
      set(Physical::kFixed, Meaning::kUuid);
      break;
    case Type::kTimestamp:
    case Type::kDatetime:
      set(Physical::kInt64, Meaning::kTimestamp);
      break;
    case Type::kMonth:
    case Type::kDate:
      set(Physical::kInt32, Meaning::kDate);
      break;
    case Type::kMinute:
    case Type::kSecond:
    case Type::kTime:
    case Type::kTimespan:
      set(values.is(Type::kTimespan) ? Physical::kInt64 : Physical::kInt32,
          column.IsTimeOfDay() ? Meaning::kTimeOfDay : Meaning::kNumber);
      break;
    case Type::kSymbol:
      for (size_t row = 0; row < values.count(); ++row) {
        if (values.symbols()[row].size() <= kTextBytesMax) continue;
        return InvalidArgument(
            "column {}, row {}: a symbol of {} bytes, at most {} in a Parquet file", name, row,
            values.symbols()[row].size(), kTextBytesMax);
      }
      [[fallthrough]];
    case Type::kChar:
      set(Physical::kByteArray, Meaning::kText);
      break;
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
      set(Physical::kByteArray, Meaning::kText);
      for (size_t row = 0; row < (values.is_list() ? values.count() : 1); ++row) {
        const bool is_text =
            values.is_list() &&
            (values.items()[row].is_string() || values.items()[row].is_atom_of(Type::kChar) ||
             values.items()[row].is_atom_of(Type::kSymbol) || values.items()[row].is_null());
        if (is_text && values.items()[row].count() <= kTextBytesMax) continue;
        if (is_text) {
          return InvalidArgument(
              "column {}, row {}: a text of {} bytes, at most {} in a Parquet file", name, row,
              values.items()[row].count(), kTextBytesMax);
        }
        return InvalidArgument(
            "column {} has lists, row {} for one: a Parquet file here has atoms and texts only",
            name, row);
      }
  }
  return column;
}

bool ColumnWriter::IsTimeOfDay() const {
  const int64_t day = UnitsPerDay(values_.type());
  for (size_t row = 0; row < values_.count(); ++row) {
    const std::optional<int64_t> units = WholeAt(values_, row);
    if (units.has_value() && (*units < 0 || *units >= day)) return false;
  }
  return true;
}

void ColumnWriter::WriteSchema(ThriftWriter& out) const {
  out.I32(1, static_cast<int32_t>(physical_));
  if (physical_ == Physical::kFixed) out.I32(2, 16);
  out.I32(3, 1);  // Optional.
  out.Text(4, name_);
  // For readers that do not know logical types.
  const bool is_short_time = meaning_ == Meaning::kTimeOfDay && physical_ == Physical::kInt32;
  const std::optional<int32_t> converted = meaning_ == Meaning::kText           ? std::optional(0)
                                           : meaning_ == Meaning::kDate         ? std::optional(6)
                                           : is_short_time                      ? std::optional(7)
                                           : meaning_ == Meaning::kUnsignedByte ? std::optional(11)
                                           : meaning_ == Meaning::kShort        ? std::optional(16)
                                                                                : std::nullopt;
  if (converted.has_value()) out.I32(6, *converted);
  if (meaning_ == Meaning::kNumber) return;
  out.Struct(10);
  switch (meaning_) {
    case Meaning::kText:
      out.Empty(1);
      break;
    case Meaning::kDate:
      out.Empty(6);
      break;
    case Meaning::kTimeOfDay:
    case Meaning::kTimestamp:
      out.Struct(meaning_ == Meaning::kTimestamp ? 8 : 7);
      out.Bool(1, false);  // Of no time zone.
      out.Struct(2);
      out.Empty(is_short_time ? 1 : 3);  // ms or ns.
      out.End();
      out.End();
      break;
    case Meaning::kUnsignedByte:
    case Meaning::kShort:
      out.Struct(10);
      out.Byte(1, meaning_ == Meaning::kShort ? 16 : 8);
      out.Bool(2, meaning_ == Meaning::kShort);
      out.End();
      break;
    case Meaning::kUuid:
      out.Empty(14);
      break;
    case Meaning::kNumber:
      break;
  }
  out.End();
}

std::string_view ColumnWriter::TextAt(size_t row, bool& null) const {
  null = false;
  if (values_.is(Type::kChar)) {
    return {reinterpret_cast<const char*>(values_.elements().data()) + row, 1};
  }
  if (values_.is(Type::kSymbol)) {
    null = values_.symbols()[row].empty();
    return values_.symbols()[row];
  }
  const Value& item = values_.items()[row];
  null = item.is_null() || (item.is_atom_of(Type::kSymbol) && item.symbol().empty());
  return null ? std::string_view() : item.text();
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
    } else if (meaning_ == Meaning::kTimestamp) {
      append(UnixNsAt(values_, row));
    } else if (meaning_ == Meaning::kDate) {
      append(UnixDaysAt(values_, row));
    } else if (type == Type::kGuid || IsFloating(type)) {
      const std::span<const std::byte> element = ElementAt(values_, row);
      is_valid = FiniteOf(type, element) != Finite::kNull;
      if (is_valid) out.append(reinterpret_cast<const char*>(element.data()), element.size());
    } else {
      std::optional<int64_t> whole = WholeAt(values_, row);
      if (whole.has_value() && meaning_ == Meaning::kTimeOfDay && type != Type::kTimespan) {
        *whole *= UnitsPerDay(Type::kTime) / UnitsPerDay(type);  // ms.
      }
      if (physical_ == Physical::kInt64) {
        append(whole);
      } else {
        append(whole.has_value() ? std::optional(static_cast<int32_t>(*whole)) : std::nullopt);
      }
    }
    if (is_valid) valid.Set(row - begin);
  }
  return type == Type::kBoolean ? booleans : out;
}

bool ColumnWriter::WriteNames(size_t begin, size_t end, std::string& file, Chunk& chunk) const {
  absl::flat_hash_map<std::string_view, uint32_t> numbers;
  std::vector<uint32_t> indices;
  Validity valid(end - begin);
  Page names{.is_dictionary = true, .values = 0, .encoding = Encoding::kPlain, .body = {}};
  for (size_t row = begin; row < end; ++row) {
    bool null = false;
    const std::string_view text = TextAt(row, null);
    if (null) continue;
    valid.Set(row - begin);
    const auto [found, is_new] = numbers.try_emplace(text, names.values);
    if (is_new) {
      AppendText(names.body, text);
      ++names.values;
    }
    indices.push_back(found->second);
    if (names.body.size() > kPageBytesMax) return false;
  }
  WritePage(names, file, chunk);
  chunk.data_page = static_cast<int64_t>(file.size());
  const int width =
      std::max(1, static_cast<int>(std::bit_width(std::max<size_t>(names.values, 1) - 1)));
  const std::string body = static_cast<char>(width) + HybridRun(indices, width);
  WriteRowsPage(valid, Encoding::kDictionary, body, file, chunk);
  return true;
}

Chunk ColumnWriter::WriteRows(size_t begin, size_t end, std::string& file) const {
  Chunk chunk;
  chunk.begin = static_cast<int64_t>(file.size());
  chunk.rows = static_cast<int64_t>(end - begin);
  chunk.has_dictionary = values_.is(Type::kSymbol) && WriteNames(begin, end, file, chunk);
  if (chunk.has_dictionary) return chunk;
  chunk.data_page = chunk.begin;
  if (meaning_ != Meaning::kText) {
    Validity valid(end - begin);
    const std::string body = PlainNumbers(begin, end, valid);
    WriteRowsPage(valid, Encoding::kPlain, body, file, chunk);
    return chunk;
  }
  while (begin < end) {
    std::string body;
    Validity valid(0);
    for (; begin < end && body.size() < kPageBytesMax; ++begin) {
      bool null = false;
      const std::string_view text = TextAt(begin, null);
      valid.Append(!null);
      if (!null) AppendText(body, text);
    }
    WriteRowsPage(valid, Encoding::kPlain, body, file, chunk);
  }
  return chunk;
}

}  // namespace tickstack::disk::parquet
