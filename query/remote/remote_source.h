#pragma once

// What an expression needs of a remote table other than a query that is written as one: its rows by
// the table's name, a column by a name such as trade.price, and functions that need no rows, such
// as `count trade` and `cols trade`. As little as possible is fetched.
//
// Errors:  as of EvaluateRemoteQuery and RemoteTable::Ask.
// Threads: that of the context, which waits for the processes.

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

// Returns all rows of the last days, which are used as `use` says.
absl::StatusOr<Term> AllRowsOf(Context& context, const RemoteTable& table, RowUse use = {});

}  // namespace tickstack::query
