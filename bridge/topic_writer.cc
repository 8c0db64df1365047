#include "bridge/topic_writer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "bridge/committed_records.h"
#include "bridge/payload.h"
#include "bridge/record_headers.h"

namespace tickstack::bridge {
namespace {

constexpr int kCallMs = 2000;  // Longest call to Kafka; it is then repeated.
constexpr int kMetadataMs = 5000;
constexpr int kSchemasMs = 20'000;
constexpr int kRetryMs = 200;
constexpr int kTransactionMs = 60'000;

// An error that ends the producer.
absl::Status Ended(const rd_kafka_error_t* error, std::string_view what) {
  return absl::AbortedError(AbslView(Message(kafka::KafkaError(error, what))));
}

}  // namespace

std::string TopicOf(std::string_view prefix, std::string_view table) {
  return fmt::format("{}.{}", prefix, table);
}

bool IsOwnTopic(std::string_view table) {
  return table == kPositionsTable || table == kSchemasTable;
}

TopicWriter::TopicWriter(wire::EventLoop& loop, TopicWriterOptions options,
                         std::vector<Schema> tables, TopicWriterCounters* counters, Events events)
    : loop_(loop),
      options_(std::move(options)),
      tables_(std::move(tables)),
      counters_(counters),
      events_(std::move(events)),
      thread_([this] { Run(); }) {}

TopicWriter::~TopicWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TopicWriter::CreateTopics() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(creates_, true)) return;
  }
  changed_.notify_all();
}

void TopicWriter::Put(OutgoingBatch batch) {
  {
    const std::lock_guard lock(mutex_);
    creates_ = true;
    queue_.push_back(std::move(batch));
  }
  changed_.notify_all();
}

size_t TopicWriter::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

int64_t TopicWriter::since_ns() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() ? 0 : queue_.front().since_ns;
}

absl::Status TopicWriter::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

int64_t TopicWriter::problem_since_ns() const {
  const std::lock_guard lock(mutex_);
  return problem_since_ns_;
}

bool TopicWriter::stopping() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

bool TopicWriter::Pause(int milliseconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [this] { return stop_; });
  return !stop_;
}

void TopicWriter::Report(const absl::Status& problem) {
  if (!problem.ok()) {
    static LogLimit limit(5 * kNsPerSecond);
    counters_->errors.fetch_add(1, std::memory_order_relaxed);
    if (limit.Pass()) LogWarn("kafka does not take rows error=\"{}\"", Message(problem));
  }
  const std::lock_guard lock(mutex_);
  if (problem_.ok() && !problem.ok()) problem_since_ns_ = MonotonicNs();
  problem_ = problem;
}

void TopicWriter::Post(std::function<void()> function) {
  loop_.Post([alive = std::weak_ptr(alive_), function = std::move(function)] {
    if (!alive.expired()) function();
  });
}

void TopicWriter::Run() {
  const auto end = [this](const absl::Status& why) {
    // Waits until the last messages are forgotten: they point into the batch.
    DropProducers();
    Post([this, why] { events_.ended(why); });
  };
  OpenedTopics opened;
  for (;;) {
    const absl::Status status = Open(&opened);
    Report(status);
    if (status.ok()) break;
    if (absl::IsInvalidArgument(status) || absl::IsDataLoss(status)) return end(status);
    DropProducers();
    if (!Pause(kRetryMs)) return;
  }
  Post([this, opened = std::move(opened)]() mutable { events_.opened(std::move(opened)); });
  for (bool has_topics = false;;) {
    const OutgoingBatch* batch = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !queue_.empty() || (creates_ && !has_topics); });
      if (stop_) break;
      if (has_topics) batch = &queue_.front();  // A deque's elements stay where they are.
    }
    if (batch == nullptr) {
      const absl::Status created = CreateMissing();
      if (stopping()) break;
      Report(created);
      if (absl::IsAborted(created) || absl::IsInvalidArgument(created)) return end(created);
      has_topics = created.ok();
      if (!has_topics) Pause(kRetryMs);
      continue;
    }
    const absl::Status written = WriteNext(*batch);
    Report(written);
    if (!written.ok()) {
      if (stopping()) break;
      return end(written);
    }
    const int64_t delay_ns = MonotonicNs() - batch->since_ns;
    counters_->transactions.fetch_add(1, std::memory_order_relaxed);
    counters_->rows.fetch_add(batch->rows, std::memory_order_relaxed);
    counters_->records.fetch_add(batch->records.size(), std::memory_order_relaxed);
    counters_->bytes.fetch_add(batch->bytes, std::memory_order_relaxed);
    counters_->delay_ns.store(delay_ns, std::memory_order_relaxed);
    if (delay_ns > counters_->delay_max_ns.load(std::memory_order_relaxed)) {
      counters_->delay_max_ns.store(delay_ns, std::memory_order_relaxed);
    }
    {
      const std::lock_guard lock(mutex_);
      queue_.pop_front();
    }
    Post([this] { events_.committed(); });
  }
  DropProducers();
}

// Writes a batch, and the schemas before the first one: an instance whose rows are refused, because
// they are another stack's, writes nothing.
absl::Status TopicWriter::WriteNext(const OutgoingBatch& batch) {
  if (!has_schemas_) TS_RETURN_IF_ERROR(PublishSchemas());
  has_schemas_ = true;
  return Write(batch);
}

void TopicWriter::DropProducers() {
  for (kafka::KafkaOwned<rd_kafka_t>& producer : producers_) producer = nullptr;
}

// ---- opening

absl::Status TopicWriter::Open(OpenedTopics* opened) {
  for (size_t i = 0; i < producers_.size(); ++i) {
    TS_ASSIGN_OR_RETURN(
        producers_[i],
        kafka::OpenKafka(RD_KAFKA_PRODUCER, options_.kafka,
                         {{"transactional.id", fmt::format("{}-{}", options_.prefix, i)},
                          {"transaction.timeout.ms", std::to_string(kTransactionMs)}}));
  }
  for (const kafka::KafkaOwned<rd_kafka_t>& producer : producers_) {
    const kafka::KafkaOwned<rd_kafka_error_t> error(
        rd_kafka_init_transactions(producer.get(), kMetadataMs));
    if (error != nullptr) return kafka::KafkaError(error.get(), "kafka: init_transactions");
  }
  TS_ASSIGN_OR_RETURN(found_, FindTopics());
  opened->partitions.clear();
  for (const Schema& schema : tables_) {
    opened->partitions[schema.table] = PartitionsOf(schema.table);
  }
  opened->last.reset();
  if (found_.contains(kPositionsTable)) {
    TS_ASSIGN_OR_RETURN(opened->last, ReadPosition());
  }
  return opened->last ? absl::OkStatus() : CheckTopicsHaveNoRows();
}

// Partitions of a topic that Open has found, or of one that it has not and that will be created.
int32_t TopicWriter::PartitionsOf(const std::string& table) const {
  const auto found = found_.find(table);
  if (found != found_.end()) return found->second;
  return IsOwnTopic(table) ? 1 : options_.partitions;
}

// kDataLoss if a topic has rows, or had some: without the position after them, they would be
// written again. Records of transactions that were aborted, and of other programs, are no rows.
absl::Status TopicWriter::CheckTopicsHaveNoRows() {
  const kafka::KafkaOwned<rd_kafka_topic_partition_list_t> ends(
      rd_kafka_topic_partition_list_new(1));
  for (const auto& [table, partitions] : found_) {
    if (IsOwnTopic(table)) continue;
    const std::string topic = TopicOf(options_.prefix, table);
    for (int32_t partition = 0; partition < partitions; ++partition) {
      rd_kafka_topic_partition_list_add(ends.get(), topic.c_str(), partition)->offset =
          kafka::kTimeOfEnd;
    }
  }
  TS_RETURN_IF_ERROR(kafka::FindOffsets(producer(), ends.get(), kMetadataMs));
  for (const auto& end : std::span(ends->elems, static_cast<size_t>(ends->cnt))) {
    if (end.offset <= 0) continue;
    TS_ASSIGN_OR_RETURN(
        CommittedRecords records,
        CommittedRecords::Open(options_.kafka, end.topic, options_.prefix, end.partition));
    absl::Status lost = DataLoss(
        "topic {} has rows, and {} has no position after them: restore it, or choose "
        "another prefix, or delete all topics of this one to send the day again",
        end.topic, TopicOf(options_.prefix, kPositionsTable));
    if (records.begin() > 0) return lost;
    TS_RETURN_IF_ERROR(records.Read(
        0, [this] { return stopping(); },
        [&lost](const rd_kafka_message_t& message) {
          return RecordHeaders::Of(&message).ok() ? lost : absl::OkStatus();
        }));
  }
  return absl::OkStatus();
}

std::vector<std::string> TopicWriter::NamesOfTopics() const {
  std::vector<std::string> names;
  for (const Schema& schema : tables_) names.push_back(schema.table);
  names.emplace_back(kPositionsTable);
  names.emplace_back(kSchemasTable);
  return names;
}

// Returns the partitions of the topics that exist, by table. kUnavailable if the broker cannot say
// how many one of them has: to take it for missing would be to begin anew.
absl::StatusOr<NameMap<int32_t>> TopicWriter::FindTopics() {
  const rd_kafka_metadata_t* raw = nullptr;
  const rd_kafka_resp_err_t code =
      rd_kafka_metadata(producer(), /*all_topics=*/1, nullptr, &raw, kMetadataMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka::KafkaError(code, "kafka: metadata");
  const kafka::KafkaOwned<const rd_kafka_metadata_t> metadata(raw);
  NameMap<int32_t> found;
  for (const std::string& table : NamesOfTopics()) {
    const std::string topic = TopicOf(options_.prefix, table);
    for (const auto& one : std::span(metadata->topics, static_cast<size_t>(metadata->topic_cnt))) {
      if (topic != one.topic) continue;
      if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return kafka::KafkaError(one.err, fmt::format("kafka: metadata of topic {}", topic));
      }
      if (one.partition_cnt == 0) return Unavailable("kafka: topic {} has no partitions", topic);
      found[table] = one.partition_cnt;
    }
  }
  return found;
}

// Creates the topics that Open has not found, and waits until they appear. kAborted if one of them
// exists meanwhile: it may have other partitions, rows, or the last position.
absl::Status TopicWriter::CreateMissing() {
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const absl::StatusOr<NameMap<int32_t>> found = FindTopics();
    if (!found.ok() && round == 0) return found.status();
    std::vector<std::string> missing;
    for (const std::string& table : NamesOfTopics()) {
      const bool exists = found.ok() && found->contains(table);
      if (!exists) missing.push_back(table);
      if (exists && round == 0 && !found_.contains(table)) {
        return absl::AbortedError(fmt::format("kafka: topic {} was created by another process",
                                              TopicOf(options_.prefix, table)));
      }
    }
    if (missing.empty()) return absl::OkStatus();
    if (round == 0) TS_RETURN_IF_ERROR(Create(missing));
    if (!Pause(kRetryMs)) return absl::CancelledError("stopped");
  }
  return Unavailable("kafka: topics of prefix {} were created and do not appear", options_.prefix);
}

absl::Status TopicWriter::Create(const std::vector<std::string>& tables) {
  std::vector<kafka::NewKafkaTopic> topics;
  for (const std::string& table : tables) {
    topics.push_back({.name = TopicOf(options_.prefix, table),
                      .partitions = PartitionsOf(table),
                      .replication = options_.replication});
    // Only the last record of a key counts.
    if (IsOwnTopic(table)) {
      topics.back().settings = {{"cleanup.policy", "compact"}, {"segment.bytes", "16777216"}};
    }
  }
  const absl::Status created = kafka::CreateTopics(producer(), topics);
  if (absl::IsAlreadyExists(created)) return absl::AbortedError(AbslView(Message(created)));
  TS_RETURN_IF_ERROR(created);
  LogInfo("topics created prefix={} topics={}", options_.prefix, topics.size());
  return absl::OkStatus();
}

// Reads the last committed position. The producer's transactions are over, and nobody else writes
// to the topic, so the committed end does not change.
absl::StatusOr<std::optional<StreamState>> TopicWriter::ReadPosition() {
  TS_ASSIGN_OR_RETURN(
      CommittedRecords records,
      CommittedRecords::Open(options_.kafka, TopicOf(options_.prefix, kPositionsTable),
                             options_.prefix));
  std::optional<StreamState> last;
  // A transaction has two offsets there: the position, and the mark of its end.
  for (int64_t back = 64;; back *= 16) {
    const int64_t from = std::max(records.begin(), records.end() - back);
    TS_RETURN_IF_ERROR(records.Read(
        from, [this] { return stopping(); },
        [&last](const rd_kafka_message_t& message) -> absl::Status {
          TS_ASSIGN_OR_RETURN(
              last, LoadState({static_cast<const std::byte*>(message.payload), message.len}));
          return absl::OkStatus();
        }));
    if (last || from <= records.begin()) return last;
  }
}

// Makes sure that consumers find the schemas before rows that have them. A record is written if its
// subject's last record is another one.
absl::Status TopicWriter::PublishSchemas() {
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    TS_ASSIGN_OR_RETURN(const std::vector<SchemaRecord> missing, FindMissingSchemas());
    if (missing.empty()) return absl::OkStatus();
    if (round == 0) {
      TS_RETURN_IF_ERROR(WriteSchemas(missing));
    } else if (!Pause(kRetryMs)) {
      return absl::CancelledError("stopped");
    }
  }
  return Unavailable("kafka: schemas of prefix {} were written and do not appear", options_.prefix);
}

absl::StatusOr<std::vector<SchemaRecord>> TopicWriter::FindMissingSchemas() {
  TS_ASSIGN_OR_RETURN(
      CommittedRecords records,
      CommittedRecords::Open(options_.kafka, TopicOf(options_.prefix, kSchemasTable),
                             options_.prefix));
  NameMap<SchemaRecord> last;
  TS_RETURN_IF_ERROR(records.Read(
      records.begin(), [this] { return stopping(); },
      [&last](const rd_kafka_message_t& message) {
        SchemaRecord record{
            .key = std::string(static_cast<const char*>(message.key), message.key_len),
            .value = std::string(static_cast<const char*>(message.payload), message.len)};
        last.insert_or_assign(std::string(SubjectOf(record.key)), std::move(record));
        return absl::OkStatus();
      }));
  std::vector<SchemaRecord> missing;
  for (const Schema& schema : tables_) {
    SchemaRecord record = SchemaRecordOf(TopicOf(options_.prefix, schema.table), schema);
    const auto found = last.find(SubjectOf(record.key));
    if (found == last.end() || found->second != record) missing.push_back(std::move(record));
  }
  return missing;
}

absl::Status TopicWriter::WriteSchemas(const std::vector<SchemaRecord>& schemas) {
  const kafka::KafkaOwned<rd_kafka_error_t> begun(rd_kafka_begin_transaction(producer()));
  if (begun != nullptr) return kafka::KafkaError(begun.get(), "kafka: begin");
  const std::string topic = TopicOf(options_.prefix, kSchemasTable);
  for (const SchemaRecord& schema : schemas) {
    const rd_kafka_resp_err_t code = rd_kafka_producev(
        producer(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(0),
        RD_KAFKA_V_KEY(schema.key.data(), schema.key.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(schema.value.data()), schema.value.size()),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka::KafkaError(code, "kafka: write schemas");
  }
  const kafka::KafkaOwned<rd_kafka_error_t> error(
      rd_kafka_commit_transaction(producer(), kSchemasMs));
  if (error != nullptr) return kafka::KafkaError(error.get(), "kafka: commit schemas");
  ++turn_;
  LogInfo("schemas written prefix={} schemas={}", options_.prefix, schemas.size());
  return absl::OkStatus();
}

// ---- writing

absl::Status TopicWriter::ProduceRecord(const OutgoingRecord& record, const OutgoingBatch& batch) {
  const RecordHeaders headers = {
      .table = record.table,
      .schema = record.schema,
      .log = batch.log_name,
      .first_row = record.first_row,
      .rows = record.rows,
      .ended_day = record.ended_day,
      .payload = std::string(NameOf(options_.payload)),
  };
  // Another payload is converted here, so that the loop does not wait for it.
  ByteBuffer converted;
  const bool copies = options_.payload != Payload::kIpc && !record.ended_day;
  if (copies) {
    TS_ASSIGN_OR_RETURN(converted, ConvertPayload(record.table, record.payload, options_.payload));
  }
  const ByteBuffer& bytes = copies ? converted : record.payload;
  const std::string topic = TopicOf(options_.prefix, record.table);
  for (;;) {
    rd_kafka_headers_t* const list = headers.Encode();
    const rd_kafka_resp_err_t code = rd_kafka_producev(
        producer(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(record.partition),
        RD_KAFKA_V_VALUE(const_cast<std::byte*>(bytes.data()), bytes.size()),
        RD_KAFKA_V_MSGFLAGS(copies ? RD_KAFKA_MSG_F_COPY : 0), RD_KAFKA_V_HEADERS(list),
        RD_KAFKA_V_END);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
    rd_kafka_headers_destroy(list);
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      return kafka::KafkaError(code,
                               fmt::format("kafka: write {} bytes to {}", bytes.size(), topic));
    }
    if (stopping()) return absl::CancelledError("stopped");
    rd_kafka_poll(producer(), 5);
  }
}

absl::Status TopicWriter::Produce(const OutgoingBatch& batch) {
  for (const OutgoingRecord& record : batch.records) {
    TS_RETURN_IF_ERROR(ProduceRecord(record, batch));
  }
  StreamState after = batch.after;
  after.writer = options_.instance;
  ByteBuffer position;
  SaveState(after, position);
  const std::string topic = TopicOf(options_.prefix, kPositionsTable);
  const rd_kafka_resp_err_t code =
      rd_kafka_producev(producer(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(0),
                        RD_KAFKA_V_KEY(options_.prefix.data(), options_.prefix.size()),
                        RD_KAFKA_V_VALUE(position.data(), position.size()),
                        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return kafka::KafkaError(code, "kafka: write the position");
  return absl::OkStatus();
}

// kAborted: the producer has ended.
absl::Status TopicWriter::Abort() {
  counters_->aborts.fetch_add(1, std::memory_order_relaxed);
  while (!stopping()) {
    const kafka::KafkaOwned<rd_kafka_error_t> error(
        rd_kafka_abort_transaction(producer(), kCallMs));
    if (error == nullptr) return absl::OkStatus();
    if (rd_kafka_error_is_retriable(error.get()) == 0) {
      return Ended(error.get(), "kafka: abort");
    }
    Report(kafka::KafkaError(error.get(), "kafka: abort"));
  }
  return absl::CancelledError("stopped");
}

// Writes a batch, however often it takes. kAborted: the producer has ended, and the batch is or is
// not committed. kInvalidArgument: the payload cannot hold a row, and nothing was written.
// kCancelled: stopping.
absl::Status TopicWriter::Write(const OutgoingBatch& batch) {
  while (!stopping()) {
    const kafka::KafkaOwned<rd_kafka_error_t> begun(rd_kafka_begin_transaction(producer()));
    if (begun != nullptr) return Ended(begun.get(), "kafka: begin");
    absl::Status produced = Produce(batch);
    while (produced.ok()) {
      if (stopping()) return absl::CancelledError("stopped");
      const kafka::KafkaOwned<rd_kafka_error_t> error(
          rd_kafka_commit_transaction(producer(), kCallMs));
      if (error == nullptr) {
        ++turn_;
        return absl::OkStatus();
      }
      if (rd_kafka_error_txn_requires_abort(error.get()) != 0) {
        produced = kafka::KafkaError(error.get(), "kafka: commit");
      } else if (rd_kafka_error_is_retriable(error.get()) != 0) {
        Report(kafka::KafkaError(error.get(), "kafka: commit"));
      } else {
        return Ended(error.get(), "kafka: commit");
      }
    }
    Report(produced);
    TS_RETURN_IF_ERROR(Abort());
    if (absl::IsInvalidArgument(produced)) return produced;  // It would fail again.
    if (!Pause(kRetryMs)) break;
  }
  return absl::CancelledError("stopped");
}

}  // namespace tickstack::bridge
