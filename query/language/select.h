#pragma once

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Evaluates `select`, `exec`, `update` and `delete` in q's order: source; conditions from the left,
// each on the rows that the previous ones left; groups; columns.
//
// A select of plain columns copies nothing: it is the source at fewer rows. Aggregates and
// conditions read columns in place. Groups by the indexed column of a whole table come from the
// index; others take a hash per row.
absl::StatusOr<Term> EvaluateQuery(Context& context, const Query& query);

// The same over a given table; the query's own source is ignored.
absl::StatusOr<Term> EvaluateQueryOver(Context& context, const Query& query, TableView source);

}  // namespace tickstack::query
