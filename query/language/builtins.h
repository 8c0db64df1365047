#pragma once

// What the files builtins_*.cc share: each defines the functions of one noun and lists them in a
// table, and builtins.cc puts the tables together. A later function is a line in one of these and
// its few lines there or in a kernel's file.

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/aggregate.h"
#include "query/language/term.h"
#include "query/language/variables.h"

namespace tickstack::query::builtins {

using Args = std::span<Term>;
using Result = absl::StatusOr<Term>;

std::span<const Builtin> Operators();
std::span<const Builtin> Aggregates();
std::span<const Builtin> Lists();
std::span<const Builtin> Takes();
std::span<const Builtin> Sorts();
std::span<const Builtin> Tables();
std::span<const Builtin> Joins();
std::span<const Builtin> Upserts();
std::span<const Builtin> Applies();
std::span<const Builtin> Queries();
std::span<const Builtin> Alongs();
std::span<const Builtin> Parts();
std::span<const Builtin> Texts();
std::span<const Builtin> Internals();

inline Result FromValue(absl::StatusOr<Value> value) {
  TS_RETURN_IF_ERROR(value.status());
  return *std::move(value);
}

// An argument copied out.
inline absl::StatusOr<Value> Take(Context& context, Term& term) {
  return ToValue(std::move(term), context.budget);
}

// A function of values as an entry's `apply`.
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
Result OfTableOrVariable(Context& context, Term term, F f) {
  TS_ASSIGN_OR_RETURN(const std::optional<std::string> variable, VariableNamed(context, term));
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(term)));
  TS_ASSIGN_OR_RETURN(TableView changed, f(view));
  if (!variable.has_value()) return changed;
  TS_RETURN_IF_ERROR(AssignName(context, *variable, std::move(changed)));
  return Value::Symbol(*variable);
}

inline bool IsTableValue(const Value& value) { return value.is_table() || value.is_keyed_table(); }

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
