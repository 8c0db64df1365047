#pragma once

// A query over a remote table, ready to be sent: what depends on no row has been evaluated
// (sendable.h), and its leading conditions on `date` have become days (chosen_days.h).
//
//   n:50;select max price by sym from trade where date=2024.01.02,size>2*n,price=max price
//
// has the conditions size>100, which goes by item, and price=max price, which does not.

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"
#include "query/remote/remote_table.h"

namespace tickstack::query {

struct PreparedQuery {
  const Query& original;  // The query as it was written.
  const RemoteTable& table;
  std::vector<std::string> columns;  // Those of the table, without `date`.
  std::vector<std::string> names;    // The columns and `date`.

  // With expressions that can be sent, and without the leading conditions on `date`.
  Query query;
  size_t conditions_by_item = 0;        // Number of leading conditions of `query` that go by item.
  std::set<std::string> wanted;         // Columns that groups, order and columns name.
  std::set<std::string> of_conditions;  // Columns that conditions of `query` name.
  bool names_date = false;
  bool row_number = false;  // It names `i`, other than in `count i`.
  // True if other processes can evaluate all of it. False if an expression is not sendable, for
  // `by 0b`, and for an exec by groups that has no columns or a column with the name of a group:
  // the functional forms of these two mean something else.
  bool sendable = true;

  bool AllConditionsGoByItem() const { return conditions_by_item == query.conditions.size(); }
};

// Evaluates what depends on no row, in the order in which a process evaluates it: the conditions
// from the left, without the first `day_conditions`; then the groups, the order, the limit and the
// columns. `query` and `table` must outlive the result. Errors: those of the evaluation.
absl::StatusOr<PreparedQuery> Prepare(Context& context, const Query& query,
                                      const RemoteTable& table, size_t day_conditions);

}  // namespace tickstack::query
