#pragma once

// Queries over tables of other processes (remote_table.h).
//
//   conditions on `date` come first   ->  which days, and so which processes
//   nothing names `date`              ->  the last days, as a process that has them sees them
//
//   one process   the whole query goes there (part_answers.h)
//   several       each process aggregates its rows, and the results are combined
//                 (part_aggregates.h); or, for other queries, each selects the rows that meet the
//                 conditions, with only the columns that the query names, and the query is
//                 evaluated over them here (fetched_rows.h)
//
// If symbols are spread over shards, a part is the days of one side of one shard (chosen_parts.h).
// Rows of several shards are merged into the order of one process (merged_rows.h). If that order is
// unknown, a result that depends on it is an error (shard_order.h). Results `by sym` do not depend
// on it, since a symbol is in one shard on each day.
//
// What names no column, such as a variable of the request, is evaluated here and sent as a value
// (prepared_query.h). A condition over all rows, such as price=max price, applies to the rows of
// all processes together, so it is evaluated here if there are several.

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"
#include "query/remote/remote_table.h"
#include "query/remote/row_order.h"

namespace tickstack::query {

// Evaluates a query over a remote table, of which the result is used as `use` says. If a day has
// moved to the other side meanwhile, the query begins again, with the newer table of that name.
//
// Errors:  kAborted if no process has a day any more, also in the third attempt; `nyi` for row
//          numbers over several processes, for an unknown order of rows, and for `update` and
//          `delete` with conditions on `date`; `schema` if the processes do not have the same
//          columns; kUnavailable if a process that is needed does not answer.
// Threads: that of the context, which waits for the processes.
absl::StatusOr<Term> EvaluateRemoteQuery(Context& context, const Query& query,
                                         const RemoteTable& table, RowUse use = {});

}  // namespace tickstack::query
