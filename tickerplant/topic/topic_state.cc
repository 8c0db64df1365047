#include "tickerplant/topic/topic_state.h"

#include <utility>

#include "base/crc32c.h"

namespace tickstack::tickerplant {

TopicState::TopicState(const Mark& mark)
    : next_offset_(mark.offset),
      epoch_(mark.epoch),
      newest_epoch_(mark.epoch),
      leader_(mark.leader),
      address_(mark.address),
      least_seq_(mark.least_seq),
      day_offset_(mark.day_offset),
      day_epoch_(mark.day_epoch),
      tables_crc_(mark.tables_crc),
      crc_(mark.crc) {
  if (mark.place.date != kNullInt) place_ = mark.place;
}

TopicState::Mark TopicState::mark() const {
  return {.offset = parts_seen_ > 0 ? block_offset_ : next_offset_,
          .epoch = epoch_,
          .leader = leader_,
          .address = address_,
          .place = place_.value_or(ReplicaPlace{kNullInt, 0}),
          .crc = parts_seen_ > 0 ? block_crc_ : crc_,
          .least_seq = least_seq_,
          .day_offset = day_offset_,
          .day_epoch = day_epoch_,
          .tables_crc = tables_crc_};
}

TopicState::Mark TopicState::Mark::AtDay() const {
  Mark at{.offset = day_offset, .epoch = day_epoch};
  // Otherwise the claim of its leader follows.
  if (epoch == day_epoch) {
    at.leader = leader;
    at.address = address;
  }
  return at;
}

TopicState::Effect TopicState::Apply(int64_t offset, const TopicRecord& record) {
  const uint32_t before = std::exchange(crc_, record.crc);
  next_offset_ = offset + 1;
  if (record.kind == TopicRecord::Kind::kClaim) {
    if (offset != record.after + 1) return Effect::kNone;
    epoch_ = newest_epoch_ = static_cast<uint64_t>(offset) + 1;
    leader_ = record.name;
    address_ = record.address;
    instance_ = record.instance;
    parts_seen_ = 0;
    tables_crc_ = 0;
    tables_.clear();
    return Effect::kLeader;
  }
  if (record.kind == TopicRecord::Kind::kNextDay) return ApplyNextDay(offset, record);
  if (record.epoch == 0 || record.epoch != epoch_) return Effect::kNone;
  if (record.kind == TopicRecord::Kind::kPart) return ApplyPart(offset, before, record);
  if (record.kind == TopicRecord::Kind::kAlive) return Effect::kAlive;
  if (record.kind == TopicRecord::Kind::kTables) {
    tables_crc_ = Crc32c(AsBytes(record.tables));
    tables_ = record.tables;
    return Effect::kTables;
  }
  epoch_ = 0;
  instance_ = 0;
  leader_.clear();
  address_.clear();
  parts_seen_ = 0;
  return Effect::kResigned;
}

TopicState::Effect TopicState::ApplyNextDay(int64_t offset, const TopicRecord& record) {
  const bool leads = record.epoch != 0 && record.epoch == epoch_;
  if (!leads) {
    // Where reading began in the middle, this proves who leads.
    const bool proves = !place_ && epoch_ == 0 && offset == record.after + 1 && record.epoch != 0;
    if (!proves) return Effect::kNone;
    epoch_ = newest_epoch_ = record.epoch;
  } else if (place_ ? record.place != *place_ || record.next <= place_->date
                    : record.next == kNullInt) {
    return Effect::kNone;
  }
  least_seq_ = record.place.date == kNullInt ? record.place.seq : 0;
  place_ = {record.next, 0};
  day_offset_ = offset;
  day_epoch_ = epoch_;
  parts_seen_ = 0;
  return Effect::kNextDay;
}

bool TopicState::HasLostTrackAt(const TopicRecord& record) const {
  if (record.kind == TopicRecord::Kind::kClaim || newest_epoch_ == 0) return false;
  if (record.epoch > newest_epoch_) return true;
  if (!place_ || epoch_ == 0 || record.epoch != epoch_) return false;
  // Parts that are there already may be repeated.
  const bool is_part = record.kind == TopicRecord::Kind::kPart;
  if (is_part && record.place == *place_) return record.part >= parts_seen_;
  return record.place >= *place_;
}

bool TopicState::IsRepeated(const TopicRecord& record) const {
  return record.kind == TopicRecord::Kind::kPart && place_ && epoch_ != 0 &&
         record.epoch == epoch_ && record.place < *place_;
}

TopicState::Effect TopicState::ApplyPart(int64_t offset, uint32_t before,
                                         const TopicRecord& record) {
  if (!place_ || record.place != *place_) return Effect::kNone;
  if (record.part == 0) {
    parts_seen_ = 0;
    parts_ = record.parts;
    messages_ = record.messages;
    block_offset_ = offset;
    block_crc_ = before;
  }
  const bool follows =
      record.part == parts_seen_ && record.parts == parts_ && record.messages == messages_;
  if (!follows) return Effect::kNone;
  if (++parts_seen_ < parts_) return Effect::kPart;
  parts_seen_ = 0;
  place_->seq += messages_;
  return Effect::kBlock;
}

}  // namespace tickstack::tickerplant
