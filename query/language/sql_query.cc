// Writes simple SQL as q.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
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
using Kind = SqlToken::Kind;

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

// A constant of SQL.
struct SqlLiteral {
  enum class Kind { kNumber, kBoolean, kText };
  Kind kind;
  std::string text;  // Without its quotes; `1b` or `0b`.
};

// A constant of q and its form: constants of one form are a list.
struct QLiteral {
  enum class Form { kNumber, kBoolean, kDate, kMoment, kTime, kSymbol, kOtherSymbol, kChar };
  Form form;
  std::string text;

  bool IsOrdered() const { return form < Form::kSymbol && form != Form::kBoolean; }
};

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

QLiteral QSymbol(std::string_view text) {
  // A colon would begin the name of a file.
  if (AllOf(text, IsSymbolChar)) return {QLiteral::Form::kSymbol, fmt::format("`{}", text)};
  return {QLiteral::Form::kOtherSymbol, fmt::format("`${}", Quoted(text))};
}

std::optional<QLiteral> QTemporal(std::string_view text) {
  if (IsSqlDate(text)) return QLiteral{QLiteral::Form::kDate, QDate(text)};
  if (IsSqlTime(text)) return QLiteral{QLiteral::Form::kTime, std::string(text)};
  const bool is_moment = text.size() > 11 && IsSqlDate(text.substr(0, 10)) &&
                         (text[10] == ' ' || text[10] == 'T') && IsSqlTime(text.substr(11));
  if (!is_moment) return std::nullopt;
  return QLiteral{QLiteral::Form::kMoment,
                  fmt::format("{}D{}", QDate(text.substr(0, 10)), text.substr(11))};
}

bool IsOneOfTypes(char type, std::string_view types) {
  return types.find(type) != std::string_view::npos;
}
constexpr std::string_view kIntegers = "hij", kNumbers = "hijef", kTemporal = "pmdznuvt";

// The type of a column about whose table nothing is known, or of an expression of one.
constexpr char kAnyType = 0;

// Returns the constant that a column of this type can be compared with; nullopt if there is none,
// because the types differ.
std::optional<QLiteral> ComparableWith(char type, const SqlLiteral& literal) {
  using Form = QLiteral::Form;
  if (literal.kind == SqlLiteral::Kind::kNumber) {
    const bool fits = type == kAnyType || IsOneOfTypes(type, kNumbers);
    return fits ? std::optional(QLiteral{Form::kNumber, literal.text}) : std::nullopt;
  }
  if (literal.kind == SqlLiteral::Kind::kBoolean) {
    const bool fits = type == kAnyType || type == 'b';
    return fits ? std::optional(QLiteral{Form::kBoolean, literal.text}) : std::nullopt;
  }
  const std::optional<QLiteral> temporal = QTemporal(literal.text);
  if (type == kAnyType) return temporal ? temporal : QSymbol(literal.text);
  if (type == 's') return QSymbol(literal.text);
  if (type == 'c' && literal.text.size() == 1) return QLiteral{Form::kChar, Quoted(literal.text)};
  if (!temporal) return std::nullopt;
  const bool time = temporal->form == Form::kTime;
  const bool fits = time                            ? IsOneOfTypes(type, "nuvt")
                    : temporal->form == Form::kDate ? IsOneOfTypes(type, "pdz")
                                                    : IsOneOfTypes(type, "pz");
  return fits ? temporal : std::nullopt;
}

// Returns the constant as an atom of exactly this type, to be assigned to items of a column.
Text AssignableTo(char type, const SqlLiteral& literal) {
  const std::optional<QLiteral> comparable = ComparableWith(type, literal);
  if (!comparable || comparable->form == QLiteral::Form::kOtherSymbol) return std::nullopt;
  if (comparable->form == QLiteral::Form::kNumber) {
    const bool whole = literal.text.find('.') == std::string::npos;
    if (IsOneOfTypes(type, kIntegers) && !whole) return std::nullopt;
    if (type == kAnyType || type == 'j' || (type == 'f' && !whole)) return literal.text;
    return literal.text + type;
  }
  const bool exact = type == kAnyType || IsOneOfTypes(type, "bsc") ||
                     (type == 'd' && comparable->form == QLiteral::Form::kDate) ||
                     (type == 'p' && comparable->form == QLiteral::Form::kMoment);
  return exact ? Text(comparable->text) : std::nullopt;
}

// Returns the type of x op y for numbers.
char TypeOfArithmetic(char left, char right, std::string_view op) {
  if (left == kAnyType || right == kAnyType) return kAnyType;
  if (op == "/") return 'f';
  return kNumbers[std::max(kNumbers.find(left), kNumbers.find(right))];
}

struct SqlColumn {
  std::string q = {};     // The expression.
  std::string name = {};  // Its alias, or the name of a column that is selected as it is.
  char type = kAnyType;   // Letter of `meta`.
  bool aliased = false;
  bool aggregated = false;
  bool constant = false;
};

// Reads one statement, token by token. Each function returns nullopt, or false, for what it does
// not know.
class Translator {
 public:
  Translator(std::string_view statement, const FindTypes& types_of)
      : tokens_(TokensOfSql(statement)), types_of_(types_of) {
    while (!tokens_.empty() && tokens_.back().IsSign(";")) tokens_.pop_back();
    while (tokens_.size() > 2 && tokens_[0].IsSign("(") && ClosingOfFirst() + 1 == tokens_.size()) {
      tokens_.pop_back();
      tokens_.erase(tokens_.begin());
    }
  }

  Text Run() {
    if (tokens_.empty()) return std::nullopt;
    std::string assigned;
    if (Peek().IsAnyWord() && Peek(1).IsSign(":")) {
      const Text name = Name();
      if (!name) return std::nullopt;
      ++at_;
      assigned = *name + ":";
    }
    const Text text = Statement();
    return text && at_ == tokens_.size() ? Text(assigned + *text) : std::nullopt;
  }

 private:
  size_t ClosingOfFirst() const {
    size_t depth = 0;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      depth += tokens_[i].IsSign("(") ? 1 : 0;
      if (tokens_[i].IsSign(")") && --depth == 0) return i;
    }
    return tokens_.size();
  }

  const SqlToken& Peek(size_t ahead = 0) const {
    static const SqlToken kEnd;
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

  // True for a word that is a name in both languages.
  static bool IsName(const SqlToken& token) {
    if (token.kind == Kind::kQuoted) {
      return token.IsQuotedName() && !token.text.starts_with('_') && !IsWordOfQ(token.text);
    }
    return token.IsAnyWord() && !token.text.starts_with('_') && !IsWordOfQ(token.text) &&
           !token.IsOneOf({"select",       "from",
                           "where",        "and",
                           "or",           "not",
                           "group",        "order",
                           "by",           "limit",
                           "offset",       "as",
                           "on",           "join",
                           "inner",        "left",
                           "right",        "full",
                           "cross",        "using",
                           "having",       "union",
                           "case",         "when",
                           "then",         "else",
                           "end",          "is",
                           "null",         "true",
                           "false",        "in",
                           "like",         "between",
                           "all",          "distinct",
                           "interval",     "fetch",
                           "for",          "exists",
                           "cast",         "into",
                           "set",          "values",
                           "natural",      "current_date",
                           "current_time", "current_timestamp",
                           "localtime",    "localtimestamp",
                           "current_user", "user",
                           "sysdate"});
  }
  static bool IsWordOfQ(std::string_view word) {
    return IsReservedWord(word) || FindBuiltin(word) != nullptr;
  }

  Text Name() {
    if (!IsName(Peek()) || Peek(1).IsSign(".") || Peek(1).IsSign("(")) return std::nullopt;
    return tokens_[at_++].text;
  }

  // Reads the name of a table, and finds the types of its columns. SQL does not distinguish small
  // letters from capitals.
  bool TakeTable() {
    if (Peek().IsOneOf({"public", "main", "dbo"}) && Peek(1).IsSign(".")) at_ += 2;
    const Text name = Name();
    if (!name) return false;
    table_ = *name;
    types_ = types_of_(table_);
    if (types_) return true;
    if (const std::string& lower = tokens_[at_ - 1].lower; lower != table_) {
      types_ = types_of_(lower);
      if (types_) table_ = lower;
    }
    return true;
  }

  // Reads FROM and the table of a query before its columns, and an alias of the table.
  bool TakeTableAhead() {
    const size_t begin = at_;
    size_t depth = 0;
    for (; at_ < tokens_.size() && (depth > 0 || !Peek().IsWord("from")); ++at_) {
      depth += Peek().IsSign("(") ? 1 : 0;
      depth -= Peek().IsSign(")") && depth > 0 ? 1 : 0;
    }
    if (!TakeWord("from") || !TakeTable()) return false;
    if (TakeWord("as") || IsName(Peek())) {
      const Text alias = Name();
      if (!alias) return false;
      alias_ = *alias;
    }
    after_table_ = at_;
    at_ = begin;
    return true;
  }

  // Reads a column of the table.
  std::optional<SqlColumn> Column() {
    const bool qualified = Peek(1).IsSign(".") && (Peek().IsAnyWord() || Peek().IsQuotedName());
    if (qualified) {
      if (Peek().text != table_ && (alias_.empty() || Peek().text != alias_)) return std::nullopt;
      at_ += 2;
    }
    const Text name = Name();
    if (!name) return std::nullopt;
    if (!types_) return SqlColumn{.q = *name, .name = *name};
    for (const std::string& spelling : {*name, tokens_[at_ - 1].lower}) {
      const auto found = std::ranges::find(*types_, spelling, &SqlColumnType::name);
      if (found == types_->end()) continue;
      return SqlColumn{.q = spelling, .name = spelling, .type = found->type};
    }
    return std::nullopt;
  }

  std::optional<std::vector<std::string>> Columns() {
    std::vector<std::string> names;
    do {
      const std::optional<SqlColumn> column = Column();
      if (!column) return std::nullopt;
      names.push_back(column->name);
    } while (TakeSign(","));
    return names;
  }

  Text Number() {
    const std::string sign = Peek().IsSign("-") ? "-" : "";
    const SqlToken& token = Peek(sign.size());
    const size_t dot = std::min(token.text.find('.'), token.text.size());
    const bool plain =
        token.kind == Kind::kNumber && token.text.size() <= 18 &&
        AllOf(std::string_view(token.text).substr(0, dot), IsDigitChar) &&
        AllOf(std::string_view(token.text).substr(std::min(dot + 1, token.text.size())),
              IsDigitChar);
    if (!plain) return std::nullopt;
    at_ += 1 + sign.size();
    return sign + token.text;
  }

  Text Rows() {
    const Text rows = Number();
    return rows && AllOf(*rows, IsDigitChar) ? rows : std::nullopt;
  }

  std::optional<SqlLiteral> Literal() {
    const SqlToken& token = Peek();
    if (token.IsOneOf({"true", "false"})) {
      return SqlLiteral{SqlLiteral::Kind::kBoolean, tokens_[at_++].IsWord("true") ? "1b" : "0b"};
    }
    // A text in double quotes is a name, except where no column has it.
    const bool text = token.kind == Kind::kText ||
                      (token.kind == Kind::kQuoted && !token.backquoted && types_.has_value());
    if (text) return SqlLiteral{SqlLiteral::Kind::kText, tokens_[at_++].text};
    const Text number = Number();
    if (!number) return std::nullopt;
    return SqlLiteral{SqlLiteral::Kind::kNumber, *number};
  }

  Text Statement() {
    if (TakeWord("select")) return Select();
    if (Peek().IsWord("from")) return TakeTableAhead() ? Rest({}, "", false) : std::nullopt;
    if (TakeWord("table")) {
      return TakeTable() && at_ == tokens_.size() ? Text("select from " + table_) : std::nullopt;
    }
    if (TakeWords("show", "tables")) return "tables[]";
    if (TakeWords("show", "columns")) return TakeWord("from") ? MetaOf() : std::nullopt;
    if (TakeWord("describe") || TakeWord("desc")) return MetaOf();
    if (TakeWord("update")) return Update();
    if (TakeWords("delete", "from")) return Delete();
    return std::nullopt;
  }

  Text MetaOf() { return TakeTable() ? Text("meta " + table_) : std::nullopt; }

  Text Update() {
    if (!TakeTable() || !TakeWord("set")) return std::nullopt;
    std::vector<std::string> changes;
    do {
      const std::optional<SqlColumn> column = Column();
      if (!column || !TakeSign("=")) return std::nullopt;
      const Text value = ValueFor(*column);
      if (!value) return std::nullopt;
      changes.push_back(fmt::format("{}:{}", column->name, *value));
    } while (TakeSign(","));
    const Text where = Where();
    if (!where) return std::nullopt;
    return fmt::format("update {} from {}{}", fmt::join(changes, ","), table_, *where);
  }

  // The value that UPDATE gives to a column. q wants it to have the column's type.
  Text ValueFor(const SqlColumn& column) {
    const size_t begin = at_;
    if (const std::optional<SqlLiteral> literal = Literal();
        literal && (at_ == tokens_.size() || Peek().IsSign(",") || Peek().IsWord("where"))) {
      return AssignableTo(column.type, *literal);
    }
    at_ = begin;
    const std::optional<SqlColumn> value = Expression();
    if (!value || value->aggregated || value->constant || value->type != column.type) {
      return std::nullopt;
    }
    return value->q;
  }

  Text Delete() {
    if (!TakeTable()) return std::nullopt;
    const Text where = Where();
    return where ? Text(fmt::format("delete from {}{}", table_, *where)) : std::nullopt;
  }

  Text Select() {
    const bool from =
        std::ranges::any_of(tokens_, [](const SqlToken& t) { return t.IsWord("from"); });
    if (!from) {  // select 1
      const std::optional<SqlColumn> value = Expression();
      return value && value->constant && value->type != kAnyType ? Text(value->q) : std::nullopt;
    }
    std::string limit;
    if (TakeWord("top")) {
      const Text rows = Rows();
      if (!rows) return std::nullopt;
      limit = *rows;
    }
    const bool distinct = TakeWord("distinct");
    if (!TakeTableAhead()) return std::nullopt;
    std::vector<SqlColumn> columns;
    if (!TakeSign("*") && !ReadColumns(columns)) return std::nullopt;
    if (!Peek().IsWord("from")) return std::nullopt;
    // A constant is one row in q, but one for each row of the table in SQL.
    if (!columns.empty() && std::ranges::all_of(columns, &SqlColumn::constant)) return std::nullopt;
    return Rest(columns, std::move(limit), distinct);
  }

  // What follows the columns of a query.
  Text Rest(const std::vector<SqlColumn>& columns, std::string limit, bool distinct) {
    at_ = after_table_;
    const Text where = Where();
    if (!where) return std::nullopt;
    std::vector<std::string> groups;
    if (TakeWords("group", "by")) {
      std::optional<std::vector<std::string>> names = Columns();
      if (!names) return std::nullopt;
      groups = *std::move(names);
    }
    if (!FitsGroups(columns, groups, distinct)) return std::nullopt;
    const Text order = Order(columns, groups);
    if (!order || !Limit(limit)) return std::nullopt;

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
    return query + fmt::format("from {}{}", table_, *where);
  }

  // Reads LIMIT, OFFSET and FETCH. `limit` has the rows of TOP, and becomes the left side of
  // sublist.
  bool Limit(std::string& limit) {
    if (TakeWords("limit", "all")) return true;
    if (TakeWord("limit")) {
      Text rows = Rows();
      if (!rows || !limit.empty()) return false;
      limit = *rows;
      if (TakeSign(",")) {  // LIMIT offset, rows
        rows = Rows();
        if (!rows) return false;
        limit += " " + *rows;
      } else if (TakeWord("offset")) {
        const Text offset = Rows();
        if (!offset) return false;
        limit = *offset + " " + limit;
      }
    } else if (TakeWords("fetch", "first") || TakeWords("fetch", "next")) {
      const Text rows = Rows();
      if (!rows || !limit.empty()) return false;
      limit = *rows;
      return TakeWords("rows", "only") || TakeWords("row", "only");
    }
    return true;
  }

  // In SQL each column of a query with groups is one of them or an aggregate. q shows all groups.
  static bool FitsGroups(const std::vector<SqlColumn>& columns,
                         const std::vector<std::string>& groups, bool distinct) {
    const bool any = std::ranges::any_of(columns, &SqlColumn::aggregated);
    if (groups.empty())
      return !any || (!distinct && std::ranges::all_of(columns, &SqlColumn::aggregated));
    const auto is_selected = [&](const std::string& group) {
      return std::ranges::find(columns, group, &SqlColumn::name) != columns.end();
    };
    return any && !distinct && std::ranges::all_of(groups, is_selected) &&
           std::ranges::all_of(columns, [&](const SqlColumn& column) {
             return column.aggregated ||
                    (!column.aliased && std::ranges::find(groups, column.name) != groups.end());
           });
  }

  bool ReadColumns(std::vector<SqlColumn>& columns) {
    do {
      std::optional<SqlColumn> column = Expression();
      if (!column) return false;
      const bool as = TakeWord("as");
      if (as || !(Peek().IsWord("from") || Peek().IsSign(","))) {
        const Text alias = Name();
        if (!alias) return false;
        column->name = *alias;
        column->aliased = true;
      }
      // q would give the second one of two equal names a number.
      const bool twice =
          !column->name.empty() &&
          std::ranges::find(columns, column->name, &SqlColumn::name) != columns.end();
      if (twice) return false;
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
    if (Peek().kind != Kind::kSign || !is_op) return left;
    ++at_;
    const bool names = at_ - begin == 2;
    const bool negative = Peek().IsSign("-");
    std::optional<SqlColumn> right = Operand();
    if (!right || negative) return std::nullopt;
    const bool mixed = left->aggregated != right->aggregated;
    if (mixed && !left->constant && !right->constant) return std::nullopt;
    for (const SqlColumn* side : {&*left, &*right}) {
      if (side->type != kAnyType && !IsOneOfTypes(side->type, kNumbers)) return std::nullopt;
    }
    // Databases differ in whether the quotient of integers is one.
    const bool integers = left->type != kAnyType && IsOneOfTypes(left->type, kIntegers) &&
                          right->type != kAnyType && IsOneOfTypes(right->type, kIntegers);
    if (op == "/" && integers) return std::nullopt;
    return SqlColumn{.q = fmt::format("{}{}{}", names ? left->q : fmt::format("({})", left->q),
                                      op == "/" ? "%" : op, right->q),
                     .type = TypeOfArithmetic(left->type, right->type, op),
                     .aggregated = left->aggregated || right->aggregated,
                     .constant = left->constant && right->constant};
  }

  std::optional<SqlColumn> Operand() {
    if (std::optional<SqlColumn> aggregate = Aggregate()) return aggregate;
    const size_t begin = at_;
    if (std::optional<SqlColumn> column = Column()) return column;
    at_ = begin;
    if (Peek().kind == Kind::kQuoted) return std::nullopt;  // A name that no column has.
    const std::optional<SqlLiteral> literal = Literal();
    if (!literal) return std::nullopt;
    if (literal->kind == SqlLiteral::Kind::kBoolean) {
      return SqlColumn{.q = literal->text, .type = 'b', .constant = true};
    }
    if (literal->kind == SqlLiteral::Kind::kText) {
      return SqlColumn{.q = QSymbol(literal->text).text, .type = 's', .constant = true};
    }
    const bool whole = literal->text.find('.') == std::string::npos;
    return SqlColumn{.q = literal->text, .type = whole ? 'j' : 'f', .constant = true};
  }

  std::optional<SqlColumn> Aggregate() {
    const std::string function = Peek().lower;
    if (!Peek().IsOneOf({"count", "sum", "avg", "min", "max"}) || !Peek(1).IsSign("(")) {
      return std::nullopt;
    }
    at_ += 2;
    const auto close = [&](std::string q, char type) -> std::optional<SqlColumn> {
      if (!TakeSign(")")) return std::nullopt;
      return SqlColumn{.q = std::move(q), .type = type, .aggregated = true};
    };
    const bool counts = function == "count";
    if (counts && TakeSign("*")) return close("count i", 'j');
    const bool one = Peek().text == "1" || counts;
    if ((counts || function == "sum") && one && Peek().kind == Kind::kNumber && Number()) {
      return close("count i", 'j');
    }
    const bool distinct = counts && TakeWord("distinct");
    const std::optional<SqlColumn> inner = distinct ? Column() : Expression();
    if (!inner || inner->aggregated || inner->constant) return std::nullopt;
    const bool numbers = inner->type == kAnyType || IsOneOfTypes(inner->type, kNumbers);
    const bool ordered = numbers || IsOneOfTypes(inner->type, kTemporal);
    // COUNT(x) counts no nulls. A string has no null.
    if (counts) {
      if (inner->type != kAnyType && !ordered && !IsOneOfTypes(inner->type, "sbg")) {
        return std::nullopt;
      }
      return distinct ? close(fmt::format("count distinct {0} where not null {0}", inner->q), 'j')
                      : close("sum not null " + inner->q, 'i');
    }
    const bool extreme = function == "min" || function == "max";
    // q's min and max are of numbers and times. SQL's leave nulls out.
    if (extreme && inner->type == 's') {
      return function == "max"
                 ? close("last asc " + inner->q, 's')
                 : close(fmt::format("first asc {0} where not null {0}", inner->q), 's');
    }
    if (!(extreme ? ordered : numbers)) return std::nullopt;
    return close(function + " " + inner->q, function == "avg" ? 'f' : inner->type);
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
    const std::optional<SqlColumn> column = Column();
    if (!column) return std::nullopt;
    const bool negated = TakeWord("not");
    const std::string no = negated ? "not " : "";
    if (TakeWord("in")) return In(*column, no);
    if (TakeWord("like")) return Like(*column, no);
    if (negated) return std::nullopt;
    if (TakeWord("between")) return Between(*column);
    if (TakeWord("is")) {
      const bool has_nulls = column->type == kAnyType || IsOneOfTypes(column->type, kNumbers) ||
                             IsOneOfTypes(column->type, kTemporal) || column->type == 's';
      const std::string test = TakeWord("not") ? "not null " : "null ";
      return TakeWord("null") && has_nulls ? Text(test + column->q) : std::nullopt;
    }
    std::string op = Peek().text;
    if (op == "!=") op = "<>";
    constexpr std::string_view kComparisons[] = {"=", "<>", "<", ">", "<=", ">="};
    if (Peek().kind != Kind::kSign ||
        std::ranges::find(kComparisons, op) == std::end(kComparisons)) {
      return std::nullopt;
    }
    ++at_;
    return Comparison(*column, op);
  }

  Text Comparison(const SqlColumn& column, std::string_view op) {
    const bool equality = op == "=" || op == "<>";
    const size_t begin = at_;
    if (const std::optional<SqlColumn> other = Column()) {
      const bool both = IsOneOfTypes(column.type, kNumbers) && IsOneOfTypes(other->type, kNumbers);
      const bool same = column.type == other->type && !IsOneOfTypes(column.type, "C ") &&
                        (equality || column.type != 's');
      return both || same ? Text(fmt::format("{}{}{}", column.q, op, other->q)) : std::nullopt;
    }
    at_ = begin;
    const std::optional<SqlLiteral> literal = Literal();
    if (!literal) return std::nullopt;
    if (column.type == 'C' && equality && literal->kind == SqlLiteral::Kind::kText) {
      if (literal->text.find_first_of("*?[]^") != std::string::npos) return std::nullopt;
      return fmt::format("{}{} like {}", op == "=" ? "" : "not ", column.q, Quoted(literal->text));
    }
    const std::optional<QLiteral> q = ComparableWith(column.type, *literal);
    if (!q || !(equality || q->IsOrdered())) return std::nullopt;
    return fmt::format("{}{}{}", column.q, op, q->text);
  }

  Text In(const SqlColumn& column, std::string_view no) {
    if (!TakeSign("(")) return std::nullopt;
    std::vector<std::string> items;
    std::optional<QLiteral> first;
    do {
      const std::optional<SqlLiteral> literal = Literal();
      const std::optional<QLiteral> item =
          literal ? ComparableWith(column.type, *literal) : std::nullopt;
      if (!item || item->form == QLiteral::Form::kOtherSymbol ||
          item->form == QLiteral::Form::kBoolean) {
        return std::nullopt;
      }
      if (!first) first = item;
      if (!AreOfOneForm(*first, *item)) return std::nullopt;
      items.push_back(item->text);
    } while (TakeSign(","));
    if (!TakeSign(")")) return std::nullopt;
    const std::string one = items.size() == 1 ? "enlist " : "";
    const bool chars = first->form == QLiteral::Form::kChar;
    if (chars && items.size() > 1) return std::nullopt;
    return fmt::format("{}{} in {}{}", no, column.q, one,
                       fmt::join(items, first->form == QLiteral::Form::kSymbol ? "" : " "));
  }

  // True for constants that can be written as one list, `09:30 10:00`.
  static bool AreOfOneForm(const QLiteral& a, const QLiteral& b) {
    const bool times = a.form == QLiteral::Form::kTime || a.form == QLiteral::Form::kMoment;
    return a.form == b.form && (!times || a.text.size() == b.text.size());
  }

  Text Like(const SqlColumn& column, std::string_view no) {
    if (Peek().kind != Kind::kText || (column.type != kAnyType && !IsOneOfTypes(column.type, "sC")))
      return std::nullopt;
    std::string pattern = tokens_[at_++].text;
    if (pattern.find_first_of("*?[]^\"\\") != std::string::npos) return std::nullopt;
    std::ranges::replace(pattern, '%', '*');
    std::ranges::replace(pattern, '_', '?');
    return fmt::format("{}{} like \"{}\"", no, column.q, pattern);
  }

  Text Between(const SqlColumn& column) {
    const std::optional<SqlLiteral> from = Literal();
    if (!from || !TakeWord("and")) return std::nullopt;
    const std::optional<SqlLiteral> to = Literal();
    if (!to) return std::nullopt;
    const std::optional<QLiteral> low = ComparableWith(column.type, *from);
    const std::optional<QLiteral> high = ComparableWith(column.type, *to);
    if (!low || !high || !low->IsOrdered() || !AreOfOneForm(*low, *high)) return std::nullopt;
    return fmt::format("{} within {} {}", column.q, low->text, high->text);
  }

  // `` `price xdesc ``, empty without ORDER BY. The columns are those of the result.
  Text Order(const std::vector<SqlColumn>& columns, const std::vector<std::string>& groups) {
    if (!TakeWords("order", "by")) return "";
    std::string names;
    std::optional<bool> descending;
    do {
      const Text name = OrderedBy(columns, groups);
      const bool down = TakeWord("desc");
      if (!down) TakeWord("asc");
      if (!name || down != descending.value_or(down)) return std::nullopt;
      descending = down;
      names += "`" + *name;
    } while (TakeSign(","));
    return fmt::format("{} {} ", names, *descending ? "xdesc" : "xasc");
  }

  Text OrderedBy(const std::vector<SqlColumn>& columns, const std::vector<std::string>& groups) {
    const size_t begin = at_;
    if (const Text alias = Name()) {
      const auto found = std::ranges::find(columns, *alias, &SqlColumn::name);
      if (found != columns.end() && found->aliased) return alias;
    }
    at_ = begin;
    const std::optional<SqlColumn> column = Column();
    if (!column || IsOneOfTypes(column->type, "C ")) return std::nullopt;
    const bool known =
        columns.empty() ||
        std::ranges::find(columns, column->name, &SqlColumn::name) != columns.end() ||
        std::ranges::find(groups, column->name) != groups.end();
    return known ? Text(column->name) : std::nullopt;
  }

  std::vector<SqlToken> tokens_;
  const FindTypes& types_of_;
  size_t at_ = 0;
  std::string table_, alias_;
  std::optional<SqlColumnTypes> types_;  // nullopt if the table is not known.
  size_t after_table_ = 0;               // The token after FROM, the table and its alias.
};

}  // namespace

std::optional<std::string> QueryOfSql(std::string_view statement, const FindTypes& types_of) {
  return Translator(statement, types_of).Run();
}

}  // namespace tickstack::query
