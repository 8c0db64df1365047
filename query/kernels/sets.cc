#include "query/kernels/sets.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/group_items.h"
#include "query/kernels/keys.h"
#include "query/kernels/search.h"
#include "query/kernels/sort.h"

namespace tickstack::query {
namespace {

absl::Status MismatchError(std::string_view detail) {
  return QError(absl::StatusCode::kInvalidArgument, "mismatch", detail);
}

// Returns `count` rows of the view, row i at position(i).
absl::StatusOr<TableView> RowsByPosition(const TableView& view, size_t count,
                                         absl::FunctionRef<size_t(size_t)> position,
                                         Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(count, sizeof(uint32_t)));
  ScratchVector<uint32_t> positions(count);
  for (size_t i = 0; i < count; ++i) positions[i] = static_cast<uint32_t>(position(i));
  return RowsInOrder(view, std::move(positions), budget);
}

absl::StatusOr<size_t> CountOfPairs(size_t x, size_t y) {
  size_t pairs = 0;
  if (__builtin_mul_overflow(x, y, &pairs) || pairs >= kNoItem) {
    return LimitError("{} items by {}, at most {} pairs", x, y, kNoItem - 1);
  }
  return pairs;
}

}  // namespace

absl::StatusOr<Value> AreItemsOf(const Value& x, const Value& y, Budget& budget) {
  if (!x.is_list() || !y.is_list() || x.count() == 0 || y.count() == 0) {
    if (x.is_list() && x.count() == 0) return EmptyVector(Type::kBoolean);
    if (y.is_list() && y.count() == 0) return Repeat(Value::Boolean(false), x.count());
    TS_ASSIGN_OR_RETURN(Value flags, In(x, y, budget));
    if (flags.is(Type::kBoolean)) return flags;
    return TypeError("items of a {} among those of a {}", NameOf(x.type()), NameOf(y.type()));
  }
  TS_RETURN_IF_ERROR(budget.ChargeItems(x.count() + y.count()));
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(x) + ApproximateBytes(y)));
  std::vector<Value> all = y.items();
  all.insert(all.end(), x.items().begin(), x.items().end());
  TS_ASSIGN_OR_RETURN(const NumberedItems items,
                      NumberItems(Slice::Of(Value::List(std::move(all))), budget));
  // Smaller numbers belong to items of y.
  const std::span<const uint32_t> numbers = items.numbers;
  const uint32_t known = std::ranges::max(numbers.first(y.count())) + 1;
  VectorWriter<uint8_t> out(Type::kBoolean, x.count());
  std::ranges::transform(numbers.subspan(y.count()), out.data(),
                         [&](uint32_t number) { return uint8_t{number < known}; });
  return std::move(out).Finish();
}

absl::StatusOr<ScratchVector<uint8_t>> AreRowsOf(const TableView& x, const TableView& y,
                                                 Budget& budget) {
  if (x.columns.size() != y.columns.size()) return MismatchError("tables of other columns");
  std::vector<Slice> of_x, of_y;
  for (size_t i = 0; i < x.columns.size(); ++i) {
    const int same = y.Find(x.names[i]);
    if (same < 0) return MismatchError("tables of other columns");
    TS_ASSIGN_OR_RETURN(Slice x_column, x.ColumnAt(i, budget));
    TS_ASSIGN_OR_RETURN(Slice y_column, y.ColumnAt(static_cast<size_t>(same), budget));
    of_x.push_back(std::move(x_column));
    of_y.push_back(std::move(y_column));
  }
  KeyNumbers keys(x.columns.size());
  TS_RETURN_IF_ERROR(keys.Number(of_y, budget).status());
  const uint32_t known = keys.size();
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> numbers, keys.Number(of_x, budget));
  TS_RETURN_IF_ERROR(budget.Charge(numbers.size()));
  ScratchVector<uint8_t> flags(numbers.size());
  std::ranges::transform(numbers, flags.begin(),
                         [&](uint32_t number) { return uint8_t{number < known}; });
  return flags;
}

absl::StatusOr<Value> CrossItems(const Value& x, const Value& y, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const size_t pairs, CountOfPairs(x.count(), y.count()));
  TS_RETURN_IF_ERROR(budget.ChargeItems(pairs));
  std::vector<Value> joined;
  joined.reserve(pairs);
  for (size_t i = 0; i < x.count() && pairs > 0; ++i) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const Value left = ItemAt(x, i);
    for (size_t j = 0; j < y.count(); ++j) {
      TS_ASSIGN_OR_RETURN(Value pair, Join(left, ItemAt(y, j), budget));
      joined.push_back(std::move(pair));
    }
  }
  return Value::List(std::move(joined));
}

absl::StatusOr<TableView> CrossRows(const TableView& x, const TableView& y, Budget& budget) {
  if (x.key_columns + y.key_columns > 0) return NyiError("cross of keyed tables");
  for (const std::string& name : y.names) {
    if (x.Find(name) >= 0) return MismatchError(fmt::format("both have a column {}", name));
  }
  TS_ASSIGN_OR_RETURN(const size_t pairs, CountOfPairs(x.count(), y.count()));
  const size_t inner = y.count();
  TS_ASSIGN_OR_RETURN(TableView left,
                      RowsByPosition(x, pairs, [&](size_t i) { return i / inner; }, budget));
  TS_ASSIGN_OR_RETURN(const TableView right,
                      RowsByPosition(y, pairs, [&](size_t i) { return i % inner; }, budget));
  left.names.insert(left.names.end(), right.names.begin(), right.names.end());
  left.columns.insert(left.columns.end(), right.columns.begin(), right.columns.end());
  return left;
}

}  // namespace tickstack::query
