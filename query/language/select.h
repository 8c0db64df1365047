#pragma once

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Evaluates `select`, `exec`, `update` and `delete` in q's order: source, conditions from the left,
// each on the rows that the ones before left over, groups, columns.
//
// A select of plain columns copies nothing: it is the source at fewer rows. Aggregates and
// conditions read columns where they lie. Groups by the indexed column of a whole table come out of
// the index; others take a hash a row.
absl::StatusOr<Term> EvaluateQuery(Context& context, const Query& query);

// The same over a table that is there already; the query's own source is not looked at.
absl::StatusOr<Term> EvaluateQueryOver(Context& context, const Query& query, TableView source);

}  // namespace tickstack::query
