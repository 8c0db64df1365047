#pragma once

// The logs of past days. They are named `NAMEyyyy.mm.dd`, like the log that is being written.

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

// Parses the path of a log; nullopt if its name does not end with a date.
std::optional<DayLog> ParseDayLog(std::string_view path);
// Returns all logs of that folder and name, in order of date. kNotFound if there is no such folder.
absl::StatusOr<std::vector<DayLog>> FindDayLogs(const std::string& folder, std::string_view name);

// The tables of a day, replayed from its log.
class LoggedDay {
 public:
  // Replays the whole log into `tier`, or into DRAM if that is nullptr. Asks `stop` several times
  // per second, and returns kCancelled if it is true. kDataLoss: the log is damaged.
  // kResourceExhausted: not enough memory. A torn tail, which no subscriber has seen, is the end.
  // Rows of a table that `schemas` lack, or of other types than its columns have, are no error:
  // see left_out(). kInvalidArgument: messages of no known table cannot be read.
  static absl::StatusOr<std::unique_ptr<LoggedDay>> Replay(const std::string& log,
                                                           std::span<const Schema> schemas,
                                                           absl::FunctionRef<bool()> stop,
                                                           mem::Tier* tier = nullptr);
  // Returns the tables whose rows are all here.
  std::vector<Snapshot> Tables() const;
  // The other tables of the log, and why: a table is never written without some of its rows.
  const std::vector<disk::LeftOutTable>& left_out() const { return left_out_; }
  // kInvalidArgument if there are such tables; names the first.
  absl::Status CheckWhole() const;

 private:
  LoggedDay() = default;
  std::unique_ptr<mem::Tier> dram_ = mem::MakeDramTier("past");
  std::unique_ptr<Rdb> rdb_;
  std::vector<disk::LeftOutTable> left_out_;
};

// Moves tables to `left_out` that cannot be written: because a file cannot have their name or that
// of a column, or because a column has another type in the newest partition of the database, apart
// from that of `date`. Compares no types, with a warning, if that cannot be read.
void LeaveOutUnwritable(const std::string& database, int32_t date, std::vector<Snapshot>& tables,
                        std::vector<disk::LeftOutTable>& left_out);

// Returns whether a partition has no such table, or was written without it.
absl::StatusOr<bool> LacksTable(const std::string& partition, std::string_view table);

// Returns those of the tables that the partition lacks although they have rows, and those that it
// was written without (left_out_table.h).
absl::StatusOr<std::vector<Snapshot>> TablesToAdd(const std::string& partition,
                                                  std::span<const Snapshot> tables);

// Returns which tables are left out, and why; empty if none is.
std::string TextOf(std::span<const disk::LeftOutTable> left_out);

// Returns which rows of the log `tables` lack, by the counts of its index: "; of 272728 rows of
// quote 136278 are in memory". Empty if that is unknown.
std::string RowsNotInMemory(const std::string& log, std::span<const Snapshot> tables);

// Logs a warning for each table of the partition that had rows of other dates (rows_of_date.h), or
// values that have no form on the disk (anymap_writer.h).
void WarnOfChanges(int32_t date, const disk::WrittenPartition& written);

// Returns OK if the partition has all rows that the log has of these tables. A keyed table has one
// row per key, so it must not have more rows, and may have none only if its key has a date
// (rows_of_date.h). kDataLoss with the differences. kFailedPrecondition if the partition lacks one
// of these tables; kInvalidArgument if it lacks another table that the log has. Cost:
// CountTplogRows.
absl::Status CompareRowsWithLog(const std::string& partition, const std::string& log,
                                std::span<const Schema> schemas);

// Checks what CompareRowsWithLog does, and that the log is undamaged and has no rows of tables that
// the partition lacks. Returns OK if all of this holds. Cost: reads the log once.
absl::Status VerifyAgainstLog(const std::string& partition, const std::string& log,
                              std::span<const Schema> schemas);

}  // namespace tickstack::rdb
