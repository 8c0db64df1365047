// Uniform functions: each item of the result is made of one item and its neighbours. Running and
// moving aggregates, differences, neighbours.

#include <array>
#include <memory>

#include "query/columns/gather.h"
#include "query/kernels/atomic.h"
#include "query/kernels/moving.h"
#include "query/kernels/running.h"
#include "query/language/builtins.h"
#include "query/language/indexing.h"
#include "query/language/item_selection.h"

namespace tickstack::query::builtins {
namespace {

// Applies f to each column of a table that is not a key; keys stay.
Result ApplyUniformToColumns(Context& context, const TableView& view, OverSlice f) {
  TableView mapped;
  mapped.names = view.names;
  mapped.key_columns = view.key_columns;
  mapped.rows = std::make_shared<const RowSet>(RowSet::Range(0, view.count()));
  for (size_t i = 0; i < view.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const Slice column, view.ColumnAt(i, context.budget));
    TS_ASSIGN_OR_RETURN(Value items,
                        i < view.key_columns ? Materialise(column, context.budget) : f(column));
    mapped.columns.emplace_back(std::move(items));
  }
  return mapped;
}

// What a uniform function returns for an atom.
enum class AtomResult { kItself, kItsResult, kError };

template <absl::StatusOr<Value> (*f)(const Slice&, Budget&), AtomResult atom_result>
Result Uniform(Context& context, Args args) {
  const auto* value = std::get_if<Value>(&args[0]);
  if (value != nullptr && value->is_atom() && atom_result != AtomResult::kError) {
    // A vector of one gives the same errors of type.
    TS_ASSIGN_OR_RETURN(const Value one, f(Slice::Of(Enlist(*value)), context.budget));
    if (atom_result == AtomResult::kItself) return std::move(args[0]);
    return ItemAt(one, 0);
  }
  return ApplyUniform(context, "function", args[0],
                      [&](const Slice& slice) { return f(slice, context.budget); });
}

template <absl::StatusOr<Value> (*f)(size_t, const Slice&, Budget&)>
Result Moving(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const int64_t width, WholeArgument(context, "a window", args[0]));
  if (width < 1) return DomainError("a window of {} items", width);
  return ApplyUniform(context, "a moving window", args[1], [&](const Slice& slice) {
    return f(static_cast<size_t>(width), slice, context.budget);
  });
}

// mavg of no items is null for each item (code.kx.com/q/ref/avg).
Result MovingAverageOf(Context& context, Args args) {
  const auto* const width = std::get_if<Value>(&args[0]);
  const bool none = width != nullptr && width->is_atom() && IndexOf(*width) == 0;
  if (!none) return Moving<MovingAverage>(context, args);
  const auto nulls = [&](const Slice& slice) -> absl::StatusOr<Value> {
    TS_RETURN_IF_ERROR(MovingAverage(1, slice, context.budget).status());  // Its errors.
    return Repeat(NullOf(Type::kFloat), slice.count());
  };
  return ApplyUniform(context, "a moving window", args[1], nulls);
}

Result Ema(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value weights, Take(context, args[0]));
  return ApplyUniform(context, "ema", args[1], [&](const Slice& slice) {
    return ExponentialAverage(weights, slice, context.budget);
  });
}

Result XPrev(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const int64_t back, WholeArgument(context, "xprev", args[0]));
  return ApplyUniform(context, "xprev", args[1],
                      [&](const Slice& slice) { return Shifted(slice, back, context.budget); });
}

// Returns where rows differ from the row before in any column.
Result DifferTerm(Context& context, Args args) {
  Budget& budget = context.budget;
  if (!IsTableTerm(args[0])) {
    return ApplyUniform(context, "differ", args[0],
                        [&](const Slice& slice) { return Differ(slice, budget); });
  }
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  std::optional<Value> flags;
  for (size_t i = 0; i < view.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const Slice column, view.ColumnAt(i, budget));
    TS_ASSIGN_OR_RETURN(Value more, Differ(column, budget));
    if (flags.has_value()) {
      TS_ASSIGN_OR_RETURN(more, ApplyAtomic(Arithmetic::kGreater, *flags, more, budget));
    }
    flags = std::move(more);
  }
  if (!flags.has_value()) return TypeError("differ of a table without columns");
  return *std::move(flags);
}

constexpr std::array kUniformTable = {
    With(Builtin::kPure, Builtin{"sums", 1, 1, false, Uniform<Sums, AtomResult::kItself>}),
    Builtin{"prds", 1, 1, false, Uniform<Products, AtomResult::kItself>},
    With(Builtin::kPure, Builtin{"maxs", 1, 1, false, Uniform<RunningMax, AtomResult::kItself>}),
    With(Builtin::kPure, Builtin{"mins", 1, 1, false, Uniform<RunningMin, AtomResult::kItself>}),
    With(Builtin::kPure,
         Builtin{"avgs", 1, 1, false, Uniform<RunningAverage, AtomResult::kItsResult>}),
    With(Builtin::kPure, Builtin{"deltas", 1, 1, false, Uniform<Deltas, AtomResult::kItself>}),
    Builtin{"ratios", 1, 1, false, Uniform<Ratios, AtomResult::kItself>},
    With(Builtin::kPure, Builtin{"fills", 1, 1, false, Uniform<Fills, AtomResult::kItself>}),
    With(Builtin::kPure, Builtin{"prev", 1, 1, false, Uniform<Previous, AtomResult::kError>}),
    With(Builtin::kPure, Builtin{"next", 1, 1, false, Uniform<Next, AtomResult::kError>}),
    With(Builtin::kPure, Builtin{"xprev", 2, 2, true, XPrev, true}),
    With(Builtin::kPure, Builtin{"differ", 1, 1, false, DifferTerm}),
    With(Builtin::kPure, Builtin{"mavg", 2, 2, true, MovingAverageOf, true}),
    With(Builtin::kPure, Builtin{"msum", 2, 2, true, Moving<MovingSum>, true}),
    With(Builtin::kPure, Builtin{"mcount", 2, 2, true, Moving<MovingCount>, true}),
    With(Builtin::kPure, Builtin{"mmax", 2, 2, true, Moving<MovingMax>, true}),
    With(Builtin::kPure, Builtin{"mmin", 2, 2, true, Moving<MovingMin>, true}),
    With(Builtin::kPure, Builtin{"mdev", 2, 2, true, Moving<MovingDeviation>, true}),
    Builtin{"ema", 2, 2, true, Ema, true},
};

}  // namespace

// Applies f to a list or column, to a dictionary's values, or to a table's columns.
Result ApplyUniform(Context& context, std::string_view name, Term& term, OverSlice f) {
  if (const std::optional<Slice> slice = SliceOf(term)) return FromValue(f(*slice));
  if (const Value* entries = AsEntries(term)) {
    TS_ASSIGN_OR_RETURN(Value items, f(Slice::Of(entries->values())));
    return Value::Dict(entries->keys(), std::move(items));
  }
  if (IsTableTerm(term)) {
    TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(term)));
    return ApplyUniformToColumns(context, view, f);
  }
  const auto* value = std::get_if<Value>(&term);
  if (value == nullptr) return NyiError(fmt::format("{} of a function", name));
  return TypeError("{} of a {}", name, NameOf(value->type()));
}

std::span<const Builtin> UniformFunctions() { return kUniformTable; }

}  // namespace tickstack::query::builtins
