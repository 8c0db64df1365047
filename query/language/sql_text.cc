#include "query/language/sql_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/evaluator.h"
#include "query/language/library.h"
#include "query/language/parser.h"
#include "query/language/sql_signs.h"
#include "query/language/sql_tokens.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

constexpr size_t kSqlBytesMax = 16384;  // Longer texts are not looked at.
constexpr size_t kSqlErrorBytesMax = 127;

// Returns the SQL of a text of that language, `s)select ...`.
std::string_view WithoutLanguage(std::string_view text) {
  return text.starts_with("s)") ? text.substr(2) : text;
}

// True if a name has a value where the text was evaluated. Does not evaluate a view.
bool IsKnownName(Context& context, std::string_view name) {
  if (context.variables.Has(name) || context.variables.ViewOfName(name) != nullptr) return true;
  if (FindBuiltin(name) != nullptr || FindInLibrary(name) != nullptr) return true;
  Environment& environment = context.environment;
  return environment.FindTable(name).has_value() || environment.FindStored(name) != nullptr ||
         environment.FindRemote(name) != nullptr;
}

// True if the text assigns the name, which has no value if the text could not be parsed.
bool Assigns(SqlTokens tokens, std::string_view name) {
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].IsAnyWord() && tokens[i].text == name && tokens[i + 1].IsSign(":")) return true;
  }
  return false;
}

// True for `select a from t -- why` and `select /* this */ a from t`: comments of SQL outside of
// strings.
bool HasCommentOfSql(std::string_view text) {
  if (text.starts_with("-- ")) return true;
  const size_t at = std::min({text.find(" --"), text.find("\n--"), text.find(" /*")});
  return at != std::string_view::npos && text.substr(0, at).find('"') == std::string_view::npos;
}

bool IsSql(std::string_view text, const FailureOfQ& failure) {
  if (text.size() > kSqlBytesMax) return false;
  if (text.starts_with("s)")) return true;
  const std::vector<SqlToken> tokens = TokensOfSql(text);
  const FailureOfQ of_text = {
      failure.signal,
      [&](std::string_view name) { return failure.is_known(name) || Assigns(tokens, name); },
      failure.types_of};
  const std::vector<SqlTokens> statements = StatementsOf(tokens);
  const bool comment =
      HasCommentOfSql(text) &&
      (statements.empty() ||
       (statements.size() == 1 && statements[0][0].IsOneOf({"select", "update", "delete"})));
  return comment || std::ranges::any_of(statements, [&](SqlTokens statement) {
           return IsSqlStatement(statement, of_text);
         });
}

// True for an error that says what is wrong with the text.
bool IsOfText(const absl::Status& error) {
  return error.code() == absl::StatusCode::kInvalidArgument ||
         error.code() == absl::StatusCode::kNotFound ||
         error.code() == absl::StatusCode::kUnimplemented;
}

bool IsPlainName(std::string_view name) {
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
         std::ranges::all_of(name, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

// Returns the columns of a table by `meta`, which the processes that have the rows answer.
std::optional<SqlColumnTypes> TypesOf(Context& context, std::string_view table) {
  if (!IsPlainName(table)) return std::nullopt;
  Context outside = context.Outside();
  outside.budget.set_root(nullptr);  // The request's query has failed.
  const auto meta = [&]() -> absl::StatusOr<Value> {
    TS_ASSIGN_OR_RETURN(const std::vector<NodePtr> statements,
                        ParseInside(fmt::format("meta {}", table), outside.budget));
    TS_ASSIGN_OR_RETURN(Term term, EvaluateStatements(outside, statements));
    return ToValue(std::move(term), outside.budget);
  };
  const absl::StatusOr<Value> found = meta();
  if (!found.ok() || !found->is_keyed_table()) return std::nullopt;
  const Value* const names = found->keys().FindColumn("c");
  const Value* const types = found->values().FindColumn("t");
  if (names == nullptr || types == nullptr || types->type() != Type::kChar) return std::nullopt;
  SqlColumnTypes columns;
  for (size_t i = 0; i < names->count(); ++i) {
    columns.push_back({std::string(ItemAt(*names, i).symbol()), types->text()[i]});
  }
  return columns;
}

}  // namespace

bool AnswersUnlikeSql(std::string_view text, Context& context) {
  if (text.size() > kSqlBytesMax) return false;
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  // One line of a comment and a statement, of which q reads a comment only.
  if (text.starts_with("/*") && !has("\n")) {
    const std::vector<SqlToken> statement = TokensOfSql(text);
    return (!statement.empty() && statement[0].IsWord("select")) ||
           IsSql(text, {"", [](std::string_view) { return false; }});
  }
  const bool selects = has("select") && (has("\"") || has("/"));
  if (!selects && !has("count") && !has("sum") && !has("show")) return false;
  const std::vector<SqlToken> tokens = TokensOfSql(text);
  const std::vector<SqlTokens> statements = StatementsOf(tokens);
  // The first of several statements may give the others names.
  const FailureOfQ names = {"", [&](std::string_view name) {
                              return statements.size() > 1 || IsKnownName(context, name);
                            }};
  return std::ranges::any_of(
      statements, [&](SqlTokens statement) { return IsAnsweredUnlikeSql(statement, names); });
}

absl::Status SqlError(std::string_view text, Context& context, std::string_view prefix) {
  text = WithoutLanguage(text);
  const std::vector<SqlToken> tokens = TokensOfSql(text.substr(0, kSqlBytesMax));
  const bool inserts = !tokens.empty() && tokens[0].IsOneOf({"insert", "replace"});
  if (inserts) return NyiError("SQL; a row is published to the tickerplant with .u.upd");
  const std::string introduction =
      prefix.empty() ? "SQL; in q: "
                     : fmt::format("SQL; write q with {} in front: {}", prefix, prefix);
  const auto types_of = [&](std::string_view table) { return TypesOf(context, table); };
  if (const std::optional<std::string> q = QueryOfSql(text, types_of)) {
    const std::string token = introduction + *q;
    if (token.size() + std::string_view("nyi: ").size() <= kSqlErrorBytesMax)
      return NyiError(token);
  }
  return NyiError(prefix.empty() ? "SQL; write it in q" : introduction + "select from trade");
}

absl::Status OrSqlError(std::string_view text, Context& context, const absl::Status& error) {
  if (error.ok() || !IsOfText(error)) return error;
  const FailureOfQ failure = {QErrorText(error),
                              [&](std::string_view name) { return IsKnownName(context, name); },
                              [&](std::string_view table) { return TypesOf(context, table); }};
  if (!IsSql(text, failure)) return error;
  const absl::Status sql = SqlError(text, context);
  const std::optional<size_t> position = PositionOf(error);
  return position ? AtPosition(sql, *position) : sql;
}

}  // namespace tickstack::query
