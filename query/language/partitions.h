#pragma once

// Determines which partitions of a stored table a query reads, and to which partition a row
// belongs.
//
// As in kdb+, the first conditions of a query are evaluated on the list of partitions as long as
// they name only the partition column. So `date=last date` selects the newest partition, and no
// files of other partitions are opened. A condition on the partition column that comes after a
// condition on another column is evaluated on rows.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/rows.h"
#include "query/columns/stored_table.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Returns the stored table if a query's source is just its name; nullptr otherwise.
std::shared_ptr<const StoredTable> StoredSource(Context& context, const Node& source);

struct PrunedParts {
  std::shared_ptr<const StoredParts> parts;
  size_t conditions;  // Number of leading conditions that were evaluated.
};
// Returns the parts of the partitions that meet the first conditions.
absl::StatusOr<PrunedParts> PruneParts(Context& context,
                                       const std::shared_ptr<const StoredTable>& table,
                                       std::span<const NodePtr> conditions);
absl::StatusOr<std::shared_ptr<const StoredParts>> AllParts(
    const std::shared_ptr<const StoredTable>& table, const Budget& budget);

// Returns the values of `i` for these rows: row numbers that count from 0 in each part.
ScratchVector<int64_t> RowsInParts(const StoredParts& parts, const RowSet& rows);

// Successive rows of one part form a run.
struct PartRuns {
  ScratchVector<uint32_t> ends;        // By run: the position after its last row.
  ScratchVector<uint32_t> first_rows;  // By run: the number of its first row.
};
PartRuns RunsOfParts(const StoredParts& parts, const RowSet& rows);

}  // namespace tickstack::query
