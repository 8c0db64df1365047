#pragma once

// Checks every byte of a log and its index.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tplog/tplog_totals.h"

namespace tickstack::tplog {

struct TplogProblem {
  enum class Kind {
    kTornLog,       // The log's last message, or block, is incomplete.
    kTornIndex,     // The index's last record is incomplete.
    kFlippedIndex,  // One bit at the index's end was flipped. Opening for writing repairs it.
    kLogDamaged,    // Bytes of the log differ from those written, or are no message.
    kIndexDamaged,  // The index contradicts itself, or has messages that the log does not have.
  };
  Kind kind;
  uint64_t offset;   // Offset in the log; for the three index kinds, in the index.
  std::string text;  // What was found and expected.
};

// Messages that parse, and are unlike the others (message_census.h). They may be noise in a log
// without checksums, or be what a program logged; replays skip or refuse them. What a tickerplant
// logged, and its index proves, is not looked at.
struct TplogOddMessages {
  uint64_t messages = 0;
  uint64_t first_offset = 0;
  std::string text;  // How many there are, the first one, what was found and expected.
};

struct TplogRange {
  uint64_t offset;
  uint64_t bytes;
};

struct TplogReport {
  uint64_t log_bytes = 0;   // The file's size.
  uint64_t torn_bytes = 0;  // Bytes of an incomplete message at the end.
  bool live = false;        // A writer had the log open, and may have been writing the torn bytes.
  bool indexed = false;     // There is an index.
  uint64_t index_bytes = 0;
  uint64_t blocks = 0;            // Usable blocks of the index.
  uint64_t messages_indexed = 0;  // Messages in these blocks.

  // Counted from the messages themselves, except in damaged blocks, where the record's counts are
  // used. log_bytes is the end of the last complete message.
  TplogTotals totals;

  uint64_t problem_count = 0;
  std::vector<TplogProblem> problems;  // The first kTplogProblemsMax of them.
  std::vector<TplogRange> damaged;     // All parts of the log that are damaged, ascending.

  std::vector<TplogOddMessages> odd;   // Ascending, one for each kind of them.
  std::vector<TplogRange> odd_ranges;  // Where they are, ascending; only if it was asked for.

  bool is_sound() const { return problem_count == 0 && odd.empty(); }

  bool Has(TplogProblem::Kind kind) const;
};

inline constexpr size_t kTplogProblemsMax = 100;

// Checks the grammar of every message. Where there is an index, also checks the checksum, messages
// and rows of every block. The report lists all problems; a status is returned only if there can be
// no report: kNotFound, kInvalidArgument (not a log), or a failed read.
//
// After the end of the index, or without one, a message that does not parse is damage if complete
// ones follow (the check continues there), and a torn tail otherwise.
//
// Memory: one block or message. Cost: reads both files once; twice to find `odd_ranges`.
absl::StatusOr<TplogReport> CheckTplog(const std::string& path, bool find_odd_ranges = false);

// Returns the number of rows of each table in the log. If its index covers the log to the last
// byte, they are taken from the index, and the log is not read. Otherwise it counts as CheckTplog
// does, even in a damaged log. Errors: those of CheckTplog.
absl::StatusOr<TableRows> CountTplogRows(const std::string& path);

// Returns how many messages the log should have according to its index; 0 if there is none. The
// index's last record counts only if the log was closed or its day has ended: a tickerplant that
// was killed may have written that record but not its messages. Cost: reads the index.
absl::StatusOr<uint64_t> MessagesIndexed(const std::string& path);

}  // namespace tickstack::tplog
