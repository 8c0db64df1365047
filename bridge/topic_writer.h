#pragma once

// Writes batches to Kafka from a thread of its own, one transaction a batch.
//
//   open:    init_transactions (fences an earlier writer of the prefix) -> topics that exist
//            -> last position; without one, the topics must have no rows
//   create:  topics that do not exist, once the caller asks for them or puts a batch
//   batch:   before the first one, schemas; begin -> a record per partition of a table
//            -> the position -> commit
//
// Two producers take turns, with the transactional ids PREFIX-0 and PREFIX-1. A transaction begins
// when the one before is committed, so the order is that of the batches. The broker completes a
// committed transaction a little later, and makes its producer wait until then. In turns, neither
// has to wait.
//
// A transaction that fails is aborted and written again. After an error that ends a producer, such
// as a broker that gave the prefix to another writer, the writer stops and says so. The caller then
// opens another one, which reads the last committed position.
//
// Threads: the loop's, except for the functions that say otherwise. Callbacks come from the loop.

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "bridge/batch_writer.h"
#include "bridge/exporter.h"
#include "bridge/payload.h"
#include "bridge/schema_record.h"
#include "bridge/stream_state.h"
#include "kafka/kafka_client.h"
#include "table/schema.h"
#include "wire/event_loop.h"

namespace tickstack::bridge {

// Returns the topic of a table: PREFIX.TABLE. The topic of positions is PREFIX.positions, that of
// schemas PREFIX.schemas (schema_record.h).
std::string TopicOf(std::string_view prefix, std::string_view table);
inline constexpr std::string_view kPositionsTable = "positions";
inline constexpr std::string_view kSchemasTable = "schemas";
// True if a table's topic would be one that the writer needs itself.
bool IsOwnTopic(std::string_view table);

struct TopicWriterOptions {
  kafka::KafkaOptions kafka;
  std::string prefix = "tickstack";
  int partitions = 4;    // Partitions of a topic that the writer creates.
  int replication = -1;  // Replicas of such a topic; -1: the broker's default.
  Payload payload = Payload::kIpc;
  // Identifies this process among those that write under the prefix.
  std::string instance;
};

class TopicWriter final : public BatchWriter {
 public:
  // Opens in the background, and retries while Kafka does not answer. `counters` must outlive the
  // writer.
  TopicWriter(wire::EventLoop& loop, TopicWriterOptions options, std::vector<Schema> tables,
              TopicWriterCounters* counters, Events events);
  ~TopicWriter() override;  // Waits for the current call to Kafka: at most a few seconds.

  void CreateTopics() override;
  void Put(OutgoingBatch batch) override;
  size_t queued() const override;
  int64_t since_ns() const override;
  absl::Status problem() const override;
  int64_t problem_since_ns() const;

 private:
  struct Alive;
  void Run();
  absl::Status Open(OpenedTopics* opened);
  std::vector<std::string> NamesOfTopics() const;
  absl::StatusOr<NameMap<int32_t>> FindTopics();
  int32_t PartitionsOf(const std::string& table) const;
  absl::Status CreateMissing();
  absl::Status Create(const std::vector<std::string>& tables);
  absl::StatusOr<std::optional<StreamState>> ReadPosition();
  absl::Status CheckTopicsHaveNoRows();
  absl::Status WriteNext(const OutgoingBatch& batch);
  absl::Status PublishSchemas();
  absl::StatusOr<std::vector<SchemaRecord>> FindMissingSchemas();
  absl::Status WriteSchemas(const std::vector<SchemaRecord>& schemas);
  absl::Status Write(const OutgoingBatch& batch);
  absl::Status Produce(const OutgoingBatch& batch);
  absl::Status ProduceRecord(const OutgoingRecord& record, const OutgoingBatch& batch);
  absl::Status Abort();
  void Report(const absl::Status& problem);
  bool Pause(int milliseconds);  // False: stopping.
  bool stopping() const;
  rd_kafka_t* producer() const { return producers_[turn_ % producers_.size()].get(); }
  void DropProducers();
  void Post(std::function<void()> function);

  wire::EventLoop& loop_;
  const TopicWriterOptions options_;
  const std::vector<Schema> tables_;
  TopicWriterCounters* const counters_;
  const Events events_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<OutgoingBatch> queue_;  // The first one is being written.
  bool stop_ = false;
  bool creates_ = false;  // Topics that do not exist are to be created.
  absl::Status problem_;
  int64_t problem_since_ns_ = 0;

  // The thread's.
  std::array<kafka::KafkaOwned<rd_kafka_t>, 2> producers_;
  size_t turn_ = 0;
  NameMap<int32_t> found_;    // Partitions of the topics that exist, by table; the own ones, too.
  bool has_schemas_ = false;  // The schemas are known to be in their topic.
  std::thread thread_;        // Last.
};

}  // namespace tickstack::bridge
