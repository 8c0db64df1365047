#pragma once

// The logs of days that are over, beside the one that is being written: `NAMEyyyy.mm.dd`.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/partition_writer.h"
#include "mem/tier.h"
#include "rdb/rdb.h"
#include "table/schema.h"
#include "table/table.h"

namespace tickstack::rdb {

struct DayLog {
  int32_t date;  // Days since 2000-01-01.
  std::string path;
};

// The log that this is the path of; nullopt if its name does not end with a date.
std::optional<DayLog> ParseDayLog(std::string_view path);
// All logs of that folder and name, in order of date. kNotFound if there is no such folder.
absl::StatusOr<std::vector<DayLog>> FindDayLogs(const std::string& folder, std::string_view name);

// The tables of a day as its log has them, in DRAM.
class LoggedDay {
 public:
  // Replays the whole log; asks `stop` several times a second, and gives up with kCancelled.
  // kDataLoss: the log is damaged; kResourceExhausted: memory did not hold it; kInvalidArgument: it
  // has rows of a table that `schemas` lack, or of other types than theirs, and a partition with a
  // part of a day would keep the rest of it out. A torn tail, which nobody was told of, is its end.
  static absl::StatusOr<std::unique_ptr<LoggedDay>> Replay(const std::string& log,
                                                           std::span<const Schema> schemas,
                                                           absl::FunctionRef<bool()> stop);
  std::vector<Snapshot> Tables() const;

 private:
  LoggedDay() = default;
  std::unique_ptr<mem::Tier> tier_ = mem::MakeDramTier("past");
  std::unique_ptr<Rdb> rdb_;
};

// What `tables` lack of the rows that the log has, as its index counts them: "; of 272728 rows of
// quote 136278 are in memory". Empty if nothing can be said.
std::string RowsNotInMemory(const std::string& log, std::span<const Snapshot> tables);

// A warning for each table of the partition that had rows of other dates (rows_of_date.h).
void WarnOfOtherDates(int32_t date, const WrittenPartition& written);

// OK if the partition has all rows that the log has of these tables: of a keyed table, which keeps
// a row for each key, not more, and none only if its key has a date (rows_of_date.h). kDataLoss
// with what differs. Cost: CountTplogRows.
absl::Status CompareRowsWithLog(const std::string& partition, const std::string& log,
                                std::span<const Schema> schemas);

// OK if besides the log is whole, and has rows of no other tables that the partition lacks. Cost:
// reads the log once.
absl::Status VerifyAgainstLog(const std::string& partition, const std::string& log,
                              std::span<const Schema> schemas);

}  // namespace tickstack::rdb
