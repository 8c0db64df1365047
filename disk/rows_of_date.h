#pragma once

// Decides which rows of a table belong to a partition of a date, for tables with the date of each
// row in a column `date`. A partition cannot store that column, since it gives every row its own
// date.
//
//   `date` is in the key   rows are bars of days. Rows of another date are left out: here they
//                          would count as second bars of this date, and the partition of their own
//                          date has the final bars of that day.
//   otherwise              all rows belong to the partition; their dates are lost
//
// Rows with a null date belong to the partition. Threads: immutable. Valid while its snapshot
// exists.

#include <cstddef>
#include <cstdint>

#include "table/schema.h"
#include "table/table.h"
#include "table/types.h"

namespace tickstack::disk {

class RowsOfDate {
 public:
  // Cost: a pass over the column, if there is one.
  RowsOfDate(const Snapshot& snapshot, int32_t date);

  // True if `date` is in the key.
  static bool ByKey(const Schema& schema);

  bool leaves_out() const { return in_key_ && other_rows_ > 0; }
  size_t rows() const { return snapshot_.rows() - (in_key_ ? other_rows_ : 0); }
  // The number of rows with another date. first_date() and last_date() are the range of these
  // dates.
  size_t other_rows() const { return other_rows_; }
  int32_t first_date() const { return first_date_; }
  int32_t last_date() const { return last_date_; }

  // True if the partition has this row.
  bool Has(size_t row) const { return !leaves_out() || IsOf(DateOf(row)); }

 private:
  int32_t DateOf(size_t row) const;
  bool IsOf(int32_t date) const { return date == date_ || date == kNullInt; }

  const Snapshot& snapshot_;
  const int32_t date_;
  int column_ = -1;
  bool in_key_ = false;
  size_t other_rows_ = 0;
  int32_t first_date_ = 0;
  int32_t last_date_ = 0;
};

}  // namespace tickstack::disk
