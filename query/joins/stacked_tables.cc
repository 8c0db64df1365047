#include "query/joins/stacked_tables.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/keys.h"

namespace tickstack::query {
namespace {

using SharedRowSet = std::shared_ptr<const RowSet>;

SharedRowSet AllRows(size_t count) {
  return std::make_shared<const RowSet>(RowSet::Range(0, count));
}

// The places of a column of the result in either table.
struct Places {
  std::string name;
  std::optional<size_t> first, second;
};

// Returns the first table's columns, then those that only the second one has.
absl::StatusOr<std::vector<Places>> PlacesOf(const TableView& first, const TableView& second,
                                             OneSided one_sided) {
  std::vector<Places> places;
  for (size_t i = 0; i < first.names.size(); ++i) {
    const int other = second.Find(first.names[i]);
    if (other < 0 && one_sided == OneSided::kMismatch) return MismatchError(first.names[i]);
    places.push_back({first.names[i], i, std::nullopt});
    if (other >= 0) places.back().second = static_cast<size_t>(other);
  }
  for (size_t i = 0; i < second.names.size(); ++i) {
    if (first.Find(second.names[i]) >= 0) continue;
    if (one_sided == OneSided::kMismatch) return MismatchError(second.names[i]);
    places.push_back({second.names[i], std::nullopt, i});
  }
  return places;
}

absl::Status CheckRowsTogether(const TableView& first, const TableView& second) {
  const size_t rows = first.count() + second.count();
  if (rows < kNoItem) return absl::OkStatus();
  return LimitError("a table of {} rows, at most {}", rows, kNoItem - 1);
}

class Stacker {
 public:
  Stacker(const TableView& above, const TableView& below, Budget& budget)
      : above_(above), below_(below), budget_(budget) {}

  absl::StatusOr<ViewColumn> Stack(const Places& places) {
    TS_ASSIGN_OR_RETURN(const Side top, SideOf(above_, places.first, below_, places.second));
    TS_ASSIGN_OR_RETURN(const Side bottom, SideOf(below_, places.second, above_, places.first));
    if (top.column.type() == bottom.column.type()) {
      ViewColumn stacked = ViewColumn::Stacked(top.column, top.rows, bottom.column, bottom.rows);
      TS_RETURN_IF_ERROR(stacked.Settle(budget_));
      return stacked;
    }
    TS_ASSIGN_OR_RETURN(const Value items, ItemsOfSide(top));
    TS_ASSIGN_OR_RETURN(const Value under, ItemsOfSide(bottom));
    // An empty list is a column whose type is still open.
    if (under.is_list() && under.count() == 0) return ViewColumn(items);
    TS_ASSIGN_OR_RETURN(Value joined, Join(items, under, budget_));
    return ViewColumn(std::move(joined));
  }

 private:
  struct Side {
    ViewColumn column;
    SharedRowSet rows;
  };

  // Returns the column of one table; if the table lacks it, nulls of the other's type.
  absl::StatusOr<Side> SideOf(const TableView& table, std::optional<size_t> place,
                              const TableView& other, std::optional<size_t> other_place) {
    if (place.has_value()) return Side{table.columns[*place], table.rows};
    SharedPositions& nulls = &table == &above_ ? nulls_above_ : nulls_below_;
    if (nulls == nullptr) {
      TS_RETURN_IF_ERROR(budget_.Charge(table.count(), sizeof(uint32_t)));
      nulls = std::make_shared<const ScratchVector<uint32_t>>(table.count(), kNoItem);
    }
    ViewColumn none = ViewColumn::AtPositions(other.columns[*other_place], nulls);
    TS_RETURN_IF_ERROR(none.Settle(budget_));
    return Side{std::move(none), AllRows(table.count())};
  }
  absl::StatusOr<Value> ItemsOfSide(const Side& side) {
    TS_ASSIGN_OR_RETURN(const Slice slice, side.column.SliceAt(side.rows, budget_));
    return Materialise(slice, budget_);
  }

  const TableView& above_;
  const TableView& below_;
  Budget& budget_;
  SharedPositions nulls_above_, nulls_below_;
};

// The rows of either table that make each row of the merged one; kNoItem where there is none.
struct MergedRows {
  SharedPositions first, second;
};

absl::StatusOr<std::vector<Slice>> KeySlices(const TableView& view, Budget& budget) {
  std::vector<Slice> keys;
  for (size_t i = 0; i < view.key_columns; ++i) {
    TS_ASSIGN_OR_RETURN(Slice key, view.ColumnAt(i, budget));
    keys.push_back(std::move(key));
  }
  return keys;
}

absl::StatusOr<MergedRows> MergeRows(const TableView& first, const TableView& second,
                                     Budget& budget) {
  TS_ASSIGN_OR_RETURN(const std::vector<Slice> first_keys, KeySlices(first, budget));
  TS_ASSIGN_OR_RETURN(const std::vector<Slice> second_keys, KeySlices(second, budget));
  KeyNumbers numbers(first.key_columns);
  ScratchVector<uint32_t> of_first, of_second;
  if (first.count() > 0) {  // The columns of an empty table may be lists.
    TS_ASSIGN_OR_RETURN(of_first, numbers.Number(first_keys, budget));
  }
  const uint32_t known = numbers.size();
  if (second.count() > 0) {
    TS_ASSIGN_OR_RETURN(of_second, numbers.Number(second_keys, budget));
  }
  TS_RETURN_IF_ERROR(budget.Charge(first.count() + second.count(), 4 * sizeof(uint32_t)));
  // The last row of `second` with each number.
  ScratchVector<uint32_t> last(numbers.size(), kNoItem);
  const ScratchVector<uint32_t> second_rows = second.rows->ToVector();
  for (size_t i = 0; i < second_rows.size(); ++i) last[of_second[i]] = second_rows[i];
  ScratchVector<uint32_t> in_first = first.rows->ToVector(), in_second;
  in_second.reserve(in_first.size() + (numbers.size() - known));
  for (const uint32_t number : of_first) in_second.push_back(last[number]);
  for (uint32_t number = known; number < numbers.size(); ++number) {
    in_second.push_back(last[number]);
  }
  in_first.resize(in_second.size(), kNoItem);
  return MergedRows{std::make_shared<const ScratchVector<uint32_t>>(std::move(in_first)),
                    std::make_shared<const ScratchVector<uint32_t>>(std::move(in_second))};
}

absl::StatusOr<ViewColumn> MergedColumn(const TableView& first, const TableView& second,
                                        const Places& places, const MergedRows& rows,
                                        Budget& budget) {
  const auto settled = [&](ViewColumn column) -> absl::StatusOr<ViewColumn> {
    TS_RETURN_IF_ERROR(column.Settle(budget));
    return column;
  };
  const auto untyped = [](const TableView& table, std::optional<size_t> place) {
    return !place.has_value() ||
           (table.count() == 0 && table.columns[*place].type() == Type::kList);
  };
  if (untyped(first, places.first) && places.second.has_value()) {
    return settled(ViewColumn::AtPositions(second.columns[*places.second], rows.second));
  }
  const ViewColumn& before = first.columns[*places.first];
  ViewColumn kept = ViewColumn::AtPositions(before, rows.first);
  if (untyped(second, places.second)) return settled(std::move(kept));
  const ViewColumn& after = second.columns[*places.second];
  if (before.type() != after.type()) {
    return TypeError("{}s in column {} of {}s", NameOf(after.type()), places.name,
                     NameOf(before.type()));
  }
  return settled(
      ViewColumn::AtPositionsOr(after, rows.second, std::move(kept), AllRows(rows.first->size())));
}

}  // namespace

absl::Status MismatchError(std::string_view column) {
  return QError(absl::StatusCode::kInvalidArgument, "mismatch",
                fmt::format("column {} is in one of the tables alone", column));
}

absl::StatusOr<TableView> StackTables(const TableView& above, const TableView& below,
                                      OneSided one_sided, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckRowsTogether(above, below));
  TS_ASSIGN_OR_RETURN(const std::vector<Places> places, PlacesOf(above, below, one_sided));
  Stacker stacker(above, below, budget);
  TableView result;
  result.rows = AllRows(above.count() + below.count());
  for (const Places& place : places) {
    TS_ASSIGN_OR_RETURN(ViewColumn column, stacker.Stack(place));
    result.names.push_back(place.name);
    result.columns.push_back(std::move(column));
  }
  return result;
}

absl::StatusOr<TableView> StackAll(std::span<const TableView> tables, Budget& budget) {
  std::vector<std::vector<Value>> parts(tables[0].columns.size());
  for (const TableView& table : tables) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    TS_ASSIGN_OR_RETURN(const std::vector<Places> places,
                        PlacesOf(tables[0], table, OneSided::kMismatch));
    for (size_t i = 0; i < places.size(); ++i) {
      TS_ASSIGN_OR_RETURN(const Slice slice, table.ColumnAt(*places[i].second, budget));
      TS_ASSIGN_OR_RETURN(parts[i].emplace_back(), Materialise(slice, budget));
    }
  }
  std::vector<Value> columns;
  for (std::vector<Value>& part : parts) {
    TS_ASSIGN_OR_RETURN(columns.emplace_back(), Raze(Value::List(std::move(part)), budget));
  }
  return ViewOf(tables[0].names, std::move(columns));
}

absl::StatusOr<TableView> MergeTables(const TableView& first, const TableView& second,
                                      OneSided one_sided, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckRowsTogether(first, second));
  for (size_t i = 0; i < std::max(first.key_columns, second.key_columns); ++i) {
    const bool both = i < first.key_columns && i < second.key_columns;
    if (!both || first.names[i] != second.names[i]) {
      return MismatchError((i < first.key_columns ? first : second).names[i]);
    }
  }
  TS_ASSIGN_OR_RETURN(const std::vector<Places> places, PlacesOf(first, second, one_sided));
  TS_ASSIGN_OR_RETURN(const MergedRows rows, MergeRows(first, second, budget));
  TableView result;
  result.rows = AllRows(rows.first->size());
  result.key_columns = first.key_columns;
  for (const Places& place : places) {
    TS_ASSIGN_OR_RETURN(ViewColumn column, MergedColumn(first, second, place, rows, budget));
    result.names.push_back(place.name);
    result.columns.push_back(std::move(column));
  }
  return result;
}

}  // namespace tickstack::query
