#pragma once

// Which partitions of a stored table a query looks at, and where its rows are in them.
//
// The first conditions of a query, as far as they name no other column than the partition's, are
// asked of the list of partitions, as kdb+ does it: `date=last date` is the newest partition, and
// no file of another one is opened. Where a condition on the partition column comes behind others
// it is one on rows.

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

// The stored table that a query's source is nothing but a name of; nullptr: it is something else.
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

// Row numbers that count anew in each part: `i`.
ScratchVector<int64_t> RowsInParts(const StoredParts& parts, const RowSet& rows);

// Runs of rows of one part each: where each ends among the rows, and its first row.
struct PartRuns {
  ScratchVector<uint32_t> ends;
  ScratchVector<uint32_t> first_rows;
};
PartRuns RunsOfParts(const StoredParts& parts, const RowSet& rows);

}  // namespace tickstack::query
