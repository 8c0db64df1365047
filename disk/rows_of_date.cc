#include "disk/rows_of_date.h"

#include <algorithm>

namespace tickstack::disk {
namespace {

int FindDate(const Schema& schema) {
  const int date = schema.Find("date");
  return date >= 0 && schema.columns[static_cast<size_t>(date)].type == Type::kDate ? date : -1;
}

}  // namespace

RowsOfDate::RowsOfDate(const Snapshot& snapshot, int32_t date)
    : snapshot_(snapshot), date_(date), column_(FindDate(snapshot.schema())) {
  if (column_ < 0) return;
  in_key_ = ByKey(snapshot.schema());
  const auto column = static_cast<size_t>(column_);
  for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
    for (const int32_t of_row : snapshot.Chunk<int32_t>(column, chunk)) {
      if (IsOf(of_row)) continue;
      first_date_ = other_rows_ == 0 ? of_row : std::min(first_date_, of_row);
      last_date_ = other_rows_ == 0 ? of_row : std::max(last_date_, of_row);
      ++other_rows_;
    }
  }
}

bool RowsOfDate::ByKey(const Schema& schema) {
  const int date = FindDate(schema);
  return date >= 0 && static_cast<size_t>(date) < schema.key_columns;
}

int32_t RowsOfDate::DateOf(size_t row) const {
  const ChunkLayout::Chunk chunk = snapshot_.layout().ChunkOf(row);
  return snapshot_.Chunk<int32_t>(static_cast<size_t>(column_),
                                  chunk.number)[row - chunk.begin_row];
}

}  // namespace tickstack::disk
