#include "query/language/sql_signs.h"

#include <algorithm>
#include <optional>

namespace tickstack::query {
namespace {

using Kind = SqlToken::Kind;

const SqlToken& TokenAt(SqlTokens tokens, size_t i) {
  static const SqlToken kNone;
  return i < tokens.size() ? tokens[i] : kNone;
}

// True for a word in a list of words that blanks divide.
bool IsOneWordOf(const SqlToken& token, std::string_view words) {
  if (!token.IsAnyWord()) return false;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (token.lower == word) return true;
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return false;
}

bool IsEnd(SqlTokens tokens, size_t i) { return i >= tokens.size(); }

bool HasWord(SqlTokens tokens, std::string_view word) {
  return std::ranges::any_of(tokens, [&](const SqlToken& token) { return token.IsWord(word); });
}

constexpr std::string_view kKeywordWords =
    "select from where and or not group order by limit offset having as in like is null "
    "join on union between asc desc count sum avg min max update delete set insert distinct";
// True for a keyword that q writes in small letters or does not have.
bool IsKeyword(const SqlToken& token) { return IsOneWordOf(token, kKeywordWords); }

constexpr std::string_view kFirstWords =
    "table into values case when explain describe create drop alter use with begin commit "
    "rollback end show exec execute call grant truncate declare";
// True for a keyword that a statement may begin with.
bool IsFirstWord(const SqlToken& token) {
  return IsKeyword(token) || IsOneWordOf(token, kFirstWords);
}

constexpr std::string_view kClauseWords =
    "from where by and or order group limit join inner left right full cross union having "
    "on as in like is not offset fetch using for natural";
// True for a word that ends an item or a table of a query, so that it is no alias.
bool IsClause(const SqlToken& token) { return IsOneWordOf(token, kClauseWords); }

bool IsAggregate(const SqlToken& token) {
  return token.IsOneOf({"count", "sum", "avg", "min", "max"});
}

constexpr std::string_view kFunctionOfSqlWords =
    "coalesce nullif ifnull nvl isnull iif greatest least cast try_cast convert extract "
    "date_trunc date_part datediff dateadd date_add date_sub date_format strftime to_char "
    "to_date to_timestamp to_number from_unixtime unix_timestamp date year month day hour "
    "minute second now getdate curdate curtime sysdate current_date current_time "
    "current_timestamp localtime localtimestamp version database current_database "
    "current_schema current_user user schema connection_id concat concat_ws substring "
    "substr length char_length position instr replace lpad rpad initcap split_part round "
    "ceil power pow trunc truncate stddev stddev_pop stddev_samp std variance var_pop "
    "var_samp median percentile_cont percentile_disc quantile corr string_agg group_concat "
    "array_agg any_value approx_count_distinct row_number dense_rank percent_rank ntile lag "
    "lead first_value last_value nth_value total typeof if exists pg_sleep sleep uuid "
    "gen_random_uuid random rand generate_series unnest time_bucket";
// True for a function that databases have and q has not.
bool IsFunctionOfSql(const SqlToken& token) { return IsOneWordOf(token, kFunctionOfSqlWords); }

constexpr std::string_view kTypeOfSqlWords =
    "int int2 int4 int8 integer bigint float float4 float8 real double numeric decimal text "
    "varchar char string date time timestamp bool boolean smallint timestamptz";
bool IsTypeOfSql(const SqlToken& token) { return IsOneWordOf(token, kTypeOfSqlWords); }

// Words that follow each other in SQL only.
struct WordPair {
  std::string_view first, second;
};
constexpr WordPair kPairsOfSql[] = {
    {"partition", "by"}, {"sample", "by"},  {"latest", "by"},   {"latest", "on"},
    {"fetch", "first"},  {"fetch", "next"}, {"for", "update"},  {"for", "share"},
    {"limit", "all"},    {"case", "when"},  {"is", "null"},     {"is", "not"},
    {"distinct", "on"},  {"union", "all"},  {"not", "between"}, {"not", "like"},
    {"not", "ilike"},    {"asc", "nulls"},  {"desc", "nulls"},  {"is", "true"},
    {"is", "false"},     {"rows", "only"},  {"row", "only"},    {"nulls", "first"},
    {"nulls", "last"},   {"with", "ties"},  {"is", "distinct"}, {"cross", "join"},
};

bool IsPairOfSql(const SqlToken& first, const SqlToken& second) {
  return std::ranges::any_of(kPairsOfSql, [&](const WordPair& pair) {
    return first.IsWord(pair.first) && second.IsWord(pair.second);
  });
}

// True for a column that stands for all: `*` or `t.*`.
bool IsStar(SqlTokens tokens, size_t i) {
  const SqlToken& before = TokenAt(tokens, i - 1);
  const SqlToken& after = TokenAt(tokens, i + 1);
  return TokenAt(tokens, i).IsSign("*") &&
         (before.IsOneOf({"select", "distinct", "all"}) || before.IsSign(",") ||
          before.IsSign(".") || (i >= 2 && TokenAt(tokens, i - 2).IsWord("top"))) &&
         (IsEnd(tokens, i + 1) || after.IsWord("from") || after.IsSign(","));
}

bool IsPlainNumber(const SqlToken& token) {
  return token.kind == Kind::kNumber &&
         token.text.find_first_not_of("0123456789.") == token.text.npos;
}

// True for `count(*)`, which is 1 in q.
bool IsCountOfStar(SqlTokens tokens, size_t i) {
  return TokenAt(tokens, i).IsWord("count") && TokenAt(tokens, i + 1).IsSign("(") &&
         TokenAt(tokens, i + 2).IsSign("*") && TokenAt(tokens, i + 3).IsSign(")");
}

// True for the beginning or end of an item of a select.
bool EndsItem(SqlTokens tokens, size_t i) {
  const SqlToken& token = TokenAt(tokens, i);
  return IsEnd(tokens, i) || token.IsSign(",") || token.IsOneOf({"from", "by", "as"});
}
bool BeginsItem(SqlTokens tokens, size_t i) {
  const SqlToken& before = TokenAt(tokens, i - 1);
  return before.IsOneOf({"select", "exec", "distinct"}) || before.IsSign(",");
}

// True for `"price"` as a whole item of a select.
bool IsQuotedItem(SqlTokens tokens, size_t i) {
  return TokenAt(tokens, i).IsQuotedName() && BeginsItem(tokens, i) && EndsItem(tokens, i + 1);
}

// True for an item of a select that aggregates one constant: `count(1)`, `sum(1)`, `max("price")`.
// In q its value has nothing to do with the table. `max(1)` is the same in both languages.
bool AggregatesConstant(SqlTokens tokens, size_t i) {
  const SqlToken& function = TokenAt(tokens, i);
  const SqlToken& constant = TokenAt(tokens, i + 2);
  if (!IsAggregate(function) || !TokenAt(tokens, i + 1).IsSign("(") ||
      !TokenAt(tokens, i + 3).IsSign(")")) {
    return false;
  }
  const bool counts = function.IsOneOf({"count", "sum"});
  if (counts && constant.text == "1") return true;  // Within a larger expression too.
  const bool item = BeginsItem(tokens, i) && EndsItem(tokens, i + 4);
  return item && ((counts && IsPlainNumber(constant)) || constant.IsQuotedName());
}

// True for `*`, `||` and other signs of a phrase that need no keyword.
bool IsSignOfSql(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  const SqlToken& token = tokens[i];
  const SqlToken& next = TokenAt(tokens, i + 1);
  if (token.kind == Kind::kText || token.IsSign("!=") || token.backquoted) return true;
  if (token.IsSign("|") && next.IsSign("|")) return true;
  if (token.IsSign(":") && next.IsSign(":")) return IsTypeOfSql(TokenAt(tokens, i + 2));
  if (IsQuotedItem(tokens, i)) return true;
  if (token.IsQuotedName()) {  // "trade"."price", from "trade", as "Price", where "price" > 10
    const SqlToken& before = TokenAt(tokens, i - 1);
    return next.IsSign(".") || before.IsSign(".") || before.IsOneOf({"from", "as", "join", "by"}) ||
           (before.IsOneOf({"where", "and", "or"}) && next.kind == Kind::kSign &&
            !next.text.empty() &&
            std::string_view("= <> < > <= >=").find(next.text) != std::string_view::npos);
  }
  if ((token.IsSign("=") || token.IsSign("<>")) && next.IsWord("null")) return true;
  if (next.IsSign("(") && TokenAt(tokens, i + 2).IsWord("select")) {  // price = (select max(price)
    if (token.IsSign("=") || token.IsSign("<") || token.IsSign(">")) return true;
  }
  if (token.IsWord("extract") && next.IsSign("(") && failure.signal == "from") return true;
  return IsStar(tokens, i) || IsCountOfStar(tokens, i) || AggregatesConstant(tokens, i) ||
         (IsFunctionOfSql(token) && next.IsSign("(") && failure.signal == token.text);
}

// True if the word and those after it are a phrase that no q has.
bool IsWordsOfSql(SqlTokens tokens, size_t i) {
  const SqlToken& token = tokens[i];
  const SqlToken& next = TokenAt(tokens, i + 1);
  const bool name = next.IsAnyWord() || next.IsSign("(") || next.kind == Kind::kQuoted;
  if (token.IsCapital() && IsKeyword(token)) return !next.IsSign(":");  // LIMIT:n names a column.
  if (token.IsOneOf({"group", "order"}) && next.IsWord("by")) {
    // Before the table they are columns, `select order by sym from t`, except in OVER (ORDER BY x).
    return i == 0 || TokenAt(tokens, i - 1).IsSign("(") || HasWord(tokens.first(i), "from");
  }
  if (token.IsOneOf({"limit", "offset"}) && !IsEnd(tokens, i + 1)) {
    return next.kind == Kind::kNumber || next.IsSign("?") || next.IsSign("$") || next.IsSign(":") ||
           next.IsWord("all");
  }
  if (token.IsWord("top")) return next.kind == Kind::kNumber || next.IsSign("(");
  if (token.IsOneOf({"join", "having", "union", "as", "into", "ilike", "intersect"})) return name;
  if (token.IsWord("interval")) return next.kind == Kind::kNumber || next.kind == Kind::kText;
  if (token.IsWord("between")) return next.kind != Kind::kSign || next.IsSign("-");
  if (token.IsWord("in") && next.IsSign("(")) {  // in (1, 2), in ("a", "b"), in (select ...
    const SqlToken& item = TokenAt(tokens, i + 2);
    const bool literal = item.kind == Kind::kNumber || item.kind == Kind::kQuoted;
    return literal && TokenAt(tokens, i + 3).IsSign(",");
  }
  if (token.IsWord("exists") && next.IsSign("(")) return TokenAt(tokens, i + 2).IsWord("select");
  if (token.IsOneOf({"over", "filter"}) && next.IsSign("(")) {
    return TokenAt(tokens, i + 2).IsOneOf({"partition", "order", "where"}) ||
           TokenAt(tokens, i + 2).IsSign(")");
  }
  if (token.IsWord("with") && next.IsSign("(")) return TokenAt(tokens, i + 2).IsWord("nolock");
  return IsPairOfSql(token, next);
}

// Returns the bracket that the one at `close` closes; nullopt if there is code of q in between.
std::optional<size_t> OpeningOf(SqlTokens tokens, size_t close) {
  size_t depth = 0;
  for (size_t i = close + 1; i-- > 0;) {
    const SqlToken& token = tokens[i];
    if (token.IsSign("{") || token.IsSign("}") || token.IsSign(";")) return std::nullopt;
    if (token.IsSign(")")) ++depth;
    if (token.IsSign("(") && --depth == 0) return i;
  }
  return std::nullopt;
}

// True for a name that ends at `end`, such as `sym` or `t.sym`, and has no value outside of a
// query, so that it may be a column.
bool MayBeColumn(SqlTokens tokens, size_t end, const FailureOfQ& failure) {
  size_t begin = end;
  while (begin >= 2 && tokens[begin - 1].IsSign(".") && !tokens[begin - 1].after_blank &&
         tokens[begin - 2].IsAnyWord()) {
    begin -= 2;
  }
  const bool of_namespace = begin >= 1 && tokens[begin - 1].IsSign(".");  // .my.f
  return !of_namespace && tokens[begin].IsAnyWord() && !failure.is_known(tokens[begin].text);
}

// True for an alias without AS: `sym s`, `sum(size) total`, `trade t`. q applies the first to the
// second, which has no value.
bool IsAlias(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  const SqlToken& alias = tokens[i];
  if (!tokens[0].IsWord("select") || i < 2 || !alias.IsAnyWord() || IsClause(alias)) return false;
  const SqlToken& named = tokens[i - 1];
  const SqlToken& next = TokenAt(tokens, i + 1);
  if (tokens[i - 2].IsWord("from") && named.IsAnyWord()) {
    const bool ends = IsEnd(tokens, i + 1) || next.IsSign(",") || IsClause(next);
    return ends && !tokens[i - 3].IsWord("select") && !failure.is_known(alias.text);
  }
  if (alias.text != failure.signal) return false;
  const bool in_columns = !HasWord(tokens.first(i), "from");
  if (named.IsSign(")")) {  // sum(size) total, from (select ...) t
    const std::optional<size_t> open = OpeningOf(tokens, i - 1);
    return open && (in_columns || TokenAt(tokens, *open - 1).IsWord("from"));
  }
  if (!in_columns || !(next.IsWord("from") || next.IsSign(","))) return false;
  if (named.kind == Kind::kNumber) return true;
  return named.IsAnyWord() && !named.IsOneOf({"select", "distinct"}) && !IsClause(named) &&
         MayBeColumn(tokens, i - 1, failure);
}

// True for a division: `price/size`, `sum(a)/sum(b)`. q takes `/` for an iterator of a function, or
// after a blank for the beginning of a comment, which then hides the table.
bool IsDivision(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  if (!tokens[i].IsSign("/") || i == 0) return false;
  const bool comment = tokens[i].after_blank;
  if (comment && (failure.signal != "from" || HasWord(tokens.first(i), "from"))) return false;
  const SqlToken& left = tokens[i - 1];
  const SqlToken& right = TokenAt(tokens, i + 1);
  if (!right.IsAnyWord() && right.kind != Kind::kNumber && !right.IsSign("(")) return false;
  if (left.IsAnyWord()) return MayBeColumn(tokens, i - 1, failure) && failure.signal != left.text;
  if (left.kind == Kind::kNumber) return comment;
  const std::optional<size_t> open = left.IsSign(")") ? OpeningOf(tokens, i - 1) : std::nullopt;
  return open && TokenAt(tokens, *open + 1).kind != Kind::kSign;
}

// True for a division that q evaluates, perhaps without end, as an iteration: `size/2`, where
// `size` is no function, `(a+b)/2` and `sum(a)/sum(b)`.
bool IsIteratedDivision(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  if (!IsDivision(tokens, i, failure) || tokens[i].after_blank) return false;
  if (tokens[i - 1].IsAnyWord()) return true;
  const std::optional<size_t> open = OpeningOf(tokens, i - 1);
  return open && TokenAt(tokens, *open + 1).IsAnyWord() && MayBeColumn(tokens, *open + 1, failure);
}

// True for the tables of `select a, b from trade, quote`. In q the comma joins their rows.
bool IsListOfTables(SqlTokens tokens, size_t i) {
  return i >= 3 && tokens[i].IsSign(",") && tokens[i - 1].IsAnyWord() &&
         tokens[i - 2].IsWord("from") && !tokens[i - 3].IsOneOf({"select", "exec"}) &&
         TokenAt(tokens, i + 1).IsAnyWord() && TokenAt(tokens, i + 1).after_blank;
}

// True for `public.trade` after FROM.
bool IsSchema(SqlTokens tokens, size_t i) {
  return i >= 1 && tokens[i - 1].IsWord("from") && TokenAt(tokens, i + 1).IsSign(".") &&
         tokens[i].IsOneOf({"public", "dbo", "main", "information_schema", "pg_catalog", "sys",
                            "mysql", "performance_schema", "system"});
}

// True for `where sym="IBM"`, with a string for a symbol. q compares it char by char.
bool IsTextOfColumn(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  const bool compares = tokens[i].IsSign("=") || tokens[i].IsSign("<>");
  return compares && i >= 2 && (failure.signal == "length" || failure.signal == "type") &&
         tokens[i - 1].IsAnyWord() && tokens[i - 2].IsOneOf({"where", "and", "or"}) &&
         TokenAt(tokens, i + 1).kind == Kind::kQuoted && !tokens[1].IsWord("from");
}

bool HasPhraseOfSql(SqlTokens tokens, const FailureOfQ& failure) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (IsSignOfSql(tokens, i, failure) || IsWordsOfSql(tokens, i) || IsAlias(tokens, i, failure) ||
        IsDivision(tokens, i, failure) || IsListOfTables(tokens, i) || IsSchema(tokens, i) ||
        IsTextOfColumn(tokens, i, failure)) {
      return true;
    }
  }
  return false;
}

// True for `select 1`, `select 1+1` and `select version()`, which clients send to see whether a
// server answers. q has no select without a table.
bool IsSelectOfNothing(SqlTokens tokens) {
  if (HasWord(tokens, "from")) return false;
  const SqlToken& first = TokenAt(tokens, 1);
  if (tokens.size() == 1) return true;
  return (tokens.size() == 2 && first.kind != Kind::kSign) || first.kind == Kind::kNumber ||
         first.IsSign("@") || first.IsSign("-") ||
         (first.IsAnyWord() && TokenAt(tokens, 2).IsSign("("));
}

// The first word of a statement, and the words of which one follows it, divided by blanks: `*` for
// any word, `(` for a bracket, `.` for the end of the statement. The first word has no value in q.
struct CommandOfSql {
  std::string_view first, seconds;
};
constexpr CommandOfSql kCommands[] = {
    {"replace", "into"},
    {"merge", "into"},
    {"upsert", "into"},
    {"create", "*"},
    {"drop", "*"},
    {"alter", "*"},
    {"truncate", "*"},
    {"rename", "table"},
    {"grant", "*"},
    {"revoke", "*"},
    {"describe", "*"},
    {"explain", "* ("},
    {"use", "*"},
    {"start", "transaction"},
    {"begin", ". transaction work tran isolation read"},
    {"commit", ". transaction work and"},
    {"rollback", ". transaction work and to"},
    {"abort", ". transaction work"},
    {"end", ". transaction work"},
    {"savepoint", "*"},
    {"release", "savepoint"},
    {"table", "*"},
    {"values", "("},
    {"call", "*"},
    {"execute", "*"},
    {"prepare", "*"},
    {"deallocate", "*"},
    {"declare", "* @"},
    {"vacuum", ". *"},
    {"analyze", ". *"},
    {"checkpoint", "."},
    {"reindex", "*"},
    {"optimize", "table"},
    {"lock", "table tables"},
    {"unlock", "table tables"},
    {"flush", "tables privileges"},
    {"comment", "on"},
    {"refresh", "materialized"},
    {"discard", "all"},
    {"reset", "all"},
    {"pragma", "*"},
    {"attach", "database"},
    {"detach", "database"},
    {"with", "recursive"},
    {"now", "("},
    {"version", "("},
    {"current_timestamp", ". ("},
    {"current_date", "."},
};

bool IsSecondWord(const CommandOfSql& command, SqlTokens tokens) {
  const SqlToken& second = TokenAt(tokens, 1);
  std::string_view rest = command.seconds;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const bool is = word == "."                  ? tokens.size() == 1
                    : word == "*"                ? second.IsAnyWord() || second.IsQuotedName()
                    : word == "(" || word == "@" ? second.IsSign(word)
                                                 : second.IsWord(word);
    if (is) return true;
  }
  return false;
}

// True for a command whose first word q has too.
bool IsCommandWithWordOfQ(SqlTokens tokens) {
  const SqlToken& first = tokens[0];
  const SqlToken& second = TokenAt(tokens, 1);
  const bool word = second.IsAnyWord();
  if (first.IsWord("insert")) return second.IsWord("into") || first.IsCapital();
  if (first.IsWord("load")) return second.IsWord("data");
  if (first.IsWord("copy")) return word && TokenAt(tokens, 2).IsOneOf({"from", "to"});
  if (first.IsWord("show")) {
    return first.IsCapital() ||
           second.IsOneOf({"tables", "databases", "schemas", "columns", "create", "index",
                           "indexes", "variables", "status", "processlist", "full", "grants",
                           "warnings", "session", "global", "search_path", "server_version",
                           "views", "partitions"});
  }
  if (first.IsWord("set")) {
    return word && (first.IsCapital() || TokenAt(tokens, 2).IsSign("=") ||
                    TokenAt(tokens, 2).IsWord("to") ||
                    second.IsOneOf({"names", "session", "global", "transaction"}));
  }
  if (first.IsWord("with")) {
    return word && (TokenAt(tokens, 2).IsWord("as") || TokenAt(tokens, 2).IsSign("("));
  }
  // Parts of a query, which q does not begin a statement with.
  if (first.IsWord("from")) return tokens.size() > 1;
  if (first.IsOneOf({"limit", "offset"})) {
    return second.kind == Kind::kNumber || second.IsWord("all");
  }
  if (first.IsOneOf({"group", "order"})) return second.IsWord("by");
  if (first.IsOneOf({"having", "join"})) return word;
  return false;
}

bool IsCommandOfSql(SqlTokens tokens, const FailureOfQ& failure) {
  if (IsCommandWithWordOfQ(tokens)) return true;
  if (failure.is_known(tokens[0].text)) return false;
  if (tokens[0].IsCapital() && IsFirstWord(tokens[0])) return !TokenAt(tokens, 1).IsSign(":");
  return std::ranges::any_of(kCommands, [&](const CommandOfSql& command) {
    return tokens[0].IsWord(command.first) && IsSecondWord(command, tokens);
  });
}

// Returns the statement in the brackets around it, and without the name that it is assigned to.
SqlTokens WithoutBrackets(SqlTokens tokens) {
  for (;;) {
    if (tokens.size() > 2 && tokens[0].IsAnyWord() && tokens[1].IsSign(":")) {
      tokens = tokens.subspan(2);
    } else if (tokens.size() > 2 && tokens[0].IsSign("(") && tokens.back().IsSign(")")) {
      tokens = tokens.subspan(1, tokens.size() - 2);
    } else {
      return tokens;
    }
  }
}

}  // namespace

std::vector<SqlTokens> StatementsOf(SqlTokens tokens) {
  std::vector<SqlTokens> statements;
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    const bool is_sign = i < tokens.size() && tokens[i].kind == Kind::kSign;
    const std::string sign = is_sign ? tokens[i].text : "";
    if (sign == "(" || sign == "[" || sign == "{") ++depth;
    if ((sign == ")" || sign == "]" || sign == "}") && depth > 0) --depth;
    if (i < tokens.size() && (sign != ";" || depth > 0)) continue;
    if (i > begin) statements.push_back(tokens.subspan(begin, i - begin));
    begin = i + 1;
  }
  return statements;
}

bool IsSqlStatement(SqlTokens statement, const FailureOfQ& failure) {
  statement = WithoutBrackets(statement);
  const SqlToken& first = statement[0];
  if (first.IsWord("select")) {
    return HasPhraseOfSql(statement, failure) || IsSelectOfNothing(statement);
  }
  if (first.IsOneOf({"delete", "where"})) return HasPhraseOfSql(statement, failure);
  if (first.IsWord("update")) {  // update t set a=1, update t x set ...
    const bool sets = TokenAt(statement, 2).IsWord("set") || TokenAt(statement, 3).IsWord("set");
    return HasPhraseOfSql(statement, failure) || sets;
  }
  if (IsAggregate(first) && TokenAt(statement, 1).IsSign("(")) {  // max(price) from trade
    return IsCountOfStar(statement, 0) ||
           (failure.signal == "from" && !HasWord(statement, "select"));
  }
  return IsCommandOfSql(statement, failure);
}

bool IsAnsweredUnlikeSql(SqlTokens statement, const FailureOfQ& names) {
  if (IsCountOfStar(statement, 0)) return true;
  const SqlToken& first = statement[0];
  if (first.IsWord("show")) return statement.size() == 2 && statement[1].IsWord("tables");
  if (!first.IsOneOf({"select", "exec"})) return false;
  const auto from =
      std::ranges::find_if(statement, [](const SqlToken& t) { return t.IsWord("from"); });
  const auto columns = static_cast<size_t>(from - statement.begin());
  size_t quoted = 0, commas = 0;
  for (size_t i = 1; i < statement.size(); ++i) {
    if (IsCountOfStar(statement, i) || AggregatesConstant(statement, i)) return true;
    if (i >= columns) continue;
    if (first.IsWord("select") && IsIteratedDivision(statement, i, names)) return true;
    quoted += IsQuotedItem(statement, i) && !statement[i].backquoted ? 1 : 0;
    commas += statement[i].IsSign(",") ? 1 : 0;
  }
  // select "sym", "price" from trade
  return first.IsWord("select") && from != statement.end() && quoted > 0 && quoted == commas + 1;
}

}  // namespace tickstack::query
