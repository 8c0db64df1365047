#pragma once

// Names that a table or a column cannot have, because a query would find something else under them:
// words of q, the days of a database, its symbols, and `i`, the number of a row.
//
// Threads: any.

#include <string_view>

#include "absl/status/status.h"
#include "table/schema.h"

namespace tickstack::query {

// kInvalidArgument, with the table, the column and the reason, unless queries can name this table
// and all of its columns.
absl::Status CheckSchemaNames(const Schema& schema);
// The same for the name of a column; the error does not name the table.
absl::Status CheckColumnName(std::string_view column);

}  // namespace tickstack::query
