#pragma once

// What the files builtins_*.cc share. Each defines the functions of one of q's categories, as its
// reference groups them (code.kx.com/q/ref), and lists them in a table; builtins.cc puts the tables
// together. A later function is a line in one of these and its few lines there or in a kernel's
// file.
//
//   math       + - * % div mod xbar sqrt sin ...    search     in within bin where group union ...
//   logic      = <> < > ~ and or not null ...       list       # _ , til raze reverse cut ...
//   cast       $ vs sv                              table      ! key cols meta xkey upsert ...
//   text       string upper trim ss ssr like ...    join       aj lj ij uj wj ...
//   sort       asc xasc iasc rank ...               iterate    @ . each over scan ...
//   aggregate  count first sum avg med cor ...      query      ? fby
//   uniform    sums deltas prev mavg ema ...        interpret  value parse eval ...
//   internal   -n!x                                 system     system set type attr views ...
//   random     n?x rand

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/aggregate.h"
#include "query/kernels/atomic.h"
#include "query/language/term.h"
#include "query/language/variables.h"

namespace tickstack::query::builtins {

using Args = std::span<Term>;
using Result = absl::StatusOr<Term>;
using Positions = ScratchVector<uint32_t>;

std::span<const Builtin> MathFunctions();
std::span<const Builtin> LogicFunctions();
std::span<const Builtin> CastFunctions();
std::span<const Builtin> TextFunctions();
std::span<const Builtin> SortFunctions();
std::span<const Builtin> SearchFunctions();
std::span<const Builtin> ListFunctions();
std::span<const Builtin> UniformFunctions();
std::span<const Builtin> AggregateFunctions();
std::span<const Builtin> JoinFunctions();
std::span<const Builtin> TableFunctions();
std::span<const Builtin> IterateFunctions();
std::span<const Builtin> InterpretFunctions();
std::span<const Builtin> QueryFunctions();
std::span<const Builtin> SystemFunctions();
std::span<const Builtin> RandomFunctions();

inline Result FromValue(absl::StatusOr<Value> value) {
  TS_RETURN_IF_ERROR(value.status());
  return *std::move(value);
}

inline Result FromView(absl::StatusOr<TableView> view) {
  TS_RETURN_IF_ERROR(view.status());
  return *std::move(view);
}

// An argument copied out.
inline absl::StatusOr<Value> Take(Context& context, Term& term) {
  return ToValue(std::move(term), context.budget);
}

// A function of values as an entry's `apply`.
template <absl::StatusOr<Value> (*f)(const Value&, Budget&)>
Result Unary(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(f(x, context.budget));
}
template <absl::StatusOr<Value> (*f)(const Value&, const Value&, Budget&)>
Result Binary(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(f(x, y, context.budget));
}

// An operator that works item by item as an entry's `apply`.
template <AtomicOp op>
Result Atomic(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(ApplyAtomic(op, x, y, context.budget));
}

using OverSlice = absl::FunctionRef<absl::StatusOr<Value>(const Slice&)>;

// f of a list or column, of a dictionary's values, of a table's columns.
Result ApplyUniform(Context& context, std::string_view name, Term& term, OverSlice f);

// The items of an argument list. Errors: `rank` for more than `max_items`, before any is copied.
absl::StatusOr<std::vector<Value>> ItemsOfList(const Value& list, size_t max_items, Budget& budget);

// An argument that is a whole number. Errors: `type`, `domain` for a null.
absl::StatusOr<int64_t> WholeArgument(Context& context, std::string_view name, Term& term);

// The numbers of the columns that a symbol or several name. Errors: `type`, or the name at fault.
absl::StatusOr<std::vector<size_t>> ColumnsNamed(const TableView& view, const Value& names);

std::string_view LetterOfAttribute(Attribute attribute);  // "s"; "" for none.

// Keys a table, or the table of a variable given by name, by its first `keys` columns; 0 unkeys it.
// `length` if no other column would be left.
Result Enkey(Context& context, int64_t keys, Term table);

// `:path, `:host:port: what is not reached from here.
inline bool IsFileName(const Value& value) {
  return value.is_atom_of(Type::kSymbol) && value.symbol().starts_with(':');
}

// `n!x` for a number below zero or the null: a function of the system by its number. Errors: `nyi`
// for those that are not here.
Result ApplyInternal(Context& context, const Value& number, Args args);

// A table, or the variable of that name: f(view) is the result, or becomes the variable's value.
template <typename F>
Result ChangeTable(Context& context, Term term, F f) {
  TS_ASSIGN_OR_RETURN(const std::optional<std::string> variable, VariableNamed(context, term));
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(term)));
  TS_ASSIGN_OR_RETURN(TableView changed, f(view));
  if (!variable.has_value()) return changed;
  TS_RETURN_IF_ERROR(AssignName(context, *variable, std::move(changed)));
  return Value::Symbol(*variable);
}

inline bool IsTableValue(const Value& value) { return value.is_table() || value.is_keyed_table(); }

inline bool IsDictTerm(const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_dict() && !value->is_keyed_table();
}

// The empty list.
inline bool IsNothing(const Term& term) {
  if (const auto* slice = std::get_if<Slice>(&term)) {
    return slice->type() == Type::kList && slice->count() == 0;
  }
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_list() && value->count() == 0;
}

// `n?x` for a whole number n: random numbers or items. builtins_random.cc says which.
Result Draw(Context& context, Args args);

// Calls f(slice) for a column, vector, list or a dictionary's values.
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

}  // namespace tickstack::query::builtins
