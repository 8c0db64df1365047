// Functions of tables.

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "query/joins/asof_join.h"
#include "query/joins/nbbo.h"
#include "query/language/builtins.h"

namespace tickstack::query::builtins {
namespace {

Result Tables(Context& context, Args) {
  SymbolVector names;
  for (const std::string& name : context.environment.TableNames()) names.push_back(name);
  return Value::Symbols(std::move(names));
}

Result Cols(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  SymbolVector names;
  for (const std::string& name : view.names) names.push_back(name);
  return Value::Symbols(std::move(names));
}

Result Keys(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  SymbolVector names;
  for (size_t i = 0; i < view.key_columns; ++i) names.push_back(view.names[i]);
  return Value::Symbols(std::move(names));
}

// A nested column has the capital letter of its first item, if that is a vector.
absl::StatusOr<char> MetaLetter(const TableView& view, size_t column) {
  const Type type = view.columns[column].type();
  if (type != Type::kList) return LetterOf(type);
  if (view.count() == 0) return ' ';
  TS_ASSIGN_OR_RETURN(const Value item, view.columns[column].At(view.rows->At(0)));
  if (!item.is_vector()) return ' ';
  return static_cast<char>(LetterOf(item.type()) - 'a' + 'A');
}

Result Meta(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  SymbolVector names, foreign, attributes;
  std::string types;
  for (size_t i = 0; i < view.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const char letter, MetaLetter(view, i));
    names.push_back(view.names[i]);
    types.push_back(letter);
    foreign.push_back("");
    attributes.push_back(LetterOfAttribute(view.columns[i].attribute()));
  }
  Value keys = Value::Table({"c"}, {Value::Symbols(std::move(names))});
  Value values =
      Value::Table({"t", "f", "a"}, {Value::String(types), Value::Symbols(std::move(foreign)),
                                     Value::Symbols(std::move(attributes))});
  return Value::KeyedTable(std::move(keys), std::move(values));
}

Result NbboOf(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView table, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value columns, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(TableView best, Nbbo(columns, table, context.budget));
  return best;
}

// The first n columns as keys.
Result WithKeys(TableView view, size_t n) {
  if (n >= view.columns.size() && n > 0) {
    return LengthError("{} key columns of {}", n, view.columns.size());
  }
  view.key_columns = n;
  return view;
}

// x xkey t: the columns x become the keys and stand first.
Result Xkey(Context& context, Args args) {
  if (const auto* name = std::get_if<Value>(&args[1]); name != nullptr && name->is_atom()) {
    return NyiError("xkey of a table in place");
  }
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value names, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(const std::vector<size_t> keys, ColumnsNamed(view, names));
  TableView result;
  result.rows = view.rows;
  const auto add = [&](size_t column) {
    result.names.push_back(view.names[column]);
    result.columns.push_back(view.columns[column]);
  };
  for (size_t key : keys) add(key);
  for (size_t i = 0; i < view.columns.size(); ++i) {
    if (std::ranges::find(keys, i) == keys.end()) add(i);
  }
  return WithKeys(std::move(result), keys.size());
}

// The fourth argument, a maximum age, is an extension of q.
template <AsofTime time>
Result Aj(Context& context, Args args) {
  std::optional<Value> max_age;
  if (args.size() == 4) {
    TS_ASSIGN_OR_RETURN(max_age, Take(context, args[3]));
  }
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[2])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value columns, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(TableView joined, AsofJoin(columns, left, right, time,
                                                 max_age ? &*max_age : nullptr, context.budget));
  return joined;
}

constexpr std::array kTableTable = {
    Builtin{"tables", 1, 1, false, Tables},
    Builtin{"cols", 1, 1, false, Cols},
    Builtin{"keys", 1, 1, false, Keys},
    Builtin{"meta", 1, 1, false, Meta},
    Builtin{"xkey", 2, 2, true, Xkey},
    Builtin{"aj", 3, 4, false, Aj<AsofTime::kLeft>},
    Builtin{"aj0", 3, 4, false, Aj<AsofTime::kRight>},
    Builtin{"nbbo", 2, 2, false, NbboOf},
};

}  // namespace

std::span<const Builtin> Tables() { return kTableTable; }

std::string_view LetterOfAttribute(Attribute attribute) {
  constexpr std::array<std::string_view, 5> kLetters = {"", "s", "u", "p", "g"};
  const auto at = static_cast<size_t>(attribute);
  return at < kLetters.size() ? kLetters[at] : "";
}

absl::StatusOr<std::vector<size_t>> ColumnsNamed(const TableView& view, const Value& names) {
  std::vector<size_t> columns;
  const bool none = names.is_list() && names.count() == 0;
  if (names.type() != Type::kSymbol && !none) {
    return TypeError("a {} where names of columns are expected", NameOf(names.type()));
  }
  for (size_t i = 0; i < names.count(); ++i) {
    const std::string_view name = names.is_atom() ? names.symbol() : names.symbols()[i];
    const int column = view.Find(name);
    if (column < 0) return NameError(name);
    if (std::ranges::find(columns, static_cast<size_t>(column)) != columns.end()) {
      return DomainError("column {} twice", name);
    }
    columns.push_back(static_cast<size_t>(column));
  }
  return columns;
}

Result Enkey(Context& context, int64_t keys, Term table) {
  TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(table)));
  if (keys < 0) return DomainError("{} key columns", keys);
  return WithKeys(std::move(view), static_cast<size_t>(keys));
}

}  // namespace tickstack::query::builtins
