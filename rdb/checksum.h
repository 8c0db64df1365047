#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "table/table.h"

namespace tickstack::rdb {

// A number that two tables share if their rows from `first_row` on are the same, in the same order,
// column `except` apart: of a simulated market every run has other times. Symbols count by name,
// not by number, so the tables may be two processes'. Not cryptographic.
//
// Cost: one pass, about 1 ns a value. Errors: kInvalidArgument for a table with a key, whose rows
// are in no order that means anything, and for a `first_row` that the table does not reach.
absl::StatusOr<uint64_t> Checksum(const Snapshot& snapshot, size_t first_row,
                                  std::string_view except);

}  // namespace tickstack::rdb
