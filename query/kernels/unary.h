#pragma once

// Functions of one argument that are applied to each item.

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "table/value.h"

namespace tickstack::query {

// Return for each item whether it is null (NullFlags) or zero (NotFlags).
absl::StatusOr<Value> NullFlags(const Value& x, Budget& budget);
absl::StatusOr<Value> NotFlags(const Value& x, Budget& budget);
// Return minus x, or the absolute value of x.
absl::StatusOr<Value> Negate(const Value& x, Budget& budget);
absl::StatusOr<Value> Absolute(const Value& x, Budget& budget);

// Applies f to each vector in x and returns a value of the same form. An atom is passed to f as a
// vector of one item. Descends into lists, dictionaries' values and tables' columns.
template <typename F>
absl::StatusOr<Value> MapSimple(const Value& x, Budget& budget, F f, int depth = 0) {
  if (depth > kMaxListDepth) return StackError("lists more than {} deep", kMaxListDepth);
  if (x.is_atom()) {
    TS_ASSIGN_OR_RETURN(const Value one, MapSimple(Enlist(x), budget, f, depth));
    return ItemAt(one, 0);
  }
  if (x.is_vector()) return f(x);
  if (x.is_table()) {
    std::vector<Value> columns;
    for (const Value& column : x.columns()) {
      TS_ASSIGN_OR_RETURN(columns.emplace_back(), MapSimple(column, budget, f, depth + 1));
    }
    return Value::Pair(Type::kTable, Attribute::kNone, x.keys(), Value::List(std::move(columns)));
  }
  if (x.is_dict()) {
    TS_ASSIGN_OR_RETURN(Value values, MapSimple(x.values(), budget, f, depth + 1));
    return Value::Pair(Type::kDict, Attribute::kNone, x.keys(), std::move(values));
  }
  if (!x.is_list()) return NyiError(fmt::format("function on a {}", NameOf(x.type())));
  TS_RETURN_IF_ERROR(budget.ChargeItems(x.count()));
  std::vector<Value> items;
  for (const Value& item : x.items()) {
    TS_ASSIGN_OR_RETURN(Value mapped, MapSimple(item, budget, f, depth + 1));
    items.push_back(std::move(mapped));
  }
  return Collapse(std::move(items));
}

}  // namespace tickstack::query
