#pragma once

// What the ingest thread hands over when a day ends, and to whom.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "table/schema.h"
#include "table/table.h"

namespace tickstack::rdb {

// The tables of a day that is over, as they were at its end. Nobody writes to them any more.
struct EndedDay {
  int32_t date = 0;  // Days since 2000-01-01.
  std::vector<std::shared_ptr<const Table>> tables;
  // False: rows were refused or could not be had, and the day's log may have them.
  bool complete = true;

  // Whether it is the same one: a date may end twice.
  bool Is(const EndedDay& other) const { return date == other.date && tables == other.tables; }
  uint64_t rows() const {
    uint64_t sum = 0;
    for (const std::shared_ptr<const Table>& table : tables) sum += table->rows();
    return sum;
  }
};

// A day that is not written as it should be, and will not be until a person acts.
struct BlockedDay {
  int32_t date = 0;
  std::string why;
};

// 20200309: a date among counters, where larger is later, and 0 none.
inline uint64_t NumberOfDate(int32_t date) {
  uint64_t number = 0;
  for (const char c : FormatDate(date)) {
    if (c != '.') number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

// Keeps days: EndOfDay (end_of_day.h) in an RDB that writes a database. Threads: both are called by
// the ingest thread and must return at once.
class DayKeeper {
 public:
  virtual ~DayKeeper() = default;

  // Queries go on to see the day's rows before those of the next, until the keeper calls
  // Rdb::DropDay.
  virtual void OnDayEnded(EndedDay day) = 0;
  // The tables follow this log without a gap from now on; `schemas` are those of the log's tables.
  // Every other log of that name is of a day that is over.
  virtual void OnGoneLive(const std::string& log_path, std::vector<Schema> schemas) = 0;
};

}  // namespace tickstack::rdb
