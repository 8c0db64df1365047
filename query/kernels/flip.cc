#include "query/kernels/flip.h"

#include <optional>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/kernels/dictionary.h"

namespace tickstack::query {
namespace {

// Returns the count that all items that are not atoms have in common.
absl::StatusOr<size_t> CommonItems(const std::vector<Value>& lists) {
  std::optional<size_t> count;
  for (const Value& list : lists) {
    if (list.is_atom()) continue;
    if (!list.is_vector() && !list.is_list()) return TypeError("flip of a {}", NameOf(list.type()));
    if (count.has_value() && *count != list.count()) {
      return LengthError("flip of {} items and {}", *count, list.count());
    }
    count = list.count();
  }
  if (!count.has_value()) return RankError("flip of atoms");
  return *count;
}

absl::StatusOr<Value> FlipLists(const std::vector<Value>& lists, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const size_t n, CommonItems(lists));
  TS_RETURN_IF_ERROR(budget.ChargeItems(n));
  std::vector<Value> flipped;
  for (size_t i = 0; i < n; ++i) {
    if (i % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_RETURN_IF_ERROR(budget.ChargeItems(lists.size()));
    std::vector<Value> items;
    for (const Value& list : lists) items.push_back(list.is_atom() ? list : ItemAt(list, i));
    flipped.push_back(Collapse(std::move(items)));
  }
  return Value::List(std::move(flipped));
}

absl::StatusOr<Value> FlipDict(const Value& dict, Budget& budget) {
  if (!IsPlainDict(dict)) return NyiError("flip of a keyed table");
  if (!dict.keys().is(Type::kSymbol)) return TypeError("flip of a dictionary without names");
  if (!dict.values().is_list()) return RankError("flip of a dictionary of atoms");
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(dict)));
  return TableOfColumns(dict.keys().symbols(), dict.values().items(), budget);
}

}  // namespace

absl::StatusOr<Value> TableOfColumns(const SymbolVector& names, std::vector<Value> columns,
                                     Budget& budget) {
  TS_ASSIGN_OR_RETURN(const size_t rows, CommonItems(columns));
  UniqueNames unique;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (unique.Next(names[i]) != names[i]) {
      return QError(absl::StatusCode::kInvalidArgument, fmt::format("dup {}", names[i]),
                    "a table with two columns of one name");
    }
    if (!columns[i].is_atom()) continue;
    TS_RETURN_IF_ERROR(budget.Charge(rows, 16));
    columns[i] = Repeat(columns[i], rows);
  }
  return Value::Table(names, std::move(columns));
}

absl::StatusOr<Value> Flip(const Value& x, Budget& budget) {
  if (x.is_dict()) return FlipDict(x, budget);
  if (x.is_table()) {
    TS_RETURN_IF_ERROR(CheckTable(x));
    TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(x)));
    return Value::Dict(Value::Symbols(x.column_names()), Value::List(x.columns()));
  }
  if (x.is_list() && x.count() == 0) return x;
  if (x.is_list()) return FlipLists(x.items(), budget);
  if (x.is_vector()) return RankError("flip of a vector");
  return TypeError("flip of a {}", NameOf(x.type()));
}

}  // namespace tickstack::query
