#pragma once

// Columns of a remote table, as the steps of a query need to know them.
//
// Cost: each call of a function that takes a table copies the names of its columns.

#include <string>
#include <string_view>
#include <vector>

#include "query/language/ast.h"
#include "query/remote/remote_table.h"

namespace tickstack::query {

// The columns by which a partition and an rdb order their rows.
inline constexpr std::string_view kSymColumn = "sym", kTimeColumn = "time";

// Returns the columns that the table has, without `date`, on the side of the last days if it is
// there.
std::vector<std::string> ColumnsOf(const RemoteTable& table);

// Returns the names that mean columns in a query over the table: its columns, and `date`.
std::vector<std::string> NamesOf(const RemoteTable& table);

// True for a column of the key that the table has on the last side.
bool IsKeyColumn(const RemoteTable& table, std::string_view column);

// True if all processes that have the table have this column.
bool AllHaveColumn(const RemoteTable& table, const std::string& column);

// True for the name of the column by which rows are spread over shards.
bool IsShardColumn(const RemoteTable& table, const Node& node);

}  // namespace tickstack::query
