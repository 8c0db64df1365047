#pragma once

// Appends to the tickerplant log, which kdb+ replays with -11!, and to its sidecar index, which
// gives what kdb+ lacks: proof that the bytes are what was written, seeking, and how many rows of
// each feed have arrived, so that a feed can resume exactly.
//
// The index is a write-ahead one: the record of a block is in the index before the block's bytes
// are in the log. So whenever the writer dies, each byte of the log is either covered by a record,
// which says whose it is, or was never written. What Open finds at the tail:
//
//   log    ...block 7|block 8|blo            the write of block 9 was cut short
//   index  ...record 7, record 8, record 9
//
// It keeps the complete messages of block 9, which were logged though not acknowledged, replaces
// record 9 by one that says so, and cuts off the torn message.
//
// That holds for a killed process. After a power cut either file may lack what had not been synced;
// Open then keeps what tplog_power_cut.h describes, sets the rest aside, and starts.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/machine.h"
#include "wire/tplog_state.h"
#include "wire/tplog_totals.h"

namespace tickstack::wire {

enum class FsyncPolicy {
  kNone,      // The kernel writes when it likes: a killed process loses nothing, a power cut may.
  kInterval,  // A thread of the writer's syncs every fsync_interval_ms; appending never waits.
  kBatch,     // Append returns when log and index are durable.
};

struct TplogOptions {
  FsyncPolicy fsync = FsyncPolicy::kNone;
  int fsync_interval_ms = 100;
  // So much of the log's end stays in the page cache, for subscribers that come back; the rest is
  // the disk's (base/write_behind.h).
  uint64_t cache_bytes = uint64_t{256} << 20;
  // Feeds' rows from before this log, for the first log of a day: the feed_rows of the last one.
  // Taken only if the log is created by this Open.
  StringMap<TableRows> carried_progress;
  std::string boot = BootId();  // Which start of the machine this is: see tplog_state.h.
};

// Messages that one write appends: as a rule, what one read of one connection brought.
struct TplogBlock {
  // Complete message bodies, back to back in the concatenated segments. They are written from where
  // they are; few large segments are cheaper than many small ones.
  std::span<const std::span<const std::byte>> segments;
  uint32_t messages = 0;
  int64_t time_ns = 0;    // Time of arrival.
  std::string_view feed;  // The feed that numbered the rows of all messages; empty: none.

  struct Rows {
    std::string_view table;
    uint32_t rows;
  };
  std::span<const Rows> rows;  // Row counts by table; each table once.
};

// What Open had to do.
struct TplogRecovery {
  bool created = false;              // There was no log.
  bool index_created = false;        // There was no index: the whole log was read and indexed.
  uint64_t messages_indexed = 0;     // Messages that no index covered, and does now.
  uint64_t log_bytes_cut = 0;        // Torn tail of the log.
  uint64_t index_bytes_cut = 0;      // Records of messages that never reached the log.
  uint64_t messages_not_logged = 0;  // Messages of those records.
  // The machine was started anew while a writer had the log open: every block was compared with its
  // checksum, and the log was cut after the last message that the index proves.
  bool power_cut = false;
  uint64_t messages_damaged = 0;  // Then: messages of older blocks that do not match. They stay.
  std::string cut_path;           // Where what was cut off the log is kept; empty: nowhere.
};

// Threads: one owner. The threads that sync and write behind are the writer's own affair.
class TplogWriter {
 public:
  // Creates the log (and its directory), or opens it, mends its tail and goes on after it.
  //
  // kUnavailable: another writer has it. kInvalidArgument: not a log. kDataLoss: the log does not
  // agree with its index, or something follows what does not parse, so that cutting it off would
  // lose messages; nothing is changed then, and `tickstack log check` tells more. Only the last
  // block is checked against its checksum here; `tickstack log check` does the whole.
  //
  // Cost: reads the index, and the part of the log that the index does not cover; after a power cut
  // both files, once.
  static absl::StatusOr<std::unique_ptr<TplogWriter>> Open(std::string path, TplogOptions options);

  ~TplogWriter();  // Closes the log and ignores errors.

  // Appends a block: record, then messages, one system call each. On an error neither is there
  // (kResourceExhausted: the disk is full; the same block may be tried again later), except after
  // kFailedPrecondition, which says that the log is closed and why: a failed sync, or a write that
  // the disk refused later (the kernel may have dropped what it could not write), or a tail that
  // could not be cut off again.
  // kInvalidArgument: no messages, no bytes, 4 GiB or more, or too many tables.
  // Cost: O(segments + tables) and the checksum, which reads the bytes once.
  absl::Status Append(const TplogBlock& block);

  // Makes all that was appended durable.
  absl::Status Sync();

  // Syncs unless the policy is kNone, and closes. Idempotent; Append fails afterwards.
  absl::Status Close();

  // Notes that the log's day has ended, or, with false, goes on after all. Durable when it returns.
  absl::Status SetEnded(bool ended);

  const std::string& path() const;
  const TplogState& state() const;
  const TplogTotals& totals() const;
  const TplogRecovery& recovery() const;

 private:
  class State;
  explicit TplogWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tickstack::wire
