// The functions of the subset, one entry each: name, how many arguments, where it stands, and what
// it does. A later function is a line in kBuiltins and its few lines here or in a kernel's file.

#include <algorithm>
#include <array>
#include <string>

#include "query/aggregate.h"
#include "query/asof_join.h"
#include "query/atomic.h"
#include "query/elements.h"
#include "query/errors.h"
#include "query/search.h"
#include "query/term.h"

namespace tickstack::query {
namespace {

using Args = std::span<Term>;
using Result = absl::StatusOr<Term>;

Result FromValue(absl::StatusOr<Value> value) {
  TS_RETURN_IF_ERROR(value.status());
  return *std::move(value);
}

absl::StatusOr<Value> Take(Context& context, Term& term) {
  return ToValue(std::move(term), context.budget);
}

template <AtomicOp op>
Result Atomic(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(ApplyAtomic(op, x, y, context.budget));
}

template <absl::StatusOr<Value> (*f)(const Value&, Budget&)>
Result OfValue(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(f(x, context.budget));
}

template <absl::StatusOr<Value> (*f)(const Value&, const Value&, Budget&)>
Result OfValues(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(f(x, y, context.budget));
}

bool IsTableValue(const Value& value) { return value.is_table() || value.is_keyed_table(); }

// Calls f(slice) for a column, vector, list or a dictionary's values; an atom is its own aggregate.
template <typename F>
Result OverItems(std::string_view name, Term& term, F f) {
  if (const auto* slice = std::get_if<Slice>(&term)) return FromValue(f(*slice));
  auto* value = std::get_if<Value>(&term);
  if (value == nullptr || IsTableValue(*value)) return NyiError(fmt::format("{} of a table", name));
  if (value->is_vector() || value->is_list()) return FromValue(f(Slice::Of(std::move(*value))));
  if (value->is_dict() && (value->values().is_vector() || value->values().is_list())) {
    return FromValue(f(Slice::Of(value->values())));
  }
  return TypeError("{} of a {}", name, NameOf(value->type()));
}

bool IsAtom(const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_atom();
}

// An atom is a vector of one here, so that each aggregate's rules about types hold for it, except
// that max, min and sum keep its type.
template <absl::StatusOr<Value> (*f)(const Slice&, Budget&), bool keeps_atom>
Result Aggregate(Context& context, Args args) {
  if (IsAtom(args[0])) {
    Value atom = std::get<Value>(std::move(args[0]));
    TS_ASSIGN_OR_RETURN(Value result, f(Slice::Of(Enlist(atom)), context.budget));
    return keeps_atom ? std::move(atom) : std::move(result);
  }
  return OverItems("aggregate", args[0],
                   [&](const Slice& slice) { return f(slice, context.budget); });
}

absl::StatusOr<Slice> ToSlice(Context& context, Term& term) {
  if (auto* slice = std::get_if<Slice>(&term)) return std::move(*slice);
  TS_ASSIGN_OR_RETURN(Value value, Take(context, term));
  if (!value.is_vector() && !value.is_list()) {
    return TypeError("a {} where a list is expected", NameOf(value.type()));
  }
  return Slice::Of(std::move(value));
}

template <absl::StatusOr<Value> (*f)(const Slice&, const Slice&, Budget&)>
Result Weighted(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Slice values, ToSlice(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Slice weights, ToSlice(context, args[0]));
  return FromValue(f(weights, values, context.budget));
}

template <bool last>
Result EndItem(Context& context, Args args) {
  auto* value = std::get_if<Value>(&args[0]);
  if (std::holds_alternative<TableView>(args[0]) || (value != nullptr && IsTableValue(*value))) {
    TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
    const size_t n = view.count();
    return FromValue(RowAt(view, n == 0 ? kNoItem : last ? n - 1 : 0));
  }
  if (value != nullptr && !value->is_vector() && !value->is_list() && !value->is_dict()) {
    return std::move(args[0]);
  }
  return OverItems(last ? "last" : "first", args[0], last ? Last : First);
}

Result Count(Context& context, Args args) {
  const auto answer = [](size_t n) -> Result { return Value::Long(static_cast<int64_t>(n)); };
  if (const auto* slice = std::get_if<Slice>(&args[0])) return answer(slice->count());
  if (const auto* view = std::get_if<TableView>(&args[0])) return answer(view->count());
  if (std::holds_alternative<const Builtin*>(args[0])) return answer(1);
  Value& value = std::get<Value>(args[0]);
  if (!IsTableValue(value)) return answer(value.count());
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  return answer(view.count());
}

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

std::string_view LetterOfAttribute(Attribute attribute) {
  constexpr std::array<std::string_view, 5> kLetters = {"", "s", "u", "p", "g"};
  const auto at = static_cast<size_t>(attribute);
  return at < kLetters.size() ? kLetters[at] : "";
}

// A nested column has the capital letter of its first item, if that is a vector.
absl::StatusOr<char> MetaLetter(const TableView& view, size_t column) {
  const Type type = view.columns[column].type();
  if (type != Type::kList) return LetterOf(type);
  if (view.count() == 0) return ' ';
  TS_ASSIGN_OR_RETURN(const Value item, view.ColumnAt(column).At(0));
  if (!item.is_vector()) return ' ';
  return static_cast<char>(LetterOf(item.type()) - 'a' + 'A');
}

std::string_view MetaAttribute(const Column& column) {
  if (!column.captured()) return LetterOfAttribute(column.value()->attribute());
  const int indexed = column.snapshot().table().indexed_column();
  return indexed == static_cast<int>(column.index()) ? "g" : "";
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
    attributes.push_back(MetaAttribute(view.columns[i]));
  }
  Value keys = Value::Table({"c"}, {Value::Symbols(std::move(names))});
  Value values =
      Value::Table({"t", "f", "a"}, {Value::String(types), Value::Symbols(std::move(foreign)),
                                     Value::Symbols(std::move(attributes))});
  return Value::KeyedTable(std::move(keys), std::move(values));
}

template <AsofTime time>
Result Aj(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView right, ToView(context, std::move(args[2])));
  TS_ASSIGN_OR_RETURN(const TableView left, ToView(context, std::move(args[1])));
  TS_ASSIGN_OR_RETURN(const Value columns, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(TableView joined, AsofJoin(columns, left, right, time, context.budget));
  return joined;
}

// The keys of a dictionary or keyed table; of a namespace by its name. `.q` is the namespace of q's
// own functions, for which clients ask when they connect.
Result Key(Context& context, Args args) {
  if (const auto* value = std::get_if<Value>(&args[0]);
      value != nullptr && value->is_atom_of(Type::kSymbol)) {
    if (value->symbol() == ".q") return Value::Symbols(BuiltinNames());
    TS_ASSIGN_OR_RETURN(args[0], FindName(context, value->symbol()));
  }
  TS_ASSIGN_OR_RETURN(const Value value, Take(context, args[0]));
  if (!value.is_dict()) return NyiError("key");
  return value.keys();
}

Result Values(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value value, Take(context, args[0]));
  if (!value.is_dict()) return NyiError("value");
  return value.values();
}

Result TypeOf(Context&, Args args) {
  const auto answer = [](int code) -> Result { return Value::Short(static_cast<int16_t>(code)); };
  if (const auto* slice = std::get_if<Slice>(&args[0])) {
    return answer(static_cast<int>(slice->type()));
  }
  if (const auto* view = std::get_if<TableView>(&args[0]))
    return answer(view->key_columns > 0 ? 99 : 98);
  if (const auto* value = std::get_if<Value>(&args[0])) return answer(value->code());
  return NyiError("type of a function");
}

Result EnlistTerm(Context& context, Args args) {
  std::vector<Value> items;
  for (Term& arg : args) {
    TS_ASSIGN_OR_RETURN(Value item, Take(context, arg));
    items.push_back(std::move(item));
  }
  if (items.size() == 1 && items[0].is_dict()) return NyiError("enlist of a dictionary");
  return Collapse(std::move(items));
}

Result Til(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value n, Take(context, args[0]));
  if (!n.is_atom_of(Type::kLong) && !n.is_atom_of(Type::kInt)) {
    return TypeError("til of a {}", NameOf(n.type()));
  }
  const int64_t count = n.is_atom_of(Type::kLong) ? n.as<int64_t>() : n.as<int32_t>();
  if (count < 0) {
    return QError(absl::StatusCode::kInvalidArgument, "domain", fmt::format("til {}", count));
  }
  TS_RETURN_IF_ERROR(context.budget.Charge(static_cast<size_t>(count), sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) out.data()[i] = i;
  return std::move(out).Finish();
}

Result MatchTerms(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return Value::Boolean(Match(x, y));
}

Result MakeDict(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(Value x, Take(context, args[0]));
  for (const Value* side : {&x, &y}) {
    // n!t keys a table, and an atom on the left is a system function.
    if (!side->is_vector() && !side->is_list()) return NyiError("!");
  }
  if (x.count() != y.count()) return LengthError("{} keys for {} values", x.count(), y.count());
  return Value::Dict(std::move(x), std::move(y));
}

constexpr std::array kBuiltins = {
    Builtin{"+", 2, 2, true, Atomic<AtomicOp::kAdd>},
    Builtin{"-", 2, 2, true, Atomic<AtomicOp::kSubtract>},
    Builtin{"*", 2, 2, true, Atomic<AtomicOp::kMultiply>},
    Builtin{"%", 2, 2, true, Atomic<AtomicOp::kDivide>},
    Builtin{"&", 2, 2, true, Atomic<AtomicOp::kLesser>},
    Builtin{"|", 2, 2, true, Atomic<AtomicOp::kGreater>},
    Builtin{"=", 2, 2, true, Atomic<AtomicOp::kEqual>},
    Builtin{"<>", 2, 2, true, Atomic<AtomicOp::kNotEqual>},
    Builtin{"<", 2, 2, true, Atomic<AtomicOp::kLess>},
    Builtin{">", 2, 2, true, Atomic<AtomicOp::kGreaterThan>},
    Builtin{"<=", 2, 2, true, Atomic<AtomicOp::kLessOrEqual>},
    Builtin{">=", 2, 2, true, Atomic<AtomicOp::kGreaterOrEqual>},
    Builtin{"~", 2, 2, true, MatchTerms},
    Builtin{",", 2, 2, true, OfValues<Join>},
    Builtin{"!", 2, 2, true, MakeDict},
    Builtin{"and", 2, 2, true, Atomic<AtomicOp::kLesser>},
    Builtin{"or", 2, 2, true, Atomic<AtomicOp::kGreater>},
    Builtin{"in", 2, 2, true, OfValues<In>},
    Builtin{"within", 2, 2, true, OfValues<Within>},
    Builtin{"like", 2, 2, true, OfValues<Like>},
    Builtin{"wavg", 2, 2, true, Weighted<WeightedAvg>, true},
    Builtin{"wsum", 2, 2, true, Weighted<WeightedSum>, true},
    Builtin{"max", 1, 1, false, Aggregate<Max, true>},
    Builtin{"min", 1, 1, false, Aggregate<Min, true>},
    Builtin{"sum", 1, 1, false, Aggregate<Sum, true>},
    Builtin{"avg", 1, 1, false, Aggregate<Avg, false>},
    Builtin{"first", 1, 1, false, EndItem<false>},
    Builtin{"last", 1, 1, false, EndItem<true>},
    Builtin{"count", 1, 1, false, Count},
    Builtin{"not", 1, 1, false, OfValue<NotFlags>},
    Builtin{"null", 1, 1, false, OfValue<NullFlags>},
    Builtin{"neg", 1, 1, false, OfValue<Negate>},
    Builtin{"abs", 1, 1, false, OfValue<Absolute>},
    Builtin{"distinct", 1, 1, false, OfValue<Distinct>},
    Builtin{"til", 1, 1, false, Til},
    Builtin{"enlist", 1, 8, false, EnlistTerm},
    Builtin{"type", 1, 1, false, TypeOf},
    Builtin{"key", 1, 1, false, Key},
    Builtin{"value", 1, 1, false, Values},
    Builtin{"tables", 1, 1, false, Tables},
    Builtin{"cols", 1, 1, false, Cols},
    Builtin{"keys", 1, 1, false, Keys},
    Builtin{"meta", 1, 1, false, Meta},
    Builtin{"aj", 3, 3, false, Aj<AsofTime::kLeft>},
    Builtin{"aj0", 3, 3, false, Aj<AsofTime::kRight>},
};

// The words of q that name functions or parts of expressions (code.kx.com/q/ref).
constexpr std::string_view kReserved[] = {
    "abs",    "acos",     "aj",     "aj0",     "ajf",    "ajf0",       "all",     "and",
    "any",    "asc",      "asin",   "asof",    "atan",   "attr",       "avg",     "avgs",
    "bin",    "binr",     "by",     "ceiling", "cols",   "cor",        "cos",     "count",
    "cov",    "cross",    "csv",    "cut",     "delete", "deltas",     "desc",    "dev",
    "differ", "distinct", "div",    "do",      "dsave",  "each",       "ej",      "ema",
    "enlist", "eval",     "except", "exec",    "exit",   "exp",        "fby",     "fills",
    "first",  "fkeys",    "flip",   "floor",   "from",   "get",        "getenv",  "group",
    "gtime",  "hclose",   "hcount", "hdel",    "hopen",  "hsym",       "iasc",    "idesc",
    "if",     "ij",       "ijf",    "in",      "insert", "inter",      "inv",     "key",
    "keys",   "last",     "like",   "lj",      "ljf",    "load",       "log",     "lower",
    "lsq",    "ltime",    "ltrim",  "mavg",    "max",    "maxs",       "mcount",  "md5",
    "mdev",   "med",      "meta",   "min",     "mins",   "mmax",       "mmin",    "mmu",
    "mod",    "msum",     "neg",    "next",    "not",    "null",       "or",      "over",
    "parse",  "peach",    "pj",     "prd",     "prds",   "prev",       "prior",   "rand",
    "rank",   "ratios",   "raze",   "read0",   "read1",  "reciprocal", "reval",   "reverse",
    "rload",  "rotate",   "rsave",  "rtrim",   "save",   "scan",       "scov",    "sdev",
    "select", "set",      "show",   "signum",  "sin",    "sqrt",       "ss",      "ssr",
    "string", "sublist",  "sum",    "sums",    "sv",     "svar",       "system",  "tables",
    "tan",    "til",      "trim",   "type",    "uj",     "ujf",        "ungroup", "union",
    "update", "upper",    "upsert", "value",   "var",    "view",       "views",   "vs",
    "wavg",   "where",    "while",  "within",  "wj",     "wj1",        "wsum",    "xasc",
    "xbar",   "xcol",     "xcols",  "xdesc",   "xexp",   "xgroup",     "xkey",    "xlog",
    "xprev",  "xrank",
};

}  // namespace

const Builtin* FindBuiltin(std::string_view name) {
  const auto found = std::ranges::find(kBuiltins, name, &Builtin::name);
  return found == kBuiltins.end() ? nullptr : &*found;
}

bool IsReservedWord(std::string_view name) {
  return std::ranges::find(kReserved, name) != std::end(kReserved);
}

SymbolVector BuiltinNames() {
  SymbolVector names;
  for (const Builtin& builtin : kBuiltins) {
    if (builtin.name[0] >= 'a' && builtin.name[0] <= 'z') names.push_back(builtin.name);
  }
  return names;
}

}  // namespace tickstack::query
