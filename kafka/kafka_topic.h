#pragma once

// A topic with one partition as a list of records (record_topic.h).
//
// Appends come from the loop, and librdkafka sends them from a thread of its own: all at once that
// wait, in their order, again and again until the brokers in sync have them (acks=all, idempotent).
// One thread opens the topic, which it creates if it is missing, and reads; another one waits for
// the brokers' answers, so that an answer is never behind a read.
//
// A topic with several partitions, or of which Kafka removes records by compaction, is not opened:
// problem() says why, until it is changed.
//
// Threads: the loop's. `mutex_` guards what the two threads share with it.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "kafka/kafka_client.h"
#include "kafka/kafka_options.h"
#include "kafka/record_topic.h"
#include "wire/event_loop.h"

namespace tickstack::kafka {

class KafkaTopic final : public RecordTopic {
 public:
  // Opens in the background, and retries while Kafka does not answer. `checks_policy`: asks whether
  // the topic is compacted, which librdkafka's mock cluster does not answer. Errors: those of
  // CheckKafkaOptions.
  static absl::StatusOr<std::unique_ptr<KafkaTopic>> Open(wire::EventLoop& loop,
                                                          KafkaTopicOptions options, Events events,
                                                          bool checks_policy = true);
  // Gives up records that are not in the topic yet. Waits for the threads' calls: up to a few
  // seconds while Kafka does not answer.
  ~KafkaTopic() override;
  static constexpr int kFlushMs = 1000;

  void Append(std::span<const std::byte> record) override;
  void Read(int64_t from) override;
  void StopReading() override;
  void Flush() override;
  absl::StatusOr<std::optional<Taken>> Take() override;
  bool at_end() const override;
  std::optional<int64_t> oldest() const override;
  absl::Status problem() const override;

 private:
  KafkaTopic(wire::EventLoop& loop, KafkaTopicOptions options, Events events, bool checks_policy);
  absl::Status OpenClients();
  void Run();
  void AwaitAnswers();
  bool OpenTopic();
  absl::StatusOr<bool> FindTopic();
  absl::Status Create();
  std::string Identity() const;
  void BeginReading(int64_t from);
  void Forget();
  void ReadSome(uint64_t reading);
  void OnAnswer(const rd_kafka_message_t& message);
  void Report(const absl::Status& problem);
  void Post(std::function<void()> function);
  bool Pause(std::chrono::milliseconds pause);

  wire::EventLoop& loop_;
  const KafkaTopicOptions options_;
  const Events events_;
  const bool checks_policy_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Expires with this object.
  KafkaOwned<rd_kafka_t> producer_;
  KafkaOwned<rd_kafka_t> consumer_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  absl::Status problem_;
  std::optional<int64_t> read_from_;  // What the thread should read next.
  bool is_reading_ = false;
  uint64_t reading_ = 0;  // Number of the current Read: records of earlier ones are dropped.
  std::deque<KafkaOwned<rd_kafka_message_t>> queue_;
  size_t queue_bytes_ = 0;
  absl::Status read_error_;
  bool reached_end_ = false;
  bool is_told_ = false;  // `readable` is on its way.
  std::optional<int64_t> oldest_;
  int64_t began_at_ = 0;  // The thread's: from where it reads, kOldest until that is known.

  std::thread answers_;
  std::thread thread_;  // Last.
};

}  // namespace tickstack::kafka
