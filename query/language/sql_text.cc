#include "query/language/sql_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "query/columns/errors.h"
#include "query/language/sql_tokens.h"

namespace tickstack::query {
namespace {

using SqlTokens = std::span<const SqlToken>;

constexpr size_t kSqlBytesMax = 16384;  // Longer texts are not looked at.
constexpr size_t kSqlErrorBytesMax = 127;

// Returns the statements between semicolons that are in no brackets.
std::vector<SqlTokens> StatementsOf(SqlTokens tokens) {
  std::vector<SqlTokens> statements;
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    const bool is_sign = i < tokens.size() && tokens[i].kind == SqlToken::Kind::kSign;
    const std::string sign = is_sign ? tokens[i].text : "";
    if (sign == "(" || sign == "[" || sign == "{") ++depth;
    if ((sign == ")" || sign == "]" || sign == "}") && depth > 0) --depth;
    if (i < tokens.size() && (sign != ";" || depth > 0)) continue;
    if (i > begin) statements.push_back(tokens.subspan(begin, i - begin));
    begin = i + 1;
  }
  return statements;
}

const SqlToken& TokenAt(SqlTokens tokens, size_t i) {
  static const SqlToken kNone{SqlToken::Kind::kSign, "", ""};
  return i < tokens.size() ? tokens[i] : kNone;
}

// True for `count(*)`, `count(1)` and `sum(1)`, of which q makes 1.
bool CountsRows(SqlTokens tokens, size_t i) {
  const bool all = TokenAt(tokens, i).IsOneOf({"count"}) && TokenAt(tokens, i + 2).IsSign("*");
  const bool ones =
      TokenAt(tokens, i).IsOneOf({"count", "sum"}) && TokenAt(tokens, i + 2).text == "1";
  return (all || ones) && TokenAt(tokens, i + 1).IsSign("(") && TokenAt(tokens, i + 3).IsSign(")");
}

bool CountsRowsAnywhere(SqlTokens tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (CountsRows(tokens, i)) return true;
  }
  return false;
}

// True for a column that stands for all: `*` or `t.*`.
bool IsStar(SqlTokens tokens, size_t i) {
  const SqlToken& before = TokenAt(tokens, i - 1);
  const SqlToken& after = TokenAt(tokens, i + 1);
  return TokenAt(tokens, i).IsSign("*") &&
         (before.IsOneOf({"select", "distinct"}) || before.IsSign(",") || before.IsSign(".")) &&
         (after.IsWord("from") || after.IsSign(","));
}

// True for a keyword that q writes in small letters or has not.
bool IsKeyword(const SqlToken& token) {
  return token.IsOneOf({"select", "from",   "where", "and",    "or",      "not",   "group",
                        "order",  "by",     "limit", "offset", "having",  "as",    "in",
                        "like",   "is",     "null",  "join",   "on",      "union", "between",
                        "asc",    "desc",   "count", "sum",    "avg",     "min",   "max",
                        "update", "delete", "set",   "insert", "distinct"});
}

// True if the token and those after it are a phrase that no q has.
bool IsPhraseOfSql(SqlTokens tokens, size_t i) {
  const SqlToken& token = tokens[i];
  const SqlToken& next = TokenAt(tokens, i + 1);
  const bool number = next.kind == SqlToken::Kind::kNumber;
  if (token.kind == SqlToken::Kind::kText || token.IsSign("!=")) return true;
  if (token.IsCapital() && IsKeyword(token)) return true;
  if (token.IsOneOf({"group", "order"})) return next.IsWord("by");
  if (token.IsOneOf({"limit", "offset", "top"})) return number;
  if (token.IsOneOf({"join", "having", "union", "as"})) {
    return next.kind == SqlToken::Kind::kWord || next.IsSign("(");
  }
  if (token.IsWord("is")) return next.IsOneOf({"null", "not"});
  if (token.IsWord("between")) return next.kind != SqlToken::Kind::kSign || next.IsSign("-");
  if (token.IsWord("in") && next.IsSign("(")) {  // in (1, 2)
    return TokenAt(tokens, i + 2).kind == SqlToken::Kind::kNumber &&
           TokenAt(tokens, i + 3).IsSign(",");
  }
  return IsStar(tokens, i) || CountsRows(tokens, i);
}

bool HasPhraseOfSql(SqlTokens tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (IsPhraseOfSql(tokens, i)) return true;
  }
  return false;
}

// True for `select 1` and `select version()`, which clients send to see whether a server answers.
bool IsSelectOfNothing(SqlTokens tokens) {
  if (std::ranges::any_of(tokens, [](const SqlToken& t) { return t.IsWord("from"); })) return false;
  const bool value = tokens.size() == 2 && tokens[1].kind != SqlToken::Kind::kSign;
  return value ||
         (TokenAt(tokens, 1).kind == SqlToken::Kind::kWord && TokenAt(tokens, 2).IsSign("("));
}

// True for a statement whose first words are those of SQL.
bool IsCommandOfSql(SqlTokens tokens) {
  const SqlToken& first = tokens[0];
  const SqlToken& second = TokenAt(tokens, 1);
  const bool word = second.kind == SqlToken::Kind::kWord;
  if (first.IsOneOf({"insert", "replace", "merge"})) return second.IsWord("into");
  if (first.IsOneOf({"create", "drop", "alter", "truncate"})) return word;
  if (first.IsOneOf({"grant", "revoke", "describe", "explain", "use", "start"})) return word;
  if (first.IsWord("desc") && first.IsCapital()) return word;
  if (first.IsWord("show")) {
    return first.IsCapital() || second.IsOneOf({"tables", "databases", "schemas", "columns",
                                                "create", "index", "variables", "status"});
  }
  if (first.IsOneOf({"begin", "commit", "rollback", "abort"})) {
    return tokens.size() == 1 || second.IsOneOf({"transaction", "work"});
  }
  if (first.IsWord("set")) {
    return word && (first.IsCapital() || TokenAt(tokens, 2).IsSign("=") ||
                    second.IsOneOf({"names", "session", "global", "transaction"}));
  }
  if (first.IsWord("with")) return word && TokenAt(tokens, 2).IsWord("as");
  if (first.IsWord("values")) return second.IsSign("(");
  return false;
}

bool IsSqlStatement(SqlTokens tokens) {
  const SqlToken& first = tokens[0];
  if (first.IsWord("select")) return HasPhraseOfSql(tokens) || IsSelectOfNothing(tokens);
  if (first.IsWord("delete")) return HasPhraseOfSql(tokens);
  if (first.IsWord("update")) {  // update t set a=1, update t x set ...
    const bool sets = TokenAt(tokens, 2).IsWord("set") || TokenAt(tokens, 3).IsWord("set");
    return HasPhraseOfSql(tokens) || sets;
  }
  return IsCommandOfSql(tokens);
}

// Returns the SQL of a text of that language, `s)select ...`.
std::string_view WithoutLanguage(std::string_view text) {
  return text.starts_with("s)") ? text.substr(2) : text;
}

bool IsSql(std::string_view text) {
  if (text.size() > kSqlBytesMax) return false;
  if (text.starts_with("s)")) return true;
  const std::vector<SqlToken> tokens = TokensOfSql(text);
  return std::ranges::any_of(StatementsOf(tokens), IsSqlStatement);
}

// True for an error that says what is wrong with the text.
bool IsOfText(const absl::Status& error) {
  return error.code() == absl::StatusCode::kInvalidArgument ||
         error.code() == absl::StatusCode::kNotFound ||
         error.code() == absl::StatusCode::kUnimplemented;
}

}  // namespace

bool AnswersUnlikeSql(std::string_view text) {
  if (text.size() > kSqlBytesMax) return false;
  // One line of a comment and a statement, of which q reads a comment only.
  if (text.starts_with("/*") && text.find('\n') == std::string_view::npos) return IsSql(text);
  const bool may = text.find("count") != std::string_view::npos ||
                   text.find("sum") != std::string_view::npos ||
                   text.find("show") != std::string_view::npos;
  if (!may) return false;
  const std::vector<SqlToken> tokens = TokensOfSql(text);
  return std::ranges::any_of(StatementsOf(tokens), [](SqlTokens statement) {
    if (statement[0].IsWord("show")) {
      return statement.size() == 2 && statement[1].IsWord("tables");
    }
    return statement[0].IsOneOf({"select", "exec"}) && CountsRowsAnywhere(statement);
  });
}

absl::Status SqlError(std::string_view text, std::string_view prefix) {
  text = WithoutLanguage(text);
  const std::vector<SqlToken> tokens = TokensOfSql(text.substr(0, kSqlBytesMax));
  const bool inserts = !tokens.empty() && tokens[0].IsOneOf({"insert", "replace"});
  if (inserts) return NyiError("SQL; a row is published to the tickerplant with .u.upd");
  const std::string introduction =
      prefix.empty() ? "SQL; in q: "
                     : fmt::format("SQL; write q with {} in front: {}", prefix, prefix);
  if (const std::optional<std::string> q = QueryOfSql(text)) {
    const std::string token = introduction + *q;
    if (token.size() + std::string_view("nyi: ").size() <= kSqlErrorBytesMax)
      return NyiError(token);
  }
  return NyiError(prefix.empty() ? "SQL; write it in q" : introduction + "select from trade");
}

absl::Status OrSqlError(std::string_view text, const absl::Status& error) {
  if (error.ok() || !IsOfText(error) || !IsSql(text)) return error;
  const std::optional<size_t> position = PositionOf(error);
  return position ? AtPosition(SqlError(text), *position) : SqlError(text);
}

}  // namespace tickstack::query
