#pragma once

// Declarations that the files builtins_*.cc share. Each of these files defines the functions of one
// category of q's reference (code.kx.com/q/ref) and lists them in a table; builtins.cc combines the
// tables. To add a function, define it in one of these files or as a kernel, and add a line to the
// table.
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

// Returns an argument as a value; copies a column or table.
inline absl::StatusOr<Value> Take(Context& context, Term& term) {
  return ToValue(std::move(term), context.budget);
}

// Convert a function of values to the form of Builtin::apply.
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

// Builtin::apply for an operator that works item by item.
template <auto op>
Result Atomic(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value y, Take(context, args[1]));
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(ApplyAtomic(op, x, y, context.budget));
}

using OverSlice = absl::FunctionRef<absl::StatusOr<Value>(const Slice&)>;

// Applies f to a list or column, to the values of a dictionary, or to each column of a table.
// `name` is the function's name, for errors.
Result ApplyUniform(Context& context, std::string_view name, Term& term, OverSlice f);

// Returns the items of an argument list. Errors: `rank` for more than `max_items`, before any item
// is copied.
absl::StatusOr<std::vector<Value>> ItemsOfList(const Value& list, size_t max_items, Budget& budget);

// Returns an argument that must be a whole number. Errors: `type`, `domain` for a null.
absl::StatusOr<int64_t> WholeArgument(Context& context, std::string_view name, Term& term);

// Returns the numbers of the columns that a symbol, or a vector of symbols, names. Errors: `type`,
// or the name of a missing column.
absl::StatusOr<std::vector<size_t>> ColumnsNamed(const TableView& view, const Value& names);

std::string_view LetterOfAttribute(Attribute attribute);  // "s"; "" for none.

// Makes the first `keys` columns of a table its keys; with 0, removes the keys. `table` can be the
// name of a variable, which is then changed. `length` unless at least one column is not a key.
Result Enkey(Context& context, int64_t keys, Term table);

// True for a symbol such as `:path or `:host:port. Queries cannot access files and hosts.
inline bool IsFileName(const Value& value) {
  return value.is_atom_of(Type::kSymbol) && value.symbol().starts_with(':');
}

// `n!x` where n is negative or null: calls q's internal function of that number. Errors: `nyi` for
// numbers that are not supported.
Result ApplyInternal(Context& context, const Value& number, Args args);

// Returns f(view) for a table. For the name of a variable, f(view) becomes the variable's value,
// and the name is returned.
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

// True for the empty list.
inline bool IsNothing(const Term& term) {
  if (const auto* slice = std::get_if<Slice>(&term)) {
    return slice->type() == Type::kList && slice->count() == 0;
  }
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_list() && value->count() == 0;
}

// `n?x` for a whole number n: returns random numbers or items (see builtins_random.cc).
Result Draw(Context& context, Args args);

// Returns f(slice) for a column, vector or list, or for the values of a dictionary. Errors: `nyi`
// for a table, `type` for an atom; `name` is the function's name, for errors.
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
