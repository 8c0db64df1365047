#pragma once

// Determines the partitions of a stored table that a query covers, and where its rows are in them.
//
// The leading conditions of a query that name only the partition column are evaluated on the list
// of partitions, as in kdb+: `date=last date` selects the newest partition, and files of the others
// are not opened. A condition on the partition column that follows others is evaluated on rows.

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
  size_t conditions;  // Number of leading conditions that all rows of the parts meet.
};
absl::StatusOr<PrunedParts> PruneParts(Context& context,
                                       const std::shared_ptr<const StoredTable>& table,
                                       std::span<const NodePtr> conditions);
absl::StatusOr<std::shared_ptr<const StoredParts>> AllParts(
    const std::shared_ptr<const StoredTable>& table, const Budget& budget);

// Row numbers that restart in each part: `i`.
ScratchVector<int64_t> RowsInParts(const StoredParts& parts, const RowSet& rows);

// Runs of rows, each within one part: where each run ends among the rows, and its first row.
struct PartRuns {
  ScratchVector<uint32_t> ends;
  ScratchVector<uint32_t> first_rows;
};
PartRuns RunsOfParts(const StoredParts& parts, const RowSet& rows);

}  // namespace tickstack::query
