#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/string_map.h"

namespace tickstack::wire {

// Rows by table name.
using TableRows = StringMap<uint64_t>;

// What a log holds. Counting is by the index where there is one, else by reading the messages.
struct TplogTotals {
  uint64_t messages = 0;  // kdb+tick's `.u.j`: also the seq of the next message.
  uint64_t log_bytes =
      0;           // Where the next message begins; the length of a log without a torn tail.
  TableRows rows;  // A message that is no upd has no rows, but counts as a message.

  // For every feed that numbers its rows (`.u.updn`): how many of each table it has got into logs
  // so far, this one and, by TplogOptions::carried_progress, those before it.
  StringMap<TableRows> feed_rows;
  // False if messages were indexed after the fact (by a rebuild, or because plain kdb+ appended
  // them): whether they were a feed's, and which, is not known, so feed_rows may be too low.
  bool feed_progress_known = true;

  friend bool operator==(const TplogTotals&, const TplogTotals&) = default;
};

}  // namespace tickstack::wire
