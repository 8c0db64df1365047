#include "query/language/sql_signs.h"

#include <algorithm>
#include <optional>

#include "query/language/sql_calls.h"

namespace tickstack::query {
namespace {

using Kind = SqlToken::Kind;

bool IsEnd(SqlTokens tokens, size_t i) { return i >= tokens.size(); }

bool HasWord(SqlTokens tokens, std::string_view word) {
  return std::ranges::any_of(tokens, [&](const SqlToken& token) { return token.IsWord(word); });
}

// True if a word BY follows none of the words that SQL has before it, so that the statement is q.
bool HasByOfQ(SqlTokens tokens) {
  for (size_t i = 1; i < tokens.size(); ++i) {
    if (tokens[i].IsWord("by") &&
        !tokens[i - 1].IsOneOf({"group", "order", "partition", "sample", "latest"})) {
      return true;
    }
  }
  return false;
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

constexpr std::string_view kTypeOfSqlWords =
    "int int2 int4 int8 integer bigint float float4 float8 real double numeric decimal text "
    "varchar char string date time timestamp bool boolean smallint timestamptz";
bool IsTypeOfSql(const SqlToken& token) { return IsOneWordOf(token, kTypeOfSqlWords); }

// Words that follow each other in SQL only.
struct WordPair {
  std::string_view first, second;
};
constexpr WordPair kPairsOfSql[] = {
    {"partition", "by"}, {"sample", "by"},  {"latest", "by"},     {"latest", "on"},
    {"fetch", "first"},  {"fetch", "next"}, {"for", "update"},    {"for", "share"},
    {"limit", "all"},    {"case", "when"},  {"is", "null"},       {"is", "not"},
    {"distinct", "on"},  {"union", "all"},  {"not", "between"},   {"not", "like"},
    {"not", "ilike"},    {"asc", "nulls"},  {"desc", "nulls"},    {"is", "true"},
    {"is", "false"},     {"rows", "only"},  {"row", "only"},      {"nulls", "first"},
    {"nulls", "last"},   {"with", "ties"},  {"is", "distinct"},   {"cross", "join"},
    {"minus", "select"}, {"except", "all"}, {"intersect", "all"}, {"for", "xml"},
    {"for", "json"},
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

bool IsComparison(const SqlToken& token) {
  constexpr std::string_view kComparisons = "= <> < > <= >= !=";
  return token.kind == Kind::kSign && !token.text.empty() &&
         kComparisons.find(token.text) != std::string_view::npos;
}

// True for the second half of `==`, `&&` or `||`. In q a symbol may follow two signs.
bool IsDoubled(SqlTokens tokens, size_t i) {
  const SqlToken& token = tokens[i];
  const SqlToken& before = TokenAt(tokens, i - 1);
  const bool doubled = before.text == token.text && before.kind == Kind::kSign &&
                       !token.after_blank && !TokenAt(tokens, i + 1).IsSign("`");
  return doubled && (token.IsSign("=") || token.IsSign("&") || token.IsSign("|"));
}

// True for a comparison with a parameter that the client was to replace: `?`, `$1`, `:sym`, `@sym`
// or `%s`.
bool IsParameter(SqlTokens tokens, size_t i) {
  if (!IsComparison(TokenAt(tokens, i - 1))) return false;
  const SqlToken& token = tokens[i];
  const SqlToken& name = TokenAt(tokens, i + 1);
  if (token.IsSign("?")) return IsEnd(tokens, i + 1) || IsClause(name) || name.IsSign(")");
  if (name.after_blank) return false;
  return (token.IsSign("$") && IsPlainNumber(name)) || (token.IsSign("%") && name.IsWord("s")) ||
         ((token.IsSign(":") || token.IsSign("@")) && name.IsAnyWord());
}

// True for a constant that is a name without a value in q, and for `null` as a column.
bool IsConstantOfSql(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  const SqlToken& token = tokens[i];
  if (token.IsWord("null")) return BeginsItem(tokens, i) && EndsItem(tokens, i + 1);
  return failure.signal == token.text &&
         token.IsOneOf({"true", "false", "rownum", "rowid", "sysdate", "current_date",
                        "current_time", "current_timestamp", "localtime", "localtimestamp",
                        "current_user", "array"});
}

// True for `*`, `||` and other signs of a phrase that need no keyword.
bool IsSignOfSql(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  const SqlToken& token = tokens[i];
  const SqlToken& next = TokenAt(tokens, i + 1);
  if (token.kind == Kind::kText || token.IsSign("!=") || token.backquoted) return true;
  if (IsDoubled(tokens, i) || IsParameter(tokens, i)) return true;
  if (IsConstantOfSql(tokens, i, failure)) return true;
  if (token.IsSign(":") && next.IsSign(":")) return IsTypeOfSql(TokenAt(tokens, i + 2));
  if (IsQuotedItem(tokens, i)) return true;
  if (token.IsQuotedName()) {  // "trade"."price", from "trade", as "Price", where "price" > 10
    const SqlToken& before = TokenAt(tokens, i - 1);
    return next.IsSign(".") || before.IsSign(".") || before.IsOneOf({"from", "as", "join", "by"}) ||
           (before.IsOneOf({"where", "and", "or"}) && IsComparison(next));
  }
  if ((token.IsSign("=") || token.IsSign("<>")) && next.IsWord("null")) return true;
  if (next.IsSign("(") && TokenAt(tokens, i + 2).IsWord("select")) {  // price = (select max(price)
    if (token.IsSign("=") || token.IsSign("<") || token.IsSign(">")) return true;
  }
  if (token.IsSign("(") && next.IsWord("select") && BeginsItem(tokens, i)) return true;
  if (token.IsWord("extract") && next.IsSign("(") && failure.signal == "from") return true;
  return IsStar(tokens, i) || IsCountOfStar(tokens, i) || AggregatesConstant(tokens, i) ||
         IsCallOfSql(tokens, i, failure);
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
    const SqlToken& after = TokenAt(tokens, i + 3);
    if (item.IsWord("select")) return true;
    if (item.kind == Kind::kQuoted && after.IsSign(")")) return true;
    const bool literal = item.kind == Kind::kNumber || item.kind == Kind::kQuoted;
    return literal && after.IsSign(",");
  }
  if (token.IsWord("case")) {  // case sym when ...
    return HasWord(tokens.subspan(i), "when") && HasWord(tokens.subspan(i), "then");
  }
  if (token.IsWord("exists") && next.IsSign("(")) return TokenAt(tokens, i + 2).IsWord("select");
  if (token.IsOneOf({"any", "all", "some"}) && next.IsSign("(")) {  // price > all (select ...
    return IsComparison(TokenAt(tokens, i - 1)) && TokenAt(tokens, i + 2).IsWord("select");
  }
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

// True for an alias of the table before it, without AS: `from trade t`, `from trade t where`.
bool IsAliasOfTable(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  const SqlToken& alias = tokens[i];
  const SqlToken& named = tokens[i - 1];
  const SqlToken& next = TokenAt(tokens, i + 1);
  if (!tokens[i - 2].IsWord("from") || tokens[i - 3].IsWord("select") ||
      HasByOfQ(tokens.first(i))) {
    return false;
  }
  const bool ends =
      IsEnd(tokens, i + 1) || next.IsSign(",") || (IsClause(next) && !next.IsWord("not"));
  return ends && named.IsAnyWord() && !named.IsOneOf({"select", "exec", "update", "delete"}) &&
         alias.IsAnyWord() && !failure.is_known(alias.text);
}

// True for an alias of a column, or of a query in brackets, without AS: `sym s`, `sum(size) total`,
// `max(price) "Highest"`. q applies the first to the second, which has no value, or is a text.
bool IsAliasOfColumn(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  const SqlToken& alias = tokens[i];
  const SqlToken& named = tokens[i - 1];
  if (alias.kind == Kind::kQuoted ? failure.signal == named.text : alias.text != failure.signal) {
    return false;
  }
  const bool in_columns = !HasWord(tokens.first(i), "from");
  if (named.IsSign(")")) {  // sum(size) total, from (select ...) t
    const std::optional<size_t> open = OpeningOf(tokens, i - 1);
    if (!open || !alias.after_blank) return false;
    return in_columns ? EndsItem(tokens, i + 1) : TokenAt(tokens, *open - 1).IsWord("from");
  }
  if (!in_columns || IsEnd(tokens, i + 1) || !EndsItem(tokens, i + 1) ||
      HasByOfQ(tokens.first(i))) {
    return false;
  }
  // An operand: two words before the alias are an application of q.
  const SqlToken& before = tokens[i - 2];
  const bool begins = before.IsOneOf({"select", "distinct", "all"}) ||
                      (before.kind == Kind::kSign && !before.IsSign(":") && !before.IsSign("}"));
  if (!begins) return false;
  if (named.kind == Kind::kNumber) return true;
  return named.IsAnyWord() && !named.IsOneOf({"select", "distinct"}) && !IsClause(named) &&
         MayBeColumn(tokens, i - 1, failure);
}

bool IsAlias(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  const SqlToken& alias = tokens[i];
  const bool name = alias.IsAnyWord() || alias.kind == Kind::kQuoted;
  if (!tokens[0].IsWord("select") || i < 2 || !name || IsClause(alias)) return false;
  if (tokens[1].IsSign("[")) return false;  // select[5] of q.
  return IsAliasOfTable(tokens, i, failure) || IsAliasOfColumn(tokens, i, failure);
}

// True for a division: `price/size`, `sum(a)/sum(b)`. q takes `/` for an iterator of a function, or
// after a blank for the beginning of a comment, which then hides the table.
bool IsDivision(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  if (!tokens[i].IsSign("/") || i == 0) return false;
  const bool comment = tokens[i].after_blank;
  if (comment && (failure.signal != "from" || HasWord(tokens.first(i), "from"))) return false;
  const SqlToken& left = tokens[i - 1];
  const SqlToken& right = TokenAt(tokens, i + 1);
  for (size_t at = i; at > 0 && !tokens[at].after_blank; --at) {
    if (tokens[at - 1].IsSign("`")) return false;  // The name of a file: `:db/trade
  }
  if (!right.IsAnyWord() && right.kind != Kind::kNumber && !right.IsSign("(")) return false;
  if (left.IsAnyWord()) return MayBeColumn(tokens, i - 1, failure) && failure.signal != left.text;
  if (left.kind == Kind::kNumber) return comment || failure.signal == "type";
  const std::optional<size_t> open = left.IsSign(")") ? OpeningOf(tokens, i - 1) : std::nullopt;
  return open && TokenAt(tokens, *open + 1).kind != Kind::kSign;
}

// True for a division that q evaluates, perhaps without end, as an iteration: `size/2`, where
// `size` is no function, `(a+b)/2` and `sum(a)/sum(b)`.
bool IsIteratedDivision(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  if (!IsDivision(tokens, i, failure) || tokens[i].after_blank) return false;
  if (tokens[i - 1].kind == Kind::kNumber) return false;
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

// True for `where sym="IBM"` and `where time>"09:30"`, with a string for a symbol or time. q
// compares it char by char.
bool IsTextOfColumn(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  if (!IsComparison(tokens[i]) || i < 2 || tokens[1].IsWord("from")) return false;
  const SqlToken& before = tokens[i - 2];
  return (failure.signal == "length" || failure.signal == "type") && tokens[i - 1].IsAnyWord() &&
         (before.IsOneOf({"where", "and", "or"}) || before.IsSign("(")) &&
         TokenAt(tokens, i + 1).kind == Kind::kQuoted;
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
// server answers. q has no select without a table, but may lack its FROM by a slip.
bool IsSelectOfNothing(SqlTokens tokens) {
  if (HasWord(tokens, "from")) return false;
  const SqlToken& first = TokenAt(tokens, 1);
  if (tokens.size() == 1) return true;
  if (tokens.size() == 2 && first.kind != Kind::kSign) return true;
  if (first.IsAnyWord() && TokenAt(tokens, 2).IsSign("(")) return IsCall(tokens, 1);
  const size_t end = static_cast<size_t>(
      std::ranges::find_if(tokens, [](const SqlToken& t) { return t.IsWord("as"); }) -
      tokens.begin());
  const bool has_words = std::ranges::any_of(tokens.first(end).subspan(1),
                                             [](const SqlToken& t) { return t.IsAnyWord(); });
  return first.IsSign("@") || ((first.kind == Kind::kNumber || first.IsSign("-")) && !has_words);
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
  if (first.IsWord("insert")) {
    return second.IsWord("into") || first.IsCapital() ||
           (word && TokenAt(tokens, 2).IsWord("values"));
  }
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
    const bool is_code = HasWord(statement, "select") || HasWord(statement, "exec");
    return IsCountOfStar(statement, 0) ||
           (failure.signal == "from" && !is_code && IsCall(statement, 0));
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
