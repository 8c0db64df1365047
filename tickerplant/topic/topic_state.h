#pragma once

// Which records of a log in a topic count. Every member applies all records in the order of their
// offsets, so all come to the same result, without asking each other:
//
//   - A claim counts if nobody appended anything between the last record that its sender had seen
//     and the claim. Of two claims at once, the first one counts. Its offset is the leader's number
//     (epoch), and later leaders have larger ones.
//   - Any other record counts if its epoch is that of the last claim that counts. So a leader that
//     wakes up after another one has begun writes nothing that counts.
//   - A block counts if it begins where the log ends, and all its parts follow in order.
//
// A leader acknowledges a row when it knows that the row's block counts: then every member has the
// block at the same place of its log, sooner or later.
//
// Reading may begin in the middle, where older records are gone. The log's place is then known from
// the first record of a next day that proves itself: it is at the offset that its sender expected,
// so the sender led.
//
// Threads: one owner.

#include <cstdint>
#include <optional>
#include <string>

#include "tickerplant/standby/replication_messages.h"
#include "tickerplant/topic/topic_record.h"

namespace tickstack::tickerplant {

class TopicState {
 public:
  enum class Effect : uint8_t {
    kNone,     // The record does not count.
    kLeader,   // Another leader begins.
    kAlive,    // The leader works.
    kPart,     // A part of a block, which is not complete.
    kBlock,    // The last part: the block counts.
    kNextDay,  // A day begins.
    kTables,   // The leader says its tables.
    kResigned,
  };
  // What is needed to continue at a later record. It is kept in a file (topic_mark.h).
  struct Mark {
    int64_t offset = 0;  // The next record to apply is there.
    uint64_t epoch = 0;
    std::string leader = {};
    std::string address = {};
    ReplicaPlace place = {kNullInt, 0};
    uint32_t crc = 0;  // CRC-32C of the record before `offset`.
    // Messages of that day that its first leader had before the topic had them.
    uint64_t least_seq = 0;
    // The record with which that day begins, and its epoch.
    int64_t day_offset = 0;
    uint64_t day_epoch = 0;
    uint32_t tables_crc = 0;  // That of the leader's tables; 0: it did not say them.
    // From where the whole day can be read again.
    Mark AtDay() const;
  };

  TopicState() = default;
  explicit TopicState(const Mark& mark);

  // Applies the record at `offset`, which must not be before next_offset().
  Effect Apply(int64_t offset, const TopicRecord& record);
  // Passes a record of another form: it does not count.
  void Skip(int64_t offset, uint32_t crc) {
    next_offset_ = offset + 1;
    crc_ = crc;
  }
  // Forgets where the log ends: records that count are missing. Only another day says it again.
  void LoseTrack() {
    place_.reset();
    parts_seen_ = 0;
  }
  // Passes over blocks of which records are missing, because the log has them, up to `place` of the
  // same day.
  void PassTo(ReplicaPlace place) {
    place_ = place;
    parts_seen_ = 0;
  }
  // True if a record that does not count shows that records before it are missing, or that this is
  // another topic: it is of a later leader than the last one, or of that one beyond the log's end.
  bool HasLostTrackAt(const TopicRecord& record) const;
  // True if such a record is of the last leader, for a place before the log's end: Kafka may repeat
  // a record if it loses what it knows of a producer.
  bool IsRepeated(const TopicRecord& record) const;

  int64_t next_offset() const { return next_offset_; }
  uint64_t epoch() const { return epoch_; }              // 0: unknown, or there is no leader.
  const std::string& leader() const { return leader_; }  // Empty: there is none.
  const std::string& address() const { return address_; }
  uint64_t instance() const { return instance_; }  // Its process; 0: not known.
  // The end of the log; nullopt if no day has begun, or its beginning was not read.
  const std::optional<ReplicaPlace>& place() const { return place_; }
  // False while the log of the first leader is appended that it had before the topic.
  bool is_whole() const { return place_.has_value() && place_->seq >= least_seq_; }
  uint64_t least_seq() const { return least_seq_; }
  // CRC-32C of the last leader's TablesText; 0: it did not say it.
  uint32_t tables_crc() const { return tables_crc_; }
  // That text; empty if it was not read, because reading began later.
  const std::string& tables() const { return tables_; }
  uint32_t crc() const { return crc_; }  // That of the last record.
  // From where reading may continue with this state.
  Mark mark() const;

 private:
  Effect ApplyPart(int64_t offset, uint32_t before, const TopicRecord& record);
  Effect ApplyNextDay(int64_t offset, const TopicRecord& record);

  int64_t next_offset_ = 0;
  uint64_t epoch_ = 0;
  uint64_t newest_epoch_ = 0;  // That of the last claim that counts, also after it.
  std::string leader_;
  std::string address_;
  uint64_t instance_ = 0;
  std::optional<ReplicaPlace> place_;
  uint64_t least_seq_ = 0;
  int64_t day_offset_ = 0;
  uint64_t day_epoch_ = 0;
  uint32_t tables_crc_ = 0;
  std::string tables_;
  uint32_t crc_ = 0;  // CRC-32C of the last record.
  // The block of which some parts are there.
  uint32_t parts_seen_ = 0;
  uint32_t parts_ = 0;
  uint32_t messages_ = 0;
  int64_t block_offset_ = 0;  // Its first part is there.
  uint32_t block_crc_ = 0;    // CRC-32C of the record before that.
};

}  // namespace tickstack::tickerplant
