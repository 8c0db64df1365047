#pragma once

// A query that processes cannot evaluate themselves, over the rows of its parts: each part sends
// the rows that meet the conditions by item, with only the columns that the query names, and the
// query is evaluated over them here. The order of the parts, or that of `ShardOrder`, is the order
// of the rows.
//
// Cost:    the rows of all parts are in memory, and are charged to the budget.
// Errors:  as of AskEach and MergeRows; those of the query; `nyi` for `i` over several partitions,
//          in which it is the number among all rows of a partition, before any condition.

#include <vector>

#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "query/remote/chosen_parts.h"
#include "query/remote/prepared_query.h"
#include "query/remote/shard_order.h"

namespace tickstack::query {

// `with_date`: the rows have the column `date`. `order`: kOfParts if the parts are of one shard.
absl::StatusOr<Term> EvaluateOverFetched(Context& context, const PreparedQuery& prepared,
                                         const std::vector<RemotePart>& parts, bool with_date,
                                         ShardOrder order);

}  // namespace tickstack::query
