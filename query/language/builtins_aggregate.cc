// Aggregate functions, which make one item of many.

#include <array>

#include "query/kernels/aggregate.h"
#include "query/kernels/covariance.h"
#include "query/kernels/statistics.h"
#include "query/language/builtins.h"
#include "query/language/item_terms.h"

namespace tickstack::query::builtins {
namespace {

bool IsAtom(const Term& term) {
  const auto* value = std::get_if<Value>(&term);
  return value != nullptr && value->is_atom();
}

// Treats an atom as a vector of one, so that each aggregate's rules about types apply; max, min and
// sum keep the atom's type.
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

// Does the same; of a table it makes a dictionary with an item for each column that is not a key.
template <absl::StatusOr<Value> (*f)(const Slice&, Budget&), bool keeps_atom>
Result AggregateColumns(Context& context, Args args) {
  const auto* const value = std::get_if<Value>(&args[0]);
  const bool table =
      std::holds_alternative<TableView>(args[0]) || (value != nullptr && IsTableValue(*value));
  if (!table) return Aggregate<f, keeps_atom>(context, args);
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  SymbolVector names;
  std::vector<Value> results;
  for (size_t i = view.key_columns; i < view.columns.size(); ++i) {
    names.push_back(view.names[i]);
    TS_ASSIGN_OR_RETURN(const Slice column, view.ColumnAt(i, context.budget));
    TS_ASSIGN_OR_RETURN(results.emplace_back(), f(column, context.budget));
  }
  TS_ASSIGN_OR_RETURN(Value items, CollectItems(std::move(results), context.budget));
  return Value::Dict(Value::Symbols(std::move(names)), std::move(items));
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
  if (IsAtom(args[0])) {  // One weight applies to all items.
    TS_RETURN_IF_ERROR(context.budget.Charge(values.count(), sizeof(Guid)));
    args[0] = Repeat(std::get<Value>(args[0]), values.count());
  }
  TS_ASSIGN_OR_RETURN(const Slice weights, ToSlice(context, args[0]));
  return FromValue(f(weights, values, context.budget));
}

// With an atom, returns the sum of products in their own type; of two lists, a float.
Result WeightedSumTerm(Context& context, Args args) {
  if (!IsAtom(args[0])) return Weighted<WeightedSum>(context, args);
  TS_ASSIGN_OR_RETURN(Term products, Apply(context, *FindBuiltin("*"), args));
  return Apply(context, *FindBuiltin("sum"), std::span(&products, 1));
}

template <bool last>
Result EndItem(Context& context, Args args) {
  auto* value = std::get_if<Value>(&args[0]);
  if (std::holds_alternative<TableView>(args[0]) || (value != nullptr && IsTableValue(*value))) {
    TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(args[0])));
    // A keyed table is a dictionary, whose items are the rows of its values.
    const auto keys = static_cast<ptrdiff_t>(std::exchange(view.key_columns, 0));
    view.names.erase(view.names.begin(), view.names.begin() + keys);
    view.columns.erase(view.columns.begin(), view.columns.begin() + keys);
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
  if (std::holds_alternative<Function>(args[0])) return answer(1);
  Value& value = std::get<Value>(args[0]);
  if (!IsTableValue(value)) return answer(value.count());
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  return answer(view.count());
}

constexpr std::array kAggregateTable = {
    Builtin{"count", 1, 1, false, Count},
    Builtin{"first", 1, 1, false, EndItem<false>},
    Builtin{"last", 1, 1, false, EndItem<true>},
    Builtin{"sum", 1, 1, false, AggregateColumns<Sum, true>},
    Builtin{"prd", 1, 1, false, AggregateColumns<Product, true>},
    Builtin{"max", 1, 1, false, AggregateColumns<Max, true>},
    Builtin{"min", 1, 1, false, AggregateColumns<Min, true>},
    Builtin{"all", 1, 1, false, AggregateColumns<AllTrue, false>},
    Builtin{"any", 1, 1, false, AggregateColumns<AnyTrue, false>},
    Builtin{"avg", 1, 1, false, AggregateColumns<Avg, false>},
    Builtin{"wavg", 2, 2, true, Weighted<WeightedAvg>, true},
    Builtin{"wsum", 2, 2, true, WeightedSumTerm, true},
    Builtin{"med", 1, 1, false, AggregateColumns<Median, false>},
    Builtin{"var", 1, 1, false, AggregateColumns<Variance, false>},
    Builtin{"dev", 1, 1, false, AggregateColumns<Deviation, false>},
    Builtin{"svar", 1, 1, false, AggregateColumns<SampleVariance, false>},
    Builtin{"sdev", 1, 1, false, AggregateColumns<SampleDeviation, false>},
    Builtin{"cov", 2, 2, true, Weighted<Covariance>},
    Builtin{"scov", 2, 2, true, Weighted<SampleCovariance>},
    Builtin{"cor", 2, 2, true, Weighted<Correlation>},
};

}  // namespace

std::span<const Builtin> AggregateFunctions() { return kAggregateTable; }

}  // namespace tickstack::query::builtins
