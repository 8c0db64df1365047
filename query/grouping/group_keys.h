#pragma once

// The groups of a query: its phrase `by` evaluated, by whichever way is the least work.

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

// The rows that a query's conditions left: `rows`, or if there are `symbols`, theirs, and `rows` is
// still all of the table.
struct RemainingRows {
  std::shared_ptr<const RowSet>& rows;
  std::optional<SymbolRows>& symbols;

  // Makes `rows` of `symbols`, if there are any.
  absl::Status Merge(Budget& budget) const;
};

// The column that a node is nothing but the name of.
std::optional<size_t> ColumnNamed(const Node& node, const TableView& view);

// `names` gets those of the key columns. Afterwards `left` is as the groups need it: of groups of
// symbols and of parts only their own rows count.
absl::StatusOr<std::unique_ptr<Groups>> MakeGroups(Context& context,
                                                   std::span<const NamedNode> phrase,
                                                   const TableView& view, RemainingRows left,
                                                   std::vector<std::string>& names);

}  // namespace tickstack::query
