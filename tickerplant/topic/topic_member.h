#pragma once

// A tickerplant whose log is a topic that several append to: it copies the topic into its log until
// it leads.
//
//   follower --its claim counts--> opens its log as a tickerplant, appends blocks to the topic
//   leader   --another's counts--> ends the process; its supervisor starts it again, as a follower
//
// A follower claims the lead when it has everything that the topic has, and no leader has appended
// anything for a lease. A leader appends something every quarter of a lease (topic_log.h). One that
// ends in order says so, and a restarted leader does not wait for its own lease.
//
// The log never has a row that the topic lacks, since a leader logs what it knows to be in the
// topic. So a log that ends after the topic's, or has other blocks, is an error: the topic has lost
// rows, or it is that of another stack.
//
// A record that is damaged, or is missing, ends nobody. A member that has the rows passes over it.
// Any other one says so, does not lead, and copies no more of this day: it continues with the next.
//
// Members have the same tables. One with others is that of another stack, or was changed before the
// leader: it says so, and does not lead, unless it led last or is named as the first leader.
//
// Threads: the loop's.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "kafka/record_topic.h"
#include "table/shard_id.h"
#include "tickerplant/cluster/cluster_role.h"
#include "tickerplant/standby/standby_log.h"
#include "tickerplant/topic/topic_log.h"
#include "tickerplant/topic/topic_mark.h"
#include "tickerplant/topic/topic_record.h"
#include "tickerplant/topic/topic_state.h"
#include "wire/event_loop.h"

namespace tickstack::tickerplant {

struct TopicMemberOptions {
  std::string name;
  std::string address;  // Where it accepts clients.
  int64_t lease_ns = 600'000'000;
  // The member whose log begins a topic that is empty; empty: any whose log is empty, too.
  std::string first_leader = {};
  ShardId shard = {};
  std::string tables = {};  // TablesText of the tickerplant's.
};

class TopicMember final : public ClusterRole {
 public:
  using MakeTopic = std::function<absl::StatusOr<std::unique_ptr<kafka::RecordTopic>>(
      kafka::RecordTopic::Events events)>;

  // `on_elected` is called once, when this member leads. `on_end` is called when the process must
  // end. Errors: those of StandbyLog::Open, of ReadTopicMark and of `make_topic`.
  static absl::StatusOr<std::unique_ptr<TopicMember>> Start(
      wire::EventLoop& loop, TopicMemberOptions options, StandbyLogOptions log,
      const MakeTopic& make_topic, std::function<void()> on_elected,
      std::function<void(absl::Status)> on_end);
  ~TopicMember() override;

  absl::Status Stop() override;
  OpenedLog TakeLog() override { return std::move(opened_); }
  void Lead(TickerplantService& service) override;
  void NoteLogged(ReplicaPlace /*place*/) override {}
  Value Stats() const override;

 private:
  TopicMember(wire::EventLoop& loop, TopicMemberOptions options, std::function<void()> on_elected,
              std::function<void(absl::Status)> on_end);
  std::string Refusal() const override;
  void OnTopicOpened(const std::string& identity);
  absl::Status BeginReading();
  absl::Status ReadAll();
  absl::Status Verify(const absl::StatusOr<kafka::RecordTopic::Taken>& taken);
  absl::Status CheckFit(int64_t offset, const TopicRecord& record);
  void LoseTrack(absl::Status why);
  bool HasRowsBefore(const TopicRecord& record) const;
  absl::Status LeavePending(const absl::Status& why);
  void OnReadable();
  absl::Status TakeRecords();
  absl::Status Apply(const kafka::RecordTopic::Taken& taken);
  absl::Status AppendPending();
  absl::Status NotThatOfTheTopic(uint64_t seq) const;
  absl::Status CompareFrom(uint64_t seq);
  absl::Status Compare(const ReplicaBlock& block);
  absl::Status CompareTorn(const ReplicaBlock& block);
  absl::Status ApplyNextDay(const TopicRecord& record);
  void Tick();
  absl::Status CheckTables() const;
  absl::Status MayClaim() const;
  bool IsClaimDue();
  void Claim();
  void OnAppended(const absl::StatusOr<int64_t>& offset);
  void Resign();
  absl::Status BeginToLead();
  void WriteMark();
  void End(const absl::Status& why);

  wire::EventLoop& loop_;
  const TopicMemberOptions options_;
  const std::function<void()> on_elected_;
  const std::function<void(absl::Status)> on_end_;
  const uint64_t instance_;
  std::unique_ptr<StandbyLog> log_;
  std::string mark_path_;
  std::string topic_identity_;  // Empty: the topic was not reached yet.
  TopicState state_;
  bool reads_from_oldest_ = false;
  bool is_verifying_ = false;  // The next record is the one before the mark.
  bool expects_day_ = false;   // The next record begins the day of the mark.
  bool is_verified_ = false;   // The last record was seen to be that of the topic.
  bool has_records_ = false;   // The topic has records that are no claims.
  absl::Status missing_;       // Which records the topic lacks.
  absl::Status damaged_;       // Which record may have been of a block, until a later one fits.
  // A block whose parts are complete, while the disk is full.
  std::optional<ByteBuffer> pending_;
  int64_t pending_offset_ = 0;  // Offset of the record with its last part.
  ByteBuffer parts_;
  // Reads the log's index, to compare blocks that it has.
  std::unique_ptr<tplog::TplogBlocks> compared_;
  int32_t compared_date_ = kNullInt;
  std::minstd_rand random_;
  int64_t heard_ns_ = 0;        // MonotonicNs of the leader's last record.
  int64_t patience_ns_ = 0;     // How long this member waits for the next one.
  bool has_claimed_ = false;    // The claim has no answer yet.
  int64_t claimed_after_ = -1;  // The offset that the claim has to follow.
  bool may_continue_ = false;   // The leader was this member, in an earlier process.
  bool leads_ = false;
  bool is_lost_ = false;  // It leads no longer.
  bool ended_ = false;
  int64_t again_ns_ = 0;    // MonotonicNs of the next attempt while the disk is full.
  absl::Status hindrance_;  // Why it cannot lead; OK if it can.
  int64_t marked_offset_ = -1;
  OpenedLog opened_;
  wire::Timer timer_;
  wire::Timer mark_timer_;
  TopicLog* leading_ = nullptr;  // The service's.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::unique_ptr<kafka::RecordTopic> topic_;  // Last: it calls the rest.
};

}  // namespace tickstack::tickerplant
