#include "wire/upd_rows.h"

#include <algorithm>

#include "base/status.h"
#include "table/drop_rows.h"

namespace tickstack::wire {

absl::StatusOr<BatchView> UpdRows::Arrange(const Schema& schema, const UpdView& upd) {
  const size_t columns = schema.columns.size();
  bool in_order = upd.names.empty() || upd.names.size() == columns;
  for (size_t i = 0; in_order && i < upd.names.size(); ++i) {
    in_order = upd.names[i] == schema.columns[i].name;
  }
  if (in_order) return upd.batch;
  arranged_.clear();
  for (const ColumnSpec& spec : schema.columns) {
    const auto at = std::find(upd.names.begin(), upd.names.end(), spec.name);
    if (at == upd.names.end()) {
      return InvalidArgument("length: no column {}, table {} has it", spec.name, schema.table);
    }
    arranged_.push_back(upd.batch.columns[static_cast<size_t>(at - upd.names.begin())]);
  }
  return BatchView{arranged_, upd.batch.rows};
}

absl::StatusOr<BatchView> UpdRows::WithoutFirst(const BatchView& batch, size_t rows) {
  if (rows == 0) return batch;
  shortened_.clear();
  for (const ColumnView& column : batch.columns) {
    const std::optional<ColumnView> rest = DropRows(column, rows);
    if (!rest) return InvalidArgument("length: a column has less than {} rows", rows);
    shortened_.push_back(*rest);
  }
  return BatchView{shortened_, batch.rows - rows};
}

}  // namespace tickstack::wire
