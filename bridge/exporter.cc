#include "bridge/exporter.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/status.h"
#include "base/time.h"
#include "bridge/schema_record.h"
#include "kafka/kafka_client.h"
#include "table/schema.h"
#include "table/shard_map.h"
#include "table/types.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::bridge {

namespace protocol = wire::protocol;
namespace {

constexpr int kStartsOverMax = 3;
constexpr int64_t kNotExported = -1;  // rows_of_log of a table that is no longer exported.

std::string FileNameOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

absl::Status Exporter::Begin(StreamState committed, const NameMap<int32_t>& partitions,
                             std::vector<Schema> schemas, std::string log) {
  tables_.clear();
  ready_.clear();
  ready_bytes_ = 0;
  waiting_rows_ = 0;
  error_ = absl::OkStatus();
  needs_restart_ = started_over_ = has_read_log_ = false;
  starts_over_ = 0;
  missing_before_ = subscription_.messages_missing.load(std::memory_order_relaxed);
  expected_log_ = std::move(log);
  schemas_ = std::move(schemas);
  bool is_new = false;
  for (const Schema& schema : schemas_) {
    const auto count = partitions.find(schema.table);
    if (count == partitions.end()) continue;
    StreamState::Table& table = committed.tables[schema.table];
    if (table.next_row.empty()) {
      table.next_row.assign(static_cast<size_t>(count->second), 0);
      is_new = true;
    }
    if (table.next_row.size() != static_cast<size_t>(count->second)) {
      return FailedPrecondition(
          "topic of table {}: {} partitions, its rows were divided among {}: choose another prefix",
          schema.table, count->second, table.next_row.size());
    }
    if (table.rows_of_log == kNotExported) {
      return FailedPrecondition(
          "table {}: it was exported before, and not meanwhile, so rows are missing: choose "
          "another prefix",
          schema.table);
    }
    const auto partition_of = [partitions = count->second](std::string_view symbol) {
      return kafka::PartitionOf(symbol, partitions);
    };
    tables_.emplace(schema.table,
                    TableRows{PartitionedRows(schema, ShardColumnOf(schema), count->second,
                                              partition_of, options_.record_bytes),
                              SchemaHash(schema)});
  }
  for (auto& [name, table] : committed.tables) {
    if (!tables_.contains(name)) table.rows_of_log = kNotExported;
  }
  current_ = std::move(committed);
  log_ = current_.log_ended ? tplog::LogIdentity() : current_.log;
  // The beginning of the log has rows of a table that was not exported until now.
  if (is_new && !current_.log_ended && current_.position.seq() > 0) ReadLogAgain();
  made_ = current_;
  return absl::OkStatus();
}

// Moves the position to the beginning of the same log. Rows that are in batches are skipped.
void Exporter::ReadLogAgain() {
  current_.position.Reset();
  for (const auto& [name, table] : current_.tables) {
    if (table.rows_of_log <= 0) continue;
    // Rows ahead of a publication of no messages.
    current_.position.OnPublished(name, static_cast<uint64_t>(table.rows_of_log), -1);
  }
}

// ---- batches

size_t Exporter::waiting_bytes() const {
  size_t bytes = ready_bytes_;
  for (const auto& [name, table] : tables_) bytes += table.rows.bytes();
  return bytes;
}

bool Exporter::has_batch() const {
  if (!ready_.empty()) return true;
  return waiting_rows_ > 0 && !current_.log_ended && current_.log.first_message_crc.has_value();
}

OutgoingBatch Exporter::MakeBatch(std::optional<int32_t> ended_day) {
  OutgoingBatch batch;
  batch.log_name = FileNameOf(current_.log.path);
  batch.since_ns = since_ns_;
  for (auto& [name, table] : tables_) {
    std::vector<int64_t>& next_row = current_.tables[name].next_row;
    for (PartitionRecord& record : table.rows.Take()) {
      int64_t& row = next_row[static_cast<size_t>(record.partition)];
      batch.rows += record.rows;
      batch.bytes += record.payload.size();
      batch.records.push_back({.table = name,
                               .partition = record.partition,
                               .first_row = row,
                               .rows = record.rows,
                               .schema = table.schema_hash,
                               .ended_day = {},
                               .payload = std::move(record.payload)});
      row += record.rows;
    }
    if (!ended_day) continue;
    for (size_t partition = 0; partition < next_row.size(); ++partition) {
      batch.records.push_back({.table = name,
                               .partition = static_cast<int32_t>(partition),
                               .first_row = next_row[partition],
                               .schema = table.schema_hash,
                               .ended_day = ended_day,
                               .payload = {}});
    }
  }
  waiting_rows_ = 0;
  ++current_.batch;
  if (ended_day) {
    current_.log_ended = true;
    current_.known.reset();
    current_.position.Reset();
    for (auto& [name, table] : current_.tables)
      table.rows_of_log = std::min<int64_t>(0, table.rows_of_log);
  }
  batch.after = made_ = current_;
  return batch;
}

OutgoingBatch Exporter::TakeBatch() {
  if (ready_.empty()) return MakeBatch(std::nullopt);
  OutgoingBatch batch = std::move(ready_.front());
  ready_.pop_front();
  ready_bytes_ -= batch.bytes;
  return batch;
}

void Exporter::EndLog(int32_t day) {
  if (!error_.ok()) return;
  ready_.push_back(MakeBatch(day));
  ready_bytes_ += ready_.back().bytes;
  log_ = {};
  ++counters_.days_ended;
}

void Exporter::DropWaiting() {
  for (auto& [name, table] : tables_) table.rows.Clear();
  waiting_rows_ = 0;
  current_ = made_;
}

void Exporter::Fail(absl::Status why) {
  if (!error_.ok()) return;
  LogError("takes no more rows error=\"{}\"", Message(why));
  DropWaiting();
  error_ = std::move(why);
}

// ---- the subscription

void Exporter::OnSchemas(std::span<const Schema> schemas) {
  for (const auto& [name, table] : tables_) {
    const auto found = std::find_if(schemas.begin(), schemas.end(),
                                    [&](const Schema& schema) { return schema.table == name; });
    if (found == schemas.end() || !(*found == table.rows.schema())) needs_restart_ = true;
  }
  if (options_.tables.empty() && schemas.size() != schemas_.size()) needs_restart_ = true;
}

void Exporter::StartOver() {
  DropWaiting();
  started_over_ = true;
  log_ = {};
  if (current_.log_ended || current_.log.path.empty()) {
    current_.position.Reset();
  } else {
    ReadLogAgain();
  }
}

void Exporter::SetLog(tplog::LogIdentity log) {
  const bool over = std::exchange(started_over_, false);
  log_ = log;
  if (current_.log_ended || current_.log.path.empty()) {
    // The next log. Without a start over, the tickerplant's answer after the end of a day.
    if (over && log.path != expected_log_) needs_restart_ = true;
    if (log.path.empty()) return;
    expected_log_ = log.path;
    current_.log = std::move(log);
    current_.log_ended = false;
    return;
  }
  const bool is_same_path = log.path == current_.log.path;
  const bool is_same_message = log.first_message_crc == current_.log.first_message_crc;
  const bool is_same =
      is_same_path ? !over || is_same_message : tplog::IsSameLog(log, current_.log);
  if (!is_same) {
    needs_restart_ = true;
    return;
  }
  if (over && log.cuts > current_.log.cuts) {
    return Fail(DataLoss(
        "a power cut removed rows from {} that are in Kafka: choose another prefix", log.path));
  }
  if (over && ++starts_over_ > kStartsOverMax) {
    return Fail(DataLoss(
        "{} lacks rows that are in Kafka: restore the log, or choose another prefix", log.path));
  }
  current_.log = std::move(log);
}

bool Exporter::LacksMessages() const {
  return subscription_.messages_missing.load(std::memory_order_relaxed) > missing_before_;
}

void Exporter::OnReplayDone() {
  starts_over_ = 0;
  has_read_log_ = true;
  if (!LacksMessages()) return;
  Fail(DataLoss("messages of {} cannot be read: repair the log and restart the bridge",
                current_.log.path));
}

void Exporter::OnDrained() {
  if (on_rows_) on_rows_();
}

tplog::LiveOutcome Exporter::OnLive(std::span<const std::byte> body) {
  if (!error_.ok() || needs_restart_) return tplog::LiveOutcome::kTaken;
  const std::optional<std::string_view> verb = wire::PeekVerb(body);
  if (verb == protocol::kEnd) {
    const absl::StatusOr<Value> message = wire::Decode(body);
    const bool is_whole = message.ok() && message->is_list() && message->count() == 2 &&
                          message->items()[1].is_atom_of(Type::kDate);
    EndLog(is_whole ? message->items()[1].as<int32_t>() : kNullInt);
    return tplog::LiveOutcome::kDayEnded;
  }
  if (!protocol::IsUpd(verb.value_or(std::string_view()))) return tplog::LiveOutcome::kTaken;
  return TakeUpd(body, Origin::kPublished) ? tplog::LiveOutcome::kTaken
                                           : tplog::LiveOutcome::kOutOfOrder;
}

void Exporter::OnOtherMessage(uint64_t seq) {
  Fail(DataLoss(
      "{}: message {} is another one than that whose rows are in Kafka: restore the log, or choose "
      "another prefix",
      current_.log.path, seq));
}

void Exporter::OnLogged(std::span<const std::byte> body) {
  const tplog::KnownMessage message{current_.position.seq(), Crc32c(body)};
  if (current_.known && current_.known->seq == message.seq && *current_.known != message) {
    OnOtherMessage(message.seq);
  }
  if (error_.ok() && (!current_.known || current_.known->seq < message.seq)) {
    current_.known = message;
  }
  if (error_.ok() && !needs_restart_ && !LacksMessages() && wire::PeekUpdTable(body)) {
    TakeUpd(body, Origin::kLog);
  }
  current_.position.OnReplayed();
  if (on_rows_ && waiting_bytes() >= options_.batch_bytes) on_rows_();
}

void Exporter::Refuse(std::string_view table, const absl::Status& why) {
  ++counters_.upds_refused;
  if (const std::optional<uint64_t> withheld = refused_limit_.Pass()) {
    LogError("upd refused table={} error=\"{}\" withheld={}", table, Message(why), *withheld);
  }
}

// Returns false if a published upd is out of order. An upd that is refused counts as taken.
bool Exporter::TakeUpd(std::span<const std::byte> body, Origin origin) {
  const std::string_view name = wire::PeekUpdTable(body).value_or(std::string_view());
  const auto at = tables_.find(name);
  const Schema* const schema = at == tables_.end() ? nullptr : &at->second.rows.schema();
  wire::UpdView upd;
  const absl::Status decoded =
      decoder_.Decode(body, &upd, schema == nullptr ? 0 : schema->columns.size());
  if (!decoded.ok()) {
    Refuse(name, decoded);
    return true;
  }
  if (origin == Origin::kPublished) {
    if (!upd.seq) {
      Fail(FailedPrecondition(
          "the tickerplant does not number its messages: exactly once needs tickstack's"));
      return true;
    }
    if (!current_.position.OnPublished(upd.table, upd.batch.rows, *upd.seq)) return false;
  }
  const uint64_t here =
      origin == Origin::kLog ? current_.position.RowsHere(upd.table, upd.batch.rows) : 0;
  if (schema == nullptr) return true;
  counters_.rows_skipped += here;
  if (here == upd.batch.rows) return true;
  current_.tables[schema->table].rows_of_log += static_cast<int64_t>(upd.batch.rows - here);
  absl::StatusOr<BatchView> batch = upd_rows_.Arrange(*schema, upd);
  if (batch.ok()) batch = upd_rows_.WithoutFirst(*batch, static_cast<size_t>(here));
  absl::Status added = batch.ok() ? CheckBatch(*schema, *batch) : batch.status();
  if (added.ok()) added = at->second.rows.Add(*batch);
  if (!added.ok()) {
    Refuse(upd.table, added);
    return true;
  }
  if (waiting_rows_ == 0) since_ns_ = MonotonicNs();
  waiting_rows_ += batch->rows;
  counters_.rows += batch->rows;
  return true;
}

}  // namespace tickstack::bridge
