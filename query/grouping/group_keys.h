#pragma once

// Evaluates the phrase `by` of a query to its groups, in the way that is least work.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/grouping/group.h"
#include "query/kernels/symbol_rows.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// The rows that a query's conditions left: `rows`; or, if `symbols` is set, the rows of those
// symbols, and `rows` is still the whole table.
struct RemainingRows {
  std::shared_ptr<const RowSet>& rows;
  std::optional<SymbolRows>& symbols;

  // Converts `symbols`, if set, to `rows`.
  absl::Status Merge(Budget& budget) const;
};

// Returns the column if a node is just its name.
std::optional<size_t> ColumnNamed(const Node& node, const TableView& view);

// `names` receives the names of the key columns. Changes `left` as the groups need it: for groups
// of symbols and of parts only their own rows count.
absl::StatusOr<std::unique_ptr<Groups>> MakeGroups(Context& context,
                                                   std::span<const NamedNode> phrase,
                                                   const TableView& view, RemainingRows left,
                                                   std::vector<std::string>& names);

}  // namespace tickstack::query
