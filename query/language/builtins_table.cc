// Functions of dictionaries and tables: keys, columns, new rows, metadata.

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "query/columns/stored_table.h"
#include "query/joins/nbbo.h"
#include "query/joins/upsert.h"
#include "query/kernels/dictionary.h"
#include "query/kernels/flip.h"
#include "query/kernels/nested_rows.h"
#include "query/language/builtins.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"
#include "query/language/namespaces.h"
#include "query/language/parse_tree.h"
#include "query/language/variables.h"

namespace tickstack::query::builtins {
namespace {

// `key `name`: the keys of the dictionary or keyed table of that name, the names in a namespace,
// the name itself if it has another value, and () if it has none.
Result KeyOfName(Context& context, std::string_view name) {
  const auto symbols = [](const std::vector<std::string>& names, bool with_null) -> Result {
    SymbolVector all;
    if (with_null) all.push_back("");
    for (const std::string& each : names) all.push_back(each);
    return Value::Symbols(std::move(all));
  };
  if (name.empty()) return symbols(Namespaces(context), false);
  if (name == ".") return symbols(NamesIn(context, name), false);
  Context outside = context.Outside();
  // Does not open a stored table's partitions, of which there may be thousands.
  const bool stored = !context.variables.Has(name) &&
                      context.environment.FindStored(context.variables.Whole(name)) != nullptr;
  if (stored) return Value::Symbol(name);
  absl::StatusOr<std::optional<Term>> found = FindWholeName(outside, name);
  // A name whose value is an error exists all the same.
  if (!found.ok() && QErrorText(found.status()) != "stop") return Value::Symbol(name);
  TS_RETURN_IF_ERROR(found.status());
  if (found->has_value()) {
    const auto* const view = std::get_if<TableView>(&**found);
    if (view != nullptr && view->key_columns == 0) return Value::Symbol(name);
    const auto* const value = std::get_if<Value>(&**found);
    const bool has_keys = view != nullptr || (value != nullptr && value->is_dict());
    if (!has_keys) return Value::Symbol(name);
    TS_ASSIGN_OR_RETURN(const Value entries, Take(context, **found));
    return entries.keys();
  }
  const std::vector<std::string> names = NamesIn(context, name);
  if (names.empty()) return Value::List({});
  return symbols(names, true);
}

// Returns the keys of a dictionary or keyed table, given itself or by name; of a vector the name of
// its type, of a number til.
Result Key(Context& context, Args args) {
  if (const auto* value = std::get_if<Value>(&args[0]);
      value != nullptr && value->is_atom_of(Type::kSymbol)) {
    if (IsFileName(*value)) return NyiError("key of a file");
    return KeyOfName(context, value->symbol());
  }
  TS_ASSIGN_OR_RETURN(const Value value, Take(context, args[0]));
  if (value.is_dict()) return value.keys();
  if (value.is_vector()) return Value::Symbol(NameOf(value.type()));
  if (value.is_atom() && IndexOf(value).has_value()) {
    Term number = value;
    return Apply(context, *FindBuiltin("til"), std::span(&number, 1));
  }
  return TypeError("key of a {}", NameOf(value.type()));
}

bool IsNameTerm(const Term& term) {
  const auto* const value = std::get_if<Value>(&term);
  return value != nullptr && value->is_atom_of(Type::kSymbol);
}

// Makes a dictionary of keys and values; n!t makes the first n columns of a table its keys.
Result MakeDict(Context& context, Args args) {
  if (args.size() == 4) return FunctionalUpdate(context, args);  // ![t;c;b;a]
  if (args.size() == 3) return RankError("3 arguments for !");
  if (const auto* n = std::get_if<Value>(&args[0]); n != nullptr && n->is_atom()) {
    const std::optional<int64_t> number = IndexOf(*n);
    const bool internal = number.has_value() && (*number < 0 || *number == kNullLong);
    if (internal) return ApplyInternal(context, *n, args.subspan(1));
  }
  if (const auto* n = std::get_if<Value>(&args[0]);
      n != nullptr && (IsTableTerm(args[1]) || IsNameTerm(args[1]))) {
    if (n->is_atom_of(Type::kLong)) return Enkey(context, n->as<int64_t>(), std::move(args[1]));
    if (n->is_atom_of(Type::kInt)) return Enkey(context, n->as<int32_t>(), std::move(args[1]));
  }
  TS_ASSIGN_OR_RETURN(Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(Value x, Take(context, args[0]));
  if (x.is_table() && y.is_table()) {
    TS_RETURN_IF_ERROR(CheckTable(x));
    TS_RETURN_IF_ERROR(CheckTable(y));
    if (x.count() != y.count()) return LengthError("{} keys for {} rows", x.count(), y.count());
    return Value::KeyedTable(std::move(x), std::move(y));
  }
  for (const Value* side : {&x, &y}) {
    // An atom on the left names a function of the system, or keys a table in place.
    if (!side->is_vector() && !side->is_list() && !side->is_table()) return NyiError("!");
  }
  if (x.count() != y.count()) return LengthError("{} keys for {} values", x.count(), y.count());
  return Value::Dict(std::move(x), std::move(y));
}

// Returns the names of tables: in the root, the process's and the request's; in another namespace,
// the request's.
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

// Returns the columns of a stored table that has this name, without opening its parts: a part that
// cannot be read has nothing to do with them. nullopt if the name is of anything else.
std::optional<Value> ColumnsOfStored(Context& context, const std::string& plain) {
  if (context.variables.Has(plain) || context.variables.ViewOfName(plain)) return std::nullopt;
  const std::string name = context.variables.Whole(plain);
  if (context.environment.FindTable(name)) return std::nullopt;
  const std::shared_ptr<const StoredTable> stored = context.environment.FindStored(name);
  if (stored == nullptr) return std::nullopt;
  SymbolVector names;
  for (const ColumnSpec& column : stored->schema().columns) names.push_back(column.name);
  return Value::Symbols(std::move(names));
}

// Returns the names of a table's columns, or the keys of a dictionary whose keys are names.
Result Cols(Context& context, Args args) {
  if (IsNameTerm(args[0])) {
    Context outside = context.Outside();
    const std::string name(std::get<Value>(args[0]).symbol());
    if (std::optional<Value> columns = ColumnsOfStored(outside, name)) return *std::move(columns);
    TS_ASSIGN_OR_RETURN(args[0], FindName(outside, std::get<Value>(args[0]).symbol()));
  }
  if (IsDictTerm(args[0])) {
    const Value& keys = std::get<Value>(args[0]).keys();
    if (keys.type() == Type::kSymbol) return keys;
    return TypeError("cols of a dictionary whose keys are {}s", NameOf(keys.type()));
  }
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

// Returns the letter of a column in meta; a nested one has the capital letter of its first item, if
// that is a vector.
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
    TS_ASSIGN_OR_RETURN(const Attribute attribute, view.columns[i].attribute());
    attributes.push_back(LetterOfAttribute(attribute));
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

// Returns the table with the first n columns as keys.
absl::StatusOr<TableView> WithKeys(TableView view, size_t n) {
  if (n >= view.columns.size() && n > 0) {
    return LengthError("{} key columns of {}", n, view.columns.size());
  }
  view.key_columns = n;
  return view;
}

// Returns the table with the columns `first` in this order, then the others.
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

// x xkey t: makes the columns x the keys, which come first.
Result Xkey(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value names, Take(context, args[0]));
  return ChangeTable(
      context, std::move(args[1]), [&](const TableView& view) -> absl::StatusOr<TableView> {
        TS_ASSIGN_OR_RETURN(const std::vector<size_t> keys, ColumnsNamed(view, names));
        return WithKeys(InOrder(view, keys), keys.size());
      });
}

// x xcols t: moves the columns x to the front.
Result Xcols(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value names, Take(context, args[0]));
  if (view.key_columns > 0) return TypeError("xcols of a keyed table");
  TS_ASSIGN_OR_RETURN(const std::vector<size_t> first, ColumnsNamed(view, names));
  return InOrder(view, first);
}

// x xcol t: renames the first columns to x, or those that a dictionary has new names for.
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

// The target of a change: a table, or the variable that has one.
struct Target {
  std::optional<std::string> variable;
  TableView table;
};

absl::StatusOr<Target> TargetOf(Context& context, Term term) {
  Target target;
  TS_ASSIGN_OR_RETURN(target.variable, VariableNamed(context, term));
  TS_ASSIGN_OR_RETURN(target.table, ToView(context, std::move(term)));
  return target;
}

Result UpsertTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(Value rows, Take(context, args[1]));
  if (IsNothing(args[0])) return rows;
  const bool nothing = rows.is_list() && rows.count() == 0;
  if (IsDictTerm(args[0])) {
    TS_ASSIGN_OR_RETURN(Value dict, Take(context, args[0]));
    if (nothing) return dict;
    return FromValue(JoinDicts(dict, rows, context.budget));
  }
  TS_ASSIGN_OR_RETURN(const Target target, TargetOf(context, std::move(args[0])));
  if (nothing && !target.variable.has_value()) return target.table;
  if (nothing) return Value::Symbol(*target.variable);
  TS_ASSIGN_OR_RETURN(TableView changed, Upsert(target.table, std::move(rows), context.budget));
  if (!target.variable.has_value()) return changed;
  TS_RETURN_IF_ERROR(AssignName(context, *target.variable, std::move(changed)));
  return Value::Symbol(*target.variable);
}

// Inserts rows, and returns their row numbers.
Result InsertTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(Value rows, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Target target, TargetOf(context, std::move(args[0])));
  if (!target.variable.has_value()) return TypeError("insert into what is no name of a table");
  if (rows.is_list() && rows.count() == 0) return EmptyVector(Type::kLong);
  TS_ASSIGN_OR_RETURN(TableView changed, InsertRows(target.table, std::move(rows), context.budget));
  const size_t before = target.table.count(), n = changed.count() - before;
  TS_RETURN_IF_ERROR(AssignName(context, *target.variable, std::move(changed)));
  TS_RETURN_IF_ERROR(context.budget.Charge(n, sizeof(int64_t)));
  VectorWriter<int64_t> numbers(Type::kLong, n);
  for (size_t i = 0; i < n; ++i) numbers.data()[i] = static_cast<int64_t>(before + i);
  return std::move(numbers).Finish();
}

// Returns 1b for a partitioned table, 0b for a splayed one, 0 for anything else.
Result IsPartitioned(Context&, Args args) {
  const auto* const view = std::get_if<TableView>(&args[0]);
  if (view == nullptr || view->stored == nullptr) return Value::Long(0);
  return Value::Boolean(view->stored->table().is_partitioned());
}

// Returns how many rows each partition has.
Result CountsByPartition(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  if (view.stored == nullptr || !view.stored->table().is_partitioned()) {
    return TypeError(".Q.cn of what is no partitioned table");
  }
  std::vector<int64_t> counts(view.stored->table().partitions());
  for (const StoredPart& part : view.stored->parts()) {
    counts[part.partition] = static_cast<int64_t>(part.rows);
  }
  return Value::Vector(Type::kLong, std::span<const int64_t>(counts));
}

constexpr std::array kTableTable = {
    Builtin{"!", 2, 4, true, MakeDict, true},
    Builtin{"key", 1, 1, false, Key},
    With(Builtin::kIgnoresRows | Builtin::kNeedsNoRows, Builtin{"cols", 1, 1, false, Cols}),
    With(Builtin::kIgnoresRows | Builtin::kNeedsNoRows, Builtin{"keys", 1, 1, false, Keys}),
    With(Builtin::kNeedsNoRows, Builtin{"meta", 1, 1, false, Meta}),
    With(Builtin::kInterprets, Builtin{"tables", 1, 1, false, Tables}),
    Builtin{"xkey", 2, 2, true, Xkey, true},
    Builtin{"xcol", 2, 2, true, Xcol, true},
    Builtin{"xcols", 2, 2, true, Xcols, true},
    Builtin{"flip", 1, 1, false, FlipTerm},
    Builtin{"ungroup", 1, 1, false, UngroupTerm},
    Builtin{"xgroup", 2, 2, true, Xgroup, true},
    With(Builtin::kInterprets, Builtin{"upsert", 2, 2, true, UpsertTerm, true}),
    With(Builtin::kInterprets, Builtin{"insert", 2, 2, true, InsertTerm, true}),
    Builtin{"nbbo", 2, 2, false, NbboOf},
    Builtin{".Q.qp", 1, 1, false, IsPartitioned},
    Builtin{".Q.cn", 1, 1, false, CountsByPartition},
};

}  // namespace

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
  return ChangeTable(context, std::move(table), [&](const TableView& view) {
    return WithKeys(view, static_cast<size_t>(keys));
  });
}

std::span<const Builtin> TableFunctions() { return kTableTable; }

}  // namespace tickstack::query::builtins
