#pragma once

// The rows for which `tickstack tiers` computes memory: one number for all tables, or one by table.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"

namespace tickstack::cli {

struct PlannedRows {
  size_t of_others = 1'000'000;
  std::map<std::string, size_t, std::less<>> by_table;

  size_t Of(std::string_view table) const {
    const auto found = by_table.find(table);
    return found == by_table.end() ? of_others : found->second;
  }
};

// Reads `1000000`, `quote=650000000` or several of them; the last one of a table wins.
// kInvalidArgument, with what was found and expected, if a text has another form, a number is not
// within 1 and 4,294,967,294 (the most rows of a table), or no schema has the table.
absl::StatusOr<PlannedRows> ParsePlannedRows(std::span<const std::string> texts,
                                             std::span<const Schema> schemas);

}  // namespace tickstack::cli
