#pragma once

// The questions that askers send to a gateway, and what their answers say. Rows have the columns
// `feed` and `n`, the number of the row in its feed's table, so that an answer tells exactly which
// rows it counts. All trades of a feed have one symbol; its quotes have several.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "table/value.h"
#include "tests/simulate/random.h"

namespace tickstack::simulate {

struct GatewayQuestion {
  enum class Kind : uint8_t {
    kOfAll,       // Aggregates by feed, without a date: the rows that an rdb has.
    kRowsOfAll,   // The rows themselves.
    kCountOfAll,  // Their number.
    kOfDay,       // Aggregates by feed of one day.
    kOfDays,      // The same of two days together.
    kByDate,      // Aggregates by date and feed, of all days.
    kMedian,      // What is computed over fetched rows, of two days together.
    kRows,        // The rows of a day.
    kCount,       // Their number.
    kDates,       // The variable `date`.
  };
  Kind kind = Kind::kOfAll;
  std::string table;
  int32_t day = 0;  // The first of the days; of all for kDates and kByDate.
  int32_t last_day = 0;

  std::string Text() const;
  bool NamesDays() const { return kind > Kind::kCountOfAll; }
};

// One about `day` or, if it is about two days, about the next one as well.
GatewayQuestion DrawQuestion(Random& random, int32_t day);

// Rows of a feed, as aggregates of their numbers.
struct CountedRows {
  int64_t count = 0, sum = 0, low = 0, high = 0, first = 0, last = 0;
  friend bool operator==(const CountedRows&, const CountedRows&) = default;
};

struct AnsweredRow {
  std::string sym, feed;
  int64_t number = 0;
  friend bool operator==(const AnsweredRow&, const AnsweredRow&) = default;
};

// What an answer says, depending on the kind of the question.
struct GatewayAnswer {
  std::map<std::string, CountedRows> feeds;                     // kOfAll, kOfDay, kOfDays, kMedian.
  std::map<std::string, double> medians;                        // kMedian.
  std::map<int32_t, std::map<std::string, CountedRows>> dates;  // kByDate; for kDates without rows.
  std::vector<AnsweredRow> rows;                                // kRowsOfAll, kRows.
  int64_t count = 0;                                            // kCountOfAll, kCount.
};

// kInvalidArgument if the value has not the form that the question's answer has.
absl::StatusOr<GatewayAnswer> ReadAnswer(const GatewayQuestion& question, const Value& value);

}  // namespace tickstack::simulate
