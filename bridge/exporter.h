#pragma once

// The state that a to-kafka bridge keeps subscribed: rows that wait for a transaction, and the
// position after them.
//
//   upds --> rows by table and partition --TakeBatch--> TopicWriter: one transaction a batch
//
// A batch has rows and the position after its last row. When the subscription starts over, rows
// that are not in a batch yet are dropped, and the log is read again from its beginning. Rows of
// the same log that are in batches are then skipped by table, since rows of one table come in the
// order of the log.
//
// What cannot be continued without losing or repeating rows is an error by name, after which the
// exporter takes no more rows:
//   another log      see needs_restart(); the service first reads the rest of the earlier log
//   other messages   the log begins as the one whose rows are in Kafka, and then differs
//   a power cut      the log lost rows that are in Kafka
//   missing rows     a part of the log cannot be read
//   no numbers       the tickerplant is a plain kdb+tick
//
// Threads: the loop's.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "base/logging.h"
#include "base/name_map.h"
#include "bridge/partitioned_rows.h"
#include "bridge/stream_state.h"
#include "tplog/subscribed_state.h"
#include "wire/upd.h"
#include "wire/upd_rows.h"

namespace tickstack::bridge {

// One record of a batch.
struct OutgoingRecord {
  std::string table;
  int32_t partition = 0;
  int64_t first_row = 0;
  uint32_t rows = 0;
  std::string schema;                // Its hash; see SchemaHash.
  std::optional<int32_t> ended_day;  // A control record: the day ended, in days since 2000-01-01.
  ByteBuffer payload;                // Empty in a control record.
};

// What one transaction writes.
struct OutgoingBatch {
  std::vector<OutgoingRecord> records;
  StreamState after;
  std::string log_name;  // File name of the log that the rows are from.
  uint64_t rows = 0;
  size_t bytes = 0;
  int64_t since_ns = 0;  // MonotonicNs: when its first row arrived.
};

class Exporter final : public tplog::SubscribedState {
 public:
  struct Options {
    std::vector<std::string> tables;  // Empty: all.
    size_t record_bytes = size_t{400} << 10;
    size_t batch_bytes = size_t{8} << 20;  // Rows of a full batch.
  };
  struct Counters {
    uint64_t rows = 0;          // Rows taken.
    uint64_t rows_skipped = 0;  // Rows that were already in Kafka when a log was read again.
    uint64_t upds_refused = 0;
    uint64_t days_ended = 0;
  };

  explicit Exporter(Options options) : options_(std::move(options)) {}

  // Starts from a committed state. `partitions` says how many partitions each table's topic has; a
  // table without an entry is not exported. `log` is the path of the log that the tickerplant has
  // now. Drops all rows that wait. kFailedPrecondition if the topics have other partitions than the
  // state, or if a table is exported again.
  absl::Status Begin(StreamState committed, const NameMap<int32_t>& partitions,
                     std::vector<Schema> schemas, std::string log);
  // Called after messages were taken: a full batch may be ready. Null: nobody is told.
  void OnRows(std::function<void()> on_rows) { on_rows_ = std::move(on_rows); }

  // True if there is something to write. Rows wait until the log is identified.
  bool has_batch() const;
  bool has_full_batch() const {
    return !ready_.empty() || (has_batch() && waiting_bytes() >= options_.batch_bytes);
  }
  OutgoingBatch TakeBatch();
  size_t waiting_bytes() const;
  uint64_t waiting_rows() const { return waiting_rows_; }
  int64_t waiting_since_ns() const { return since_ns_; }
  // Why it takes no more rows; OK while it does.
  const absl::Status& error() const { return error_; }
  // True once the tickerplant's log was read to its end, and is that of the state.
  bool has_read_log() const { return has_read_log_ && error_.ok() && !needs_restart_; }
  // True once the tickerplant has another log or other tables than the state: Begin again.
  bool needs_restart() const { return needs_restart_; }
  const Counters& counters() const { return counters_; }
  const StreamState& current() const { return current_; }

  // Says which message of the current log the tickerplant has before position().seq().
  void SetKnownMessage(tplog::KnownMessage known) { current_.known = known; }

  // Says which log may follow an ended one. The subscription begins anew for any other.
  void ExpectLog(std::string path) { expected_log_ = std::move(path); }

  // Records that a log that the tickerplant has left was read to its end. Days since 2000-01-01.
  void EndLog(int32_t day);

  // tplog::SubscribedState:
  void OnSchemas(std::span<const Schema> schemas) override;
  tplog::LiveOutcome OnLive(std::span<const std::byte> body) override;
  void OnLogged(std::span<const std::byte> body) override;
  void StartOver() override;
  bool FollowsContent() const override { return true; }
  std::optional<tplog::KnownMessage> known_message() const override { return current_.known; }
  void OnOtherMessage(uint64_t seq) override;
  tplog::Position& position() override { return current_.position; }
  tplog::SubscriptionCounters& subscription() override { return subscription_; }
  const tplog::LogIdentity& log() const override { return log_; }
  void SetLog(tplog::LogIdentity log) override;
  bool OutlivesProcess() const override { return true; }
  void OnReplayDone() override;
  void OnDrained() override;
  // Also true until the log is identified: nothing is written before that, and the answer that
  // identifies it comes after the rows that the tickerplant has sent.
  bool HasRoom() override {
    return waiting_bytes() < 2 * options_.batch_bytes || !IsLogIdentified();
  }

 private:
  struct TableRows {
    PartitionedRows rows;
    std::string schema_hash;
  };
  enum class Origin : uint8_t { kPublished, kLog };
  bool TakeUpd(std::span<const std::byte> body, Origin origin);
  void Refuse(std::string_view table, const absl::Status& why);
  void Fail(absl::Status why);
  void DropWaiting();
  void ReadLogAgain();
  OutgoingBatch MakeBatch(std::optional<int32_t> ended_day);
  bool LacksMessages() const;
  bool IsLogIdentified() const {
    return current_.log_ended || current_.log.path.empty() ||
           current_.log.first_message_crc.has_value();
  }

  const Options options_;
  std::function<void()> on_rows_;
  NameMap<TableRows> tables_;
  std::vector<Schema> schemas_;
  StreamState current_;              // Includes rows that wait.
  StreamState made_;                 // After the last batch that was made.
  std::deque<OutgoingBatch> ready_;  // Batches that end a day.
  size_t ready_bytes_ = 0;
  std::string expected_log_;  // Path of the log that may follow an ended one.
  tplog::LogIdentity log_;    // What the subscriber knows.
  int starts_over_ = 0;       // Times that the same log was begun since the last complete replay.
  bool has_read_log_ = false;
  bool started_over_ = false;
  bool needs_restart_ = false;
  absl::Status error_;
  uint64_t missing_before_ = 0;
  uint64_t waiting_rows_ = 0;
  int64_t since_ns_ = 0;
  wire::UpdDecoder decoder_;
  wire::UpdRows upd_rows_;
  Counters counters_;
  tplog::SubscriptionCounters subscription_;
  LogLimit refused_limit_;
};

}  // namespace tickstack::bridge
