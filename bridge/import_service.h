#pragma once

// A bridge from Kafka to a tickerplant: publishes the records of each partition as a feed that
// numbers its rows.
//
//   asking (tables) -> finding (partitions) -> claiming (names) -> reading
//      ^------------ the connection ended, or an error ------------'
//
// The feed's name is `kafka/CLUSTER/TOPIC/PARTITION@BASE`, and its rows are counted from row BASE
// of the partition (start_file.h). At each connection the tickerplant says how many of them it has
// logged, and reading resumes there. So each row is logged once, and nothing is committed to Kafka.
//
// With shards, the tickerplant gets the rows of its shard (rows_of_shard.h). Only these are
// counted, and the map is a part of the feed's name (NameUnderMap).
//
// Rows go in sync messages, whose answers say that they are logged. What cannot be published is
// state `failed`, with an error; it is tried again every few seconds.
//
// Threads: everything runs on the loop's thread.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bridge/rows_of_shard.h"
#include "bridge/start_file.h"
#include "bridge/topic_reader.h"
#include "table/value.h"
#include "wire/client.h"
#include "wire/event_loop.h"
#include "wire/upd.h"

namespace tickstack::bridge {

struct ImportOptions {
  wire::Address tickerplant;
  wire::ClientOptions client;
  kafka::KafkaOptions kafka;
  std::string name = "bridge";
  std::string instance;  // Distinguishes this process from others that claim the same names.
  std::string prefix = "tickstack";
  std::vector<std::string> tables;  // Empty: all tables of the tickerplant that have a topic.
  BridgeShard shard;
  ReadStart from;
  std::string start_file;
  int64_t window_rows = 1'000'000;  // As for feeds; 0: never wait for subscribers.
};

enum class ImportState : uint8_t { kAsking, kFinding, kClaiming, kReading, kFailed };
std::string_view NameOf(ImportState state);

class ImportService final : public wire::ClientHandler {
 public:
  ImportService(wire::EventLoop& loop, ImportOptions options);
  ~ImportService() override;

  // Returns the answer to `.bridge.stats[]`; see bridge_metrics.cc.
  Value Stats() const;
  ImportState state() const { return state_; }
  const absl::Status& error() const { return error_; }
  // Sends nothing more, and gives the tickerplant `at_most` to read what is queued.
  void Stop(std::chrono::nanoseconds at_most);
  bool connected() const { return connection_ != nullptr; }
  int64_t rows_logged() const { return rows_logged_; }
  const absl::Status& ended() const { return ended_; }  // Not OK: a setting is wrong.

  // wire::ClientHandler:
  void OnConnected(wire::Connection& connection) override;
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override;
  void OnClosed(wire::Connection& connection, const absl::Status& why) override;
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) override;

 private:
  struct Partition {
    TopicPartition where;
    std::string name;        // The feed's name; empty before its base is known.
    bool is_open = false;    // True once the tickerplant has said how many rows it has.
    int64_t logged = 0;      // What it has said.
    int64_t next_row = 0;    // Number of the next row of the partition to send.
    int64_t next_count = 0;  // With shards: rows of the shard before it.
    size_t unanswered = 0;   // Messages.
    PartitionStart start;
  };
  struct Unanswered {
    enum class Kind : uint8_t { kTables, kClaim, kRows };
    Kind kind = Kind::kRows;
    size_t partition = 0;
    int64_t rows = 0;
    size_t bytes = 0;
    Place next = {};         // After the record.
    int64_t written_ms = 0;  // When the record was written, since 1970.
  };

  std::function<void(std::vector<std::string>)> OthersEvent();
  void OnTables(const Value& tables);
  void OnFound(std::vector<TopicPartition> found, const std::string& cluster);
  void ClaimAll();
  void Claim(size_t partition);
  void OnClaimed(size_t partition, const absl::StatusOr<Value>& answer);
  void OnLogged(const Unanswered& sent, const absl::StatusOr<Value>& answer);
  int64_t Resume(Partition& partition);
  void BeginReading();
  void Pump();
  bool Handle(ReadRecord& record);
  absl::Status Send(Partition& partition, const ReadRecord& record);
  absl::Status SendRowsOfShard(Partition& partition, const ReadRecord& record,
                               const wire::RowsView& rows, std::span<const std::byte> table);
  void SendRows(Partition& partition, const ReadRecord& record, int64_t number, int64_t rows,
                std::span<const std::byte> table);
  void NotePlace(Partition& partition, const Place& place);
  std::string Where(const Partition& partition, int64_t offset) const;
  void Fail(absl::Status why);
  void SaveStarts();
  void SendSync(const Value& request, Unanswered expects);

  wire::EventLoop& loop_;
  const ImportOptions options_;
  ImportState state_ = ImportState::kAsking;
  absl::Status error_;
  absl::Status ended_;
  bool stopped_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);

  StartFile starts_;
  bool starts_changed_ = false;
  int64_t rotated_ns_ = 0;  // MonotonicNs.
  std::string cluster_;
  std::vector<Partition> partitions_;
  size_t claims_left_ = 0;
  std::optional<ReadRecord> held_;  // A record whose partition is not open yet.
  std::deque<Unanswered> unanswered_;
  size_t unanswered_bytes_ = 0;
  wire::UpdDecoder decoder_;
  std::optional<RowsOfShard> rows_of_shard_;  // nullopt: there are no shards.

  int64_t records_ = 0, rows_sent_ = 0, rows_logged_ = 0, rows_dropped_ = 0, bytes_ = 0;
  int64_t rows_of_others_ = 0, days_ended_ = 0, connects_ = 0, failures_ = 0;
  int64_t delay_ms_ = 0, delay_ms_max_ = 0;

  wire::Timer retry_, save_;
  wire::Connection* connection_ = nullptr;
  absl::Status others_;  // Which tables of the prefix the tickerplant lacks.
  std::unique_ptr<TopicReader> reader_;
  std::unique_ptr<wire::Client> client_;
};

}  // namespace tickstack::bridge
