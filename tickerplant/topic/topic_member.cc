#include "tickerplant/topic/topic_member.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "tickerplant/cluster/leadership.h"
#include "tickerplant/tables_text.h"
#include "tickerplant/tickerplant_service.h"
#include "wire/codec.h"
#include "wire/protocol.h"
#include "wire/whole_message.h"

namespace tickstack::tickerplant {

using namespace std::chrono_literals;

namespace {

constexpr auto kMemberTick = 10ms;
constexpr auto kMarkPause = 1s;
constexpr auto kResignAtMost = 1s;
constexpr size_t kBytesOfTurn = size_t{4} << 20;  // Of records, before the loop does other work.
constexpr size_t kRecordBytes = 1024;  // A record takes as long as this many bytes of a block.
constexpr int64_t kFullPauseNs = 200'000'000;  // While the disk is full.
constexpr size_t kBlockMessageBytesMax = kReplicaBlockBytesMax + (size_t{1} << 20);

// kFailedPrecondition if the mark beside the log is that of another topic.
absl::Status CheckTopicOfMark(const std::string& path, const std::optional<TopicMark>& mark,
                              std::string_view identity) {
  if (!mark || mark->topic == identity) return absl::OkStatus();
  return FailedPrecondition("{}: the log is that of the topic {}, and not of {}", path, mark->topic,
                            identity);
}

uint64_t RandomInstance() {
  std::random_device device;
  return (uint64_t{device()} << 31) ^ device();  // A long that is not negative.
}

}  // namespace

absl::StatusOr<std::unique_ptr<TopicMember>> TopicMember::Start(
    wire::EventLoop& loop, TopicMemberOptions options, StandbyLogOptions log,
    const MakeTopic& make_topic, std::function<void()> on_elected,
    std::function<void(absl::Status)> on_end) {
  TS_RETURN_IF_ERROR(CheckMemberName(options.name));
  std::unique_ptr<TopicMember> member(
      new TopicMember(loop, std::move(options), std::move(on_elected), std::move(on_end)));
  member->mark_path_ = fmt::format("{}/{}.topic", log.directory, log.log_name);
  TS_ASSIGN_OR_RETURN(member->log_, StandbyLog::Open(std::move(log)));
  TS_ASSIGN_OR_RETURN(const std::optional<TopicMark> mark, ReadTopicMark(member->mark_path_));
  TopicMember* const raw = member.get();
  TS_ASSIGN_OR_RETURN(
      member->topic_,
      make_topic({.opened = [raw](const std::string& identity) { raw->OnTopicOpened(identity); },
                  .readable = [raw] { raw->OnReadable(); },
                  .appended = [raw](absl::StatusOr<int64_t> at) { raw->OnAppended(at); },
                  .failed = [raw](const absl::Status& why) { raw->End(why); },
                  .may_create =
                      [path = member->mark_path_, mark](const std::string& identity) {
                        return CheckTopicOfMark(path, mark, identity);
                      }}));
  member->timer_.Every(kMemberTick, [raw] { raw->Tick(); });
  member->mark_timer_.Every(kMarkPause, [raw] { raw->WriteMark(); });
  return member;
}

TopicMember::TopicMember(wire::EventLoop& loop, TopicMemberOptions options,
                         std::function<void()> on_elected, std::function<void(absl::Status)> on_end)
    : loop_(loop),
      options_(std::move(options)),
      on_elected_(std::move(on_elected)),
      on_end_(std::move(on_end)),
      instance_(RandomInstance()),
      random_(static_cast<uint32_t>(instance_)),
      timer_(loop),
      mark_timer_(loop) {}

TopicMember::~TopicMember() {
  ended_ = true;
  Resign();
}

void TopicMember::End(const absl::Status& why) {
  if (std::exchange(ended_, true)) return;
  if (!leads_) topic_->StopReading();
  on_end_(why);
}

// ---- reading

void TopicMember::OnTopicOpened(const std::string& identity) {
  topic_identity_ = identity;
  if (const absl::Status begun = BeginReading(); !begun.ok()) End(begun);
}

absl::Status TopicMember::BeginReading() {
  TS_ASSIGN_OR_RETURN(const std::optional<TopicMark> mark, ReadTopicMark(mark_path_));
  // After a power cut the day before an empty day may lack its end: this drops the empty one.
  if (log_->may_lack_rows()) TS_RETURN_IF_ERROR(log_->RequestAs(options_.name, 0).status());
  const ReplicaPlace own = log_->place();
  TS_RETURN_IF_ERROR(CheckTopicOfMark(mark_path_, mark, topic_identity_));
  if (!mark || !log_->has_log()) return ReadAll();
  const TopicState::Mark& now = mark->now;
  if (own >= now.place) {
    state_ = TopicState(now);
    // The record before it is read, too: it shows whether this is still the same topic.
    is_verifying_ = now.offset > 0;
  } else if (own.date == now.place.date) {
    // A power cut has taken the log's end. The day is read again.
    state_ = TopicState(now.AtDay());
    expects_day_ = true;
  } else {
    return ReadAll();
  }
  may_continue_ = state_.leader() == options_.name && state_.address() == options_.address;
  topic_->Read(state_.next_offset() - (is_verifying_ ? 1 : 0));
  return absl::OkStatus();
}

// Continues to read with a mark whose record is, or is not, that of the topic.
absl::Status TopicMember::Verify(const absl::StatusOr<kafka::RecordTopic::Taken>& taken) {
  is_verifying_ = false;
  const int64_t next = state_.next_offset();
  is_verified_ = taken.ok() && taken->offset == next - 1 && Crc32c(taken->record) == state_.crc();
  if (is_verified_) return absl::OkStatus();
  // If Kafka has deleted it because it is old, the next one is the oldest that there may be. If
  // that is not there either, everything is read.
  if (!taken.ok()) {
    is_verified_ = true;
    topic_->Read(next);
    return absl::OkStatus();
  }
  LogWarn("topic is read from its oldest record: it has another record than the log offset={}",
          next - 1);
  return ReadAll();
}

absl::Status TopicMember::ReadAll() {
  state_ = {};
  parts_.clear();
  has_records_ = is_verified_ = false;
  missing_ = damaged_ = absl::OkStatus();
  may_continue_ = is_verifying_ = expects_day_ = false;
  reads_from_oldest_ = true;
  topic_->Read(kafka::RecordTopic::kOldest);
  return absl::OkStatus();
}

void TopicMember::OnReadable() {
  if (ended_) return;
  if (leading_ != nullptr) return leading_->OnReadable();
  if (leads_) return;
  if (const absl::Status taken = TakeRecords(); !taken.ok()) End(taken);
}

// While the disk is full, a block stays pending, and this does nothing.
absl::Status TopicMember::TakeRecords() {
  size_t bytes = 0;
  while (!leads_) {
    // The loop has other work, too.
    if (bytes > kBytesOfTurn) {
      loop_.Post([this, alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) OnReadable();
      });
      return absl::OkStatus();
    }
    if (pending_) {
      const absl::Status appended = AppendPending();
      if (absl::IsResourceExhausted(appended)) return absl::OkStatus();
      TS_RETURN_IF_ERROR(appended);
    }
    absl::StatusOr<std::optional<kafka::RecordTopic::Taken>> taken = topic_->Take();
    if (is_verifying_ && absl::IsDataLoss(taken.status())) return Verify(taken.status());
    if (absl::IsDataLoss(taken.status()) && !reads_from_oldest_) {
      LogWarn("topic is read from its oldest record error=\"{}\"", Message(taken.status()));
      return ReadAll();
    }
    TS_RETURN_IF_ERROR(taken.status());
    if (!*taken) return absl::OkStatus();
    bytes += (*taken)->record.size() + kRecordBytes;
    TS_RETURN_IF_ERROR(is_verifying_ ? Verify(**std::move(taken)) : Apply(**taken));
  }
  return absl::OkStatus();
}

absl::Status TopicMember::Apply(const kafka::RecordTopic::Taken& taken) {
  if (taken.offset < state_.next_offset()) return absl::OkStatus();
  const absl::StatusOr<TopicRecord> record = taken.is_damaged
                                                 ? DataLoss("it does not match its checksum")
                                                 : ParseTopicRecord(taken.record);
  if (!record.ok()) {
    if (taken.is_damaged) {
      damaged_ =
          DataLoss("record {} of the topic is damaged: {}", taken.offset, Message(record.status()));
    }
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) {
      LogWarn("record does not count offset={} error=\"{}\"", taken.offset,
              Message(record.status()));
    }
    state_.Skip(taken.offset, Crc32c(taken.record));
    return absl::OkStatus();
  }
  if (HasRowsBefore(*record)) state_.PassTo(record->place);
  const TopicState::Effect effect = state_.Apply(taken.offset, *record);
  if (std::exchange(expects_day_, false) && effect != TopicState::Effect::kNextDay) {
    LogWarn("topic is read from its oldest record: the day does not begin at offset={}",
            taken.offset);
    return ReadAll();
  }
  is_verified_ = false;
  if (record->kind != TopicRecord::Kind::kClaim) has_records_ = true;
  if (effect == TopicState::Effect::kNextDay) missing_ = absl::OkStatus();
  // No block is missing before one that fits.
  const bool fits = effect == TopicState::Effect::kPart || effect == TopicState::Effect::kBlock ||
                    effect == TopicState::Effect::kNextDay;
  if (fits) damaged_ = absl::OkStatus();
  if (effect == TopicState::Effect::kNone) return CheckFit(taken.offset, *record);
  heard_ns_ = loop_.clock().MonotonicNs();
  switch (effect) {
    case TopicState::Effect::kLeader:
      if (record->shard != options_.shard) {
        return FailedPrecondition("replication: {} leads {}, and this member is {}", record->name,
                                  Describe(record->shard), Describe(options_.shard));
      }
      may_continue_ = record->name == options_.name && record->address == options_.address;
      patience_ns_ = 0;
      if (record->instance == instance_) return BeginToLead();
      LogInfo("leader name={} address={} epoch={}", record->name, record->address, state_.epoch());
      return absl::OkStatus();
    case TopicState::Effect::kPart:
    case TopicState::Effect::kBlock:
      if (record->part == 0) parts_.clear();
      if (parts_.size() + record->bytes.size() > kBlockMessageBytesMax) {
        LoseTrack(DataLoss("record {} of the topic: a block of more than {} bytes", taken.offset,
                           kBlockMessageBytesMax));
        return absl::OkStatus();
      }
      parts_.Append(record->bytes);
      if (effect == TopicState::Effect::kPart) return absl::OkStatus();
      pending_ = std::exchange(parts_, ByteBuffer());
      pending_offset_ = taken.offset;
      return absl::OkStatus();  // TakeRecords appends it.
    case TopicState::Effect::kNextDay:
      return ApplyNextDay(*record);
    case TopicState::Effect::kResigned:
      patience_ns_ = 0;
      return absl::OkStatus();
    case TopicState::Effect::kTables:
      if (const absl::Status same = CheckTables(); !same.ok()) {
        LogError("has other tables than the leader error=\"{}\"", Message(same));
      }
      return absl::OkStatus();
    case TopicState::Effect::kAlive:
    case TopicState::Effect::kNone:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

void TopicMember::LoseTrack(absl::Status why) {
  LogError("copies no more of this day error=\"{}\"", Message(why));
  missing_ = std::move(why);
  state_.LoseTrack();
  parts_.clear();
  pending_.reset();
}

// True if records are missing before this one, and the log has the rows of their blocks.
bool TopicMember::HasRowsBefore(const TopicRecord& record) const {
  if (!reads_from_oldest_ || record.kind != TopicRecord::Kind::kPart || record.part > 0)
    return false;
  const std::optional<ReplicaPlace>& place = state_.place();
  return place && record.epoch == state_.epoch() && record.place.date == place->date &&
         record.place > *place && log_->place() >= record.place;
}

// Reads everything again if a record that does not count shows that others are missing. If they are
// missing in the topic, this member does not lead in this day.
absl::Status TopicMember::CheckFit(int64_t offset, const TopicRecord& record) {
  if (state_.HasLostTrackAt(record)) {
    const absl::Status why = DataLoss(
        "record {} of the topic is of message {} of {}, epoch {}: records before it are missing",
        offset, record.place.seq, FormatDate(record.place.date), record.epoch);
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) LogWarn("topic does not fit the log error=\"{}\"", Message(why));
    if (!reads_from_oldest_) return ReadAll();
    LoseTrack(why);
    return absl::OkStatus();
  }
  if (!state_.IsRepeated(record) || record.parts != 1) return absl::OkStatus();
  const absl::StatusOr<Value> message = wire::DecodeMessage(record.bytes);
  if (!message.ok()) return absl::OkStatus();  // It counts for nothing.
  const absl::StatusOr<ReplicaBlock> block = ParseReplicaBlock(*message);
  const absl::Status same = block.ok() ? Compare(*block) : absl::OkStatus();
  if (absl::IsDataLoss(same)) LoseTrack(same);
  return absl::IsDataLoss(same) ? absl::OkStatus() : same;
}

// Passes over a block that is damaged if the log has its messages.
absl::Status TopicMember::LeavePending(const absl::Status& why) {
  const absl::Status damaged =
      DataLoss("record {} of the topic is damaged: {}", pending_offset_, Message(why));
  if (log_->place() >= *state_.place()) {
    LogWarn("block of the topic is passed over, the log has it error=\"{}\"", Message(damaged));
    pending_.reset();
  } else {
    LoseTrack(damaged);
  }
  return absl::OkStatus();
}

// kResourceExhausted: the disk is full, and the block is still pending.
absl::Status TopicMember::AppendPending() {
  const absl::StatusOr<Value> message = wire::DecodeMessage(*pending_);
  const absl::StatusOr<ReplicaBlock> parsed =
      message.ok() ? ParseReplicaBlock(*message) : message.status();
  if (!parsed.ok()) return LeavePending(parsed.status());
  const ReplicaBlock& block = *parsed;
  const ReplicaPlace end{block.at.date, block.at.seq + block.messages};
  if (end != *state_.place()) {
    return LeavePending(DataLoss("{}: message {} of {}, the topic is at {} of {}",
                                 wire::protocol::kReplicaBlock, end.seq, FormatDate(end.date),
                                 state_.place()->seq, FormatDate(state_.place()->date)));
  }
  const ReplicaPlace own = log_->place();
  // The writer died within the block: its repair keeps the messages that are whole.
  const bool has_torn = block.at < own && own < end;
  if (has_torn) {
    TS_RETURN_IF_ERROR(CompareTorn(block));
    TS_RETURN_IF_ERROR(log_->CutTo(block.at.seq));
    compared_ = nullptr;
  }
  if (end <= own) {
    TS_RETURN_IF_ERROR(Compare(block));
  } else if (const absl::Status appended = log_->Append(block); !appended.ok()) {
    hindrance_ = appended;
    return appended;
  }
  hindrance_ = absl::OkStatus();
  pending_.reset();
  return absl::OkStatus();
}

absl::Status TopicMember::NotThatOfTheTopic(uint64_t seq) const {
  return DataLoss(
      "{}: message {} is not that of the topic: it is the log of another stack, or the topic has "
      "lost records",
      log_->path(), seq);
}

// Reads the index of the log up to the block that begins with message `seq`. kDataLoss if none
// does.
absl::Status TopicMember::CompareFrom(uint64_t seq) {
  if (compared_ == nullptr || compared_date_ != log_->place().date || compared_->end().seq > seq) {
    TS_ASSIGN_OR_RETURN(compared_, tplog::TplogBlocks::Open(log_->path()));
    compared_date_ = log_->place().date;
  }
  while (compared_->end().seq < seq) {
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::IndexBlock> own, compared_->Next());
    if (!own) break;
  }
  return compared_->end().seq == seq ? absl::OkStatus() : NotThatOfTheTopic(seq);
}

// kDataLoss if the log has another block in this place.
absl::Status TopicMember::Compare(const ReplicaBlock& block) {
  if (block.at.date != log_->place().date) return absl::OkStatus();  // A day that has ended here.
  TS_RETURN_IF_ERROR(CompareFrom(block.at.seq));
  TS_ASSIGN_OR_RETURN(const std::optional<tplog::IndexBlock> own, compared_->Next());
  const bool is_same = own && own->messages == block.messages && own->crc == block.crc;
  return is_same ? absl::OkStatus() : NotThatOfTheTopic(block.at.seq);
}

// kDataLoss if the log ends within this block, with other messages.
absl::Status TopicMember::CompareTorn(const ReplicaBlock& block) {
  TS_RETURN_IF_ERROR(CompareFrom(block.at.seq));
  size_t bytes = 0;
  for (uint64_t i = block.at.seq; i < log_->place().seq; ++i) {
    TS_ASSIGN_OR_RETURN(const std::optional<size_t> message,
                        wire::ValueBytes(block.bytes.subspan(bytes)));
    bytes += message.value_or(0);  // ParseReplicaBlock has counted them.
  }
  ByteBuffer own;
  own.resize(bytes);
  TS_ASSIGN_OR_RETURN(const File log, File::OpenForReading(log_->path()));
  TS_ASSIGN_OR_RETURN(const size_t read, log.ReadAt(compared_->log_offset(), own.span()));
  const bool is_same = read == bytes && std::ranges::equal(own.span(), block.bytes.first(bytes));
  return is_same ? absl::OkStatus() : NotThatOfTheTopic(block.at.seq);
}

absl::Status TopicMember::ApplyNextDay(const TopicRecord& record) {
  const ReplicaPlace own = log_->place();
  const bool has_rows = record.after != TopicRecord::kWithoutRows;
  if (log_->has_log() && own.date >= record.next) {
    const bool is_begun = own == ReplicaPlace{record.next, 0} && has_rows;
    return is_begun ? log_->Begin(record.next, record.carried) : absl::OkStatus();
  }
  if (log_->has_log() && own == record.place) {
    return log_->EndDay({state_.epoch(), record.place.date, record.next});
  }
  if (log_->has_log() && record.place.date == own.date && own.seq > record.place.seq) {
    return DataLoss("{}: has {} messages, and the topic has {} of this day", log_->path(), own.seq,
                    record.place.seq);
  }
  if (!has_rows) {
    LoseTrack(
        DataLoss("the topic does not say how many rows of each feed {} begins with: copy the "
                 "log of another member",
                 FormatDate(record.next)));
    return absl::OkStatus();
  }
  return log_->Begin(record.next, record.carried);
}

// ---- leading

void TopicMember::Tick() {
  if (ended_ || leads_) return;
  if (pending_ && loop_.clock().MonotonicNs() >= again_ns_) {
    again_ns_ = loop_.clock().MonotonicNs() + kFullPauseNs;
    OnReadable();
    if (ended_ || leads_) return;
  }
  if (topic_->at_end() && expects_day_) {
    if (const absl::Status begun = ReadAll(); !begun.ok()) End(begun);
    return;
  }
  if (topic_->at_end() && heard_ns_ == 0) heard_ns_ = loop_.clock().MonotonicNs();
  if (!IsClaimDue()) return;
  hindrance_ = MayClaim();
  if (hindrance_.ok()) return Claim();
  static LogLimit limit(10 * kNsPerSecond);
  if (limit.Pass()) LogWarn("cannot lead reason=\"{}\"", Message(hindrance_));
}

bool TopicMember::IsClaimDue() {
  if (has_claimed_ || is_verifying_ || !topic_->at_end() || pending_) return false;
  if (may_continue_ && state_.instance() != instance_) return true;
  if (patience_ns_ == 0) {
    // Members that wait for the same leader should not claim at once.
    const bool has_leader = state_.epoch() != 0;
    const int64_t least_ns = has_leader ? options_.lease_ns : 0;
    std::uniform_int_distribution<int64_t> more(1, options_.lease_ns / 4);
    patience_ns_ = least_ns + more(random_);
  }
  return loop_.clock().MonotonicNs() - heard_ns_ >= patience_ns_;
}

// kFailedPrecondition if the last leader had other tables.
absl::Status TopicMember::CheckTables() const {
  const uint32_t crc = state_.tables_crc();
  if (crc == 0 || options_.tables.empty() || crc == Crc32c(AsBytes(options_.tables))) {
    return absl::OkStatus();
  }
  return FailedPrecondition(
      "tables: {}: the topic is that of another stack, or [tables] was changed: start the member "
      "that led with the new ones first, or name this one as first_leader in [replication]",
      state_.tables().empty() ? "those of the last leader differ"
                              : DescribeOtherTables(options_.tables, state_.tables()));
}

absl::Status TopicMember::MayClaim() const {
  // With its claim, the tables are its own.
  if (!may_continue_ && options_.first_leader != options_.name) TS_RETURN_IF_ERROR(CheckTables());
  TS_RETURN_IF_ERROR(missing_);
  TS_RETURN_IF_ERROR(damaged_);
  const ReplicaPlace own = log_->place();
  const bool is_empty = !log_->has_log() || own.seq == 0;
  if (state_.place()) {
    const bool is_equal = own == *state_.place();
    if (is_equal && state_.is_whole()) return absl::OkStatus();
    // The log of the first leader, which has not appended all of it.
    const ReplicaPlace least{state_.place()->date, state_.least_seq()};
    if (own.date == least.date && own >= least && !state_.is_whole()) return absl::OkStatus();
    if (is_equal) {
      return FailedPrecondition(
          "the topic has {} of the {} messages of {} that its first leader had: start that member",
          own.seq, least.seq, FormatDate(own.date));
    }
    return DataLoss("{}: has {} messages of {}, and the topic has {} of {}", log_->path(), own.seq,
                    FormatDate(own.date), state_.place()->seq, FormatDate(state_.place()->date));
  }
  // Claims do no harm to a topic of which everything else is too old.
  if (topic_->oldest() != 0 && has_records_) {
    return FailedPrecondition(
        "the oldest records of the topic are of the middle of a day, and this member has no log of "
        "it: copy the log of another member, or wait for the next day");
  }
  if (!options_.first_leader.empty()) {
    if (options_.first_leader == options_.name) return absl::OkStatus();
    return FailedPrecondition("the topic is empty, and {} begins it", options_.first_leader);
  }
  if (is_empty) return absl::OkStatus();
  return FailedPrecondition(
      "the topic is empty, and {} has {} messages: first_leader in [replication] names the member "
      "whose log begins the topic",
      log_->path(), own.seq);
}

void TopicMember::Claim() {
  // The topic may have been deleted and begun again while this member could not reach it.
  if (!is_verified_ && state_.next_offset() > 0) {
    is_verifying_ = true;
    topic_->Read(state_.next_offset() - 1);
    return;
  }
  has_claimed_ = true;
  claimed_after_ = state_.next_offset() - 1;
  TopicRecord claim{.kind = TopicRecord::Kind::kClaim,
                    .after = state_.next_offset() - 1,
                    .name = options_.name,
                    .address = options_.address,
                    .instance = instance_,
                    .shard = options_.shard};
  topic_->Append(EncodeTopicRecord(claim));
}

void TopicMember::OnAppended(const absl::StatusOr<int64_t>& offset) {
  if (ended_) return;
  if (!std::exchange(has_claimed_, false)) {
    if (leading_ != nullptr) leading_->OnAppended(offset);
    return;
  }
  if (!offset.ok()) return End(offset.status());
  if (*offset <= claimed_after_) {
    return End(DataLoss("the topic has its record {} a second time: it was begun again", *offset));
  }
  // Whether it counts is seen when it is read. If not, somebody else has claimed.
  patience_ns_ = 0;
  may_continue_ = false;
  if (!leads_) heard_ns_ = loop_.clock().MonotonicNs();
}

absl::Status TopicMember::BeginToLead() {
  leads_ = true;
  topic_->StopReading();
  log_->NoteComplete();
  opened_ = log_->Release();
  LogInfo("leads epoch={}", state_.epoch());
  on_elected_();
  return absl::OkStatus();
}

void TopicMember::Lead(TickerplantService& service) {
  auto log = std::make_unique<TopicLog>(
      state_, options_.lease_ns, &service.tickerplant(), topic_.get(), &loop_.clock(),
      TopicLog::Events{.progress = [&service] { service.OnReplicationProgress(); },
                       .lost =
                           [this](const absl::Status& why) {
                             is_lost_ = true;
                             End(why);
                           }});
  leading_ = log.get();
  const absl::Status begun = log->Begin();
  service.Lead(std::move(log));
  if (!begun.ok()) End(begun);
}

// Says from where the log, as it is now, can be continued.
void TopicMember::WriteMark() {
  if (topic_identity_.empty() || pending_ || ended_ || !missing_.ok()) return;
  const TopicState::Mark now = leading_ == nullptr ? state_.mark() : leading_->logged_mark();
  if (now.place.date == kNullInt || now.offset == marked_offset_) return;
  if (leading_ == nullptr && topic_->at_end() && log_->place() == now.place) log_->NoteComplete();
  const absl::Status written = WriteTopicMark(mark_path_, {topic_identity_, now});
  if (!written.ok()) {
    static LogLimit limit(60 * kNsPerSecond);
    if (limit.Pass()) LogWarn("mark not written error=\"{}\"", Message(written));
    return;
  }
  marked_offset_ = now.offset;
}

// A leader that ends, for whatever reason, lets another one lead at once.
void TopicMember::Resign() {
  if (!leads_ || std::exchange(is_lost_, true)) return;
  TopicRecord record{
      .kind = TopicRecord::Kind::kResign, .epoch = state_.epoch(), .instance = instance_};
  topic_->Append(EncodeTopicRecord(record));
  topic_->Flush();
}

absl::Status TopicMember::Stop() {
  timer_.Cancel();
  mark_timer_.Cancel();
  if (leading_ != nullptr && !std::exchange(is_lost_, true)) {
    leading_->Resign();
    topic_->Flush();
    loop_.RunUntil([this] { return leading_->is_idle(); }, kResignAtMost);
  }
  Resign();
  WriteMark();
  ended_ = true;
  topic_->StopReading();
  return log_->CloseDurably();
}

std::string TopicMember::Refusal() const {
  if (leads_) return "standby: this tickerplant takes over";
  if (state_.leader().empty()) return "standby: there is no leader";
  return fmt::format("standby: {} leads", state_.address());
}

Value TopicMember::Stats() const {
  SymbolVector keys;
  std::vector<Value> values;
  const auto add = [&](std::string_view key, Value value) {
    keys.push_back(key);
    values.push_back(std::move(value));
  };
  const ReplicaPlace place = log_->place();
  absl::Status problem = !missing_.ok() ? missing_ : damaged_;
  if (problem.ok()) problem = CheckTables();
  if (problem.ok()) problem = topic_->problem();
  const bool follows = problem.ok() && !state_.leader().empty();
  const bool in_sync = follows && topic_->at_end() && hindrance_.ok();
  add("role", Value::Symbol("standby"));
  add("epoch", Value::Long(static_cast<int64_t>(state_.epoch())));
  add("leader", Value::Symbol(state_.leader()));
  add("address", Value::Symbol(state_.address()));
  add("follows", Value::Long(follows ? 1 : 0));
  add("in_sync", Value::Long(in_sync ? 1 : 0));
  add("date", Value::Date(place.date));
  add("messages", Value::Long(static_cast<int64_t>(place.seq)));
  add("offset", Value::Long(state_.next_offset()));
  add("error", Value::String(Message(hindrance_.ok() ? problem : hindrance_)));
  return Value::Dict(Value::Symbols(std::move(keys)), Value::List(std::move(values)));
}

}  // namespace tickstack::tickerplant
