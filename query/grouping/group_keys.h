#pragma once

// Computes the groups of a query's phrase `by`, in the way that takes the least work.

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

// The rows that meet a query's conditions. If `symbols` is set, they are the rows in `symbols`, and
// `rows` has all rows of the table. Otherwise they are `rows`.
struct RemainingRows {
  std::shared_ptr<const RowSet>& rows;
  std::optional<SymbolRows>& symbols;

  // If `symbols` is set, sets `rows` to its rows and resets it.
  absl::Status Merge(Budget& budget) const;
};

// Returns the number of a column if the node is just its name; nullopt otherwise.
std::optional<size_t> ColumnNamed(const Node& node, const TableView& view);

// Returns the groups of the rows `left`, and appends the names of the key columns to `names`. May
// change the form of `left`: groups from an index of symbols or of parts need `symbols`, and other
// groups need `rows`.
absl::StatusOr<std::unique_ptr<Groups>> MakeGroups(Context& context,
                                                   std::span<const NamedNode> phrase,
                                                   const TableView& view, RemainingRows left,
                                                   std::vector<std::string>& names);

}  // namespace tickstack::query
