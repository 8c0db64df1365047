#include "query/joins/asof_join.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "query/columns/errors.h"
#include "query/joins/asof_rows.h"
#include "query/joins/max_age.h"

namespace tickstack::query {
namespace {

absl::StatusOr<AsofColumns> FindColumns(const Value& columns, const TableView& left,
                                        const TableView& right) {
  if (columns.type() != Type::kSymbol) return TypeError("columns of {}", NameOf(columns.type()));
  if (columns.count() == 0) return LengthError("no columns to join on");
  AsofColumns found;
  for (size_t i = 0; i < columns.count(); ++i) {
    const std::string_view name = columns.is_atom() ? columns.symbol() : columns.symbols()[i];
    const int in_left = left.Find(name), in_right = right.Find(name);
    if (in_left < 0 || in_right < 0) return NameError(name);
    const auto l = static_cast<size_t>(in_left), r = static_cast<size_t>(in_right);
    if (left.columns[l].type() != right.columns[r].type()) {
      return TypeError("column {} is {} on the left and {} on the right", name,
                       NameOf(left.columns[l].type()), NameOf(right.columns[r].type()));
    }
    if (i + 1 == columns.count()) {
      found.left_time = l;
      found.right_time = r;
    } else {
      found.left_keys.push_back(l);
      found.right_keys.push_back(r);
    }
  }
  return found;
}

// The items of a list decide its type, so that one is gathered at once (view_column.h).
absl::StatusOr<ViewColumn> Settled(ViewColumn column, Budget& budget) {
  if (column.type() == Type::kList) TS_RETURN_IF_ERROR(column.Get(budget).status());
  return column;
}

// A right column of the result; `common` is the left one of the same name, if there is one. That
// gives the items where no row was found.
absl::StatusOr<ViewColumn> RightColumn(const ViewColumn& right, const ViewColumn* common,
                                       const TableView& left, std::string_view name,
                                       const SharedPositions& matched, Budget& budget) {
  if (common == nullptr || std::ranges::find(*matched, kNoRow) == matched->end()) {
    return Settled(ViewColumn::AtPositions(right, matched), budget);
  }
  if (common->type() != right.type()) {
    return TypeError("column {} is {} on the left and {} on the right", name,
                     NameOf(common->type()), NameOf(right.type()));
  }
  return Settled(ViewColumn::AtPositionsOr(right, matched, *common, left.rows), budget);
}

absl::StatusOr<TableView> Result(const AsofColumns& columns, const TableView& left,
                                 const TableView& right, SharedPositions matched, AsofTime time,
                                 Budget& budget) {
  TableView result;
  result.names = left.names;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, left.count()));
  result.key_columns = left.key_columns;
  for (const ViewColumn& column : left.columns) {
    TS_ASSIGN_OR_RETURN(ViewColumn at_rows, Settled(ViewColumn::AtRows(column, left.rows), budget));
    result.columns.push_back(std::move(at_rows));
  }
  for (size_t i = 0; i < right.columns.size(); ++i) {
    if (std::ranges::find(columns.right_keys, i) != columns.right_keys.end()) continue;
    if (i == columns.right_time && time == AsofTime::kLeft) continue;
    const int common = left.Find(right.names[i]);
    const auto at = static_cast<size_t>(common);
    TS_ASSIGN_OR_RETURN(ViewColumn column,
                        RightColumn(right.columns[i], common < 0 ? nullptr : &left.columns[at],
                                    left, right.names[i], matched, budget));
    if (common < 0) {
      result.names.push_back(right.names[i]);
      result.columns.push_back(std::move(column));
    } else {
      result.columns[at] = std::move(column);
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<TableView> AsofJoin(const Value& columns, const TableView& left,
                                   const TableView& right, AsofTime time, const Value* max_age,
                                   Budget& budget) {
  TS_RETURN_IF_ERROR(CheckRows(left));
  TS_RETURN_IF_ERROR(CheckRows(right));
  TS_ASSIGN_OR_RETURN(const AsofColumns found, FindColumns(columns, left, right));
  MaxAge bound;
  if (max_age != nullptr) {
    TS_ASSIGN_OR_RETURN(bound, MaxAge::Of(*max_age, left.columns[found.left_time].type()));
  }
  TS_RETURN_IF_ERROR(budget.Charge(left.count(), sizeof(uint32_t)));
  auto matched = std::make_shared<ScratchVector<uint32_t>>(left.count(), kNoRow);
  TS_RETURN_IF_ERROR(MatchRows(found, left, right, bound, *matched, budget));
  return Result(found, left, right, std::move(matched), time, budget);
}

}  // namespace tickstack::query
