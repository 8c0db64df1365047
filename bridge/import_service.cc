#include "bridge/import_service.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "bridge/payload.h"
#include "wire/codec.h"
#include "wire/protocol.h"
#include "wire/upd_encoder.h"

namespace tickstack::bridge {

namespace protocol = wire::protocol;
namespace {

using namespace std::chrono_literals;

constexpr auto kRetryAfter = 2s;    // After an error.
constexpr auto kHeldAfter = 500ms;  // While another feed has a name.
constexpr auto kSavePeriod = 1s;
// The older place of the start file has this age, or up to twice this age. A tickerplant's log that
// old is on the disk.
constexpr int64_t kOlderNs = 60 * kNsPerSecond;
constexpr auto kFindAgain = 1s;  // While no topic exists.
constexpr size_t kUnansweredMax = 256;
// Handled without a pause: a few ms.
constexpr size_t kPumpBytes = size_t{4} << 20, kPumpRecords = 1000;
constexpr size_t kUnansweredBytes = size_t{16} << 20;
constexpr size_t kFeedNameBytesMax = 256;  // The tickerplant's limit.

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string_view NameOf(ImportState state) {
  switch (state) {
    case ImportState::kAsking:
      return "asking";
    case ImportState::kFinding:
      return "finding";
    case ImportState::kClaiming:
      return "claiming";
    case ImportState::kReading:
      return "reading";
    case ImportState::kFailed:
      return "failed";
  }
  return "";
}

ImportService::ImportService(wire::EventLoop& loop, ImportOptions options)
    : loop_(loop), options_(std::move(options)), retry_(loop), save_(loop) {
  absl::StatusOr<StartFile> starts = StartFile::Load(options_.start_file);
  if (!starts.ok()) {
    ended_ = starts.status();
    return;
  }
  starts_ = *std::move(starts);
  if (options_.shard.map != nullptr) rows_of_shard_.emplace(options_.shard);
  save_.Every(kSavePeriod, [this] { SaveStarts(); });
  reader_ = std::make_unique<TopicReader>(
      loop_, options_.kafka, options_.name,
      TopicReader::Events{
          .found = [this](std::vector<TopicPartition> found,
                          const std::string& cluster) { OnFound(std::move(found), cluster); },
          .records = [this] { Pump(); },
          .ended = [this](const absl::Status& why) { ended_ = why; },
          .others = OthersEvent()});
  client_ = std::make_unique<wire::Client>(loop_, options_.tickerplant, options_.client, this);
}

// Told only if all tables of the prefix are wanted.
std::function<void(std::vector<std::string>)> ImportService::OthersEvent() {
  if (!options_.tables.empty()) return nullptr;
  return [this](const std::vector<std::string>& others) {
    others_ = absl::OkStatus();
    if (others.empty()) return;
    others_ = NotFound(
        "table {} of prefix {} is not copied, the tickerplant has no such table: add it to "
        "[tables], or list the tables to copy in `tables`",
        fmt::join(others, ", "), options_.prefix);
    LogError("tables are missing error=\"{}\"", Message(others_));
  };
}

ImportService::~ImportService() { SaveStarts(); }

void ImportService::Stop(std::chrono::nanoseconds at_most) {
  stopped_ = true;
  if (connection_ != nullptr) connection_->CloseWhenSent(at_most);
}

void ImportService::SaveStarts() {
  if (!std::exchange(starts_changed_, false)) return;
  const int64_t now_ns = MonotonicNs();
  const bool rotates = now_ns - rotated_ns_ > kOlderNs;
  if (rotates) rotated_ns_ = now_ns;
  for (Partition& partition : partitions_) {
    PartitionStart& start = partition.start;
    if (rotates && start.next_older.row > 0) start.older = start.next_older;
    if (rotates) start.next_older = start.newest;
    starts_.partitions[{partition.where.topic, partition.where.partition}] = start;
  }
  const absl::Status saved = starts_.Save(options_.start_file);
  if (saved.ok()) return;
  starts_changed_ = true;
  static LogLimit limit(10 * kNsPerSecond);
  if (limit.Pass()) LogError("starts not saved error=\"{}\"", Message(saved));
}

// Closes the connection; everything begins again after a pause.
void ImportService::Fail(absl::Status why) {
  if (state_ == ImportState::kFailed) return;
  ++failures_;
  LogError("failed error=\"{}\"", Message(why));
  error_ = std::move(why);
  state_ = ImportState::kFailed;
  held_.reset();
  if (connection_ != nullptr) connection_->Close(error_);
}

// ---- the connection

void ImportService::OnConnected(wire::Connection& connection) {
  connection_ = &connection;
  ++connects_;
  LogInfo("tickerplant connected host={}", connection.peer());
  unanswered_.clear();
  unanswered_bytes_ = 0;
  held_.reset();
  const auto begin = [this] {
    if (connection_ == nullptr || stopped_) return;
    state_ = ImportState::kAsking;
    if (options_.window_rows > 0) {
      connection_->SendAsync(
          Value::List({Value::String(protocol::kWindow), Value::Long(options_.window_rows)}));
    }
    SendSync(Value::String(protocol::kTables), {.kind = Unanswered::Kind::kTables});
  };
  // After an error, waits for what may be mended meanwhile.
  retry_.Once(state_ == ImportState::kFailed ? std::chrono::nanoseconds(kRetryAfter) : 0ns, begin);
}

void ImportService::OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) {
  static LogLimit limit(10 * kNsPerSecond);
  if (limit.Pass()) LogWarn("no tickerplant error=\"{}\" pause_ms={}", Message(why), pause.count());
}

void ImportService::OnClosed(wire::Connection&, const absl::Status& why) {
  connection_ = nullptr;
  retry_.Cancel();
  unanswered_.clear();
  unanswered_bytes_ = 0;
  held_.reset();
  for (Partition& partition : partitions_) partition.is_open = false;
  if (stopped_) return;
  if (state_ != ImportState::kFailed) {
    state_ = ImportState::kAsking;
    LogWarn("tickerplant lost error=\"{}\"", why.ok() ? "closed" : Message(why));
  }
  reader_->Read({}, {});
}

void ImportService::SendSync(const Value& request, Unanswered expects) {
  unanswered_.push_back(expects);
  connection_->Send(wire::EncodeMessage(wire::MessageKind::kSync, request));
}

void ImportService::OnMessage(wire::Connection&, const wire::ReceivedMessage& message) {
  if (state_ == ImportState::kFailed || message.kind != wire::MessageKind::kResponse) return;
  if (unanswered_.empty()) return Fail(DataLoss("the tickerplant answers what nobody asked"));
  absl::StatusOr<Value> answer = wire::Decode(message.body);
  if (answer.ok() && answer->is_error()) {
    answer = absl::UnknownError(AbslView(answer->text()));
  }
  const Unanswered sent = unanswered_.front();
  unanswered_.pop_front();
  unanswered_bytes_ -= sent.bytes;
  switch (sent.kind) {
    case Unanswered::Kind::kTables:
      if (!answer.ok() || !answer->is(Type::kSymbol)) {
        return Fail(InvalidArgument("the tickerplant does not say its tables"));
      }
      return OnTables(*answer);
    case Unanswered::Kind::kClaim:
      return OnClaimed(sent.partition, answer);
    case Unanswered::Kind::kRows:
      OnLogged(sent, answer);
      return Pump();
  }
}

// ---- partitions and names

void ImportService::OnTables(const Value& tables) {
  std::vector<std::string> wanted;
  for (size_t i = 0; i < tables.symbols().size(); ++i) {
    const std::string table(tables.symbols()[i]);
    const bool is_wanted = options_.tables.empty() ||
                           std::ranges::find(options_.tables, table) != options_.tables.end();
    if (is_wanted) wanted.push_back(table);
  }
  if (!options_.tables.empty() && wanted.size() < options_.tables.size()) {
    return Fail(
        NotFound("the tickerplant has {} of the {} tables", wanted.size(), options_.tables.size()));
  }
  state_ = ImportState::kFinding;
  reader_->Find(options_.prefix, std::move(wanted), options_.from);
}

void ImportService::OnFound(std::vector<TopicPartition> found, const std::string& cluster) {
  if (state_ != ImportState::kFinding || connection_ == nullptr) return;
  if (found.empty()) {
    error_ = NotFound("no topics of prefix {}: is a bridge to Kafka running?", options_.prefix);
    return retry_.Once(kFindAgain, [this] {
      if (state_ != ImportState::kFinding || connection_ == nullptr) return;
      SendSync(Value::String(protocol::kTables), {.kind = Unanswered::Kind::kTables});
    });
  }
  SaveStarts();  // The partitions are made anew.
  if (!starts_.cluster.empty() && starts_.cluster != cluster) {
    return Fail(FailedPrecondition(
        "{} is about cluster {}, the brokers are of cluster {}: give this bridge another name",
        options_.start_file, starts_.cluster, cluster));
  }
  const bool says_where = options_.from.kind != ReadStart::Kind::kBeginning;
  const absl::Status entered =
      starts_.EnterMap(options_.start_file, options_.prefix, options_.shard.id(), says_where);
  if (!entered.ok()) return Fail(entered);
  starts_.cluster = cluster_ = cluster;
  partitions_.clear();
  for (TopicPartition& one : found) {
    const auto [at, is_new] = starts_.partitions.try_emplace(
        {one.topic, one.partition}, PartitionStart{.start = one.start, .base = {}});
    starts_changed_ |= is_new;
    Partition partition;
    partition.start = at->second;
    partition.where = std::move(one);
    partitions_.push_back(std::move(partition));
  }
  SaveStarts();  // Before anything is read: `from` must not be looked up again after a restart.
  if (starts_changed_) return Fail(Unavailable("{} cannot be written", options_.start_file));
  ClaimAll();
}

void ImportService::ClaimAll() {
  state_ = ImportState::kClaiming;
  claims_left_ = 0;
  for (size_t i = 0; i < partitions_.size(); ++i) {
    if (!partitions_[i].start.base) continue;
    ++claims_left_;
    Claim(i);
    if (state_ != ImportState::kClaiming) return;
  }
  if (claims_left_ == 0) BeginReading();
}

// Asks how many rows are logged under the partition's name, and claims the name.
void ImportService::Claim(size_t index) {
  Partition& partition = partitions_[index];
  partition.name = NameUnderMap(fmt::format("kafka/{}/{}/{}@{}", cluster_, partition.where.topic,
                                            partition.where.partition, *partition.start.base),
                                options_.shard.id().map);
  if (partition.name.size() > kFeedNameBytesMax) {
    return Fail(InvalidArgument("feed name {}: at most {} bytes, choose a shorter prefix",
                                partition.name, kFeedNameBytesMax));
  }
  SendSync(Value::List({Value::String(protocol::kFeed), Value::Symbol(partition.name),
                        Value::Symbol(options_.instance)}),
           {.kind = Unanswered::Kind::kClaim, .partition = index});
}

void ImportService::OnClaimed(size_t index, const absl::StatusOr<Value>& answer) {
  if (index >= partitions_.size()) return;
  Partition& partition = partitions_[index];
  if (!answer.ok()) {
    if (!Message(answer.status()).starts_with("held:")) return Fail(answer.status());
    error_ = answer.status();
    return retry_.Once(kHeldAfter, [this] {
      if (connection_ != nullptr) connection_->Close(error_);
    });
  }
  const bool is_counts = answer->is_dict() && answer->keys().is(Type::kSymbol) &&
                         answer->values().is(Type::kLong) &&
                         answer->keys().count() == answer->values().count();
  if (!is_counts) return Fail(InvalidArgument("{}: the answer is no dictionary", protocol::kFeed));
  int64_t logged = 0;
  for (size_t i = 0; i < answer->keys().count(); ++i) {
    if (answer->keys().symbols()[i] == partition.where.table) {
      logged = answer->values().span<int64_t>()[i];
    }
  }
  if (logged < 0) return Fail(InvalidArgument("{}: a negative count", protocol::kFeed));
  partition.logged = logged;
  partition.is_open = true;
  if (state_ == ImportState::kReading) {  // The record that gave the base is held: the first one.
    partition.next_row = *partition.start.base + (rows_of_shard_ ? 0 : logged);
    return Pump();
  }
  if (--claims_left_ == 0) BeginReading();
}

// Returns the offset where to read on, and sets the numbers of the rows there.
int64_t ImportService::Resume(Partition& partition) {
  const PartitionStart& start = partition.start;
  if (!partition.is_open) return start.start;
  const int64_t base = *start.base;
  if (!rows_of_shard_) partition.next_row = base + partition.logged;
  for (const Place& place : {start.newest, start.older}) {
    if (place.row == 0) continue;
    if (!rows_of_shard_) {
      if (place.row <= partition.next_row) return place.offset;
    } else if (place.count <= partition.logged) {
      // Which rows the tickerplant has is known by counting the shard's rows from here on.
      partition.next_row = place.row;
      partition.next_count = place.count;
      return place.offset;
    }
  }
  if (rows_of_shard_) {
    partition.next_row = base;
    partition.next_count = 0;
  }
  return start.start;
}

void ImportService::BeginReading() {
  state_ = ImportState::kReading;
  error_ = absl::OkStatus();
  std::vector<TopicPartition> wheres;
  std::vector<int64_t> offsets;
  for (Partition& partition : partitions_) {
    wheres.push_back(partition.where);
    offsets.push_back(Resume(partition));
  }
  LogInfo("reading partitions={} prefix={} cluster={}", wheres.size(), options_.prefix, cluster_);
  reader_->Read(std::move(wheres), std::move(offsets));
}

// ---- rows

std::string ImportService::Where(const Partition& partition, int64_t offset) const {
  return fmt::format("{} partition {} offset {}", partition.where.topic, partition.where.partition,
                     offset);
}

// Sends records while the tickerplant keeps up.
void ImportService::Pump() {
  if (connection_ == nullptr || stopped_) return;
  size_t bytes = 0, records = 0;
  while (state_ == ImportState::kReading && unanswered_.size() < kUnansweredMax &&
         unanswered_bytes_ < kUnansweredBytes) {
    // Rows of other shards have no answers that would end this.
    if (bytes > kPumpBytes || ++records > kPumpRecords) {
      loop_.Post([this, alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) Pump();
      });
      break;
    }
    std::optional<ReadRecord> record = held_ ? std::exchange(held_, std::nullopt) : reader_->Take();
    if (!record) break;
    bytes += record->message == nullptr ? 0 : record->payload().size();
    if (!Handle(*record)) {
      held_ = std::move(record);
      break;
    }
  }
  if (connection_ != nullptr) connection_->Flush();
}

// Returns false if the record must wait.
bool ImportService::Handle(ReadRecord& record) {
  if (record.partition >= partitions_.size()) return true;
  Partition& partition = partitions_[record.partition];
  if (!record.headers.ok()) {
    Fail(Annotate(record.headers.status(), Where(partition, record.offset)));
    return true;
  }
  if (!partition.start.base) {
    partition.start.base = record.headers->first_row;
    starts_changed_ = true;
    SaveStarts();
    if (starts_changed_) {
      Fail(Unavailable("{} cannot be written", options_.start_file));
      return true;
    }
    Claim(record.partition);
    return false;
  }
  if (!partition.is_open) return false;
  if (const absl::Status sent = Send(partition, record); !sent.ok()) {
    Fail(Annotate(sent, Where(partition, record.offset)));
  }
  return true;
}

absl::Status ImportService::Send(Partition& partition, const ReadRecord& record) {
  const RecordHeaders& headers = *record.headers;
  ++records_;
  if (headers.first_row > partition.next_row) {
    return DataLoss("gap: rows {} to {} of {} are not in Kafka", partition.next_row,
                    headers.first_row - 1, partition.where.table);
  }
  if (headers.ended_day) {
    ++days_ended_;
    return absl::OkStatus();
  }
  if (headers.payload != NameOf(Payload::kIpc)) {
    return InvalidArgument("payload {}: only ipc can be read back", headers.payload);
  }
  if (headers.table != partition.where.table) {
    return InvalidArgument("header table: {}, the topic is of table {}", headers.table,
                           partition.where.table);
  }
  if (headers.first_row + headers.rows <= partition.next_row) {
    rows_dropped_ += headers.rows;
    return absl::OkStatus();
  }
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> table, BodyOf(record.payload()));
  wire::RowsView rows;
  TS_RETURN_IF_ERROR(decoder_.DecodeX(table, &rows));
  if (static_cast<int64_t>(rows.batch.rows) != headers.rows) {
    return InvalidArgument("header rows: {}, the payload has {}", headers.rows, rows.batch.rows);
  }
  if (rows_of_shard_) return SendRowsOfShard(partition, record, rows, table);
  SendRows(partition, record, headers.first_row - *partition.start.base, headers.rows, table);
  return absl::OkStatus();
}

absl::Status ImportService::SendRowsOfShard(Partition& partition, const ReadRecord& record,
                                            const wire::RowsView& rows,
                                            std::span<const std::byte> table) {
  const RecordHeaders& headers = *record.headers;
  if (headers.first_row < partition.next_row) {
    return DataLoss("rows {} to {} of {} are twice in Kafka", headers.first_row,
                    partition.next_row - 1, partition.where.table);
  }
  TS_ASSIGN_OR_RETURN(const RowsOfShard::Chosen chosen,
                      rows_of_shard_->Choose(partition.where.table, rows, table));
  rows_of_others_ += headers.rows - chosen.rows;
  const int64_t number = partition.next_count;
  partition.next_count += chosen.rows;
  if (chosen.rows > 0 && partition.next_count > partition.logged) {
    SendRows(partition, record, number, chosen.rows, chosen.table);
    return absl::OkStatus();
  }
  rows_dropped_ += chosen.rows;
  partition.next_row = headers.first_row + headers.rows;
  // Otherwise an answer will say that the rows before it are logged.
  if (partition.unanswered == 0) {
    NotePlace(partition, {record.offset + 1, partition.next_row, partition.next_count});
  }
  return absl::OkStatus();
}

// Sends rows of a record, which are `rows` rows from `number` on under the feed's name.
void ImportService::SendRows(Partition& partition, const ReadRecord& record, int64_t number,
                             int64_t rows, std::span<const std::byte> table) {
  ByteBuffer message;
  message.reserve(table.size() + partition.name.size() + partition.where.table.size() + 64);
  wire::UpdEncoder encoder(message);
  encoder.BeginFrame();
  encoder.NumberedHead(partition.name, number, partition.where.table);
  message.Append(table);
  encoder.EndFrame(wire::MessageKind::kSync);
  partition.next_row = record.headers->first_row + record.headers->rows;
  rows_sent_ += rows;
  bytes_ += static_cast<int64_t>(message.size());
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  unanswered_.push_back({.kind = Unanswered::Kind::kRows,
                         .partition = record.partition,
                         .rows = rows,
                         .bytes = message.size(),
                         .next = {record.offset + 1, partition.next_row, partition.next_count},
                         .written_ms = rd_kafka_message_timestamp(record.message.get(), &type)});
  unanswered_bytes_ += message.size();
  ++partition.unanswered;
  connection_->Queue(std::move(message));
}

// Everything before `place` is logged, or of other shards.
void ImportService::NotePlace(Partition& partition, const Place& place) {
  partition.start.newest = place;
  starts_changed_ = true;
}

void ImportService::OnLogged(const Unanswered& sent, const absl::StatusOr<Value>& answer) {
  if (sent.partition >= partitions_.size()) return;
  Partition& partition = partitions_[sent.partition];
  if (!answer.ok()) {
    return Fail(Annotate(answer.status(),
                         fmt::format("refused: {}", Where(partition, sent.next.offset - 1))));
  }
  rows_logged_ += sent.rows;
  if (partition.unanswered > 0) --partition.unanswered;
  if (sent.written_ms > 0) {
    delay_ms_ = std::max<int64_t>(0, NowMs() - sent.written_ms);
    delay_ms_max_ = std::max(delay_ms_max_, delay_ms_);
  }
  NotePlace(partition, sent.next);
}

Value ImportService::Stats() const {
  SymbolVector names;
  std::vector<Value> values;
  const auto add = [&](std::string_view name, Value value) {
    names.push_back(name);
    values.push_back(std::move(value));
  };
  absl::Status problem = reader_ == nullptr ? absl::OkStatus() : reader_->problem();
  if (problem.ok()) problem = others_;
  add("direction", Value::Symbol("from-kafka"));
  add("state", Value::Symbol(NameOf(state_)));
  add("connected", Value::Boolean(connection_ != nullptr));
  add("live", Value::Boolean(state_ == ImportState::kReading));
  add("error", Value::String(Message(error_.ok() ? problem : error_)));
  add("rows", Value::Long(rows_sent_));
  int64_t rows_waiting = 0;
  for (const Unanswered& sent : unanswered_) rows_waiting += sent.rows;
  add("rows_waiting", Value::Long(rows_waiting));
  add("bytes_waiting", Value::Long(static_cast<int64_t>(unanswered_bytes_)));
  add("rows_written", Value::Long(rows_logged_));
  add("records_written", Value::Long(records_));
  add("bytes_written", Value::Long(bytes_));
  add("rows_dropped", Value::Long(rows_dropped_));
  add("rows_of_other_shards", Value::Long(rows_of_others_));
  add("errors", Value::Long(failures_));
  add("restarts", Value::Long(std::max<int64_t>(0, connects_ - 1)));
  add("days_ended", Value::Long(days_ended_));
  const int64_t held = held_ ? 1 : 0;
  add("records_behind", Value::Long(reader_ == nullptr ? 0 : reader_->records_behind() + held));
  add("delay_ms", Value::Float(static_cast<double>(delay_ms_)));
  add("delay_ms_max", Value::Float(static_cast<double>(delay_ms_max_)));
  return Value::Dict(Value::Symbols(std::move(names)), Value::List(std::move(values)));
}

}  // namespace tickstack::bridge
