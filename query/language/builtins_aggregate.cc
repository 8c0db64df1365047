// Aggregate functions, which make one item of many.

#include <algorithm>
#include <array>
#include <vector>

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

// Returns whether a value's items are lists, as those of a matrix, or entries or rows: the kernels
// combine items that are atoms.
bool HasListsOrEntries(const Value& value) {
  if (value.is_dict() || value.is_table()) return true;
  return value.is_list() && std::ranges::any_of(value.items(), [](const Value& item) {
           return item.is_vector() || item.is_list();
         });
}

// The same of a term, whose rows are copied if they are lists.
absl::StatusOr<bool> IsNested(Context& context, Term& term) {
  if (const auto* const slice = std::get_if<Slice>(&term)) {
    if (slice->type() != Type::kList) return false;
    TS_ASSIGN_OR_RETURN(term, Take(context, term));
  }
  if (std::holds_alternative<TableView>(term)) return true;
  const auto* const value = std::get_if<Value>(&term);
  return value != nullptr && HasListsOrEntries(*value);
}

// Calls functions by name, for definitions such as q's of `wavg`: (sum x*y)%sum x.
class Calls {
 public:
  explicit Calls(Context& context) : context_(context) {}

  Result operator()(std::string_view name, Result x) { return Call(name, {std::move(x)}); }
  Result operator()(std::string_view name, Result x, Result y) {
    return Call(name, {std::move(x), std::move(y)});
  }

 private:
  Result Call(std::string_view name, std::vector<Result> given) {
    std::vector<Term> args;
    for (Result& arg : given) {
      TS_ASSIGN_OR_RETURN(args.emplace_back(), std::move(arg));
    }
    return Apply(context_, *FindBuiltin(name), args);
  }

  Context& context_;
};

// The definitions of the reference, for matrices and dictionaries.
Result WeightedSumOfLists(Calls call, const Term& x, const Term& y) {
  return call("sum", call("*", x, y));
}
Result WeightedAvgOfLists(Calls call, const Term& x, const Term& y) {
  return call("%", WeightedSumOfLists(call, x, y), call("sum", x));
}
Result CovarianceOfLists(Calls call, const Term& x, const Term& y) {
  return call("-", call("avg", call("*", x, y)), call("*", call("avg", x), call("avg", y)));
}
Result SampleCovarianceOfLists(Calls call, const Term& x, const Term& y) {
  const Result n = call("count", x);
  return call("*", CovarianceOfLists(call, x, y), call("%", n, call("-", n, Term(Value::Long(1)))));
}
Result CorrelationOfLists(Calls call, const Term& x, const Term& y) {
  return call("%", CovarianceOfLists(call, x, y), call("*", call("dev", x), call("dev", y)));
}

using OfLists = Result (*)(Calls call, const Term& x, const Term& y);

template <absl::StatusOr<Value> (*f)(const Slice&, const Slice&, Budget&), OfLists of_lists>
Result Weighted(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const bool nested_y, IsNested(context, args[1]));
  TS_ASSIGN_OR_RETURN(const bool nested_x, IsNested(context, args[0]));
  if (nested_x || nested_y) {
    TS_ASSIGN_OR_RETURN(const Term y, Shared(std::move(args[1]), context.budget));
    TS_ASSIGN_OR_RETURN(const Term x, Shared(std::move(args[0]), context.budget));
    return of_lists(Calls(context), x, y);
  }
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
  if (!IsAtom(args[0])) return Weighted<WeightedSum, WeightedSumOfLists>(context, args);
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
    With(Builtin::kPure | Builtin::kOrderFree | Builtin::kIgnoresRows | Builtin::kNeedsNoRows,
         Builtin{"count", 1, 1, false, Count}),
    With(Builtin::kPure | Builtin::kCombines, Builtin{"first", 1, 1, false, EndItem<false>}),
    With(Builtin::kPure | Builtin::kCombines, Builtin{"last", 1, 1, false, EndItem<true>}),
    With(Builtin::kPure | Builtin::kOrderFree | Builtin::kCombines,
         Builtin{"sum", 1, 1, false, AggregateColumns<Sum, true>}),
    With(Builtin::kPure | Builtin::kOrderFree | Builtin::kCombines,
         Builtin{"prd", 1, 1, false, AggregateColumns<Product, true>}),
    With(Builtin::kPure | Builtin::kOrderFree | Builtin::kCombines,
         Builtin{"max", 1, 1, false, AggregateColumns<Max, true>}),
    With(Builtin::kPure | Builtin::kOrderFree | Builtin::kCombines,
         Builtin{"min", 1, 1, false, AggregateColumns<Min, true>}),
    With(Builtin::kPure | Builtin::kOrderFree | Builtin::kCombines,
         Builtin{"all", 1, 1, false, AggregateColumns<AllTrue, false>}),
    With(Builtin::kPure | Builtin::kOrderFree | Builtin::kCombines,
         Builtin{"any", 1, 1, false, AggregateColumns<AnyTrue, false>}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"avg", 1, 1, false, AggregateColumns<Avg, false>}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"wavg", 2, 2, true, Weighted<WeightedAvg, WeightedAvgOfLists>, true}),
    With(Builtin::kPure | Builtin::kOrderFree, Builtin{"wsum", 2, 2, true, WeightedSumTerm, true}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"med", 1, 1, false, AggregateColumns<Median, false>}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"var", 1, 1, false, AggregateColumns<Variance, false>}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"dev", 1, 1, false, AggregateColumns<Deviation, false>}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"svar", 1, 1, false, AggregateColumns<SampleVariance, false>}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"sdev", 1, 1, false, AggregateColumns<SampleDeviation, false>}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"cov", 2, 2, true, Weighted<Covariance, CovarianceOfLists>, true}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"scov", 2, 2, true, Weighted<SampleCovariance, SampleCovarianceOfLists>, true}),
    With(Builtin::kPure | Builtin::kOrderFree,
         Builtin{"cor", 2, 2, true, Weighted<Correlation, CorrelationOfLists>, true}),
};

}  // namespace

std::span<const Builtin> AggregateFunctions() { return kAggregateTable; }

}  // namespace tickstack::query::builtins
