#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Parts of a time by q's names: `year`, `mm` (month), `dd`, `hh`, `uu` (minute) and `ss` are ints,
// `week` is the date of its Monday.
enum class TimePart { kYear, kMonth, kDay, kWeek, kHour, kMinute, kSecond };

std::optional<TimePart> FindTimePart(std::string_view name);

// Returns the part of each item. Error: `type` if the type has no such part: a date has no hour, a
// time of day no year. Hours of a timespan can exceed 24.
absl::StatusOr<Value> PartOf(const Slice& slice, TimePart part, Budget& budget);

}  // namespace tickstack::query
