#pragma once

// Looks at every byte of a log and its index.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/tplog_totals.h"

namespace tickstack::wire {

struct TplogProblem {
  enum class Kind {
    kTornLog,       // The log's last message, or block, is not whole.
    kTornIndex,     // The index's last record is not.
    kLogDamaged,    // Bytes of the log are not those that were written, or no message.
    kIndexDamaged,  // The index contradicts itself, or counts what is not there.
  };
  Kind kind;
  uint64_t offset;   // In the log; of the two index kinds, in the index.
  std::string text;  // Found and expected.
};

struct TplogRange {
  uint64_t offset;
  uint64_t bytes;
};

struct TplogReport {
  uint64_t log_bytes = 0;   // The file's size.
  uint64_t torn_bytes = 0;  // Bytes of an incomplete message at the end.
  bool live = false;        // A writer had the log open, and may have been writing the torn bytes.
  bool indexed = false;
  uint64_t index_bytes = 0;
  uint64_t blocks = 0;            // Usable blocks of the index.
  uint64_t messages_indexed = 0;  // Messages in these blocks.

  // Counted from the messages themselves, except in damaged blocks, whose record is believed;
  // log_bytes is where the last whole message ends.
  TplogTotals totals;

  uint64_t problem_count = 0;
  std::vector<TplogProblem> problems;  // The first kTplogProblemsMax of them.
  std::vector<TplogRange> damaged;     // All parts of the log that are damaged, ascending.

  bool Has(TplogProblem::Kind kind) const;
};

inline constexpr size_t kTplogProblemsMax = 100;

// Checks the grammar of every message, and against the index, where there is one, the checksum,
// messages and rows of every block. What is wrong is in the report; errors are only what keeps it
// from being made: kNotFound, kInvalidArgument (not a log), or that a read failed.
//
// Past the index, or without one, a message that does not parse is damage if whole ones follow
// (the check goes on there), and a torn tail otherwise.
//
// Memory: one block or message. Cost: reads both files once.
absl::StatusOr<TplogReport> CheckTplog(const std::string& path);

// The rows of the log, as its index counts them if that goes to the log's last byte: then nothing
// of the log is read. Otherwise those that CheckTplog counts, whatever its problems. Errors as its.
absl::StatusOr<TableRows> CountTplogRows(const std::string& path);

// How many messages the log should have: those of its index, without the last record unless the log
// was closed or its day ended, since a tickerplant that was killed may not have written what that
// one names. 0 where there is no index. Cost: reads the index.
absl::StatusOr<uint64_t> MessagesIndexed(const std::string& path);

}  // namespace tickstack::wire
