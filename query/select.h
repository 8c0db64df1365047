#pragma once

#include "absl/status/statusor.h"
#include "query/ast.h"
#include "query/term.h"

namespace tickstack::query {

// Evaluates `select` and `exec` in q's order: source, conditions from the left, each on the rows
// that the ones before left over, groups, columns.
//
// A select of plain columns copies nothing: it is the source at fewer rows. Aggregates and
// conditions read columns where they lie. Groups by the indexed column of a whole table come out of
// the index; others take a hash a row.
absl::StatusOr<Term> EvaluateQuery(Context& context, const Query& query);

}  // namespace tickstack::query
