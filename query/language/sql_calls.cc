#include "query/language/sql_calls.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "query/language/function.h"
#include "query/language/term.h"

namespace tickstack::query {
namespace {

constexpr std::string_view kFunctionOfSqlWords =
    "coalesce nullif ifnull nvl nvl2 decode isnull isnan iif greatest least cast try_cast convert "
    "extract date_trunc date_part date_bin datediff dateadd datename datepart date_add date_sub "
    "date_diff date_format timestampdiff timestampadd strftime to_char to_date to_timestamp "
    "to_number from_unixtime unix_timestamp make_date make_timestamp epoch age last_day eomonth "
    "add_months months_between date year quarter month week weekday dayofweek dayofmonth day hour "
    "minute second now getdate curdate curtime sysdate current_date current_time "
    "current_timestamp localtime localtimestamp version database current_database "
    "current_schema current_user user schema connection_id concat concat_ws substring "
    "substr left right mid length len char_length character_length octet_length position locate "
    "strpos charindex instr replace translate lpad rpad repeat initcap split_part ascii chr hex "
    "to_hex format regexp_match regexp_matches regexp_like regexp_replace regexp_extract "
    "round ceil power pow trunc truncate ln log10 log2 sign cbrt degrees radians pi "
    "stddev stddev_pop stddev_samp stdev stdevp std variance var_pop var_samp varp "
    "median mode percentile_cont percentile_disc quantile quantile_cont corr covar_pop covar_samp "
    "bool_and bool_or every arg_max arg_min argmax argmin max_by min_by "
    "string_agg group_concat listagg "
    "array_agg array_length cardinality any_value approx_count_distinct row_number dense_rank "
    "percent_rank ntile lag "
    "lead first_value last_value nth_value total typeof if exists pg_sleep sleep uuid "
    "gen_random_uuid random rand generate_series unnest time_bucket json_value json_extract";
// True for a function that databases have and q has not.
bool IsFunctionOfSql(const SqlToken& token) { return IsOneWordOf(token, kFunctionOfSqlWords); }

// Returns the number of commas between the arguments of a call, whose bracket is at `open`; nullopt
// if there is code of q in it, or it does not end.
std::optional<size_t> CommasOf(SqlTokens tokens, size_t open) {
  size_t depth = 0, commas = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    const SqlToken& token = tokens[i];
    if (token.IsSign(";") || token.IsSign("{") || token.IsSign("[")) return std::nullopt;
    if (token.IsSign("(")) ++depth;
    if (token.IsSign(")") && --depth == 0) return commas;
    if (token.IsSign(",") && depth == 1) ++commas;
  }
  return std::nullopt;
}

// True if an expression begins at the token, so that a function there has no argument before it.
bool BeginsExpression(SqlTokens tokens, size_t i) {
  const SqlToken& before = TokenAt(tokens, i - 1);
  if (before.IsOneOf({"select", "distinct", "by", "where", "and", "or", "not", "when", "then",
                      "else", "set"})) {
    return true;
  }
  constexpr std::string_view kSigns = ", ( = <> < > <= >= + - * /";
  return before.kind == SqlToken::Kind::kSign && !before.text.empty() &&
         kSigns.find(before.text) != std::string_view::npos;
}

// True for max(sym), min(t.cond) and so on, where the first table after FROM has a column of that
// name with symbols or strings.
bool AggregatesText(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  if (!tokens[i].IsOneOf({"sum", "avg", "min", "max"}) || failure.types_of == nullptr) return false;
  if (failure.signal != "type" && failure.signal != "length") return false;
  size_t at = i + 2;
  if (TokenAt(tokens, at + 1).IsSign(".")) at += 2;
  if (!TokenAt(tokens, at).IsAnyWord() || !TokenAt(tokens, at + 1).IsSign(")")) return false;
  const auto from = std::ranges::find_if(
      tokens.subspan(at), [](const SqlToken& token) { return token.IsWord("from"); });
  if (from == tokens.end() || from + 1 == tokens.end()) return false;
  const std::optional<SqlColumnTypes> columns = failure.types_of((from + 1)->text);
  return columns && std::ranges::any_of(*columns, [&](const SqlColumnType& column) {
           return column.name == tokens[at].text && (column.type == 's' || column.type == 'C');
         });
}

}  // namespace

bool IsCall(SqlTokens tokens, size_t i) {
  const bool brackets = TokenAt(tokens, i).IsAnyWord() && TokenAt(tokens, i + 1).IsSign("(");
  return brackets && CommasOf(tokens, i + 1).has_value();
}

bool IsCallOfSql(SqlTokens tokens, size_t i, const FailureOfQ& failure) {
  const SqlToken& function = tokens[i];
  if (!IsCall(tokens, i) || function.IsOneOf({"select", "from", "where", "by"})) return false;
  const bool is_unknown = failure.signal == function.text;
  if (is_unknown && IsFunctionOfSql(function)) return true;
  if (!BeginsExpression(tokens, i)) return false;
  const size_t commas = CommasOf(tokens, i + 1).value_or(0);
  if (commas == 0) return AggregatesText(tokens, i, failure);
  if (function.IsWord("if") && commas == 2) return true;
  const Builtin* const builtin = FindBuiltin(function.lower);
  return is_unknown || (builtin != nullptr && builtin->infix && builtin->min_args == 2);
}

}  // namespace tickstack::query
