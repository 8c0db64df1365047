#include "kafka/kafka_topic.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::kafka {
namespace {

constexpr size_t kQueueBytesMax = size_t{32} << 20;  // The thread waits while more is queued.
constexpr int kTopicCallMs = 5000;
constexpr int kTopicPollMs = 50;
constexpr auto kTopicPause = std::chrono::milliseconds(500);
constexpr size_t kRecordsOfTurn = 512;
constexpr int kReplicationOfThree = 3;

// Bytes that a record takes in the queue.
size_t CostOf(const rd_kafka_message_t& message) {
  constexpr size_t kOfMessage = 512;
  return message.len + kOfMessage;
}

// A record's header with the CRC-32C of its value, as 8 hexadecimal digits. Consumers of librdkafka
// do not check Kafka's own checksums by default, and brokers do not when they serve a record.
constexpr const char* kCrcHeader = "crc";

std::string CrcHeaderOf(std::span<const std::byte> record) {
  return fmt::format("{:08x}", Crc32c(record));
}

// True if the record has a checksum, and is not what was appended.
bool IsDamaged(rd_kafka_message_t* message, std::span<const std::byte> record) {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  size_t bytes = 0;
  if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
      rd_kafka_header_get_last(headers, kCrcHeader, &value, &bytes) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return false;
  }
  return std::string_view(static_cast<const char*>(value), bytes) != CrcHeaderOf(record);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaTopic>> KafkaTopic::Open(wire::EventLoop& loop,
                                                             KafkaTopicOptions options,
                                                             Events events, bool checks_policy) {
  TS_RETURN_IF_ERROR(CheckKafkaOptions(options.kafka));
  std::unique_ptr<KafkaTopic> topic(
      new KafkaTopic(loop, std::move(options), std::move(events), checks_policy));
  TS_RETURN_IF_ERROR(topic->OpenClients());
  topic->answers_ = std::thread([raw = topic.get()] { raw->AwaitAnswers(); });
  topic->thread_ = std::thread([raw = topic.get()] { raw->Run(); });
  return topic;
}

KafkaTopic::KafkaTopic(wire::EventLoop& loop, KafkaTopicOptions options, Events events,
                       bool checks_policy)
    : loop_(loop),
      options_(std::move(options)),
      events_(std::move(events)),
      checks_policy_(checks_policy) {}

absl::Status KafkaTopic::OpenClients() {
  const KafkaDelivery delivery{
      .on_answer = [](rd_kafka_t*, const rd_kafka_message_t* message,
                      void* opaque) { static_cast<KafkaTopic*>(opaque)->OnAnswer(*message); },
      .opaque = this};
  // Without a limit of time: a record that is given up would leave a gap before later ones.
  TS_ASSIGN_OR_RETURN(producer_, OpenKafka(RD_KAFKA_PRODUCER, options_.kafka,
                                           {{"acks", "all"},
                                            {"enable.idempotence", "true"},
                                            {"message.timeout.ms", "0"},
                                            {"enable.gapless.guarantee", "true"},
                                            {"queue.buffering.max.messages", "1000000"},
                                            {"queue.buffering.max.kbytes", "2097151"}},
                                           delivery));
  TS_ASSIGN_OR_RETURN(consumer_, OpenKafka(RD_KAFKA_CONSUMER, options_.kafka,
                                           {{"group.id", options_.topic},
                                            {"enable.auto.commit", "false"},
                                            {"enable.auto.offset.store", "false"},
                                            {"enable.partition.eof", "true"},
                                            // Records of transactions, which are others', do not
                                            // count, and must not be waited for.
                                            {"isolation.level", "read_uncommitted"},
                                            {"fetch.wait.max.ms", "100"},
                                            {"auto.offset.reset", "error"},
                                            {"fetch.error.backoff.ms", "50"},
                                            {"queued.max.messages.kbytes", "32768"}}));
  rd_kafka_poll_set_consumer(consumer_.get());
  return absl::OkStatus();
}

KafkaTopic::~KafkaTopic() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (answers_.joinable()) answers_.join();
  queue_.clear();  // Before the consumer: messages refer to it.
  consumer_ = nullptr;
  if (producer_ == nullptr) return;
  // Waiting for records that nobody takes would take for ever.
  rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  // Their answers refer to this object, and the client may outlive it.
  while (rd_kafka_poll(producer_.get(), 0) > 0) {
  }
  producer_ = nullptr;
}

void KafkaTopic::Post(std::function<void()> function) {
  loop_.Post([alive = std::weak_ptr(alive_), function = std::move(function)] {
    if (!alive.expired()) function();
  });
}

bool KafkaTopic::Pause(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, pause, [this] { return stop_; });
}

void KafkaTopic::Report(const absl::Status& problem) {
  static LogLimit limit(5 * kNsPerSecond);
  if (!problem.ok() && limit.Pass()) {
    LogWarn("kafka does not work topic={} error=\"{}\"", options_.topic, Message(problem));
  }
  const std::lock_guard lock(mutex_);
  problem_ = problem;
}

absl::Status KafkaTopic::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

// ---- appending

void KafkaTopic::Append(std::span<const std::byte> record) {
  const std::string crc = CrcHeaderOf(record);
  const rd_kafka_resp_err_t code = rd_kafka_producev(
      producer_.get(), RD_KAFKA_V_TOPIC(options_.topic.c_str()), RD_KAFKA_V_PARTITION(0),
      RD_KAFKA_V_VALUE(const_cast<std::byte*>(record.data()), record.size()),
      RD_KAFKA_V_HEADER(kCrcHeader, crc.data(), static_cast<ssize_t>(crc.size())),
      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const absl::Status why =
      KafkaError(code, fmt::format("kafka: append {} bytes to {}", record.size(), options_.topic));
  Post([this, why] { events_.appended(why); });
}

void KafkaTopic::Flush() { rd_kafka_flush(producer_.get(), kFlushMs); }

void KafkaTopic::AwaitAnswers() {
  for (;;) {
    rd_kafka_poll(producer_.get(), kTopicPollMs);
    const std::lock_guard lock(mutex_);
    if (stop_) return;
  }
}

// Called in the thread of AwaitAnswers, or of the destructor.
void KafkaTopic::OnAnswer(const rd_kafka_message_t& message) {
  absl::StatusOr<int64_t> offset = message.offset;
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    offset = KafkaError(message.err, fmt::format("kafka: append to {}", options_.topic));
  }
  Post([this, offset = std::move(offset)] { events_.appended(offset); });
}

// ---- reading

void KafkaTopic::Read(int64_t from) {
  {
    const std::lock_guard lock(mutex_);
    read_from_ = from;
    is_reading_ = true;
    Forget();
  }
  changed_.notify_all();
}

void KafkaTopic::StopReading() {
  const std::lock_guard lock(mutex_);
  read_from_.reset();
  is_reading_ = false;
  Forget();
}

// Forgets what was read. `mutex_` is held.
void KafkaTopic::Forget() {
  ++reading_;
  queue_.clear();
  queue_bytes_ = 0;
  read_error_ = absl::OkStatus();
  reached_end_ = false;
  is_told_ = false;
}

absl::StatusOr<std::optional<RecordTopic::Taken>> KafkaTopic::Take() {
  KafkaOwned<rd_kafka_message_t> message;
  {
    const std::lock_guard lock(mutex_);
    is_told_ = false;
    TS_RETURN_IF_ERROR(read_error_);
    if (queue_.empty()) return std::nullopt;
    message = std::move(queue_.front());
    queue_.pop_front();
    queue_bytes_ -= CostOf(*message);
  }
  changed_.notify_all();
  const std::span<const std::byte> record(static_cast<const std::byte*>(message->payload),
                                          message->len);
  return Taken{message->offset, ByteBuffer(record), IsDamaged(message.get(), record)};
}

bool KafkaTopic::at_end() const {
  const std::lock_guard lock(mutex_);
  return reached_end_ && queue_.empty();
}

std::optional<int64_t> KafkaTopic::oldest() const {
  const std::lock_guard lock(mutex_);
  return oldest_;
}

void KafkaTopic::Run() {
  if (!OpenTopic()) return;
  uint64_t assigned = 0;  // Number of the Read whose records come.
  for (;;) {
    std::optional<int64_t> from;
    uint64_t reading = 0;
    bool is_reading = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        const bool has_room = is_reading_ && read_error_.ok() && queue_bytes_ < kQueueBytesMax;
        return stop_ || reading_ != assigned || has_room;
      });
      if (stop_) return;
      from = read_from_;
      reading = reading_;
      is_reading = is_reading_;
    }
    if (reading != assigned) {
      if (!is_reading) {
        rd_kafka_assign(consumer_.get(), nullptr);
        assigned = reading;
        continue;
      }
      BeginReading(*from);
      assigned = reading;
    }
    ReadSome(assigned);
  }
}

// Finds the topic, or creates it. Waits while it has another form, which can be changed. False: it
// cannot be used, or this ends.
bool KafkaTopic::OpenTopic() {
  for (;;) {
    absl::StatusOr<bool> found = FindTopic();
    if (found.ok() && *found) {
      const absl::Status kept =
          checks_policy_ ? CheckKeepsRecords(consumer_.get(), options_.topic, kTopicCallMs)
                         : absl::OkStatus();
      if (kept.ok()) break;
      found = kept;
    } else if (found.ok()) {
      const absl::Status allowed =
          events_.may_create ? events_.may_create(Identity()) : absl::OkStatus();
      if (!allowed.ok()) {
        Post([this, allowed] { events_.failed(allowed); });
        return false;
      }
      const absl::Status created = Create();
      if (!created.ok()) found = created;
    }
    if (absl::IsInvalidArgument(found.status())) {
      Post([this, why = found.status()] { events_.failed(why); });
      return false;
    }
    if (!found.ok()) Report(found.status());
    if (!Pause(kTopicPause)) return false;
  }
  Report(absl::OkStatus());
  Post([this, identity = Identity()] { events_.opened(identity); });
  return true;
}

std::string KafkaTopic::Identity() const {
  char* const id = rd_kafka_clusterid(consumer_.get(), kTopicCallMs);
  std::string identity = fmt::format("{}/{}", id == nullptr ? "" : id, options_.topic);
  if (id != nullptr) rd_kafka_mem_free(consumer_.get(), id);
  return identity;
}

// False: it does not exist.
absl::StatusOr<bool> KafkaTopic::FindTopic() {
  const rd_kafka_metadata_t* raw = nullptr;
  const rd_kafka_resp_err_t code =
      rd_kafka_metadata(consumer_.get(), /*all_topics=*/1, nullptr, &raw, kTopicCallMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaError(code, "kafka: metadata");
  const KafkaOwned<const rd_kafka_metadata_t> metadata(raw);
  for (const auto& one : std::span(metadata->topics, static_cast<size_t>(metadata->topic_cnt))) {
    if (options_.topic != one.topic) continue;
    if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return KafkaError(one.err, fmt::format("kafka: metadata of topic {}", options_.topic));
    }
    if (one.partition_cnt == 0) {
      return Unavailable("kafka: topic {} has no partitions", options_.topic);
    }
    if (one.partition_cnt == 1) return true;
    return FailedPrecondition("kafka: topic {} has {} partitions, expected 1", options_.topic,
                              one.partition_cnt);
  }
  return false;
}

// Creates the topic, which may appear a little later.
absl::Status KafkaTopic::Create() {
  NewKafkaTopic topic{
      .name = options_.topic,
      .replication = options_.replication,
      .settings = {{"cleanup.policy", "delete"}, {"unclean.leader.election.enable", "false"}}};
  if (options_.replication >= kReplicationOfThree) {
    topic.settings.emplace_back("min.insync.replicas", "2");
  }
  const absl::Status created = CreateTopics(producer_.get(), {topic});
  if (absl::IsAlreadyExists(created)) return absl::OkStatus();  // Another member was first.
  TS_RETURN_IF_ERROR(created);
  LogInfo("topic created topic={}", options_.topic);
  return absl::OkStatus();
}

// Nothing is asked here: rd_kafka_query_watermark_offsets may wait for a lost broker for ever.
void KafkaTopic::BeginReading(int64_t from) {
  began_at_ = from;
  const KafkaOwned<rd_kafka_topic_partition_list_t> list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), options_.topic.c_str(), 0)->offset =
      from == kOldest ? RD_KAFKA_OFFSET_BEGINNING : from;
  if (const rd_kafka_resp_err_t assigned = rd_kafka_assign(consumer_.get(), list.get())) {
    Report(KafkaError(assigned, "kafka: read"));
  }
}

// Puts what arrives within kTopicPollMs into the queue.
void KafkaTopic::ReadSome(uint64_t reading) {
  std::vector<KafkaOwned<rd_kafka_message_t>> records;
  size_t bytes = 0;
  bool at_end = false;
  absl::Status lost;
  while (records.size() < kRecordsOfTurn && bytes < kQueueBytesMax / 2) {
    const bool has_some = !records.empty() || at_end;
    KafkaOwned<rd_kafka_message_t> message(
        rd_kafka_consumer_poll(consumer_.get(), has_some ? 0 : kTopicPollMs));
    if (message == nullptr) break;
    const bool has_offset = message->err == RD_KAFKA_RESP_ERR_NO_ERROR ||
                            message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (has_offset && began_at_ == kOldest) {
      began_at_ = message->offset;
      const std::lock_guard lock(mutex_);
      oldest_ = message->offset;
    }
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      bytes += CostOf(*message);
      at_end = false;
      records.push_back(std::move(message));
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      at_end = true;
    } else if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
               message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
      lost = DataLoss("kafka: topic {} does not have the record to read, after {}: {}",
                      options_.topic, began_at_, rd_kafka_message_errstr(message.get()));
      rd_kafka_assign(consumer_.get(), nullptr);
      break;
    } else {
      Report(KafkaError(message->err, "kafka: read"));
    }
  }
  if (!records.empty() && !at_end) {
    // Kafka says that the end is reached only after a fetch without records.
    int64_t low = 0, high = -1;
    rd_kafka_get_watermark_offsets(consumer_.get(), options_.topic.c_str(), 0, &low, &high);
    at_end = records.back()->offset + 1 == high;
  }
  if (records.empty() && !at_end && lost.ok()) return;
  Report(absl::OkStatus());
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    if (reading_ != reading) return;  // Others are wanted meanwhile.
    reached_end_ = at_end;
    read_error_ = lost;
    queue_bytes_ += bytes;
    std::ranges::move(records, std::back_inserter(queue_));
    tell = !std::exchange(is_told_, true);
  }
  if (tell) Post([this] { events_.readable(); });
}

}  // namespace tickstack::kafka
