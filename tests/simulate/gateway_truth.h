#pragma once

// The rows of all logs in the end, with which answers of a gateway are compared. An rdb has the
// first rows of a day's log, so an answer about a day must be that of these rows: from their number
// follows everything else.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/simulate/gateway_question.h"
#include "tests/simulate/gateway_state.h"

namespace tickstack::simulate {

// What an answer must have at least, as of when its question was asked.
struct LeastRows {
  // How far each rdb was that had read its log: an answer comes from one of them.
  std::vector<LogPosition> rdbs;
  std::map<int32_t, LogPosition> days;  // The fewest rows of each day that rdbs had.
  std::map<int32_t, bool> ended;        // Days that have ended; true: the gateway must know them.
  std::map<int32_t, bool> begun;        // Days that have begun, likewise.
  std::optional<LogPosition> fresh;     // What must be visible.
};

class GatewayTruth {
 public:
  // Reads the logs of the days from `first` to `last` in the working directory. Those of the days
  // before the last one must be there.
  static absl::StatusOr<GatewayTruth> Read(const StackOptions& options, int32_t first,
                                           int32_t last);

  // Returns what is wrong with an answer; empty: nothing.
  std::string FindWrong(const GatewayQuestion& question, const GatewayAnswer& answer,
                        const LeastRows& least) const;
  int64_t rows() const;
  int64_t RowsOf(const std::string& table, int32_t date) const;

 private:
  struct Part {  // The first rows of a day.
    int32_t date;
    int64_t rows;
  };
  struct Day {
    std::vector<AnsweredRow> rows;
    // By feed: for each number of rows of the day, how many of them are the feed's.
    std::map<std::string, std::vector<int64_t>> counts;
    std::map<std::string, int64_t> first;  // By feed: the number of its first row.
  };
  using Days = std::map<int32_t, Day>;
  using Counted = std::map<std::string, CountedRows>;

  static Counted Count(const Days& days, std::span<const Part> parts);
  static std::vector<Part> PartsFrom(const Days& days, int32_t date, int64_t rows);
  static bool HasRows(const Days& days, std::span<const Part> parts,
                      std::span<const AnsweredRow> rows);
  static int64_t Place(const Days& days, const std::string& table, const LogPosition& position);
  static int64_t Least(const Days& days, const std::string& table, int32_t date, bool is_there,
                       const LeastRows& least);
  static bool Agrees(const Days& days, std::span<const Part> parts, const GatewayQuestion& question,
                     const GatewayAnswer& answer);
  static std::string FindWrongOfAll(const Days& days, const GatewayQuestion& question,
                                    const GatewayAnswer& answer, const LeastRows& least);
  static std::string FindWrongOfDays(const Days& days, const GatewayQuestion& question,
                                     const GatewayAnswer& answer, const LeastRows& least);
  std::string FindWrongDates(const GatewayAnswer& answer, const LeastRows& least) const;

  std::map<std::string, Days> tables_;
};

}  // namespace tickstack::simulate
