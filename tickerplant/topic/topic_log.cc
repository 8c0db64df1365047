#include "tickerplant/topic/topic_log.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/chained/upstream_rows.h"
#include "tickerplant/standby/replication_messages.h"
#include "tickerplant/tables_text.h"

namespace tickstack::tickerplant {

TopicLog::TopicLog(TopicState state, int64_t lease_ns, const Tickerplant* plant,
                   kafka::RecordTopic* topic, const Clock* clock, Events events)
    : state_(std::move(state)),
      epoch_(state_.epoch()),
      instance_(state_.instance()),
      lease_ns_(lease_ns),
      plant_(plant),
      topic_(topic),
      clock_(clock),
      events_(std::move(events)),
      began_at_{plant->date(), plant->logged_seq()} {
  appended_ns_ = progress_ns_ = clock_->MonotonicNs();
  last_offset_ = state_.next_offset() - 1;
  logged_ = state_.mark();
}

TopicLog::~TopicLog() = default;

absl::Status TopicLog::Begin() {
  Append({.kind = TopicRecord::Kind::kTables, .tables = TablesText(plant_->schemas())});
  if (state_.place() && *state_.place() == began_at_) return absl::OkStatus();
  // The first leader of the topic, or another one with its log, has to append the rest of it.
  const bool is_ahead = state_.place() && !state_.is_whole() && *state_.place() < began_at_ &&
                        began_at_.date == state_.place()->date;
  if (state_.place() && !is_ahead) {
    return DataLoss("{}: has {} messages of {}, and the topic has {} of {}", plant_->log().path(),
                    began_at_.seq, FormatDate(began_at_.date), state_.place()->seq,
                    FormatDate(state_.place()->date));
  }
  TS_ASSIGN_OR_RETURN(shipped_, tplog::TplogBlocks::Open(plant_->log().path()));
  if (is_ahead) {
    while (shipped_->end().seq < state_.place()->seq) {
      TS_ASSIGN_OR_RETURN(const std::optional<tplog::IndexBlock> skipped, shipped_->Next());
      if (!skipped) break;
    }
  } else {
    TS_RETURN_IF_ERROR(
        AppendNextDay({kNullInt, began_at_.seq}, began_at_.date, shipped_->carried()));
  }
  Ship();
  return absl::OkStatus();
}

// ---- appending

void TopicLog::Append(TopicRecord record) {
  const int64_t now_ns = clock_->MonotonicNs();
  if (unanswered_.empty() && !is_reading_) progress_ns_ = now_ns;
  appended_ns_ = now_ns;
  record.epoch = epoch_;
  record.instance = instance_;
  topic_->Append(EncodeTopicRecord(record));
  record.bytes = {};
  record.carried.clear();
  unanswered_.push_back(std::move(record));
}

void TopicLog::AppendBlock(ReplicaPlace at, uint32_t messages, std::span<const std::byte> block) {
  const size_t parts = (block.size() + TopicRecord::kPartBytesMax - 1) / TopicRecord::kPartBytesMax;
  for (size_t part = 0; part < parts; ++part) {
    const size_t from = part * TopicRecord::kPartBytesMax;
    Append(
        {.kind = TopicRecord::Kind::kPart,
         .place = at,
         .messages = messages,
         .part = static_cast<uint32_t>(part),
         .parts = static_cast<uint32_t>(parts),
         .bytes = block.subspan(from, std::min(TopicRecord::kPartBytesMax, block.size() - from))});
  }
  in_flight_.push_back({{at.date, at.seq + messages}, block.size()});
  in_flight_bytes_ += block.size();
}

absl::Status TopicLog::Offer(ReplicaPlace at, const tplog::TplogBlock& block) {
  TS_ASSIGN_OR_RETURN(const ByteBuffer message, EncodeReplicaBlock(epoch_, at, block));
  AppendBlock(at, block.messages, message);
  return absl::OkStatus();
}

void TopicLog::OnLogged(ReplicaPlace place) {
  while (!in_flight_.empty() && in_flight_.front().end <= place) {
    in_flight_bytes_ -= in_flight_.front().bytes;
    logged_ = std::move(in_flight_.front().after);
    --counting_;
    in_flight_.pop_front();
  }
}

absl::Status TopicLog::AppendNextDay(ReplicaPlace before, int32_t next,
                                     NameMap<tplog::TableRows> carried) {
  // A member that begins to read there can tell that this leader led, if nobody appends meanwhile.
  const int64_t after = state_.next_offset() - 1 + static_cast<int64_t>(unanswered_.size());
  TopicRecord record{.kind = TopicRecord::Kind::kNextDay,
                     .after = after,
                     .place = before,
                     .next = next,
                     .carried = std::move(carried)};
  if (EncodeTopicRecord(record).size() > kafka::RecordTopic::kRecordBytesMax) {
    if (before.date == kNullInt) {
      return ResourceExhausted("replication: the rows of {} feeds do not fit into a record",
                               record.carried.size());
    }
    // Members that have the day before know them.
    record.after = TopicRecord::kWithoutRows;
    record.carried.clear();
  }
  Append(std::move(record));
  return absl::OkStatus();
}

void TopicLog::OfferNextDay(int32_t date, int32_t next) {
  // As Tickerplant::RollTo.
  NameMap<tplog::TableRows> carried = plant_->log().totals().feed_rows;
  absl::erase_if(carried, [](const auto& feed) { return IsUpstreamName(feed.first); });
  const absl::Status appended =
      AppendNextDay({date, plant_->logged_seq()}, next, std::move(carried));
  if (!appended.ok()) Lose(appended);
}

void TopicLog::Resign() {
  if (!lost_) Append({.kind = TopicRecord::Kind::kResign});
}

// Appends blocks of the log that the topic lacks, as far as there is room.
void TopicLog::Ship() {
  while (shipped_ != nullptr && !lost_) {
    if (state_.place()) OnLogged(*state_.place());
    if (shipped_->end().seq >= began_at_.seq) {
      shipped_ = nullptr;
      return;
    }
    if (!HasRoom()) return;
    if (const absl::Status appended = ShipBlock(); !appended.ok()) Lose(appended);
  }
}

absl::Status TopicLog::ShipBlock() {
  TS_ASSIGN_OR_RETURN(const std::optional<tplog::IndexBlock> block, shipped_->Next());
  if (!block) return DataLoss("{}: its index ends early", plant_->log().path());
  TS_ASSIGN_OR_RETURN(const ByteBuffer message,
                      EncodeLoggedBlock(epoch_, began_at_.date, *shipped_, *block));
  AppendBlock({began_at_.date, block->first_seq}, block->messages, message);
  return absl::OkStatus();
}

// ---- what counts

void TopicLog::OnAppended(const absl::StatusOr<int64_t>& offset) {
  if (lost_) return;
  if (!offset.ok()) return Lose(offset.status());
  if (unanswered_.empty()) return Lose(absl::InternalError("kafka: an answer without a record"));
  // Kafka does not know the offset, or has given it to an earlier record.
  if (*offset <= last_offset_) {
    return Lose(
        DataLoss("kafka: a record is at offset {} of the topic, after one at {}: the topic "
                 "has lost records",
                 *offset, last_offset_));
  }
  const TopicRecord record = std::move(unanswered_.front());
  unanswered_.pop_front();
  last_offset_ = *offset;
  if (*offset == state_.next_offset()) {
    Apply(*offset, record);
  } else if (*offset > state_.next_offset() && !is_reading_) {
    is_reading_ = true;
    progress_ns_ = clock_->MonotonicNs();
    topic_->Read(state_.next_offset());
  }
  if (!lost_) events_.progress();
}

void TopicLog::OnReadable() {
  while (is_reading_ && !lost_) {
    const absl::StatusOr<std::optional<kafka::RecordTopic::Taken>> taken = topic_->Take();
    if (!taken.ok()) return Lose(taken.status());
    if (!*taken) break;
    const int64_t offset = (*taken)->offset;
    // An answer has told of it meanwhile.
    if (offset < state_.next_offset()) continue;
    const absl::StatusOr<TopicRecord> record = ParseTopicRecord((*taken)->record);
    if (record.ok()) {
      Apply(offset, *record);
    } else {
      state_.Skip(offset, Crc32c((*taken)->record));
    }
    if (state_.next_offset() <= last_offset_) continue;
    is_reading_ = false;
    topic_->StopReading();
  }
  if (!lost_) events_.progress();
}

void TopicLog::Apply(int64_t offset, const TopicRecord& record) {
  progress_ns_ = clock_->MonotonicNs();
  const TopicState::Effect effect = state_.Apply(offset, record);
  if (effect == TopicState::Effect::kLeader) {
    return Lose(FailedPrecondition("replication: {} leads since record {} of the topic",
                                   state_.leader(), offset));
  }
  if (effect == TopicState::Effect::kBlock && counting_ < in_flight_.size()) {
    in_flight_[counting_++].after = state_.mark();
  }
  const bool is_own = record.kind != TopicRecord::Kind::kClaim && record.epoch == epoch_;
  if (is_own && effect == TopicState::Effect::kNone) {
    Lose(absl::InternalError(AbslView(
        fmt::format("replication: this leader's record {} of the topic does not count", offset))));
  }
}

void TopicLog::Lose(const absl::Status& why) {
  if (!std::exchange(lost_, true)) events_.lost(why);
}

// ---- the service

void TopicLog::Tick() {
  if (lost_) return;
  Ship();
  if (unanswered_.empty() && !is_reading_ &&
      clock_->MonotonicNs() - appended_ns_ >= lease_ns_ / 4) {
    Append({.kind = TopicRecord::Kind::kAlive});
  }
}

int64_t TopicLog::SilentNs() const {
  const bool is_waiting = !unanswered_.empty() || is_reading_;
  return is_waiting ? clock_->MonotonicNs() - progress_ns_ : 0;
}

void TopicLog::AddStats(SymbolVector& keys, std::vector<Value>& values) const {
  const auto add = [&](std::string_view key, Value value) {
    keys.push_back(key);
    values.push_back(std::move(value));
  };
  const absl::Status problem = topic_->problem();
  std::string error;
  if (!has_enough()) {
    error = fmt::format("the topic has taken nothing for {} ms{}{}", SilentNs() / 1'000'000,
                        problem.ok() ? "" : ": ", Message(problem));
  }
  add("leader", Value::Symbol(state_.leader()));
  add("address", Value::Symbol(state_.address()));
  add("offset", Value::Long(state_.next_offset()));
  add("silent_ms", Value::Long(SilentNs() / 1'000'000));
  add("error", Value::String(error));
}

}  // namespace tickstack::tickerplant
