#pragma once

// The sources of a feed's rows: a simulated market, an archive of real ticks, a log of another day.
//
// Each table's rows are numbered 0, 1, 2, ... in the order of publication, and row n of a table is
// always the same, whatever the batch size and however often the source was rewound. (The
// simulation's time column is an exception: a row's time is when it was due, and a restarted feed
// restarts its clock.) That lets a feed resume exactly after the last logged row.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/string_map.h"
#include "feed/pace.h"

namespace tickstack::feed {

inline constexpr int64_t kBatchRowsMax = 1'000'000;
inline constexpr int64_t kAlwaysDue = INT64_MIN;
inline constexpr int64_t kNeverDue = INT64_MAX;

// Rows of one table. The views are valid until the source's next call.
struct FeedBatch {
  std::string_view table;
  int64_t first_row = 0;  // Number of its first row among all rows of this table.
  int64_t rows = 0;
  int64_t due_ns = 0;  // When its last row was due, on the feed's clock.
  // The `x` of an upd: a list of columns, or of atoms for one row.
  std::span<const std::byte> data;
};

// Threads: one owner.
class Source {
 public:
  virtual ~Source() = default;

  // Makes the next row due at `now_ns`, and later ones at the source's pace. The owner calls this
  // once, after the first Rewind: a reconnect must not move the clock, or the lost time would not
  // count as latency.
  virtual void Start(int64_t now_ns) = 0;

  // Returns the next rows in order that are due at `now_ns`, at most batch_rows of one table;
  // nullptr if none is due yet, or at the end of the source. An error (a damaged archive, with
  // file, place, found and expected) ends the source, after the rows before that place were
  // returned.
  virtual absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) = 0;

  // Returns when the next row is (or was) due; kAlwaysDue if the source has no pace; kNeverDue at
  // the end.
  virtual int64_t next_due_ns() const = 0;

  // Continues after the first rows_done[table] rows of each table (absent: 0). The next batch of a
  // table starts there, or earlier within a piece that the source returns as a whole (tplog: a
  // logged message): the tickerplant drops the rows that it has.
  virtual absl::Status Rewind(const StringMap<int64_t>& rows_done) = 0;

  // The tables that the source may publish; stable.
  virtual const std::vector<std::string>& tables() const = 0;

  // Describes the source for the log: `lean date=2013.10.07 archives=6`.
  virtual std::string Describe() const = 0;
};

// The options of a source. Each applies to the kinds named with it, and is ignored by the others.
struct SourceOptions {
  std::string kind = "sim";    // sim | lean | tplog
  int64_t batch_rows = 2'400;  // sim, lean: maximum rows of a message.
  double speed = 0;            // Multiple of real time; 0: sim 1, others as fast as possible.
  std::string profile = "march2020";  // sim: the only one so far.
  double rate = 48'000;               // sim: updates per second; 0: as fast as possible.
  std::vector<PacePhase> phases;      // sim: successive rates that repeat, instead of one rate.
  // sim: rate * seconds updates (48,000 * seconds if rate is 0); 0: without end.
  double seconds = 1'800;
  int64_t rows = 0;               // sim: total updates, instead of rate * seconds.
  int64_t quotes_per_trade = 10;  // sim: 1 to 1,000.
  // sim: maximum rows of a table, whatever the updates would give; -1: no limit.
  int64_t quotes_max = -1;
  int64_t trades_max = -1;
  int64_t symbols = 8'000;  // sim: 1 to 65,536.
  uint64_t seed = 1;        // sim
  std::string path;         // lean: the folder with a folder per symbol. tplog: the log.
  std::string date;         // lean: `2013.10.07`
  std::vector<std::string> lean_symbols;  // lean: folder names, `aig`; published in capitals.
};

// kInvalidArgument with the option at fault; kNotFound for a missing file.
absl::StatusOr<std::unique_ptr<Source>> MakeSource(const SourceOptions& options);

// Returns the name under which a feed numbers its rows: `feed@lean.2013.10.07.aig,bac`. The
// tickerplant keeps its counts across days and drops rows that it has under a name. So the name
// identifies the rows: row n of the next day's archive, or of another seed, is a different row.
std::string NumberedName(std::string_view feed, const SourceOptions& options);

}  // namespace tickstack::feed
