#pragma once

// The sources of a feed's rows: a simulated market, an archive of real ticks, a log of another day.
//
// Each table's rows are numbered 0, 1, 2, ... in the order of publication, and row n of a table is
// always the same, whatever the batch size and however often the source was rewound. (The
// simulation's time column is an exception: a row's time is when it was due, and a restarted feed
// restarts its clock.) That lets a feed resume exactly after the last logged row.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/name_map.h"

namespace tickstack::feed {

inline constexpr int64_t kBatchRowsMax = 1'000'000;
inline constexpr int64_t kAlwaysDue = INT64_MIN;
inline constexpr int64_t kNeverDue = INT64_MAX;
// Nothing is due yet, and it is not known when: a live source waits for packets.
inline constexpr int64_t kNotDueYet = kNeverDue - 1;

// Rows of one table. The views are valid until the source's next call.
struct FeedBatch {
  std::string_view table;
  int64_t first_row = 0;  // Number of its first row among all rows of this table.
  int64_t rows = 0;
  int64_t due_ns = 0;  // When its last row was due, on the feed's clock.
  // The `x` of an upd: a list of columns, or of atoms for one row.
  std::span<const std::byte> data;
  // nullopt: `data` has all `rows`. Otherwise those with these positions, which ascend; if there
  // are none, `data` is empty.
  std::optional<std::span<const uint32_t>> chosen{};
};

// What a source has read, by name, such as the messages of each type.
using SourceCounts = std::vector<std::pair<std::string, int64_t>>;

// What a line of a live source has received.
struct LineStats {
  std::string name;  // Such as `239.1.1.1:5000@eth1`.
  int64_t packets = 0;
  int64_t bytes = 0;     // Of their payloads.
  int64_t lost = 0;      // Packets that the kernel dropped, for want of room in the buffer.
  int64_t repeated = 0;  // Messages that were received before.
  int64_t bad = 0;       // Packets that do not fit.
};

// The side of a live source that receives. Its owner calls Receive whenever the descriptor is
// readable, and at the time that the last call returned. Threads: the source's owner.
class LiveInput {
 public:
  virtual ~LiveInput() = default;
  // A descriptor that becomes readable when something has arrived; the same during its life.
  virtual int fd() const = 0;
  // Takes a bounded part of what has arrived. Returns when to call it again at the latest;
  // kNeverDue: when something arrives. Before the source's first Rewind, it does nothing.
  virtual int64_t Receive(int64_t now_ns) = 0;
};

// Threads: one owner.
class Source {
 public:
  virtual ~Source() = default;

  // Makes the next row due at `now_ns`, and later ones at the source's pace. The owner calls this
  // once, after the first Rewind: a reconnect must not move the clock, or the lost time would not
  // count as latency.
  virtual void Start(int64_t now_ns) = 0;

  // The wall clock was set ahead by `ns`, or back if negative: all due times move with it, so that
  // the rows of the time that it skipped are not due at once. Called between Start and the end.
  virtual void MoveClock(int64_t /*ns*/) {}

  // Returns the next rows in order that are due at `now_ns`, with at most batch_rows of one table
  // in `data`; nullptr if none is due yet, or at the end of the source. Also nullptr if finding the
  // next row would keep the loop: then next_due_ns() is not after `now_ns`, and the next call
  // continues. An error (a damaged archive, with file, place, found and expected) ends the source,
  // after the rows before that place were returned.
  virtual absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) = 0;

  // Returns when the next row is (or was) due; kAlwaysDue if the source has no pace; kNeverDue at
  // the end.
  virtual int64_t next_due_ns() const = 0;

  // Continues after the first rows_done[table] rows of each table (absent: 0). The next batch of a
  // table starts there, or earlier within a piece that the source returns as a whole (tplog: a
  // logged message): the tickerplant drops the rows that it has.
  virtual absl::Status Rewind(const NameMap<int64_t>& rows_done) = 0;

  // The tickerplant has logged that many rows of each table: no Rewind asks for them again.
  virtual void OnLogged(const NameMap<int64_t>& /*rows_logged*/) {}

  // Asks the source to make only the rows of some symbols, which is cheaper than to make all and
  // drop the others. All its tables must have them in the column at this position. Returns false if
  // it makes all rows. Call it before the first Next; `is_wanted` is not called later.
  virtual bool Select(size_t /*column*/,
                      const std::function<bool(std::string_view)>& /*is_wanted*/) {
    return false;
  }

  // The tables that the source may publish. They do not change.
  virtual const std::vector<std::string>& tables() const = 0;

  // Returns what was read since the last Rewind; empty if the source does not count.
  virtual SourceCounts Counts() const { return {}; }

  // Returns the lines of a live source, in the order of its options; empty for others.
  virtual std::vector<LineStats> Lines() const { return {}; }
  // Returns the side of a live source that receives; nullptr for others.
  virtual LiveInput* live_input() { return nullptr; }
  // Returns what distinguishes its rows from others of the same SourceOptions::RowsName; empty:
  // there are no others.
  virtual std::string RowsId() const { return {}; }

  // Describes the source for the log: `lean date=2013.10.07 archives=6`.
  virtual std::string Describe() const = 0;
};

}  // namespace tickstack::feed
