#pragma once

// Reads committed records of topics from a thread of its own.
//
// The thread first finds the partitions, then reads those that it is given, from the offsets that
// it is given. Records wait in a bounded queue. Nothing is committed to Kafka: the caller knows
// where to resume.
//
// Threads: the loop's, except for the functions that say otherwise. Callbacks come from the loop.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "bridge/record_headers.h"
#include "kafka/kafka_client.h"
#include "wire/event_loop.h"

namespace tickstack::bridge {

// Where to begin with a partition that was never read.
struct ReadStart {
  enum class Kind : uint8_t { kBeginning, kEnd, kOffset, kTime };
  Kind kind = Kind::kBeginning;
  int64_t offset = 0;
  int64_t time_ms = 0;  // Since 1970: the first record that was written then or later.
};
// Parses `beginning`, `end`, `offset N`, or a time such as `2026-11-27T09:30:00` (UTC).
absl::StatusOr<ReadStart> ParseReadStart(std::string_view text);

// A partition of a table's topic.
struct TopicPartition {
  std::string table;
  std::string topic;
  int32_t partition = 0;
  int64_t start = 0;  // Offset that ReadStart gives.
};

// A record, or an error of its partition. If Kafka has deleted the record to read, the next one is
// the oldest that it has.
struct ReadRecord {
  size_t partition = 0;  // Index in the list that Read was given.
  int64_t offset = 0;
  absl::StatusOr<RecordHeaders> headers;
  kafka::KafkaOwned<rd_kafka_message_t> message;  // nullptr: there is only an error.

  std::span<const std::byte> payload() const {
    return {static_cast<const std::byte*>(message->payload), message->len};
  }
};

class TopicReader {
 public:
  struct Events {
    // The partitions of the topics that exist; the cluster's name.
    std::function<void(std::vector<TopicPartition>, std::string)> found;
    std::function<void()> records;            // There are records.
    std::function<void(absl::Status)> ended;  // Nothing can be read: a setting is wrong.
    // The tables of the prefix, by its topic of schemas, that are not among those to find. Called
    // when they have changed, at most every kOthersNs. Null: nobody is told.
    std::function<void(std::vector<std::string>)> others = {};
  };

  static constexpr int64_t kOthersNs = 30 * kNsPerSecond;

  TopicReader(wire::EventLoop& loop, kafka::KafkaOptions options, std::string group, Events events);
  ~TopicReader();

  // Finds partitions of PREFIX.TABLE, and the offset of `start` in each. Retries while Kafka does
  // not answer. Calls `found` once for each call of this.
  void Find(std::string prefix, std::vector<std::string> tables, ReadStart start);
  // Reads these partitions from `offsets` on. Drops records of an earlier list.
  void Read(std::vector<TopicPartition> partitions, std::vector<int64_t> offsets);
  // Returns the next record; nullopt if there is none now.
  std::optional<ReadRecord> Take();
  // Why it makes no progress at the moment; OK if it does. Any thread.
  absl::Status problem() const;
  // Returns how many offsets, over all partitions, are between the last record that Take returned
  // and the end. A partition whose end is not known counts as 1, so 0 means that all is read. Any
  // thread.
  int64_t records_behind() const;

 private:
  struct FindRequest {
    std::string prefix;
    std::vector<std::string> tables;
    ReadStart start;
  };
  struct ReadRequest {
    std::vector<TopicPartition> partitions;
    std::vector<int64_t> offsets;
  };
  void Run();
  absl::Status FindNow(const FindRequest& request, std::vector<TopicPartition>* found);
  absl::Status FindStarts(const ReadStart& start, std::vector<TopicPartition>* found);
  absl::Status Assign(ReadRequest request);
  absl::Status ReadOldest(std::vector<ReadRecord>* records);
  absl::StatusOr<int64_t> FindOffset(const TopicPartition& partition, int64_t time_ms);
  absl::Status FindOthers();
  void Poll();
  void CountBehind();
  void Report(const absl::Status& problem);
  void Post(std::function<void()> function);

  wire::EventLoop& loop_;
  const kafka::KafkaOptions options_;
  const std::string group_;
  const Events events_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::optional<FindRequest> find_;
  std::optional<ReadRequest> read_;
  std::deque<ReadRecord> queue_;
  size_t queue_bytes_ = 0;
  absl::Status problem_;
  std::atomic<int64_t> behind_{0};

  // The thread's.
  kafka::KafkaOwned<rd_kafka_t> consumer_;
  std::vector<TopicPartition> reading_;
  std::vector<int64_t> next_offsets_;  // Of reading_: behind the last record, or the last end.
  std::set<size_t> deleted_;           // Of reading_: Kafka does not have the next record any more.
  int64_t counted_ns_ = 0;
  FindRequest finds_;  // The last one.
  std::vector<std::string> others_;
  int64_t others_ns_ = 0;  // MonotonicNs of the last search for them.
  std::thread thread_;     // Last.
};

}  // namespace tickstack::bridge
