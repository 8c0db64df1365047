#pragma once

// Items of an answer's column as other formats have them: times since 1970, and nulls for what they
// cannot hold. parquet.h and arrow_stream.h describe the rules.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::interchange {

// A column of an answer. Valid while the answer exists.
struct AnswerColumn {
  std::string_view name;
  const Value* values;
};
// Returns the columns of a table; for a keyed one, key columns first. kInvalidArgument for a value
// that is not a table, and if the columns, which a server may have sent, differ in length.
absl::StatusOr<std::vector<AnswerColumn>> ColumnsOf(const Value& table);

// Returns element `row` of a vector of a type with the width of T.
template <typename T>
T ElementOf(const Value& values, size_t row) {
  T element;
  std::memcpy(&element, values.elements().data() + row * sizeof(T), sizeof(T));
  return element;
}

// Returns an item of a type of whole numbers; nullopt for a null.
std::optional<int64_t> WholeAt(const Value& values, size_t row);
// Returns an item of a column of timestamps or datetimes as ns since 1970. A datetime is rounded to
// ms, the precision of its digits. nullopt for nulls, infinities, and times beyond 64 bits.
std::optional<int64_t> UnixNsAt(const Value& values, size_t row);
// Returns an item of a column of dates or months as days since 1970; a month is its first day.
// nullopt for nulls, infinities, and months of years with five digits.
std::optional<int32_t> UnixDaysAt(const Value& values, size_t row);

// Returns the number of a type's units in a day: kMinute, kSecond, kTime, or ns otherwise.
int64_t UnitsPerDay(Type type);
// True if all items of a column of timespans, minutes, seconds or times are null or times of day:
// not negative, and below 24 hours.
bool IsTimeOfDay(const Value& values);

// kInvalidArgument, with column and row, unless all items of a column of symbols or of a list are
// texts of at most `bytes_max` bytes. `name` is the column's.
absl::Status CheckTexts(std::string_view name, const Value& values, size_t bytes_max);
// Returns the text of an item of a column of chars, or of a column that CheckTexts accepts. Sets
// `null` to whether the item is null.
std::string_view TextAt(const Value& values, size_t row, bool& null);

}  // namespace tickstack::interchange
