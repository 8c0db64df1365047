#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/name_map.h"

namespace tickstack::tplog {

// Rows by table name.
using TableRows = NameMap<uint64_t>;

// Counts of a log's contents, from its index if there is one, else from its messages.
struct TplogTotals {
  uint64_t messages = 0;  // kdb+tick's `.u.j`: also the seq of the next message.
  // Where the next message begins: the length of a log without a torn tail.
  uint64_t log_bytes = 0;
  TableRows rows;  // A message that is no upd counts as a message, but has no rows.

  // For every feed that numbers its rows (`.u.updn`): its logged rows by table, in this log and, by
  // TplogOptions::carried_progress, in those before it.
  NameMap<TableRows> feed_rows;
  // False if messages were indexed after the fact (by a rebuild, or because plain kdb+ appended
  // them): their feeds are not known, so feed_rows may be too low.
  bool feed_progress_known = true;

  friend bool operator==(const TplogTotals&, const TplogTotals&) = default;
};

}  // namespace tickstack::tplog
