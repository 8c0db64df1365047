#pragma once

// SQL that was sent where q is expected. q reads some of it in a way of its own: `select count(*)`
// counts the operator `*`. So a text that is SQL is answered by the error `nyi: SQL`, with the same
// query in q if that is simple. A text of which q makes something is q, except where its answer
// would be taken for that of SQL (AnswersUnlikeSql).

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tickstack::query {

// True for the few texts that q answers, but not as SQL would: `count(*)`, `count(1)` or `sum(1)`
// as a column of a select, `show tables`, and a statement after a comment of SQL, which is one of q
// up to the end of the line. Cost: one pass over the text if it has such a word.
bool AnswersUnlikeSql(std::string_view text);

// Returns `error`, which is that of evaluating `text`; if the text is SQL and the error one of
// parsing, names, types and the like, the error `nyi: SQL` instead. Errors of bounds, rights and
// time remain.
absl::Status OrSqlError(std::string_view text, const absl::Status& error);

// The error `nyi: SQL` for a text, with the same query in q, before which `prefix` is written.
absl::Status SqlError(std::string_view text, std::string_view prefix = "");

// Returns the q for one statement of SQL: a query of one table with columns, aggregates, conditions
// that AND joins, GROUP BY, ORDER BY and LIMIT; `SHOW TABLES`, `DESCRIBE t`; UPDATE and DELETE.
// nullopt if the statement has anything else.
std::optional<std::string> QueryOfSql(std::string_view statement);

}  // namespace tickstack::query
