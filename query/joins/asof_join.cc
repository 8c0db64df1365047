#include "query/joins/asof_join.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/errors.h"
#include "query/joins/asof_rows.h"
#include "query/joins/max_age.h"

namespace tickstack::query {
namespace {

absl::StatusOr<AsofColumns> FindColumns(const Value& columns, const TableView& left,
                                        const TableView& right) {
  TS_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(columns));
  TS_ASSIGN_OR_RETURN(ColumnPairs pairs, PairColumns(names, left, right));
  AsofColumns found;
  found.left_time = pairs.left.back();
  found.right_time = pairs.right.back();
  pairs.left.pop_back();
  pairs.right.pop_back();
  found.left_keys = std::move(pairs.left);
  found.right_keys = std::move(pairs.right);
  return found;
}

}  // namespace

absl::StatusOr<TableView> AsofJoin(const Value& columns, const TableView& left,
                                   const TableView& right, AsofTime time, RightNull right_null,
                                   const Value* max_age, Budget& budget) {
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
  std::vector<size_t> without = found.right_keys;
  if (time == AsofTime::kLeft) without.push_back(found.right_time);
  return JoinColumns(left, right, without, {nullptr, std::move(matched)}, right_null, budget);
}

absl::StatusOr<TableView> AsofRows(const TableView& table, const TableView& wanted,
                                   Budget& budget) {
  SymbolVector names;
  for (const std::string& name : wanted.names) names.push_back(name);
  TS_ASSIGN_OR_RETURN(TableView joined,
                      AsofJoin(Value::Symbols(std::move(names)), wanted, table, AsofTime::kLeft,
                               RightNull::kReplaces, nullptr, budget));
  const auto given = static_cast<ptrdiff_t>(wanted.columns.size());
  joined.names.erase(joined.names.begin(), joined.names.begin() + given);
  joined.columns.erase(joined.columns.begin(), joined.columns.begin() + given);
  joined.key_columns = 0;
  return joined;
}

}  // namespace tickstack::query
