#include "bridge/topic_reader.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "bridge/committed_records.h"
#include "bridge/schema_record.h"
#include "bridge/topic_writer.h"

namespace tickstack::bridge {
namespace {

constexpr size_t kReadQueueBytes = size_t{32} << 20;  // The thread waits while more is queued.
constexpr int kReadCallMs = 5000;
constexpr int kPollMs = 50;
constexpr auto kFindPause = std::chrono::milliseconds(500);
constexpr size_t kRecordsOfPoll = 512;

// Parses `2026-11-27` or `2026-11-27T09:30:00` as ms since 1970.
std::optional<int64_t> ParseUtcMs(std::string_view text) {
  constexpr size_t kDateChars = 10, kAllChars = 19;
  if (text.size() != kDateChars && text.size() != kAllChars) return std::nullopt;
  std::string date(text.substr(0, kDateChars));
  if (date[4] != '-' || date[7] != '-') return std::nullopt;
  date[4] = date[7] = '.';
  const std::optional<int32_t> day = ParseDate(date);
  if (!day) return std::nullopt;
  constexpr int64_t kDaysFrom1970 = 10'957, kMsOfDay = 86'400'000;
  int64_t ms = (*day + kDaysFrom1970) * kMsOfDay;
  if (text.size() == kDateChars) return ms;
  constexpr struct {
    size_t at;
    char before;
    int64_t ms;
    int max;
  } kParts[] = {{11, 'T', 3'600'000, 23}, {14, ':', 60'000, 59}, {17, ':', 1'000, 59}};
  for (const auto& part : kParts) {
    int number = 0;
    const char* const from = text.data() + part.at;
    const auto [end, error] = std::from_chars(from, from + 2, number);
    if (text[part.at - 1] != part.before || error != std::errc() || end != from + 2 || number < 0 ||
        number > part.max) {
      return std::nullopt;
    }
    ms += number * part.ms;
  }
  return ms;
}

}  // namespace

absl::StatusOr<ReadStart> ParseReadStart(std::string_view text) {
  constexpr std::string_view kOffset = "offset ";
  if (text == "beginning") return ReadStart{};
  if (text == "end") return ReadStart{.kind = ReadStart::Kind::kEnd};
  if (text.starts_with(kOffset)) {
    const std::string_view digits = text.substr(kOffset.size());
    ReadStart start{.kind = ReadStart::Kind::kOffset};
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), start.offset);
    if (error == std::errc() && end == digits.data() + digits.size() && start.offset >= 0) {
      return start;
    }
  } else if (const std::optional<int64_t> ms = ParseUtcMs(text)) {
    return ReadStart{.kind = ReadStart::Kind::kTime, .time_ms = *ms};
  }
  return InvalidArgument(
      "from '{}': expected beginning, end, `offset N`, or a time such as 2026-11-27T09:30:00",
      text);
}

TopicReader::TopicReader(wire::EventLoop& loop, kafka::KafkaOptions options, std::string group,
                         Events events)
    : loop_(loop),
      options_(std::move(options)),
      group_(std::move(group)),
      events_(std::move(events)),
      thread_([this] { Run(); }) {}

TopicReader::~TopicReader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  queue_.clear();  // Before the consumer: messages refer to it.
  consumer_ = nullptr;
}

void TopicReader::Find(std::string prefix, std::vector<std::string> tables, ReadStart start) {
  {
    const std::lock_guard lock(mutex_);
    find_ = FindRequest{std::move(prefix), std::move(tables), start};
  }
  changed_.notify_all();
}

void TopicReader::Read(std::vector<TopicPartition> partitions, std::vector<int64_t> offsets) {
  {
    const std::lock_guard lock(mutex_);
    read_ = ReadRequest{std::move(partitions), std::move(offsets)};
    queue_.clear();
    queue_bytes_ = 0;
  }
  changed_.notify_all();
}

std::optional<ReadRecord> TopicReader::Take() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  ReadRecord record = std::move(queue_.front());
  queue_.pop_front();
  const bool was_full = queue_bytes_ >= kReadQueueBytes;
  if (record.message != nullptr) queue_bytes_ -= record.message->len;
  if (was_full && queue_bytes_ < kReadQueueBytes) changed_.notify_all();
  return record;
}

absl::Status TopicReader::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

int64_t TopicReader::records_behind() const {
  const std::lock_guard lock(mutex_);
  return behind_.load(std::memory_order_relaxed) + static_cast<int64_t>(queue_.size());
}

void TopicReader::Report(const absl::Status& problem) {
  static LogLimit limit(5 * kNsPerSecond);
  if (!problem.ok() && limit.Pass()) LogWarn("kafka cannot be read error=\"{}\"", Message(problem));
  const std::lock_guard lock(mutex_);
  problem_ = problem;
}

void TopicReader::Post(std::function<void()> function) {
  loop_.Post([alive = std::weak_ptr(alive_), function = std::move(function)] {
    if (!alive.expired()) function();
  });
}

void TopicReader::Run() {
  absl::StatusOr<kafka::KafkaOwned<rd_kafka_t>> opened =
      kafka::OpenKafka(RD_KAFKA_CONSUMER, options_,
                       {{"group.id", group_},
                        {"isolation.level", "read_committed"},
                        {"enable.auto.commit", "false"},
                        {"enable.auto.offset.store", "false"},
                        {"auto.offset.reset", "error"},
                        {"enable.partition.eof", "true"},
                        {"fetch.error.backoff.ms", "50"},
                        {"fetch.wait.max.ms", "20"},
                        {"queued.max.messages.kbytes", "32768"}});
  if (!opened.ok()) {
    return Post([this, why = opened.status()] { events_.ended(why); });
  }
  consumer_ = *std::move(opened);
  rd_kafka_poll_set_consumer(consumer_.get());
  for (;;) {
    std::optional<FindRequest> find;
    std::optional<ReadRequest> read;
    {
      std::unique_lock lock(mutex_);
      const auto has_work = [&] {
        return stop_ || find_ || read_ || (!reading_.empty() && queue_bytes_ < kReadQueueBytes);
      };
      changed_.wait(lock, has_work);
      if (stop_) return;
      find = std::exchange(find_, std::nullopt);
      read = std::exchange(read_, std::nullopt);
    }
    if (find) {
      finds_ = *find;
      others_ns_ = 0;
      std::vector<TopicPartition> found;
      const absl::Status status = FindNow(*find, &found);
      Report(status);
      if (status.ok()) {
        char* const id = rd_kafka_clusterid(consumer_.get(), kReadCallMs);
        std::string cluster = id == nullptr ? "" : id;
        if (id != nullptr) rd_kafka_mem_free(consumer_.get(), id);
        Post([this, found = std::move(found), cluster = std::move(cluster)]() mutable {
          events_.found(std::move(found), std::move(cluster));
        });
      } else {
        std::unique_lock lock(mutex_);
        if (!find_) find_ = std::move(find);
        changed_.wait_for(lock, kFindPause, [this] { return stop_; });
      }
    }
    if (read) Report(Assign(*std::move(read)));
    if (!reading_.empty()) Poll();
  }
}

absl::Status TopicReader::FindNow(const FindRequest& request, std::vector<TopicPartition>* found) {
  const rd_kafka_metadata_t* raw = nullptr;
  const rd_kafka_resp_err_t code =
      rd_kafka_metadata(consumer_.get(), /*all_topics=*/1, nullptr, &raw, kReadCallMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka::KafkaError(code, "kafka: metadata");
  const kafka::KafkaOwned<const rd_kafka_metadata_t> metadata(raw);
  for (const std::string& table : request.tables) {
    const std::string topic = TopicOf(request.prefix, table);
    for (const auto& one : std::span(metadata->topics, static_cast<size_t>(metadata->topic_cnt))) {
      if (topic != one.topic) continue;
      for (int32_t partition = 0; partition < one.partition_cnt; ++partition) {
        found->push_back({table, topic, partition, 0});
      }
    }
  }
  return FindStarts(request.start, found);
}

absl::Status TopicReader::FindStarts(const ReadStart& start, std::vector<TopicPartition>* found) {
  const auto find = [&](int64_t time_ms) -> absl::StatusOr<std::vector<int64_t>> {
    const kafka::KafkaOwned<rd_kafka_topic_partition_list_t> list(
        rd_kafka_topic_partition_list_new(static_cast<int>(found->size())));
    for (const TopicPartition& one : *found) {
      rd_kafka_topic_partition_list_add(list.get(), one.topic.c_str(), one.partition)->offset =
          time_ms;
    }
    TS_RETURN_IF_ERROR(kafka::FindOffsets(consumer_.get(), list.get(), kReadCallMs));
    std::vector<int64_t> offsets;
    for (size_t i = 0; i < found->size(); ++i) offsets.push_back(list->elems[i].offset);
    return offsets;
  };
  TS_ASSIGN_OR_RETURN(const std::vector<int64_t> low, find(kafka::kTimeOfBeginning));
  TS_ASSIGN_OR_RETURN(const std::vector<int64_t> high, find(kafka::kTimeOfEnd));
  std::vector<int64_t> at(found->size(), -1);
  if (start.kind == ReadStart::Kind::kTime) {
    TS_ASSIGN_OR_RETURN(at, find(start.time_ms));
  }
  for (size_t i = 0; i < found->size(); ++i) {
    int64_t& offset = (*found)[i].start;
    switch (start.kind) {
      case ReadStart::Kind::kBeginning:
        offset = low[i];
        break;
      case ReadStart::Kind::kEnd:
        offset = high[i];
        break;
      case ReadStart::Kind::kOffset:
        offset = std::clamp(start.offset, low[i], std::max(low[i], high[i]));
        break;
      // The end if no record is as late.
      case ReadStart::Kind::kTime:
        offset = at[i] >= 0 ? at[i] : high[i];
        break;
    }
  }
  return absl::OkStatus();
}

absl::Status TopicReader::Assign(ReadRequest request) {
  const kafka::KafkaOwned<rd_kafka_topic_partition_list_t> list(
      rd_kafka_topic_partition_list_new(static_cast<int>(request.partitions.size())));
  for (size_t i = 0; i < request.partitions.size(); ++i) {
    const TopicPartition& one = request.partitions[i];
    rd_kafka_topic_partition_list_add(list.get(), one.topic.c_str(), one.partition)->offset =
        request.offsets[i];
  }
  reading_ = std::move(request.partitions);
  next_offsets_ = std::move(request.offsets);
  deleted_.clear();
  counted_ns_ = 0;
  behind_.store(std::max<int64_t>(1, static_cast<int64_t>(reading_.size())),
                std::memory_order_relaxed);
  const rd_kafka_resp_err_t code = rd_kafka_assign(consumer_.get(), list.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka::KafkaError(code, "kafka: assign");
  return absl::OkStatus();
}

absl::StatusOr<int64_t> TopicReader::FindOffset(const TopicPartition& partition, int64_t time_ms) {
  const kafka::KafkaOwned<rd_kafka_topic_partition_list_t> list(
      rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(), partition.partition)
      ->offset = time_ms;
  TS_RETURN_IF_ERROR(kafka::FindOffsets(consumer_.get(), list.get(), kReadCallMs));
  return list->elems[0].offset;
}

// Continues with the oldest records of partitions whose next record was deleted. Adds an error for
// one that has no later records.
absl::Status TopicReader::ReadOldest(std::vector<ReadRecord>* records) {
  std::vector<int64_t> offsets = next_offsets_;
  for (const size_t partition : deleted_) {
    TS_ASSIGN_OR_RETURN(const int64_t low,
                        FindOffset(reading_[partition], kafka::kTimeOfBeginning));
    TS_ASSIGN_OR_RETURN(const int64_t high, FindOffset(reading_[partition], kafka::kTimeOfEnd));
    const int64_t wanted = std::exchange(offsets[partition], low);
    if (wanted < low && low < high) continue;
    absl::Status why = DataLoss("the partition ends at {}: its topic was created again", high);
    if (wanted < low) why = DataLoss("gap: records before offset {} were deleted unread", low);
    records->push_back(
        {.partition = partition, .offset = wanted, .headers = std::move(why), .message = nullptr});
  }
  deleted_.clear();
  return Assign({reading_, std::move(offsets)});
}

// Searches the topic of schemas for tables that nobody has asked for.
absl::Status TopicReader::FindOthers() {
  others_ns_ = MonotonicNs();
  TS_ASSIGN_OR_RETURN(
      CommittedRecords records,
      CommittedRecords::Open(options_, TopicOf(finds_.prefix, kSchemasTable), group_));
  std::vector<std::string> others;
  const std::string begin = TopicOf(finds_.prefix, "");
  constexpr std::string_view kEnd = "-value";
  const auto stopping = [this] {
    const std::lock_guard lock(mutex_);
    return stop_ || find_ || read_;
  };
  TS_RETURN_IF_ERROR(
      records.Read(records.begin(), stopping, [&](const rd_kafka_message_t& message) {
        std::string_view subject =
            SubjectOf({static_cast<const char*>(message.key), message.key_len});
        if (!subject.starts_with(begin) || !subject.ends_with(kEnd)) return absl::OkStatus();
        subject.remove_suffix(kEnd.size());
        const std::string table(subject.substr(begin.size()));
        const auto has = [&table](const auto& all) {
          return std::ranges::find(all, table) != all.end();
        };
        if (!has(finds_.tables) && !has(others)) others.push_back(table);
        return absl::OkStatus();
      }));
  std::ranges::sort(others);
  if (others == others_) return absl::OkStatus();
  others_ = others;
  Post([this, others = std::move(others)] { events_.others(others); });
  return absl::OkStatus();
}

void TopicReader::Poll() {
  std::vector<ReadRecord> records;
  size_t bytes = 0;
  while (records.size() < kRecordsOfPoll && bytes < kReadQueueBytes / 2) {
    kafka::KafkaOwned<rd_kafka_message_t> message(
        rd_kafka_consumer_poll(consumer_.get(), records.empty() ? kPollMs : 0));
    if (message == nullptr) break;
    const auto is_its = [&](const TopicPartition& one) {
      return one.partition == message->partition && message->rkt != nullptr &&
             one.topic == rd_kafka_topic_name(message->rkt);
    };
    const auto at = std::find_if(reading_.begin(), reading_.end(), is_its);
    if (at == reading_.end()) {
      Report(message->err == RD_KAFKA_RESP_ERR_NO_ERROR
                 ? absl::OkStatus()
                 : kafka::KafkaError(message->err, "kafka: read"));
      continue;
    }
    const auto partition = static_cast<size_t>(at - reading_.begin());
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      next_offsets_[partition] = message->offset;
      continue;
    }
    absl::StatusOr<RecordHeaders> headers = RecordHeaders();
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      headers = RecordHeaders::Of(message.get());
    } else if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
               message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
      deleted_.insert(partition);
      continue;
    } else {
      Report(kafka::KafkaError(message->err, "kafka: read"));
      continue;
    }
    bytes += message->len;
    next_offsets_[partition] = message->offset + 1;
    records.push_back({.partition = partition,
                       .offset = message->offset,
                       .headers = std::move(headers),
                       .message = std::move(message)});
  }
  if (!deleted_.empty()) {
    if (const absl::Status read = ReadOldest(&records); !read.ok()) Report(read);
  }
  if (records.empty()) return CountBehind();
  Report(absl::OkStatus());
  {
    const std::lock_guard lock(mutex_);
    if (read_) return;  // Others are wanted meanwhile.
    queue_bytes_ += bytes;
    for (ReadRecord& record : records) queue_.push_back(std::move(record));
  }
  CountBehind();  // Afterwards: records that are on the way must count.
  Post([this] { events_.records(); });
}

// Counts, once per second, the offsets between what was read and the ends of the partitions.
void TopicReader::CountBehind() {
  if (MonotonicNs() - counted_ns_ < kNsPerSecond) return;
  counted_ns_ = MonotonicNs();
  // Without the right to read the topic, or without the topic, nothing is known of others.
  if (events_.others != nullptr && MonotonicNs() - others_ns_ >= kOthersNs) {
    FindOthers().IgnoreError();
  }
  if (!problem().ok()) {
    // Nothing else says that a broker without new records is back.
    const rd_kafka_metadata_t* raw = nullptr;
    if (rd_kafka_metadata(consumer_.get(), /*all_topics=*/0, nullptr, &raw, 1000) ==
        RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_metadata_destroy(raw);
      Report(absl::OkStatus());
    }
  }
  int64_t behind = 0;
  for (size_t i = 0; i < reading_.size(); ++i) {
    // As of the last answer of the broker. Negative before the first one.
    int64_t low = 0, high = -1;
    const bool is_known = rd_kafka_get_watermark_offsets(consumer_.get(), reading_[i].topic.c_str(),
                                                         reading_[i].partition, &low,
                                                         &high) == RD_KAFKA_RESP_ERR_NO_ERROR &&
                          high >= 0;
    behind += is_known ? std::max<int64_t>(0, high - next_offsets_[i]) : 1;
  }
  behind_.store(behind, std::memory_order_relaxed);
}

}  // namespace tickstack::bridge
