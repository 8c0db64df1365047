#pragma once

// SQL that was sent where q is expected. q reads some of it in a way of its own: `select count(*)`
// counts the operator `*`. So a text that is SQL is answered by the error `nyi: SQL`, with the same
// query in q if that is simple. A text of which q makes something is q, except where its answer
// would be taken for that of SQL (AnswersUnlikeSql).

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "query/language/term.h"

namespace tickstack::query {

// True for the few texts that q answers, but not as SQL would:
//
//   count(*)                                 as a statement, or as a column of a select
//   count(1), sum(1), count(2), max("price") as a column of a select: constants
//   select "sym", "price" from trade         where all columns are names in quotes
//   select size/2, sum(a)/sum(b) from trade  which q iterates, perhaps without end
//   show tables
//   /* comment */ select 1                   which is a comment in q up to the end of the line
//
// Cost: one pass over the text if it has such a word.
bool AnswersUnlikeSql(std::string_view text, Context& context);

// Returns `error`, which is that of evaluating `text`; if the text is SQL and the error one of
// parsing, names, types and the like, the error `nyi: SQL` instead. Errors of bounds, rights and
// time remain.
absl::Status OrSqlError(std::string_view text, Context& context, const absl::Status& error);

// The error `nyi: SQL` for a text, with the same query in q, before which `prefix` is written.
absl::Status SqlError(std::string_view text, Context& context, std::string_view prefix = "");

// The columns of a table, with their types by the letters of `meta`.
struct SqlColumnType {
  std::string name;
  char type = 0;
};
using SqlColumnTypes = std::vector<SqlColumnType>;
using FindTypes = std::function<std::optional<SqlColumnTypes>(std::string_view table)>;

// Returns the q for one statement of SQL: a query of one table with columns, aggregates, conditions
// that AND joins, GROUP BY, ORDER BY and LIMIT; `SHOW TABLES`, `DESCRIBE t`; UPDATE and DELETE.
// nullopt if the statement has anything else, or if q would give another answer or an error with
// the types of the columns. Nothing is known about the columns of a table that `types_of` does not
// find.
std::optional<std::string> QueryOfSql(std::string_view statement, const FindTypes& types_of);

}  // namespace tickstack::query
