#pragma once

// Queries over tables of other processes (query/remote/remote_table.h).
//
//   conditions on `date` come first   ->  which days, and so which processes
//   nothing names `date`              ->  the last days, as a process that has them sees them
//
//   one process   the whole query goes there
//   several       each process aggregates its rows, and the results are combined
//                 (split_aggregates.h); or, for other queries, each selects the rows that meet the
//                 conditions, with only the columns that the query names, and the query is
//                 evaluated over them here
//
// If symbols are spread over shards, a part is the days of one side of one shard. Conditions by
// item on symbols choose the shards for the last day; earlier days are asked of all. Rows of
// several shards are merged into the order of one process (RemoteQuery::Merge). If that order is
// unknown, a result that depends on it is an error (row_order.h). Results `by sym` do not depend on
// it, since a symbol is in one shard on each day.
//
// What names no column, such as a variable of the request, is evaluated here and sent as a value
// (sendable.h). A condition over all rows, such as price=max price, applies to the rows of all
// processes together, so it is evaluated here if there are several.

#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"
#include "query/remote/remote_table.h"
#include "query/remote/row_order.h"

namespace tickstack::query {

// Returns the remote table if a query's source is just its name; nullptr otherwise.
std::shared_ptr<const RemoteTable> RemoteSource(Context& context, const Node& source);

// Evaluates a query over a remote table. If a day has moved to the other side meanwhile, the query
// begins again, with the newer table of that name. Errors: kAborted if no process has a day any
// more, also in the third attempt; `nyi` for row numbers over several processes, for an unknown
// order of rows, and for `update` and `delete` with conditions on `date`; `schema` if the processes
// do not have the same columns.
absl::StatusOr<Term> EvaluateRemoteQuery(Context& context, const Query& query,
                                         const RemoteTable& table, RowUse use = {});

// Returns the number of rows of a query such as `select from t where ..` or `select a,b from t`,
// without fetching them; nullopt if the table is not remote, or if the query is more than
// conditions and columns. `rows` is a kQuery.
absl::StatusOr<std::optional<Term>> CountOfRows(Context& context, const Node& rows);

// Returns a column of the last days; nullopt if there is no such column.
absl::StatusOr<std::optional<Term>> ColumnOf(Context& context, const RemoteTable& table,
                                             std::string_view column);
// Evaluates a function with Builtin::kNeedsNoRows of the table without fetching rows; nullopt if
// that is not possible.
absl::StatusOr<std::optional<Term>> EvaluateWithoutRows(Context& context, const RemoteTable& table,
                                                        const Builtin& function);
// Returns all rows of the last days.
absl::StatusOr<Term> AllRowsOf(Context& context, const RemoteTable& table, RowUse use = {});

}  // namespace tickstack::query
