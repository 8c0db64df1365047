#pragma once

// As-of join: for each trade, the quote that prevailed when it happened. The rule is that of q's
// `aj` (code.kx.com/q/ref/aj): the last right time at or before the left time; of equals, the last.

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "query/budget.h"
#include "query/table_view.h"
#include "table/symbol_index.h"
#include "table/value.h"

namespace tickstack::query {

inline constexpr uint32_t kNoRow = UINT32_MAX;  // No quote yet at the trade's time.

// Finds the prevailing rows for one symbol.
//
//   trade_ns   [n]  in   event time, ns since midnight UTC, ascending
//   quote_ns   [m]  in   same clock and unit, ascending
//   prevailing [n]  out  positions in quote_ns, or kNoRow
//
// Cost:    O(n + m) for dense trades, O(n log(m/n)) for sparse ones: from the last answer it looks
//          ahead 1, 2, 4, 8... quotes and then halves, so that what it skips is never read.
//          Allocates nothing.
// Threads: reentrant. The caller keeps both columns from growing during the call.
// Errors:  kInvalidArgument if prevailing.size() != n or m >= kNoRow; prevailing is untouched.
absl::Status AsofMatch(std::span<const int64_t> trade_ns, std::span<const int64_t> quote_ns,
                       std::span<uint32_t> prevailing);

// The same with the quotes of a run of postings whose times ascend; `prevailing` are positions in
// the run. It reads the run's coarse times, 4 bytes a quote, and of the exact times only those of
// quotes in the same 33 us as a trade (symbol_index.h). The join of two tables calls this once per
// symbol and run of its index.
absl::Status AsofMatch(std::span<const int64_t> trade_ns, const PostingRun& quotes,
                       const PostingTimes& times, std::span<uint32_t> prevailing);

enum class AsofTime {
  kLeft,   // aj: the result has the left table's time.
  kRight,  // aj0: the time of the right row that was found.
};

// aj[columns; left; right]. All columns but the last are matched for equality, the last one as of.
// The result has the left table's rows and columns, then the right table's other columns. Where
// both have a column that is not joined on, the right value replaces the left one if a row was
// found.
//
// Right times need not ascend: of the right rows of one key, the prevailing one is the last of
// those with the greatest time at or before the left time.
//
// Cost:   where the right table is a captured one (whole, or restricted to one symbol) and the key
//         is its indexed column, only the index's times are read, and of the right columns only the
//         rows that were found; otherwise one pass over the key and time columns and a hash per
//         row.
// Errors: `type`, `length`, and the name of a column that is missing.
absl::StatusOr<TableView> AsofJoin(const Value& columns, const TableView& left,
                                   const TableView& right, AsofTime time, Budget& budget);

}  // namespace tickstack::query
