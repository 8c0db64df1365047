#include "query/language/filter_by.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/keys.h"
#include "query/language/functions.h"
#include "query/language/item_selection.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

bool IsSequenceOf(const Value& value, size_t count) {
  return (value.is_vector() || value.is_list()) && value.count() == count;
}

// Returns the columns without copying them: the symbols of a captured one are numbers, which need
// no hashing.
absl::StatusOr<std::vector<Slice>> ColumnsOf(Context& context, Term by) {
  Budget& budget = context.budget;
  std::vector<Slice> columns;
  if (auto* const slice = std::get_if<Slice>(&by); slice != nullptr) {
    columns.push_back(std::move(*slice));
    return columns;
  }
  if (!std::holds_alternative<TableView>(by)) {
    TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(by), budget));
    if (value.is_vector() || value.is_list()) {
      columns.push_back(Slice::Of(std::move(value)));
      return columns;
    }
    if (!value.is_table()) return TypeError("fby of a {}", NameOf(value.type()));
    by = std::move(value);
  }
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(by)));
  if (view.key_columns > 0) return TypeError("fby of a keyed table");
  for (size_t i = 0; i < view.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Slice column, view.ColumnAt(i, budget));
    columns.push_back(std::move(column));
  }
  return columns;
}

// Joins vectors of one type that have an item for each row of their groups, in the rows' order.
Value SpreadVectors(const std::vector<Value>& results, const Grouping& grouping, size_t n) {
  const Type type = results.front().type();
  return VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    VectorWriter<T> out(type, n);
    for (uint32_t group = 0; group < grouping.groups(); ++group) {
      const std::span<const uint32_t> rows = grouping.PositionsOf(group);
      const std::span<const T> items = results[group].span<T>();
      for (size_t i = 0; i < rows.size(); ++i) out.data()[rows[i]] = items[i];
    }
    return std::move(out).Finish();
  });
}

// Returns the groups' results at their rows: an atom at all of them, otherwise an item at each.
absl::StatusOr<Value> Spread(std::vector<Value> results, const Grouping& grouping,
                             std::span<const uint32_t> group_of, Budget& budget) {
  const size_t n = group_of.size();
  if (std::ranges::all_of(results, &Value::is_atom)) {
    const Value one_each = Collapse(std::move(results));
    TS_RETURN_IF_ERROR(one_each.is_list() ? budget.ChargeItems(n) : budget.Charge(n, sizeof(Guid)));
    return TakeItems(one_each, group_of);
  }
  const Type type = results.front().type();
  const bool alike = IsFixedWidth(type) && std::ranges::all_of(results, [&](const Value& result) {
                       return result.is(type);
                     });
  if (alike) {
    TS_RETURN_IF_ERROR(budget.Charge(n, WidthOf(type)));
    return SpreadVectors(results, grouping, n);
  }
  TS_RETURN_IF_ERROR(budget.ChargeItems(n));
  std::vector<Value> items(n);
  for (uint32_t group = 0; group < grouping.groups(); ++group) {
    const std::span<const uint32_t> rows = grouping.PositionsOf(group);
    const Value& result = results[group];
    for (size_t i = 0; i < rows.size(); ++i) {
      items[rows[i]] = result.is_atom() ? result : ItemAt(result, i);
    }
  }
  return Collapse(std::move(items));
}

// The type of no results is that of the function's result for nothing.
absl::StatusOr<Value> OfNoItems(Context& context, const Function& function, Term none) {
  TS_ASSIGN_OR_RETURN(Term term, ApplyFunction(context, function, std::span(&none, 1)));
  TS_ASSIGN_OR_RETURN(const Value result, ToValue(std::move(term), context.budget));
  if (result.is_atom() || result.is_vector()) return EmptyVector(result.type());
  return Value::List({});
}

}  // namespace

absl::StatusOr<Value> FilterBy(Context& context, const Value& pair, Term by) {
  Budget& budget = context.budget;
  if (!pair.is_list() || pair.count() != 2) return TypeError("fby without a function and a list");
  const Term f = pair.items()[0];
  TS_ASSIGN_OR_RETURN(const std::optional<Function> function, AsFunction(f, budget));
  if (!function.has_value()) return TypeError("fby of no function");
  TS_ASSIGN_OR_RETURN(const std::vector<Slice> keys, ColumnsOf(context, std::move(by)));
  const size_t n = keys.empty() ? 0 : keys.front().count();
  const Value& data = pair.items()[1];
  // A table off the wire may be anything.
  if (data.is_table()) TS_RETURN_IF_ERROR(CheckTable(data));
  if (!(data.is_table() && data.count() == n) && !IsSequenceOf(data, n)) {
    return LengthError("fby of {} items by {}", data.count(), n);
  }
  TS_ASSIGN_OR_RETURN(const Term whole, Shared(data, budget));
  KeyNumbers numbers(keys.size());
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> group_of, numbers.Number(keys, budget));
  TS_RETURN_IF_ERROR(budget.Charge(n, 2 * sizeof(uint32_t)));
  const Grouping grouping(group_of, numbers.size());
  TS_RETURN_IF_ERROR(budget.ChargeItems(grouping.groups()));
  TS_RETURN_IF_ERROR(budget.Charge(n, sizeof(Guid)));  // For the results of the groups.
  std::vector<Value> results;
  for (uint32_t group = 0; group < grouping.groups(); ++group) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const Budget::Temporaries temporaries(budget);
    const std::span<const uint32_t> rows = grouping.PositionsOf(group);
    TS_RETURN_IF_ERROR(budget.Charge(rows.size(), sizeof(uint32_t)));
    TS_ASSIGN_OR_RETURN(Term arg,
                        ItemsAt(context, whole, ScratchVector<uint32_t>(rows.begin(), rows.end())));
    TS_ASSIGN_OR_RETURN(Term term, ApplyFunction(context, *function, std::span(&arg, 1)));
    TS_ASSIGN_OR_RETURN(Value result, ToValue(std::move(term), budget));
    if (!result.is_atom() && !IsSequenceOf(result, rows.size())) {
      return LengthError("{} items for a group of {}", result.count(), rows.size());
    }
    results.push_back(std::move(result));
  }
  if (n == 0) return OfNoItems(context, *function, whole);
  return Spread(std::move(results), grouping, group_of, budget);
}

}  // namespace tickstack::query
