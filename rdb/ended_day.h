#pragma once

// A day's tables, which the ingest thread passes on at the end of the day, and DayKeeper, the
// interface that receives them.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "table/schema.h"
#include "table/table.h"

namespace tickstack::rdb {

// The tables of a past day as of its end. They are no longer written.
struct EndedDay {
  int32_t date = 0;  // Days since 2000-01-01.
  std::vector<std::shared_ptr<const Table>> tables;
  // False if rows were refused or could not be read; the day's log may have them.
  bool complete = true;

  // True if both are the same end of a day. Compares the tables as well, because a date can end
  // twice, each time with other tables.
  bool Is(const EndedDay& other) const { return date == other.date && tables == other.tables; }
  uint64_t rows() const {
    uint64_t sum = 0;
    for (const std::shared_ptr<const Table>& table : tables) sum += table->rows();
    return sum;
  }
};

// A day that cannot be written until a person acts.
struct BlockedDay {
  int32_t date = 0;
  std::string why;
};

// Returns a date as a number such as 20200309, for counters: later dates are larger, and 0 means
// none.
inline uint64_t NumberOfDate(int32_t date) {
  uint64_t number = 0;
  for (const char c : FormatDate(date)) {
    if (c != '.') number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

// Receives ended days: EndOfDay (end_of_day.h) in an RDB that writes a database. Threads: the
// ingest thread calls all functions, which must return quickly.
class DayKeeper {
 public:
  virtual ~DayKeeper() = default;

  // Called when a day has ended. Until the keeper calls Rdb::DropDay, queries see the day's rows,
  // followed by those of the next day.
  virtual void OnDayEnded(EndedDay day) = 0;
  // Called before the replay of a log that this process has not followed, such as the first one
  // after its start, or that of the next day if it missed the end of the one before. The keeper
  // calls Rdb::SetAwaitedDays with the past days that it must still write or hand over.
  virtual void OnOtherLog(const std::string& /*log_path*/) {}
  // Called when replay is done: the tables have all rows of this log, and published rows follow
  // without a gap. `schemas` are those of the log's tables. The log is today's, so logs whose names
  // differ from `log_path` only in the date are of past days.
  virtual void OnReplayDone(const std::string& log_path, std::vector<Schema> schemas) = 0;
};

}  // namespace tickstack::rdb
