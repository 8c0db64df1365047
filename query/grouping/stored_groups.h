#pragma once

// Groups a stored table by its partition column, its parted column, or both: the parts and their
// indexes give the groups, and no column is read. A group's rows are ranges.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/rows.h"
#include "query/columns/stored_table.h"
#include "query/columns/table_view.h"
#include "query/grouping/group.h"
#include "query/kernels/symbol_rows.h"
#include "query/language/ast.h"

namespace tickstack::query {

enum class StoredKey { kPartition, kSymbol };

// The keys of a `by` phrase.
struct StoredKeys {
  std::vector<StoredKey> kinds;
  std::optional<AnyColumn> symbol = std::nullopt;  // The parted column, if it is among the keys.
};
// Returns nullopt if the phrase has another key, or one of them twice.
absl::StatusOr<std::optional<StoredKeys>> StoredKeysOf(std::span<const NamedNode> phrase,
                                                       const TableView& view, Budget& budget);

// `keys` are the columns of `by` in order, one or two of different kinds. `rows` are the rows of
// the groups; with `symbols`, theirs are used instead. nullptr if the rows are scattered, or the
// groups so small that numbering rows is less work.
// Cost: a sort of the groups.
absl::StatusOr<std::unique_ptr<Groups>> GroupsOfParts(const StoredParts& parts,
                                                      std::span<const StoredKey> keys,
                                                      const RowSet& rows,
                                                      const std::optional<SymbolRows>& symbols,
                                                      Budget& budget);

}  // namespace tickstack::query
