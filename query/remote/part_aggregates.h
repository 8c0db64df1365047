#pragma once

// Aggregates over parts of a remote table: each process aggregates its rows, and the results are
// combined here (split_aggregates.h). Only results are sent, not rows.
//
// Errors: as of AskEach.

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "query/remote/chosen_parts.h"
#include "query/remote/prepared_query.h"
#include "query/remote/row_order.h"
#include "query/remote/shard_order.h"

namespace tickstack::query {

// Returns the result of a query over several parts; nullopt if it is no query of aggregates, or if
// the results of the parts do not determine that of all rows. `order`: that which the rows must
// have; kOfParts if the parts are of one shard.
absl::StatusOr<std::optional<Term>> AggregateParts(Context& context, const PreparedQuery& prepared,
                                                   const std::vector<RemotePart>& parts,
                                                   bool by_days, ShardOrder order, RowUse use);

}  // namespace tickstack::query
