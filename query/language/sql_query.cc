// Writes simple SQL as q.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "query/language/function.h"
#include "query/language/sql_text.h"
#include "query/language/sql_tokens.h"
#include "query/language/term.h"

namespace tickstack::query {
namespace {

using Text = std::optional<std::string>;

bool AllOf(std::string_view text, bool (*is)(char)) { return std::ranges::all_of(text, is); }
bool IsDigitChar(char c) { return c >= '0' && c <= '9'; }
bool IsSymbolChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
}

// True if the text has the form of the pattern, in which 0 stands for a digit.
bool HasForm(std::string_view text, std::string_view pattern) {
  return std::ranges::equal(
      text, pattern, [](char c, char form) { return form == '0' ? IsDigitChar(c) : c == form; });
}

bool IsSqlDate(std::string_view text) { return HasForm(text, "0000-00-00"); }
bool IsSqlTime(std::string_view text) {
  const size_t dot = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, dot), part = text.substr(dot);
  if (!part.empty() && (part.size() == 1 || !AllOf(part.substr(1), IsDigitChar))) return false;
  return HasForm(whole, "00:00:00") || (part.empty() && HasForm(whole, "00:00"));
}

std::string QDate(std::string_view date) {
  std::string text(date);
  std::ranges::replace(text, '-', '.');
  return text;
}

enum class Literal { kSqlNumber, kSqlTime, kSqlSymbol, kOtherSymbol };

struct QLiteral {
  Literal kind;
  std::string text;
};

QLiteral QOfText(std::string_view text) {
  if (IsSqlDate(text)) return {Literal::kSqlTime, QDate(text)};
  if (IsSqlTime(text)) return {Literal::kSqlTime, std::string(text)};
  const bool is_moment = text.size() > 11 && IsSqlDate(text.substr(0, 10)) &&
                         (text[10] == ' ' || text[10] == 'T') && IsSqlTime(text.substr(11));
  if (is_moment) {
    return {Literal::kSqlTime, fmt::format("{}D{}", QDate(text.substr(0, 10)), text.substr(11))};
  }
  if (AllOf(text, IsSymbolChar)) return {Literal::kSqlSymbol, fmt::format("`{}", text)};
  std::string quoted;
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return {Literal::kOtherSymbol, fmt::format("`$\"{}\"", quoted)};
}

struct SqlColumn {
  std::string q;     // The expression.
  std::string name;  // Its alias, or the name of a column that is selected as it is.
  bool aliased = false;
  bool aggregated = false;
};

// Reads one statement, token by token. Each function returns nullopt, or false, for what it does
// not know.
class Translator {
 public:
  explicit Translator(std::string_view statement) : tokens_(TokensOfSql(statement)) {
    while (!tokens_.empty() && tokens_.back().IsSign(";")) tokens_.pop_back();
  }

  Text Run() {
    if (tokens_.empty()) return std::nullopt;
    Text text = Statement();
    return at_ == tokens_.size() ? text : std::nullopt;
  }

 private:
  const SqlToken& Peek(size_t ahead = 0) const {
    static const SqlToken kEnd{SqlToken::Kind::kSign, "", ""};
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : kEnd;
  }
  bool TakeWord(std::string_view word) { return Took(Peek().IsWord(word)); }
  bool TakeSign(std::string_view sign) { return Took(Peek().IsSign(sign)); }
  bool TakeWords(std::string_view first, std::string_view second) {
    if (!Peek().IsWord(first) || !Peek(1).IsWord(second)) return false;
    at_ += 2;
    return true;
  }
  bool Took(bool it) {
    at_ += it ? 1 : 0;
    return it;
  }

  // A name that is also one in q.
  Text Name() {
    const SqlToken& token = Peek();
    const bool usable = token.kind == SqlToken::Kind::kWord && !token.text.starts_with('_') &&
                        !token.IsOneOf({"from", "where", "and", "or", "group", "order", "limit",
                                        "as", "on", "join"}) &&
                        !IsReservedWord(token.text) && FindBuiltin(token.text) == nullptr &&
                        !Peek(1).IsSign(".") && !Peek(1).IsSign("(");
    if (!usable) return std::nullopt;
    ++at_;
    return token.text;
  }

  std::optional<std::vector<std::string>> Names() {
    std::vector<std::string> names;
    do {
      const Text name = Name();
      if (!name) return std::nullopt;
      names.push_back(*name);
    } while (TakeSign(","));
    return names;
  }

  Text Number() {
    const std::string sign = Peek().IsSign("-") ? "-" : "";
    const SqlToken& token = Peek(sign.size());
    const size_t dot = std::min(token.text.find('.'), token.text.size());
    const bool plain =
        token.kind == SqlToken::Kind::kNumber &&
        AllOf(std::string_view(token.text).substr(0, dot), IsDigitChar) &&
        AllOf(std::string_view(token.text).substr(std::min(dot + 1, token.text.size())),
              IsDigitChar);
    if (!plain) return std::nullopt;
    at_ += 1 + sign.size();
    return sign + token.text;
  }

  std::optional<QLiteral> AnyLiteral() {
    if (Peek().kind == SqlToken::Kind::kText) return QOfText(tokens_[at_++].text);
    const Text number = Number();
    if (!number) return std::nullopt;
    return QLiteral{Literal::kSqlNumber, *number};
  }

  Text Statement() {
    if (TakeWord("select")) return Select();
    if (TakeWords("show", "tables")) return "tables[]";
    if (TakeWords("show", "columns")) return TakeWord("from") ? MetaOf() : std::nullopt;
    if (TakeWord("describe") || TakeWord("desc")) return MetaOf();
    if (TakeWord("update")) return Update();
    if (TakeWords("delete", "from")) return Delete();
    return std::nullopt;
  }

  Text MetaOf() {
    const Text table = Name();
    return table ? Text("meta " + *table) : std::nullopt;
  }

  Text Update() {
    const Text table = Name();
    if (!table || !TakeWord("set")) return std::nullopt;
    std::vector<std::string> changes;
    do {
      const Text column = Name();
      if (!column || !TakeSign("=")) return std::nullopt;
      const std::optional<SqlColumn> value = Expression();
      if (!value || value->aggregated) return std::nullopt;
      changes.push_back(fmt::format("{}:{}", *column, value->q));
    } while (TakeSign(","));
    const Text where = Where();
    if (!where) return std::nullopt;
    return fmt::format("update {} from {}{}", fmt::join(changes, ","), *table, *where);
  }

  Text Delete() {
    const Text table = Name();
    if (!table) return std::nullopt;
    const Text where = Where();
    return where ? Text(fmt::format("delete from {}{}", *table, *where)) : std::nullopt;
  }

  Text Select() {
    if (tokens_.size() == 2) return Number();  // select 1
    std::string limit;
    if (TakeWord("top")) {
      const Text rows = Number();
      if (!rows) return std::nullopt;
      limit = *rows;
    }
    const bool distinct = TakeWord("distinct");
    std::vector<SqlColumn> columns;
    if (!TakeSign("*") && !ReadColumns(columns)) return std::nullopt;
    if (!TakeWord("from")) return std::nullopt;
    const Text table = Name();
    if (!table) return std::nullopt;
    const Text where = Where();
    if (!where) return std::nullopt;
    std::vector<std::string> groups;
    if (TakeWords("group", "by")) {
      std::optional<std::vector<std::string>> names = Names();
      if (!names) return std::nullopt;
      groups = *std::move(names);
    }
    if (!FitsGroups(columns, groups, distinct)) return std::nullopt;
    const Text order = Order(columns, groups);
    if (!order) return std::nullopt;
    if (TakeWord("limit")) {
      const Text rows = Number();
      if (!rows || !limit.empty()) return std::nullopt;
      limit = *rows;
    }
    if (!limit.empty() && !AllOf(limit, IsDigitChar)) return std::nullopt;

    std::string query = limit.empty() ? "" : limit + " sublist ";
    query += *order + "select ";
    if (distinct) query += "distinct ";
    std::vector<std::string> selected;
    for (const SqlColumn& column : columns) {
      if (!groups.empty() && !column.aggregated) continue;
      selected.push_back(column.aliased ? fmt::format("{}:{}", column.name, column.q) : column.q);
    }
    if (!selected.empty()) query += fmt::format("{} ", fmt::join(selected, ","));
    if (!groups.empty()) query += fmt::format("by {} ", fmt::join(groups, ","));
    return query + fmt::format("from {}{}", *table, *where);
  }

  // In SQL each column of a query with groups is one of them or an aggregate.
  static bool FitsGroups(const std::vector<SqlColumn>& columns,
                         const std::vector<std::string>& groups, bool distinct) {
    const bool any = std::ranges::any_of(columns, &SqlColumn::aggregated);
    if (groups.empty())
      return !any || (!distinct && std::ranges::all_of(columns, &SqlColumn::aggregated));
    return any && !distinct && std::ranges::all_of(columns, [&](const SqlColumn& column) {
             return column.aggregated ||
                    (!column.aliased && std::ranges::find(groups, column.name) != groups.end());
           });
  }

  bool ReadColumns(std::vector<SqlColumn>& columns) {
    do {
      std::optional<SqlColumn> column = Expression();
      if (!column) return false;
      const bool as = TakeWord("as");
      if (as || Peek().kind == SqlToken::Kind::kWord) {
        if (!as && Peek().IsWord("from")) {
          columns.push_back(*std::move(column));
          continue;
        }
        const Text alias = Name();
        if (!alias) return false;
        column->name = *alias;
        column->aliased = true;
      }
      columns.push_back(*std::move(column));
    } while (TakeSign(","));
    return true;
  }

  // x or x+y, where x and y are columns, numbers or aggregates.
  std::optional<SqlColumn> Expression() {
    const size_t begin = at_;
    std::optional<SqlColumn> left = Operand();
    if (!left) return std::nullopt;
    const std::string op = Peek().text;
    const bool is_op = op == "+" || op == "-" || op == "*" || op == "/";
    if (Peek().kind != SqlToken::Kind::kSign || !is_op) return left;
    ++at_;
    const bool names = at_ - begin == 2;
    std::optional<SqlColumn> right = Operand();
    if (!right || left->aggregated != right->aggregated) return std::nullopt;
    return SqlColumn{fmt::format("{}{}{}", names ? left->q : fmt::format("({})", left->q),
                                 op == "/" ? "%" : op, right->q),
                     "", false, left->aggregated};
  }

  std::optional<SqlColumn> Operand() {
    if (const std::optional<SqlColumn> aggregate = Aggregate()) return aggregate;
    if (const Text name = Name()) return SqlColumn{*name, *name};
    if (const std::optional<QLiteral> literal = AnyLiteral()) return SqlColumn{literal->text, ""};
    return std::nullopt;
  }

  std::optional<SqlColumn> Aggregate() {
    const std::string function = Peek().lower;
    if (!Peek().IsOneOf({"count", "sum", "avg", "min", "max"}) || !Peek(1).IsSign("(")) {
      return std::nullopt;
    }
    at_ += 2;
    const auto close = [&](std::string q) -> std::optional<SqlColumn> {
      if (!TakeSign(")")) return std::nullopt;
      return SqlColumn{std::move(q), "", false, true};
    };
    const bool ones = Peek().text == "1" && Peek(1).IsSign(")");
    if (function == "count" && TakeSign("*")) return close("count i");
    if ((function == "count" || function == "sum") && ones && Took(true)) return close("count i");
    if (function == "count" && TakeWord("distinct")) {
      const Text name = Name();
      return name ? close("count distinct " + *name) : std::nullopt;
    }
    const std::optional<SqlColumn> inner = Expression();
    if (!inner || inner->aggregated) return std::nullopt;
    // COUNT(x) counts no nulls.
    return close((function == "count" ? std::string("sum not null") : function) + " " + inner->q);
  }

  // ` where ...`, empty without conditions.
  Text Where() {
    if (!TakeWord("where")) return "";
    std::vector<std::string> conditions;
    do {
      const Text condition = Condition();
      if (!condition) return std::nullopt;
      conditions.push_back(*condition);
    } while (TakeWord("and"));
    return fmt::format(" where {}", fmt::join(conditions, ","));
  }

  Text Condition() {
    const Text column = Name();
    if (!column) return std::nullopt;
    const bool negated = TakeWord("not");
    const std::string no = negated ? "not " : "";
    if (TakeWord("in")) return In(no + *column);
    if (TakeWord("like")) return Like(no + *column);
    if (negated) return std::nullopt;
    if (TakeWord("between")) return Between(*column);
    if (TakeWord("is")) {
      const std::string test = TakeWord("not") ? "not null " : "null ";
      return TakeWord("null") ? Text(test + *column) : std::nullopt;
    }
    std::string op = Peek().text;
    if (op == "!=") op = "<>";
    constexpr std::string_view kComparisons[] = {"=", "<>", "<", ">", "<=", ">="};
    if (Peek().kind != SqlToken::Kind::kSign ||
        std::ranges::find(kComparisons, op) == std::end(kComparisons)) {
      return std::nullopt;
    }
    ++at_;
    if (const Text other = Name()) return fmt::format("{}{}{}", *column, op, *other);
    const std::optional<QLiteral> literal = AnyLiteral();
    if (!literal) return std::nullopt;
    const bool equality = op == "=" || op == "<>";
    if (!equality && literal->kind >= Literal::kSqlSymbol) return std::nullopt;
    return fmt::format("{}{}{}", *column, op, literal->text);
  }

  Text In(const std::string& column) {
    if (!TakeSign("(")) return std::nullopt;
    std::vector<std::string> items;
    std::optional<Literal> kind;
    do {
      const std::optional<QLiteral> item = AnyLiteral();
      if (!item || item->kind == Literal::kOtherSymbol || item->kind != kind.value_or(item->kind)) {
        return std::nullopt;
      }
      kind = item->kind;
      items.push_back(item->text);
    } while (TakeSign(","));
    if (!TakeSign(")")) return std::nullopt;
    const std::string one = items.size() == 1 ? "enlist " : "";
    return fmt::format("{} in {}{}", column, one,
                       fmt::join(items, *kind == Literal::kSqlSymbol ? "" : " "));
  }

  Text Like(const std::string& column) {
    if (Peek().kind != SqlToken::Kind::kText) return std::nullopt;
    std::string pattern = tokens_[at_++].text;
    if (pattern.find_first_of("*?[]^\"\\") != std::string::npos) return std::nullopt;
    std::ranges::replace(pattern, '%', '*');
    std::ranges::replace(pattern, '_', '?');
    return fmt::format("{} like \"{}\"", column, pattern);
  }

  Text Between(const std::string& column) {
    const std::optional<QLiteral> low = AnyLiteral();
    if (!low || !TakeWord("and")) return std::nullopt;
    const std::optional<QLiteral> high = AnyLiteral();
    if (!high || low->kind != high->kind || low->kind >= Literal::kSqlSymbol) return std::nullopt;
    return fmt::format("{} within {} {}", column, low->text, high->text);
  }

  // `` `price xdesc ``, empty without ORDER BY. The columns are those of the result.
  Text Order(const std::vector<SqlColumn>& columns, const std::vector<std::string>& groups) {
    if (!TakeWords("order", "by")) return "";
    std::string names;
    std::optional<bool> descending;
    do {
      const Text name = Name();
      if (!name) return std::nullopt;
      const bool known = columns.empty() ||
                         std::ranges::find(columns, *name, &SqlColumn::name) != columns.end() ||
                         std::ranges::find(groups, *name) != groups.end();
      const bool down = TakeWord("desc");
      if (!down) TakeWord("asc");
      if (!known || down != descending.value_or(down)) return std::nullopt;
      descending = down;
      names += "`" + *name;
    } while (TakeSign(","));
    return fmt::format("{} {} ", names, *descending ? "xdesc" : "xasc");
  }

  std::vector<SqlToken> tokens_;
  size_t at_ = 0;
};

}  // namespace

std::optional<std::string> QueryOfSql(std::string_view statement) {
  return Translator(statement).Run();
}

}  // namespace tickstack::query
