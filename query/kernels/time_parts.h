#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Parts of a time. Their names in q are `year`, `mm` (month; of a time of day the minute), `dd`,
// `week`, `hh`, `uu` (minute) and `ss`. They are ints, except that the week is the date of its
// Monday.
enum class TimePart { kYear, kMonth, kDay, kWeek, kHour, kMinute, kSecond };

// Returns the part that q calls `name`; nullopt if there is none.
std::optional<TimePart> FindTimePart(std::string_view name);

// Returns the part of each item. The hours of a timespan can exceed 24. Errors: `type` if the type
// has no such part; for example, a date has no hour, and a time of day has no year.
absl::StatusOr<Value> PartOf(const Slice& slice, TimePart part, Budget& budget);

}  // namespace tickstack::query
