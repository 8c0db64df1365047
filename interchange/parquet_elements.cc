#include "interchange/parquet_elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "interchange/parquet_texts.h"
#include "table/element_text.h"
#include "table/utf8.h"

namespace tickstack::interchange::parquet {
namespace {

constexpr int64_t kUnixUs = kUnixNsOfKdbEpoch / 1000;
constexpr int32_t kUnixDaysOfKdbEpoch = 10'957;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int32_t kMsPerDay = 86'400'000;
constexpr int kYearMax = 9999;  // Readers show years of four digits.

// What becomes of an element in the file.
enum class Cell : uint8_t {
  kValue,
  kNull,
  kOutside,  // The type in the file cannot hold it.
};

template <typename T>
class Extremes {
 public:
  void Add(T value) {
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    any_ = true;
  }
  void Store(Chunk& chunk) const {
    chunk.has_extremes = any_;
    if (!any_) return;
    T min = min_, max = max_;
    if constexpr (std::is_floating_point_v<T>) {
      // Readers may compare bits, so the extremes include both zeros.
      if (min == 0) min = -T{0};
      if (max == 0) max = T{0};
    }
    AppendBytes(chunk.min, min);
    AppendBytes(chunk.max, max);
  }

 private:
  using Limits = std::numeric_limits<T>;
  T min_ = Limits::has_infinity ? Limits::infinity() : Limits::max();
  T max_ = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  bool any_ = false;
};

template <typename T>
T LoadElement(std::span<const std::byte> elements, size_t row) {
  T element;
  std::memcpy(&element, elements.data() + row * sizeof(T), sizeof(T));
  return element;
}

// Returns the error of an element that the file cannot hold.
absl::Status Outside(Type type, std::span<const std::byte> element, uint64_t row) {
  const std::string text = ElementText(type, element, TimeStyle::kQ);
  if (type == Type::kTimestamp || type == Type::kDatetime) {
    return InvalidArgument(
        "row {}: {} is not a time in ns since 1970 of 64 bits; --spark writes times in us", row,
        text);
  }
  if (type == Type::kDate || type == Type::kMonth) {
    return InvalidArgument("row {}: {} is not a date of a Parquet file", row, text);
  }
  return InvalidArgument("row {}: {} is not a time of day; --spark writes {}s as numbers", row,
                         text, NameOf(type));
}

// Appends elements as numbers of type `To`. `convert` returns what becomes of an element and, for a
// value, sets its second argument.
template <typename From, typename To, typename Convert>
absl::Status WriteNumbers(Type type, std::span<const std::byte> elements, uint64_t first_row,
                          Convert convert, PageWriter& pages, Chunk& chunk) {
  const size_t rows = elements.size() / sizeof(From);
  Extremes<To> extremes;
  std::vector<To> values(std::min(rows, kRowsPerPage));
  for (size_t begin = 0; begin < rows; begin += kRowsPerPage) {
    const size_t page_rows = std::min(kRowsPerPage, rows - begin);
    Validity valid(page_rows);
    size_t count = 0;
    for (size_t i = 0; i < page_rows; ++i) {
      To value{};
      const Cell cell = convert(LoadElement<From>(elements, begin + i), value);
      if (cell == Cell::kOutside) [[unlikely]] {
        return Outside(type, elements.subspan((begin + i) * sizeof(From), sizeof(From)),
                       first_row + begin + i);
      }
      if (cell == Cell::kNull) continue;
      values[count++] = value;
      extremes.Add(value);
      valid.Set(i);
    }
    pages.WriteRows(valid, Encoding::kPlain,
                    {reinterpret_cast<const char*>(values.data()), count * sizeof(To)}, chunk);
  }
  extremes.Store(chunk);
  return absl::OkStatus();
}

// Appends elements as they are, except the null.
template <typename From, typename To = From>
absl::Status WriteWhole(Type type, From null, std::span<const std::byte> elements,
                        uint64_t first_row, PageWriter& pages, Chunk& chunk) {
  return WriteNumbers<From, To>(
      type, elements, first_row,
      [null](From element, To& value) {
        value = element;
        return element == null ? Cell::kNull : Cell::kValue;
      },
      pages, chunk);
}

template <typename T>
absl::Status WriteFloats(Type type, std::span<const std::byte> elements, uint64_t first_row,
                         PageWriter& pages, Chunk& chunk) {
  return WriteNumbers<T, T>(
      type, elements, first_row,
      [](T element, T& value) {
        value = element;
        return std::isnan(element) ? Cell::kNull : Cell::kValue;
      },
      pages, chunk);
}

// Returns kValue for an element of a type of time; kNull for null and infinities.
template <typename T>
Cell FiniteCell(T element) {
  constexpr T kInfinity = std::numeric_limits<T>::max();
  const bool finite =
      element != std::numeric_limits<T>::min() && element != kInfinity && element != -kInfinity;
  return finite ? Cell::kValue : Cell::kNull;
}

Cell UnixNs(int64_t ns, int64_t& value) {
  if (ns > std::numeric_limits<int64_t>::max() - kUnixNsOfKdbEpoch) return Cell::kOutside;
  value = ns + kUnixNsOfKdbEpoch;
  return Cell::kValue;
}

int64_t UnixUs(int64_t ns) {
  const int64_t us = ns / 1000;
  return us - (us * 1000 > ns ? 1 : 0) + kUnixUs;  // Rounds down.
}

absl::Status WriteTimestamps(Dialect dialect, std::span<const std::byte> elements,
                             uint64_t first_row, PageWriter& pages, Chunk& chunk) {
  const auto exact = [](int64_t ns, int64_t& value) {
    const Cell cell = FiniteCell(ns);
    return cell == Cell::kValue ? UnixNs(ns, value) : cell;
  };
  const auto spark = [](int64_t ns, int64_t& value) {
    value = UnixUs(ns);
    return FiniteCell(ns);
  };
  return dialect == Dialect::kSpark
             ? WriteNumbers<int64_t, int64_t>(Type::kTimestamp, elements, first_row, spark, pages,
                                              chunk)
             : WriteNumbers<int64_t, int64_t>(Type::kTimestamp, elements, first_row, exact, pages,
                                              chunk);
}

// Rounds to ms, the precision of a datetime's digits.
absl::Status WriteDatetimes(Dialect dialect, std::span<const std::byte> elements,
                            uint64_t first_row, PageWriter& pages, Chunk& chunk) {
  return WriteNumbers<double, int64_t>(
      Type::kDatetime, elements, first_row,
      [dialect](double days, int64_t& value) {
        if (!std::isfinite(days)) return Cell::kNull;
        const double ms = std::round(days * kMsPerDay);
        if (!(std::abs(ms) < 0x1p63 / double{kNsPerMs})) return Cell::kOutside;
        const auto whole_ms = static_cast<int64_t>(ms);
        if (dialect == Dialect::kExact) return UnixNs(whole_ms * kNsPerMs, value);
        value = whole_ms * 1000 + kUnixUs;
        return Cell::kValue;
      },
      pages, chunk);
}

Cell UnixDate(int32_t days, int32_t& value) {
  if (const Cell cell = FiniteCell(days); cell != Cell::kValue) return cell;
  if (days > std::numeric_limits<int32_t>::max() - kUnixDaysOfKdbEpoch) return Cell::kOutside;
  value = days + kUnixDaysOfKdbEpoch;
  return Cell::kValue;
}

Cell UnixDateOfMonth(int32_t months, int32_t& value) {
  if (const Cell cell = FiniteCell(months); cell != Cell::kValue) return cell;
  const int64_t year = 2000 + (months >= 0 ? months / 12 : (int64_t{months} - 11) / 12);
  if (year < 1 || year > kYearMax) return Cell::kOutside;
  const auto month = static_cast<int>(months - (year - 2000) * 12 + 1);
  return UnixDate(DaysFromCivil(static_cast<int>(year), month, 1), value);
}

// Appends elements whose unit is `unit_ms` as times of day in ms or, for Spark, as numbers.
absl::Status WriteTimesOfDay(Type type, int32_t unit_ms, Dialect dialect,
                             std::span<const std::byte> elements, uint64_t first_row,
                             PageWriter& pages, Chunk& chunk) {
  return WriteNumbers<int32_t, int32_t>(
      type, elements, first_row,
      [unit_ms, dialect](int32_t element, int32_t& value) {
        value = element;
        const Cell cell = FiniteCell(element);
        if (cell != Cell::kValue || dialect == Dialect::kSpark) return cell;
        if (element < 0 || element >= kMsPerDay / unit_ms) return Cell::kOutside;
        value = element * unit_ms;
        return Cell::kValue;
      },
      pages, chunk);
}

void WriteBooleans(std::span<const std::byte> elements, PageWriter& pages, Chunk& chunk) {
  bool found[2] = {false, false};
  for (size_t begin = 0; begin < elements.size(); begin += kRowsPerPage) {
    const size_t rows = std::min(kRowsPerPage, elements.size() - begin);
    Validity valid(rows);
    std::string bits((rows + 7) / 8, '\0');
    for (size_t i = 0; i < rows; ++i) {
      const bool value = elements[begin + i] != std::byte{0};
      found[value ? 1 : 0] = true;
      valid.Set(i);
      if (value) SetBit(bits, i);
    }
    pages.WriteRows(valid, Encoding::kPlain, bits, chunk);
  }
  chunk.has_extremes = !elements.empty();
  if (!chunk.has_extremes) return;
  chunk.min = std::string(1, found[0] ? '\0' : '\1');
  chunk.max = std::string(1, found[1] ? '\1' : '\0');
}

void WriteGuids(std::span<const std::byte> elements, PageWriter& pages, Chunk& chunk) {
  constexpr size_t kWidth = 16;
  const size_t rows = elements.size() / kWidth;
  for (size_t begin = 0; begin < rows; begin += kRowsPerPage) {
    Validity valid(std::min(kRowsPerPage, rows - begin));
    std::string plain;
    for (size_t i = 0; i < valid.rows(); ++i) {
      const std::span<const std::byte> guid = elements.subspan((begin + i) * kWidth, kWidth);
      if (FiniteOf(Type::kGuid, guid) == Finite::kNull) continue;
      valid.Set(i);
      plain.append(reinterpret_cast<const char*>(guid.data()), kWidth);
    }
    pages.WriteRows(valid, Encoding::kPlain, plain, chunk);
  }
}

void WriteGuidTexts(std::span<const std::byte> elements, PageWriter& pages, Chunk& chunk) {
  constexpr size_t kWidth = 16;
  TextPages texts(pages, chunk);
  for (; !elements.empty(); elements = elements.subspan(kWidth)) {
    const std::span<const std::byte> guid = elements.first(kWidth);
    if (FiniteOf(Type::kGuid, guid) == Finite::kNull) {
      texts.AddNull();
    } else {
      texts.Add(ElementText(Type::kGuid, guid, TimeStyle::kQ));
    }
  }
  texts.Finish();
}

void WriteChars(std::span<const std::byte> elements, PageWriter& pages, Chunk& chunk) {
  constexpr uint32_t kUnknown = Dictionary::kNullNumber;
  Dictionary names;
  std::vector<uint32_t> number_of(256, kUnknown);
  std::vector<uint32_t> numbers(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    uint32_t& number = number_of[static_cast<uint8_t>(elements[i])];
    if (number == kUnknown) {
      number = names.NumberOf({reinterpret_cast<const char*>(&elements[i]), 1});
    }
    numbers[i] = number;
  }
  names.WriteRows(numbers, pages, chunk);
}

}  // namespace

ColumnSchema ExportSchema(std::string_view name, Type type, Dialect dialect) {
  const bool spark = dialect == Dialect::kSpark;
  ColumnSchema column;
  AppendUtf8(column.name, name);
  const auto set = [&column](Physical physical, Meaning meaning) {
    column.physical = physical;
    column.meaning = meaning;
  };
  switch (type) {
    case Type::kBoolean:
      set(Physical::kBoolean, Meaning::kNumber);
      break;
    case Type::kGuid:
      spark ? set(Physical::kByteArray, Meaning::kText) : set(Physical::kFixed, Meaning::kUuid);
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
    case Type::kTimespan:
      set(Physical::kInt64, Meaning::kNumber);
      break;
    case Type::kReal:
      set(Physical::kFloat, Meaning::kNumber);
      break;
    case Type::kFloat:
      set(Physical::kDouble, Meaning::kNumber);
      break;
    case Type::kTimestamp:
    case Type::kDatetime:
      set(Physical::kInt64, spark ? Meaning::kTimestampUs : Meaning::kTimestamp);
      break;
    case Type::kMonth:
    case Type::kDate:
      set(Physical::kInt32, Meaning::kDate);
      break;
    case Type::kMinute:
    case Type::kSecond:
    case Type::kTime:
      set(Physical::kInt32, spark ? Meaning::kNumber : Meaning::kTimeOfDay);
      break;
    case Type::kChar:
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
      set(Physical::kByteArray, Meaning::kText);
      break;
  }
  return column;
}

absl::Status WriteElements(Type type, Dialect dialect, std::span<const std::byte> elements,
                           uint64_t first_row, PageWriter& pages, Chunk& chunk) {
  switch (type) {
    case Type::kBoolean:
      WriteBooleans(elements, pages, chunk);
      return absl::OkStatus();
    case Type::kGuid:
      dialect == Dialect::kSpark ? WriteGuidTexts(elements, pages, chunk)
                                 : WriteGuids(elements, pages, chunk);
      return absl::OkStatus();
    case Type::kByte:
      return WriteNumbers<uint8_t, int32_t>(
          type, elements, first_row,
          [](uint8_t element, int32_t& value) {
            value = element;
            return Cell::kValue;
          },
          pages, chunk);
    case Type::kShort:
      return WriteWhole<int16_t, int32_t>(type, kNullShort, elements, first_row, pages, chunk);
    case Type::kInt:
      return WriteWhole<int32_t>(type, kNullInt, elements, first_row, pages, chunk);
    case Type::kLong:
      return WriteWhole<int64_t>(type, kNullLong, elements, first_row, pages, chunk);
    case Type::kReal:
      return WriteFloats<float>(type, elements, first_row, pages, chunk);
    case Type::kFloat:
      return WriteFloats<double>(type, elements, first_row, pages, chunk);
    case Type::kChar:
      WriteChars(elements, pages, chunk);
      return absl::OkStatus();
    case Type::kTimestamp:
      return WriteTimestamps(dialect, elements, first_row, pages, chunk);
    case Type::kMonth:
      return WriteNumbers<int32_t, int32_t>(type, elements, first_row, UnixDateOfMonth, pages,
                                            chunk);
    case Type::kDate:
      return WriteNumbers<int32_t, int32_t>(type, elements, first_row, UnixDate, pages, chunk);
    case Type::kDatetime:
      return WriteDatetimes(dialect, elements, first_row, pages, chunk);
    case Type::kTimespan:
      return WriteNumbers<int64_t, int64_t>(
          type, elements, first_row,
          [](int64_t element, int64_t& value) {
            value = element;
            return FiniteCell(element);
          },
          pages, chunk);
    case Type::kMinute:
      return WriteTimesOfDay(type, 60'000, dialect, elements, first_row, pages, chunk);
    case Type::kSecond:
      return WriteTimesOfDay(type, 1000, dialect, elements, first_row, pages, chunk);
    case Type::kTime:
      return WriteTimesOfDay(type, 1, dialect, elements, first_row, pages, chunk);
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
  return InvalidArgument("a column of {}s has no elements of one width", NameOf(type));
}

}  // namespace tickstack::interchange::parquet
