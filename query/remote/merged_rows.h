#pragma once

// Rows of several shards, in the order in which one process would have them:
//
//   rows of partitions   by symbol, or by time if the table has no column `sym`
//   rows of rdbs         by time; those of a keyed table in the order in which their keys came
//                        first, which columns do not tell
//
// Rows of several parts with equal symbols or times have no known order, nor have rows of a part
// that are not sorted by them.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "query/remote/chosen_parts.h"
#include "query/remote/shard_order.h"
#include "table/value.h"

namespace tickstack::query {

// Joins the columns of the parts, `of_parts`, which are called `names`; with `date` as the first
// one if `dated`. `order`: kOfRows, or kPreferably, which takes the rows part by part if their
// order is not known. Cost: sorts the rows of each kind, which are in memory twice meanwhile.
// Errors: `nyi` if the order must be known and is not; those of PartRows and of sorting.
absl::StatusOr<std::vector<Value>> MergeRows(Context& context, const RemoteTable& table,
                                             const std::vector<RemotePart>& parts,
                                             std::vector<std::vector<Value>> of_parts,
                                             const std::vector<std::string>& names, bool dated,
                                             ShardOrder order);

}  // namespace tickstack::query
