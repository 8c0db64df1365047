#pragma once

// Which days of a remote table a query is about.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"
#include "query/remote/remote_table.h"

namespace tickstack::query {

struct ChosenDays {
  size_t conditions = 0;      // Number of leading conditions on `date`, which chose the days.
  std::vector<int32_t> days;  // Ascending.
};

// Evaluates the leading conditions that name `date` and no other column over the days of the table.
// `names` are its columns and `date`. Errors: those of the conditions.
absl::StatusOr<ChosenDays> ChooseDays(Context& context, const Query& query,
                                      const RemoteTable& table,
                                      const std::vector<std::string>& names);

}  // namespace tickstack::query
