#pragma once

// The leader's side of a log in a topic: appends each staged block to the topic, and lets it be
// logged when it counts (topic_state.h).
//
//   staged block --Append--> topic --offset--> the next one after all that is known: it counts
//                                          \-> further on: others appended. Reads from where it
//                                              knows, until it knows again
//
// So as long as nobody else appends, nothing is read. A claim of another member that counts ends
// the leader.
//
// Memory: the blocks in flight, at most kInFlightBytes and one block, here and in librdkafka.
//
// Threads: the tickerplant's.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "kafka/record_topic.h"
#include "tickerplant/standby/replication.h"
#include "tickerplant/tickerplant.h"
#include "tickerplant/topic/topic_record.h"
#include "tickerplant/topic/topic_state.h"
#include "tplog/tplog_blocks.h"

namespace tickstack::tickerplant {

class TopicLog final : public Replication {
 public:
  static constexpr size_t kInFlightBytes = size_t{8} << 20;
  // Without a record that is applied for this long although some wait, feeds are paused.
  static constexpr int64_t kSilentNsMax = kNsPerSecond;

  struct Events {
    std::function<void()> progress;          // IsAcknowledged may have changed.
    std::function<void(absl::Status)> lost;  // Another member leads, or the topic failed.
  };

  // `state` is that of the claim with which this leader begins. `plant`, `topic` and `clock` must
  // outlive this; the owner of `topic` passes its events on. Begin appends the tables. If the topic
  // has no day yet, Begin appends the day of the log, and the blocks that the log has follow. If it
  // has only some of those, the rest follows.
  TopicLog(TopicState state, int64_t lease_ns, const Tickerplant* plant, kafka::RecordTopic* topic,
           const Clock* clock, Events events);
  ~TopicLog() override;
  // kDataLoss if the topic and the log end at different places. Other errors: those of reading the
  // log. To be called once, before everything else.
  absl::Status Begin();

  // Events of the topic.
  void OnAppended(const absl::StatusOr<int64_t>& offset);
  void OnReadable();

  // Says that this leader ends.
  void Resign();
  // True if all records are answered, and what they are is known.
  bool is_idle() const { return lost_ || (unanswered_.empty() && !is_reading_); }
  // From where the topic may be read to continue the log as it is now.
  TopicState::Mark logged_mark() const { return in_flight_.empty() ? state_.mark() : logged_; }

  // Replication:
  absl::Status Offer(ReplicaPlace at, const tplog::TplogBlock& block) override;
  bool HasRoom() const override {
    return in_flight_bytes_ <= kInFlightBytes && in_flight_.size() < kBlocksMax;
  }
  bool IsAcknowledged(ReplicaPlace place) const override {
    return state_.place().has_value() && *state_.place() >= place;
  }
  void OnLogged(ReplicaPlace place) override;
  void Tick() override;
  void OfferNextDay(int32_t date, int32_t next) override;
  bool is_settled() override { return !shipped_ && IsAcknowledged(began_at_); }
  bool has_enough() const override { return SilentNs() <= kSilentNsMax; }
  bool is_cut_off() const override { return !has_enough(); }
  uint64_t epoch() const override { return epoch_; }
  size_t in_flight_bytes() const override { return in_flight_bytes_; }
  void AddStats(SymbolVector& keys, std::vector<Value>& values) const override;

 private:
  struct InFlight {
    ReplicaPlace end;
    size_t bytes;
    TopicState::Mark after = {};  // Once it counts.
  };
  void Append(TopicRecord record);
  void AppendBlock(ReplicaPlace at, uint32_t messages, std::span<const std::byte> block);
  absl::Status AppendNextDay(ReplicaPlace before, int32_t next, NameMap<tplog::TableRows> carried);
  void Apply(int64_t offset, const TopicRecord& record);
  void Ship();
  absl::Status ShipBlock();
  int64_t SilentNs() const;
  void Lose(const absl::Status& why);

  TopicState state_;
  const uint64_t epoch_;
  const uint64_t instance_;
  const int64_t lease_ns_;
  const Tickerplant* const plant_;
  kafka::RecordTopic* const topic_;
  const Clock* const clock_;
  const Events events_;
  const ReplicaPlace began_at_;
  // Records whose append has no answer, without their bytes, and when the oldest was appended.
  std::deque<TopicRecord> unanswered_;
  int64_t progress_ns_ = 0;   // MonotonicNs of the last record that was applied, or is waited for.
  int64_t last_offset_ = -1;  // Of this leader's last record with an answer.
  int64_t appended_ns_ = 0;   // MonotonicNs of the last append.
  bool is_reading_ = false;
  std::deque<InFlight> in_flight_;
  size_t counting_ = 0;      // How many of them count, from the first on.
  TopicState::Mark logged_;  // After the last block that was logged.
  size_t in_flight_bytes_ = 0;
  std::unique_ptr<tplog::TplogBlocks> shipped_;  // What the topic lacks; nullptr: nothing.
  bool lost_ = false;
};

}  // namespace tickstack::tickerplant
