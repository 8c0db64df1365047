#pragma once

// The kernels of the as-of join: for each trade, the quote that prevailed when it happened. The
// rule is that of q's `aj` (code.kx.com/q/ref/aj): the last right time at or before the left time;
// of equals, the last.
//
// All of them walk once through both sides, which ascend. With few quotes to a trade they merge:
// they count, without branches, how many of the next 16 quotes are not after the trade. With many
// quotes they gallop: from the last answer they look ahead 1, 2, 4, 8... quotes and then bisect, so
// that skipped quotes are never read. Measured (2.6 GHz, 32-bit times, ns per trade): a trade):
//
//   quotes a trade    1    4   10   20   32   64  128  512  2048
//   merge             6    7    9   13   16   29   58  211   810
//   gallop            7   10   12   14   15   18   27   43    54

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "table/symbol_index.h"

namespace tickstack::query {

inline constexpr uint32_t kNoRow = UINT32_MAX;  // No quote yet at the trade's time.

// Finds the prevailing rows for one symbol.
//
//   trade_ns   [n]  in   event time, ns since midnight UTC, ascending
//   quote_ns   [m]  in   same clock and unit, ascending
//   prevailing [n]  out  positions in quote_ns, or kNoRow
//
// Cost:    O(n + m) for dense trades, O(n log(m/n)) for sparse ones. Allocates nothing.
// Threads: reentrant. The caller keeps both columns from growing during the call.
// Errors:  kInvalidArgument if prevailing.size() != n or m >= kNoRow; prevailing is untouched.
absl::Status AsofMatch(std::span<const int64_t> trade_ns, std::span<const int64_t> quote_ns,
                       std::span<uint32_t> prevailing);

// The same with the quotes of a run of postings whose times ascend; `prevailing` has positions in
// the run. Reads the run's coarse times, 4 bytes per quote, and exact times only for quotes in the
// same 33 us as a trade (symbol_index.h).
absl::Status AsofMatch(std::span<const int64_t> trade_ns, const PostingRun& quotes,
                       const PostingTimes& quote_times, std::span<uint32_t> prevailing);

// The same with the trades of a run of postings, too. If both have the same clock, exact times are
// read only for trades and quotes in the same 33 us. The join of two tables calls this once per
// symbol and pair of runs of their indexes.
absl::Status AsofMatch(const PostingRun& trades, const PostingTimes& trade_times,
                       const PostingRun& quotes, const PostingTimes& quote_times,
                       std::span<uint32_t> prevailing);

}  // namespace tickstack::query
