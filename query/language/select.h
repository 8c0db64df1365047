#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Evaluates `select`, `exec`, `update` and `delete` in q's order: the source; the conditions from
// the left, each on the rows that met the previous ones; the groups; the columns.
//
// Cost: a select of plain columns copies nothing, since its result is a view of the source.
//       Conditions and aggregates read columns in place. For the cost of groups see group.h.
absl::StatusOr<Term> EvaluateQuery(Context& context, const Query& query);

// Evaluates a query over `source` instead of its own source.
absl::StatusOr<Term> EvaluateQueryOver(Context& context, const Query& query, TableView source);
// The same, with these conditions instead of its own.
absl::StatusOr<Term> EvaluateQueryOver(Context& context, const Query& query, TableView source,
                                       std::span<const NodePtr> conditions);

}  // namespace tickstack::query
