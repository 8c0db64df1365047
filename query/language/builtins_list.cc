// Functions of lists and dictionaries.

#include <array>

#include "query/columns/concatenate.h"
#include "query/kernels/distinct_rows.h"
#include "query/kernels/search.h"
#include "query/language/builtins.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"
#include "query/language/namespaces.h"
#include "query/language/parse_tree.h"

namespace tickstack::query::builtins {
namespace {

// `key `name`: the keys of the dictionary or keyed table of that name, the names of a namespace,
// the name itself of anything else that there is, and () of nothing.
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
  // Without a look at its partitions, of which there may be thousands.
  const bool stored = !context.variables.Has(name) &&
                      context.environment.FindStored(context.variables.Whole(name)) != nullptr;
  if (stored) return Value::Symbol(name);
  absl::StatusOr<std::optional<Term>> found = FindWholeName(outside, name);
  // A name whose value is an error is there all the same.
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

// The keys of a dictionary or keyed table, by itself or by its name; of a vector the name of its
// type, of a number til.
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

// A table's distinct rows stay where they are.
Result DistinctTerm(Context& context, Args args) {
  if (!IsTableTerm(args[0])) return OfValue<Distinct>(context, args);
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  TS_ASSIGN_OR_RETURN(TableView rows, DistinctRows(view, context.budget));
  return rows;
}

Result AttributeOf(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value value, Take(context, args[0]));
  return Value::Symbol(LetterOfAttribute(value.attribute()));
}

Result TypeOf(Context& context, Args args) {
  const auto answer = [](int code) -> Result { return Value::Short(static_cast<int16_t>(code)); };
  if (const auto* slice = std::get_if<Slice>(&args[0])) {
    return answer(static_cast<int>(slice->type()));
  }
  if (const auto* view = std::get_if<TableView>(&args[0]))
    return answer(view->key_columns > 0 ? 99 : 98);
  if (const auto* value = std::get_if<Value>(&args[0])) {
    return answer(value->is_dict() ? static_cast<int>(Type::kDict) : value->code());
  }
  TS_ASSIGN_OR_RETURN(const Value function, Take(context, args[0]));
  return answer(function.code());
}

Result Til(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value n, Take(context, args[0]));
  const std::optional<int64_t> whole = IndexOf(n);
  if (!whole.has_value()) return TypeError("til of a {}", NameOf(n.type()));
  const int64_t count = *whole;
  if (count < 0) return DomainError("til {}", count);
  TS_RETURN_IF_ERROR(context.budget.Charge(static_cast<size_t>(count), sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) out.data()[i] = i;
  return std::move(out).Finish();
}

bool IsNameTerm(const Term& term) {
  const auto* const value = std::get_if<Value>(&term);
  return value != nullptr && value->is_atom_of(Type::kSymbol);
}

// Keys and values to a dictionary; n!t gives a table its first n columns as keys.
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
    // With an atom on the left it is a function of the system, or keys a table in place.
    if (!side->is_vector() && !side->is_list() && !side->is_table()) return NyiError("!");
  }
  if (x.count() != y.count()) return LengthError("{} keys for {} values", x.count(), y.count());
  return Value::Dict(std::move(x), std::move(y));
}

constexpr std::array kListTable = {
    Builtin{"!", 2, 4, true, MakeDict},        Builtin{"distinct", 1, 1, false, DistinctTerm},
    Builtin{"attr", 1, 1, false, AttributeOf}, Builtin{"til", 1, 1, false, Til},
    Builtin{"type", 1, 1, false, TypeOf},      Builtin{"key", 1, 1, false, Key},
};

}  // namespace

std::span<const Builtin> Lists() { return kListTable; }

}  // namespace tickstack::query::builtins
