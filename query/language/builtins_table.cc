// Functions of tables.

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "query/joins/nbbo.h"
#include "query/kernels/dictionary.h"
#include "query/kernels/flip.h"
#include "query/kernels/nested_rows.h"
#include "query/language/builtins.h"
#include "query/language/variables.h"

namespace tickstack::query::builtins {
namespace {

// Those of the process in the root, and those of the request; in another namespace only these.
Result Tables(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value of, Take(context, args[0]));
  SymbolVector names;
  const bool named = of.is_atom_of(Type::kSymbol) && !of.symbol().empty();
  const std::string space(named ? of.symbol() : context.variables.space());
  std::vector<std::string> found;
  if (space == ".") found = context.environment.TableNames();
  context.variables.request().Each([&](std::string_view name) {
    const bool within = space == "." ? name.find('.') == std::string_view::npos
                                     : name.starts_with(space) && name.rfind('.') == space.size();
    const Term* const term = context.variables.request().Find(name);
    const auto* const value = term == nullptr ? nullptr : std::get_if<Value>(term);
    const bool table = term != nullptr && (std::holds_alternative<TableView>(*term) ||
                                           (value != nullptr && IsTableValue(*value)));
    if (within && table) found.emplace_back(name.substr(space == "." ? 0 : space.size() + 1));
  });
  std::ranges::sort(found);
  for (const std::string& name : found) names.push_back(name);
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
absl::StatusOr<TableView> WithKeys(TableView view, size_t n) {
  if (n >= view.columns.size() && n > 0) {
    return LengthError("{} key columns of {}", n, view.columns.size());
  }
  view.key_columns = n;
  return view;
}

// The table with its columns in the order of `first`, then the others.
TableView InOrder(const TableView& view, const std::vector<size_t>& first) {
  TableView result;
  result.rows = view.rows;
  const auto add = [&](size_t column) {
    result.names.push_back(view.names[column]);
    result.columns.push_back(view.columns[column]);
  };
  for (const size_t column : first) add(column);
  for (size_t i = 0; i < view.columns.size(); ++i) {
    if (std::ranges::find(first, i) == first.end()) add(i);
  }
  return result;
}

// x xkey t: the columns x become the keys and stand first.
Result Xkey(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value names, Take(context, args[0]));
  return OfTableOrVariable(
      context, std::move(args[1]), [&](const TableView& view) -> absl::StatusOr<TableView> {
        TS_ASSIGN_OR_RETURN(const std::vector<size_t> keys, ColumnsNamed(view, names));
        return WithKeys(InOrder(view, keys), keys.size());
      });
}

// x xcols t: the columns x stand first.
Result Xcols(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value names, Take(context, args[0]));
  if (view.key_columns > 0) return TypeError("xcols of a keyed table");
  TS_ASSIGN_OR_RETURN(const std::vector<size_t> first, ColumnsNamed(view, names));
  return InOrder(view, first);
}

// x xcol t: the first columns under the names x; or those that a dictionary has new names for.
Result Xcol(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  const bool by_name = IsPlainDict(x);
  const Value& names = by_name ? x.values() : x;
  if (names.type() != Type::kSymbol || (by_name && !x.keys().is(Type::kSymbol))) {
    return TypeError("columns under a {}", NameOf(names.type()));
  }
  std::vector<size_t> columns(names.count());
  std::iota(columns.begin(), columns.end(), size_t{0});
  if (by_name) {
    TS_ASSIGN_OR_RETURN(columns, ColumnsNamed(view, x.keys()));
  }
  if (columns.size() > view.columns.size()) {
    return LengthError("{} names for {} columns", columns.size(), view.columns.size());
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    view.names[columns[i]] = names.is_atom() ? names.symbol() : names.symbols()[i];
  }
  UniqueNames unique;
  for (const std::string& name : view.names) {
    if (unique.Next(name) == name) continue;
    return QError(absl::StatusCode::kInvalidArgument, fmt::format("dup {}", name),
                  "two columns of one name");
  }
  view.stored = nullptr;
  return view;
}

Result FlipTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(Flip(x, context.budget));
}

Result UngroupTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  TS_ASSIGN_OR_RETURN(TableView rows, Ungroup(view, context.budget));
  return rows;
}

Result Xgroup(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value names, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(const std::vector<size_t> keys, ColumnsNamed(view, names));
  TS_ASSIGN_OR_RETURN(TableView nested, NestBy(view, keys, context.budget));
  return nested;
}

constexpr std::array kTableTable = {
    Builtin{"tables", 1, 1, false, Tables},
    Builtin{"cols", 1, 1, false, Cols},
    Builtin{"keys", 1, 1, false, Keys},
    Builtin{"meta", 1, 1, false, Meta},
    Builtin{"xkey", 2, 2, true, Xkey},
    Builtin{"xcol", 2, 2, true, Xcol},
    Builtin{"xcols", 2, 2, true, Xcols},
    Builtin{"flip", 1, 1, false, FlipTerm},
    Builtin{"ungroup", 1, 1, false, UngroupTerm},
    Builtin{"xgroup", 2, 2, true, Xgroup},
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
  if (keys < 0) return DomainError("{} key columns", keys);
  return OfTableOrVariable(context, std::move(table), [&](const TableView& view) {
    return WithKeys(view, static_cast<size_t>(keys));
  });
}

}  // namespace tickstack::query::builtins
