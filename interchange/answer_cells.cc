#include "interchange/answer_cells.h"

#include <cmath>
#include <limits>

#include "base/status.h"
#include "base/time.h"
#include "table/element_text.h"

namespace tickstack::interchange {
namespace {

constexpr int32_t kDaysFrom1970 = 10'957;

// Converts ns since 2000 to ns since 1970, if 64 bits can hold it.
std::optional<int64_t> NsSince1970(int64_t ns) {
  if (ns == kInfinityLong || ns == -kInfinityLong) return std::nullopt;
  if (ns > std::numeric_limits<int64_t>::max() - kUnixNsOfKdbEpoch) return std::nullopt;
  return ns + kUnixNsOfKdbEpoch;
}

}  // namespace

absl::StatusOr<std::vector<AnswerColumn>> ColumnsOf(const Value& table) {
  std::vector<const Value*> parts;
  if (table.is_table()) parts = {&table};
  if (table.is_keyed_table()) parts = {&table.keys(), &table.values()};
  if (parts.empty()) return InvalidArgument("expected a table, found another answer");
  const size_t rows = parts.front()->count();
  std::vector<AnswerColumn> columns;
  for (const Value* part : parts) {
    for (size_t i = 0; i < part->columns().size(); ++i) {
      const Value& values = part->columns()[i];
      const std::string_view name = part->column_names()[i];
      if ((!values.is_vector() && !values.is_list()) || values.count() != rows) {
        return InvalidArgument("column {} is not {} items long", name, rows);
      }
      columns.push_back({name, &values});
    }
  }
  return columns;
}

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

std::optional<int64_t> UnixNsAt(const Value& values, size_t row) {
  if (values.is(Type::kTimestamp)) {
    const std::optional<int64_t> ns = WholeAt(values, row);
    return ns.has_value() ? NsSince1970(*ns) : std::nullopt;
  }
  const double days = ElementOf<double>(values, row);
  const double ns = days * static_cast<double>(kNsPerDay);
  if (!(std::abs(ns) < 0x1p63)) return std::nullopt;
  constexpr int64_t kNsPerMs = kNsPerSecond / 1000;  // The precision of a datetime's digits.
  return NsSince1970(static_cast<int64_t>(std::round(ns / double{kNsPerMs})) * kNsPerMs);
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
  const int64_t unix = days + kDaysFrom1970;
  if (unix > kInfinityInt) return std::nullopt;
  return static_cast<int32_t>(unix);
}

int64_t UnitsPerDay(Type type) {
  if (type == Type::kMinute) return 1440;
  if (type == Type::kSecond) return 86'400;
  if (type == Type::kTime) return 86'400'000;
  return kNsPerDay;
}

bool IsTimeOfDay(const Value& values) {
  const int64_t day = UnitsPerDay(values.type());
  for (size_t row = 0; row < values.count(); ++row) {
    const std::optional<int64_t> units = WholeAt(values, row);
    if (units.has_value() && (*units < 0 || *units >= day)) return false;
  }
  return true;
}

absl::Status CheckTexts(std::string_view name, const Value& values, size_t bytes_max) {
  const auto too_long = [&](size_t row, size_t bytes) {
    return InvalidArgument("column {}, row {}: a text of {} bytes, at most {} in such a file", name,
                           row, bytes, bytes_max);
  };
  for (size_t row = 0; row < values.count(); ++row) {
    if (values.is(Type::kSymbol)) {
      const size_t bytes = values.symbols()[row].size();
      if (bytes > bytes_max) return too_long(row, bytes);
      continue;
    }
    const Value* const item = values.is_list() ? &values.items()[row] : nullptr;
    if (item == nullptr || (!item->is_string() && !item->is_atom_of(Type::kChar) &&
                            !item->is_atom_of(Type::kSymbol) && !item->is_null())) {
      return InvalidArgument(
          "column {} has lists, row {} for one: such a file has atoms and texts only", name, row);
    }
    if (item->count() > bytes_max) return too_long(row, item->count());
  }
  return absl::OkStatus();
}

std::string_view TextAt(const Value& values, size_t row, bool& null) {
  null = false;
  if (values.is(Type::kChar)) {
    return {reinterpret_cast<const char*>(values.elements().data()) + row, 1};
  }
  if (values.is(Type::kSymbol)) {
    null = values.symbols()[row].empty();
    return values.symbols()[row];
  }
  const Value& item = values.items()[row];
  null = item.is_null() || (item.is_atom_of(Type::kSymbol) && item.symbol().empty());
  return null ? std::string_view() : item.text();
}

}  // namespace tickstack::interchange
