#include "interchange/parquet.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "interchange/answer_cells.h"
#include "interchange/parquet_column.h"
#include "interchange/parquet_footer.h"

namespace tickstack::interchange {
namespace {

constexpr size_t kRowsPerGroup = 1 << 17;
constexpr int kZstdLevel = 3;

}  // namespace

absl::StatusOr<std::string> FormatParquet(const Value& table) {
  TS_ASSIGN_OR_RETURN(const std::vector<AnswerColumn> answer, ColumnsOf(table));
  const size_t rows = answer.empty() ? 0 : answer.front().values->count();
  std::vector<parquet::ColumnWriter> columns;
  for (const AnswerColumn& each : answer) {
    TS_ASSIGN_OR_RETURN(parquet::ColumnWriter column,
                        parquet::ColumnWriter::For(each.name, *each.values));
    columns.push_back(std::move(column));
  }
  parquet::PageWriter pages(kZstdLevel);
  pages.bytes = parquet::kMagic;
  std::vector<parquet::RowGroup> groups;
  for (size_t begin = 0; begin < rows; begin += kRowsPerGroup) {
    parquet::RowGroup group;
    group.rows = std::min(kRowsPerGroup, rows - begin);
    for (const parquet::ColumnWriter& column : columns) {
      group.chunks.push_back(column.WriteRows(begin, begin + group.rows, pages));
    }
    groups.push_back(std::move(group));
  }
  std::vector<parquet::ColumnSchema> schema;
  for (const parquet::ColumnWriter& column : columns) schema.push_back(column.schema());
  return pages.bytes + parquet::FileEnd(schema, groups);
}

}  // namespace tickstack::interchange
