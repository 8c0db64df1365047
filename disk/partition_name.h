#pragma once

// The directories of a partitioned database are named for the partition's value:
//
//   2024.01.29 date    2024.01 month    2024 year    any other number int

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "table/types.h"

namespace tickstack::disk {

enum class PartitionKind : uint8_t { kDate, kMonth, kYear, kInt };

// Returns the name of the column that no file holds: "date", "month", "year", "int".
std::string_view NameOf(PartitionKind kind);
// Returns the type of its values: kDate, kMonth, kInt; for kInt kLong, since such numbers may be
// long.
Type TypeOf(PartitionKind kind);

struct PartitionName {
  PartitionKind kind = PartitionKind::kInt;
  // Days or months since 2000.01.01, the year, or the number.
  int64_t value = 0;
  friend bool operator==(const PartitionName&, const PartitionName&) = default;
};

// Returns nullopt for any other name. Four digits are a year here; in a database whose other
// partitions are numbers of other lengths, they are a number as well.
std::optional<PartitionName> ParsePartitionName(std::string_view name);
// Returns the directory's name. `value` must be valid for a name.
std::string FormatPartition(PartitionKind kind, int64_t value);

}  // namespace tickstack::disk
