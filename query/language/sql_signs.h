#pragma once

// The signs by which a statement of SQL is told from q. Most are looked for only after q has failed
// on a text, so they must be right only for texts that are no q.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "query/language/sql_text.h"
#include "query/language/sql_tokens.h"

namespace tickstack::query {

// How q failed on a text.
struct FailureOfQ {
  std::string signal;  // The signal of the error. That of a name without a value is that name.
  // True for a variable or table of the process or request, or a function.
  std::function<bool(std::string_view name)> is_known;
  FindTypes types_of = nullptr;
};

// Returns the statements between semicolons that are in no brackets.
std::vector<SqlTokens> StatementsOf(SqlTokens tokens);

// True if a statement on which q failed is one of SQL.
bool IsSqlStatement(SqlTokens statement, const FailureOfQ& failure);

// True for the statements that q answers, but not as SQL would: see AnswersUnlikeSql in sql_text.h.
// Only `is_known` of `names` is used: q has not evaluated the statement.
bool IsAnsweredUnlikeSql(SqlTokens statement, const FailureOfQ& names);

}  // namespace tickstack::query
