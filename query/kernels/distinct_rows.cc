#include "query/kernels/distinct_rows.h"

#include <utility>
#include <vector>

#include "query/columns/errors.h"
#include "query/kernels/keys.h"
#include "query/kernels/sort.h"

namespace tickstack::query {

absl::StatusOr<TableView> DistinctRows(const TableView& view, Budget& budget) {
  if (view.key_columns > 0) return NyiError("distinct of a keyed table");
  if (view.columns.empty()) return view;
  std::vector<Slice> columns;
  for (size_t i = 0; i < view.columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Slice slice, view.ColumnAt(i, budget));
    columns.push_back(std::move(slice));
  }
  KeyNumbers numbers(columns.size());
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> number, numbers.Number(columns, budget));
  TS_RETURN_IF_ERROR(budget.Charge(numbers.size(), sizeof(uint32_t)));
  ScratchVector<uint32_t> firsts;
  firsts.reserve(numbers.size());
  for (uint32_t i = 0; i < number.size(); ++i) {
    if (number[i] == firsts.size()) firsts.push_back(i);
  }
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> rows, RowsAt(*view.rows, std::move(firsts), budget));
  TableView result = view;
  result.rows = std::make_shared<const RowSet>(RowSet::FromRows(std::move(rows)));
  return result;
}

}  // namespace tickstack::query
