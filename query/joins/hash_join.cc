#include "query/joins/hash_join.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/atomic.h"
#include "query/kernels/keys.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

absl::Status CheckJoinable(const TableView& left, const TableView& right) {
  TS_RETURN_IF_ERROR(CheckRows(left));
  TS_RETURN_IF_ERROR(CheckRows(right));
  if (right.key_columns > 0) return absl::OkStatus();
  return TypeError("a table without keys on the right of a join");
}

std::vector<size_t> KeyColumnsOf(const TableView& keyed) {
  std::vector<size_t> columns(keyed.key_columns);
  std::iota(columns.begin(), columns.end(), size_t{0});
  return columns;
}

// The tuples of the key columns of both sides, numbered together.
struct NumberedSides {
  ScratchVector<uint32_t> left, right;  // By position among the rows.
  uint32_t count = 0;
};

absl::StatusOr<NumberedSides> NumberSides(const ColumnPairs& pairs, const TableView& left,
                                          const TableView& right, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const std::vector<Slice> left_keys, left.ColumnsAt(pairs.left, budget));
  TS_ASSIGN_OR_RETURN(const std::vector<Slice> right_keys, right.ColumnsAt(pairs.right, budget));
  KeyNumbers numbers(pairs.left.size());
  NumberedSides sides;
  TS_ASSIGN_OR_RETURN(sides.right, numbers.Number(right_keys, budget));
  TS_ASSIGN_OR_RETURN(sides.left, numbers.Number(left_keys, budget));
  sides.count = numbers.size();
  return sides;
}

// Returns for each left row the number of the first right row with its keys; kNoItem for none.
absl::StatusOr<ScratchVector<uint32_t>> FirstMatches(const TableView& left, const TableView& right,
                                                     Budget& budget) {
  const std::span<const std::string> names(right.names.data(), right.key_columns);
  TS_ASSIGN_OR_RETURN(const ColumnPairs pairs, PairColumns(names, left, right));
  TS_ASSIGN_OR_RETURN(NumberedSides sides, NumberSides(pairs, left, right, budget));
  const Budget::Temporaries temporaries(budget);
  TS_RETURN_IF_ERROR(budget.Charge(size_t{sides.count} + right.count(), sizeof(uint32_t)));
  ScratchVector<uint32_t> first(sides.count, kNoItem);
  const ScratchVector<uint32_t> rows = right.rows->ToVector();
  for (size_t i = rows.size(); i > 0; --i) first[sides.right[i - 1]] = rows[i - 1];
  for (uint32_t& number : sides.left) number = first[number];
  return std::move(sides.left);
}

// Returns a column of a plus join's right side at the found rows: zero where there is none or it is
// null.
absl::StatusOr<Value> Addend(const TableView& right, size_t column,
                             std::span<const uint32_t> matched, Budget& budget) {
  const Type type = right.columns[column].type();
  if (!ResultType(Arithmetic::kAdd, Type::kInt, type).has_value()) {
    return TypeError("column {} of {}s cannot be added", right.names[column], NameOf(type));
  }
  TS_ASSIGN_OR_RETURN(const AnyColumn whole, right.columns[column].Get(budget));
  TS_ASSIGN_OR_RETURN(Value items, GatherRows(whole, matched, budget));
  const std::span<std::byte> bytes = MutableElements(items);
  VisitElementType(type, [&]<typename T>(std::type_identity<T>) {
    const std::span<T> elements(reinterpret_cast<T*>(bytes.data()), items.count());
    for (T& element : elements) {
      if (IsNullElement(type, element)) element = T{};
    }
  });
  return ApplyAtomic(Arithmetic::kAdd, Value::Int(0), items, budget);
}

}  // namespace

absl::StatusOr<TableView> LeftJoin(const TableView& left, const TableView& right,
                                   RightNull right_null, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckJoinable(left, right));
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> matched, FirstMatches(left, right, budget));
  const JoinedRows rows{nullptr,
                        std::make_shared<const ScratchVector<uint32_t>>(std::move(matched))};
  return JoinColumns(left, right, KeyColumnsOf(right), rows, right_null, budget);
}

absl::StatusOr<TableView> InnerJoin(const TableView& left, const TableView& right,
                                    RightNull right_null, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckJoinable(left, right));
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> matched, FirstMatches(left, right, budget));
  TS_RETURN_IF_ERROR(budget.Charge(matched.size(), sizeof(uint32_t)));
  ScratchVector<uint32_t> rows = left.rows->ToVector();
  size_t kept = 0;
  for (size_t i = 0; i < matched.size(); ++i) {
    if (matched[i] == kNoItem) continue;
    rows[kept] = rows[i];
    matched[kept++] = matched[i];
  }
  rows.resize(kept);
  matched.resize(kept);
  const JoinedRows joined{std::make_shared<const ScratchVector<uint32_t>>(std::move(rows)),
                          std::make_shared<const ScratchVector<uint32_t>>(std::move(matched))};
  return JoinColumns(left, right, KeyColumnsOf(right), joined, right_null, budget);
}

absl::StatusOr<TableView> EquiJoin(const Value& columns, const TableView& left,
                                   const TableView& right, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckRows(left));
  TS_RETURN_IF_ERROR(CheckRows(right));
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(columns));
  TS_ASSIGN_OR_RETURN(const ColumnPairs pairs, PairColumns(names, left, right));
  TS_ASSIGN_OR_RETURN(const NumberedSides sides, NumberSides(pairs, left, right, budget));
  TS_RETURN_IF_ERROR(budget.Charge(sides.right.size(), 2 * sizeof(uint32_t)));
  TS_RETURN_IF_ERROR(budget.Charge(sides.count, sizeof(size_t)));
  const Grouping of_key(sides.right, sides.count);
  uint64_t pairs_found = 0;
  for (const uint32_t number : sides.left) {
    const auto [begin, end] = of_key.RangeOf(number);
    pairs_found += end - begin;
  }
  if (pairs_found >= kNoItem) {
    return LimitError("{} pairs of rows, at most {}", pairs_found, kNoItem - 1);
  }
  TS_RETURN_IF_ERROR(budget.Charge(pairs_found, 2 * sizeof(uint32_t)));
  TS_RETURN_IF_ERROR(budget.Charge(left.count(), sizeof(uint32_t)));
  auto left_rows = std::make_shared<ScratchVector<uint32_t>>();
  auto right_rows = std::make_shared<ScratchVector<uint32_t>>();
  left_rows->reserve(pairs_found);
  right_rows->reserve(pairs_found);
  const ScratchVector<uint32_t> numbers = left.rows->ToVector(), others = right.rows->ToVector();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i % 65536 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    for (const uint32_t position : of_key.PositionsOf(sides.left[i])) {
      left_rows->push_back(numbers[i]);
      right_rows->push_back(others[position]);
    }
  }
  TS_ASSIGN_OR_RETURN(TableView joined, JoinColumns(left, right, pairs.right,
                                                    {std::move(left_rows), std::move(right_rows)},
                                                    RightNull::kReplaces, budget));
  joined.key_columns = 0;
  return joined;
}

absl::StatusOr<TableView> PlusJoin(const TableView& left, const TableView& right, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckJoinable(left, right));
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> matched, FirstMatches(left, right, budget));
  TableView result = left;
  result.stored = nullptr;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, left.count()));
  for (ViewColumn& column : result.columns) {
    column = ViewColumn::AtRows(std::move(column), left.rows);
    TS_RETURN_IF_ERROR(column.Settle(budget));
  }
  for (size_t i = right.key_columns; i < right.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Value addend, Addend(right, i, matched, budget));
    const int common = left.Find(right.names[i]);
    if (common < 0) {
      result.names.push_back(right.names[i]);
      result.columns.emplace_back(std::move(addend));
      continue;
    }
    ViewColumn& column = result.columns[static_cast<size_t>(common)];
    TS_ASSIGN_OR_RETURN(const Slice items, column.SliceAt(result.rows, budget));
    TS_ASSIGN_OR_RETURN(const Value before, Materialise(items, budget));
    TS_ASSIGN_OR_RETURN(Value sum, ApplyAtomic(Arithmetic::kAdd, before, addend, budget));
    column = ViewColumn(std::move(sum));
  }
  return result;
}

}  // namespace tickstack::query
