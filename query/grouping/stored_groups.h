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
// Returns nullopt if the phrase has any other key, or one of these keys twice.
absl::StatusOr<std::optional<StoredKeys>> StoredKeysOf(std::span<const NamedNode> phrase,
                                                       const TableView& view, Budget& budget);

// Returns the groups by `keys`, which are one or two different columns in the order of `by`. The
// groups have the rows in `symbols`, if that is set, and otherwise `rows`. nullptr if the rows are
// not ranges, or if groups are so small that numbering rows is less work.
// Cost: a sort of the groups.
absl::StatusOr<std::unique_ptr<Groups>> GroupsOfParts(const StoredParts& parts,
                                                      std::span<const StoredKey> keys,
                                                      const RowSet& rows,
                                                      const std::optional<SymbolRows>& symbols,
                                                      Budget& budget);

}  // namespace tickstack::query
