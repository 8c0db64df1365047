#pragma once

// The directory of a partition is named after the partition's value, which has one of four kinds:
//
//   2024.01.29 date    2024.01 month    2024 year    any other number int

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "table/types.h"

namespace tickstack::disk {

enum class PartitionKind : uint8_t { kDate, kMonth, kYear, kInt };

// Returns the name of the partition column, which has no file, and has the partition's value in
// every row: "date", "month", "year" or "int".
std::string_view NameOf(PartitionKind kind);
// Returns the type of that column: Type::kDate, kMonth, kInt for years, and kLong for numbers.
Type TypeOf(PartitionKind kind);

struct PartitionName {
  PartitionKind kind = PartitionKind::kInt;
  // Days or months since 2000.01.01, the year, or the number.
  int64_t value = 0;
  friend bool operator==(const PartitionName&, const PartitionName&) = default;
};

// Parses a directory's name; nullopt if it is not the name of a partition. Four digits are a year
// here. In a database that also has partitions with other numbers, the caller must take them as a
// number.
std::optional<PartitionName> ParsePartitionName(std::string_view name);
// Returns the directory's name. `value` must be valid for a name.
std::string FormatPartition(PartitionKind kind, int64_t value);

}  // namespace tickstack::disk
