#pragma once

// Aggregates of rows that several processes have: each process aggregates its rows, and the results
// are combined.
//
//   select n:count i, last price, (sum price*size)%sum size by sym from trade
//
// is, for each part of the rows,
//
//   select n:count i, p0:count i, p1:last price, p2:sum price*size, p3:sum size by k0:sym from part
//
// and over the rows of all these tables, in the order of the parts,
//
//   select n:sum p0, price:last p1, (sum p2)%sum p3 by sym:k0

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

struct SplitQuery {
  // For each part; without source and conditions. Its column `n` is the number of rows: without
  // groups, a part without rows makes a row, too.
  std::unique_ptr<Query> of_part;
  // Over the results of all parts; without source and conditions.
  std::unique_ptr<Query> of_results;
  // The position of `date` among the groups, which is no column of some parts; nullopt: it is none.
  std::optional<size_t> date_group;
  // True if a column is a first or last item, so that the order of the parts counts.
  bool ordered = false;
};

inline constexpr std::string_view kPartRows = "n";

// True if a column of a part's results can be combined: a first or last item always; other
// aggregates only if they are no lists, as those of nested columns are, and have no null, which the
// aggregate over the results would leave out. `column` is one of of_part's columns.
absl::StatusOr<bool> CanBeCombined(Context& context, const NamedNode& column, const Value& results);

// Splits a query whose columns are aggregates, or functions of aggregates, of expressions that go
// by item: count, sum, prd, min, max, first, last, all, any, avg, wavg and wsum. It also splits
// `select distinct` of expressions that go by item. Returns nullopt for any other query, and if an
// expression other than a group names `date`. What names no column must be a constant
// (MakeSendable). `columns` are the names that mean columns.
std::optional<SplitQuery> Split(const Query& query, std::span<const std::string> columns);

}  // namespace tickstack::query
