#pragma once

// The order that rows of several shards must have for the result of a query to be right.
//
//   select max size from trade                 kOfParts     any order
//   select last price by sym from trade        kOfDays      a symbol is in one shard on each day
//   select from trade                          kPreferably  if the answer may have any order
//   select sums size from trade                kOfRows
//
// row_order.h finds out whether a result may have any order. merged_rows.h makes the order of one
// process, as far as columns determine it.

#include <cstdint>
#include <span>
#include <string>

#include "query/language/ast.h"
#include "query/remote/prepared_query.h"
#include "query/remote/remote_table.h"
#include "query/remote/row_order.h"

namespace tickstack::query {

enum class ShardOrder : uint8_t {
  kOfParts,     // Any that keeps those of a part.
  kOfDays,      // By day; rows of one symbol keep their order, which is that of one process.
  kPreferably,  // That of one process, or if it cannot be known, by day and shard: row_order.h.
  kOfRows,      // That of one process.
};

// Returns the order for a query over rows of several shards, of which the result is used so.
ShardOrder OrderFor(const PreparedQuery& prepared, RowUse use);

// True if the result of a query may have its rows in any order that keeps those of a symbol in
// theirs. If they are sorted afterwards, that must be by symbol, in a column that has not changed.
bool IsInAnyOrder(const Query& query, const RemoteTable& table, RowUse use);

// True if what an `update` or `delete` changes depends on the order of the rows. `names` are the
// names that mean columns.
bool ChangeNeedsOrder(const Query& query, const RemoteTable& table,
                      std::span<const std::string> names);

}  // namespace tickstack::query
