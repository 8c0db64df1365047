#include "query/joins/joined_columns.h"

#include <algorithm>
#include <utility>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/unary.h"

namespace tickstack::query {
namespace {

class ColumnJoiner {
 public:
  ColumnJoiner(const TableView& left, const TableView& right, const JoinedRows& rows,
               RightNull right_null, Budget& budget)
      : left_(left), right_(right), rows_(rows), right_null_(right_null), budget_(budget) {}

  size_t count() const { return rows_.right->size(); }

  absl::StatusOr<ViewColumn> LeftColumn(size_t i) const {
    ViewColumn column = rows_.left == nullptr
                            ? ViewColumn::AtRows(left_.columns[i], left_.rows)
                            : ViewColumn::AtPositions(left_.columns[i], rows_.left);
    TS_RETURN_IF_ERROR(column.Settle(budget_));
    return column;
  }

  // `common` is the number of the left column of the same name; -1: there is none.
  absl::StatusOr<ViewColumn> RightColumn(size_t i, int common) {
    const ViewColumn& right = right_.columns[i];
    SharedPositions positions = rows_.right;
    if (common >= 0 && right_null_ == RightNull::kKeepsLeft) {
      TS_ASSIGN_OR_RETURN(positions, WithoutNulls(right));
    }
    const auto every_found = [&] {
      return std::ranges::find(*positions, kNoItem) == positions->end();
    };
    if (common < 0 || every_found())
      return Settled(ViewColumn::AtPositions(right, std::move(positions)));
    const ViewColumn& left = left_.columns[static_cast<size_t>(common)];
    if (left.type() != right.type()) {
      return TypeError("column {} is {} on the left and {} on the right", right_.names[i],
                       NameOf(left.type()), NameOf(right.type()));
    }
    const auto at = static_cast<size_t>(common);
    if (rows_.left == nullptr) {
      return Settled(
          ViewColumn::AtPositionsOr(right, std::move(positions), left_.columns[at], left_.rows));
    }
    const auto all = std::make_shared<const RowSet>(RowSet::Range(0, count()));
    return Settled(ViewColumn::AtPositionsOr(
        right, std::move(positions), ViewColumn::AtPositions(left_.columns[at], rows_.left), all));
  }

 private:
  absl::StatusOr<ViewColumn> Settled(ViewColumn column) const {
    TS_RETURN_IF_ERROR(column.Settle(budget_));
    return column;
  }

  // Returns the right rows' positions, with none where the item is null.
  absl::StatusOr<SharedPositions> WithoutNulls(const ViewColumn& right) const {
    TS_ASSIGN_OR_RETURN(const AnyColumn column, right.Get(budget_));
    TS_RETURN_IF_ERROR(budget_.Charge(count(), sizeof(uint32_t)));
    auto positions = std::make_shared<ScratchVector<uint32_t>>(*rows_.right);
    if (column.type() == Type::kList) return SharedPositions(std::move(positions));
    const Budget::Temporaries temporaries(budget_);
    TS_ASSIGN_OR_RETURN(const Value items, GatherRows(column, *positions, budget_));
    TS_ASSIGN_OR_RETURN(const Value flags, NullFlags(items, budget_));
    const std::span<const uint8_t> is_null = flags.span<uint8_t>();
    for (size_t i = 0; i < is_null.size(); ++i) {
      if (is_null[i] != 0) (*positions)[i] = kNoItem;
    }
    return SharedPositions(std::move(positions));
  }

  const TableView& left_;
  const TableView& right_;
  const JoinedRows& rows_;
  const RightNull right_null_;
  Budget& budget_;
};

}  // namespace

absl::StatusOr<TableView> JoinColumns(const TableView& left, const TableView& right,
                                      std::span<const size_t> without, const JoinedRows& rows,
                                      RightNull right_null, Budget& budget) {
  ColumnJoiner joiner(left, right, rows, right_null, budget);
  TableView result;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, joiner.count()));
  result.key_columns = left.key_columns;
  for (size_t i = 0; i < left.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(ViewColumn column, joiner.LeftColumn(i));
    result.names.push_back(left.names[i]);
    result.columns.push_back(std::move(column));
  }
  for (size_t i = 0; i < right.columns.size(); ++i) {
    if (std::ranges::find(without, i) != without.end()) continue;
    const int common = left.Find(right.names[i]);
    TS_ASSIGN_OR_RETURN(ViewColumn column, joiner.RightColumn(i, common));
    if (common < 0) {
      result.names.push_back(right.names[i]);
      result.columns.push_back(std::move(column));
    } else {
      result.columns[static_cast<size_t>(common)] = std::move(column);
    }
  }
  return result;
}

absl::StatusOr<TableView> SideBySide(const TableView& left, const TableView& right,
                                     Budget& budget) {
  if (left.count() != right.count()) {
    return LengthError("{} rows beside {}", right.count(), left.count());
  }
  TableView result;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, left.count()));
  for (const TableView* const side : {&left, &right}) {
    for (size_t i = 0; i < side->columns.size(); ++i) {
      ViewColumn column = ViewColumn::AtRows(side->columns[i], side->rows);
      TS_RETURN_IF_ERROR(column.Settle(budget));
      const int known = result.Find(side->names[i]);
      if (known >= 0) {
        result.columns[static_cast<size_t>(known)] = std::move(column);
        continue;
      }
      result.names.push_back(side->names[i]);
      result.columns.push_back(std::move(column));
    }
  }
  return result;
}

absl::StatusOr<ColumnPairs> PairColumns(std::span<const std::string> names, const TableView& left,
                                        const TableView& right) {
  ColumnPairs pairs;
  for (const std::string& name : names) {
    const int in_left = left.Find(name), in_right = right.Find(name);
    if (in_left < 0 || in_right < 0) return NameError(name);
    const auto l = static_cast<size_t>(in_left), r = static_cast<size_t>(in_right);
    if (left.columns[l].type() != right.columns[r].type()) {
      return TypeError("column {} is {} on the left and {} on the right", name,
                       NameOf(left.columns[l].type()), NameOf(right.columns[r].type()));
    }
    pairs.left.push_back(l);
    pairs.right.push_back(r);
  }
  return pairs;
}

absl::StatusOr<std::vector<std::string>> NamesIn(const Value& names) {
  if (names.type() != Type::kSymbol) return TypeError("columns of {}", NameOf(names.type()));
  if (names.count() == 0) return LengthError("no columns to join on");
  std::vector<std::string> found;
  for (size_t i = 0; i < names.count(); ++i) {
    found.emplace_back(names.is_atom() ? names.symbol() : names.symbols()[i]);
  }
  return found;
}

}  // namespace tickstack::query
