#include "rdb/rdb.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/status.h"
#include "rdb/day_logs.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::rdb {

namespace protocol = wire::protocol;
namespace {

// A replay commits the log part by part; after a restart the uncommitted rest is replayed again.
constexpr int64_t kReplayCommitNs = 50'000'000;

// Adds with a load and a store, which is enough for one writer and cheaper than a locked add.
void Add(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

Schema InferSchema(std::string_view table, const wire::UpdView& upd) {
  Schema schema{std::string(table), {}, 0};
  for (size_t i = 0; i < upd.batch.columns.size(); ++i) {
    std::string name = i == 0 ? "x" : fmt::format("x{}", i);
    if (i < upd.names.size()) name = upd.names[i];
    schema.columns.push_back({std::move(name), upd.batch.columns[i].type});
  }
  return schema;
}

// Returns the date of (`.u.end; 2013.10.07).
std::optional<int32_t> DateOf(std::span<const std::byte> body) {
  const absl::StatusOr<Value> message = wire::Decode(body);
  if (!message.ok() || !message->is_list() || message->items().size() < 2) return std::nullopt;
  const Value& date = message->items()[1];
  if (!date.is_atom_of(Type::kDate) || date.as<int32_t>() == kNullInt) return std::nullopt;
  return date.as<int32_t>();
}

bool HasTime(const ColumnSpec& column) {
  return column.type == Type::kTimestamp || column.type == Type::kDate ||
         column.type == Type::kDatetime;
}

// Returns whether rows of two days can share a table: a key without a time may be in both days.
bool CanFollow(const Schema& schema) {
  const auto keys = std::span(schema.columns).first(schema.key_columns);
  return keys.empty() || std::ranges::any_of(keys, HasTime);
}

}  // namespace

Rdb::Rdb(const RdbOptions& options, Placement placement, const Clock* clock)
    : options_(options), placement_(std::move(placement)), clock_(clock) {
  if (mem::PersistentTier* const tier = placement_.rows()->persistent()) {
    durable_ = std::make_unique<DurableState>(tier, options.commit_ns);
  }
}

void Rdb::Reopen() {
  if (durable_ == nullptr) return;
  DurableState::Found found = durable_->Load(symbols_, options_.table);
  for (std::shared_ptr<Table>& table : found.tables) AddTable(std::move(table));
  position_ = std::move(found.position);
  NoteLog(std::move(found.log));
  reopened_ = !entries_.empty();
  if (reopened_) RefillVolatileTables();
  CountSeq();
}

// Replays the whole log for tables in another tier, which ended with the last process and whose
// rows only the log has. Rows that the reopened tables have already are passed over.
void Rdb::RefillVolatileTables() {
  bool any = false;
  for (const std::string_view table : TablesWithAKey(placement_.rules())) {
    if (placement_.IsDurable(table)) continue;
    position_.Forget(table);  // Those tables are gone as well, and come again with the log.
    any = true;
  }
  if (!any || position_.seq() == 0) return;
  refilling_ = std::exchange(position_, Position());
}

absl::Status Rdb::Commit(DurableTables::Index index) {
  if (durable_ == nullptr) return absl::OkStatus();
  std::vector<Table*> tables;
  for (const auto& [name, entry] : entries_) {
    if (entry->durable) tables.push_back(entry->table.get());
  }
  const Position& position = refilling_ ? *refilling_ : position_;
  uncommitted_ = false;
  return durable_->Commit({&symbols_, tables, &position, &log_, tables_refused_rows_}, index);
}

void Rdb::CommitIfDue(int64_t at_least_ns) {
  if (durable_ == nullptr) return;
  uncommitted_ = true;
  if (durable_->IsDue(at_least_ns)) Commit(DurableTables::Index::kWhenDue).IgnoreError();
}

void Rdb::OnIdle() {
  if (uncommitted_) CommitIfDue(0);
}

void Rdb::MakeDurable() {
  if (!gave_tier_) Commit(DurableTables::Index::kWhole).IgnoreError();
}

absl::Status Rdb::GiveTier() {
  if (durable_ == nullptr) return absl::OkStatus();
  TS_RETURN_IF_ERROR(Commit(DurableTables::Index::kWhole));
  durable_->tier().Release();
  gave_tier_ = true;
  return absl::OkStatus();
}

absl::Status Rdb::ReclaimTier(std::chrono::nanoseconds at_most) {
  if (!gave_tier_) return absl::OkStatus();
  TS_RETURN_IF_ERROR(durable_->tier().Reclaim(at_most));
  for (const auto& [name, entry] : entries_) {
    if (entry->durable) entry->table->DropAdditions();
  }
  TS_RETURN_IF_ERROR(Commit(DurableTables::Index::kWhenDue));
  gave_tier_ = false;
  return absl::OkStatus();
}

absl::Status Rdb::MakeTable(const Schema& schema) {
  TS_ASSIGN_OR_RETURN(std::shared_ptr<Table> table,
                      Table::Create(schema, &symbols_, placement_.Of(schema), options_.table));
  AddTable(std::move(table));
  return absl::OkStatus();
}

void Rdb::AddTable(std::shared_ptr<Table> table) {
  const Schema& schema = table->schema();
  auto entry = std::make_unique<Entry>();
  entry->name = schema.table;
  entry->table = table;
  entry->durable = durable_ != nullptr && placement_.IsDurable(schema.table);
  const int time = schema.Find("time");
  // Does not measure the lateness of bars: their time is that of their newest row, which may be
  // long ago.
  if (schema.key_columns == 0 && time >= 0 &&
      schema.columns[static_cast<size_t>(time)].type == Type::kTimestamp) {
    entry->time_column = time;
  }
  entries_.insert_or_assign(schema.table, std::move(entry));
  ChangeTables([&](TablesOfRdb& tables) { tables.current.insert_or_assign(schema.table, table); });
}

template <typename F>
void Rdb::ChangeTables(F change) {
  std::shared_ptr<const TablesOfRdb> before;  // Freed without the locks, because it takes a while.
  const std::lock_guard changing(changing_mutex_);
  auto changed = std::make_shared<TablesOfRdb>(*tables());
  change(*changed);
  before = std::move(changed);
  const std::lock_guard lock(tables_mutex_);
  tables_.swap(before);
}

std::shared_ptr<const TablesOfRdb> Rdb::tables() const {
  const std::lock_guard lock(tables_mutex_);
  return tables_;
}

void Rdb::ReportMisplaced(std::string_view key, std::span<const Schema> schemas) {
  const absl::Status checked = CheckPlacementKey(key, schemas);
  if (checked.ok() || !misplaced_.emplace(key).second) return;
  LogError("placement key without effect key=\"{}\" error=\"{}\"", key, Message(checked));
}

void Rdb::OnSchemas(std::span<const Schema> schemas) {
  for (const auto& [key, tier] : placement_.rules().keys()) ReportMisplaced(key, schemas);
  const bool reopened = std::exchange(reopened_, false);
  if (reopened) DropUnannounced(schemas);
  bool changed = false;
  const auto begin_anew = [this, &changed] {
    if (!std::exchange(changed, true)) counters_.NoteStartOver();
  };
  for (const Schema& schema : schemas) {
    const auto known = entries_.find(schema.table);
    const bool is_new = known == entries_.end();
    if (!is_new) {
      if (known->second->table->schema() == schema) continue;
      begin_anew();
      LogWarn("schema changed, all tables begin anew table={} was=\"{}\" is=\"{}\" rows={}",
              schema.table, FormatSchema(known->second->table->schema()), FormatSchema(schema),
              known->second->table->rows());
    }
    if (const absl::Status made = MakeTable(schema); !made.ok()) {
      // The existing table has other columns. If the new one cannot be made, the other tables stay.
      if (!is_new) DropTable(schema.table);
      LogError("no table table={} error=\"{}\"", schema.table, Message(made));
    } else if (is_new && reopened && entries_.find(schema.table)->second->durable) {
      // The log may have earlier rows of a table that was dropped or came from an earlier log.
      begin_anew();
      LogWarn("table is new to reopened tables, all begin anew table={}", schema.table);
    }
  }
  if (changed) StartOver();
}

void Rdb::DropTable(std::string_view name) {
  entries_.erase(entries_.find(name));
  ChangeTables([name](TablesOfRdb& tables) { tables.current.erase(tables.current.find(name)); });
}

// Drops the tables that the last process had and the tickerplant no longer announces, as if this
// process had begun without tables.
void Rdb::DropUnannounced(std::span<const Schema> schemas) {
  for (const std::string& name : TableNames()) {
    const bool announced = std::any_of(schemas.begin(), schemas.end(),
                                       [&](const Schema& schema) { return schema.table == name; });
    if (announced || options_.infer_schemas) continue;
    LogWarn("table dropped, the tickerplant does not have it table={}", name);
    DropTable(name);
  }
}

absl::Status Rdb::Prestress(std::string_view table, std::span<const std::byte> x) {
  const auto known = entries_.find(table);
  if (known == entries_.end()) return NotFound("no table {}", table);
  Entry& entry = *known->second;
  wire::UpdView upd;
  TS_RETURN_IF_ERROR(decoder_.DecodeX(x, &upd, entry.table->schema().columns.size()));
  TS_ASSIGN_OR_RETURN(const BatchView batch, upd_rows_.Arrange(entry.table->schema(), upd));
  TS_RETURN_IF_ERROR(entry.table->Append(batch));
  entry.prestressed += batch.rows;
  Add(counters_.rows_prestressed, batch.rows);
  return absl::OkStatus();
}

void Rdb::StartOver() {
  std::vector<Schema> schemas;
  for (const auto& [name, entry] : entries_) {
    if (entry->prestressed > 0 && entry->prestressed == entry->table->rows()) continue;
    if (entry->prestressed > 0) {
      LogWarn("rows of the prestress removed table={} rows={}", name, entry->prestressed);
    }
    schemas.push_back(entry->table->schema());
  }
  // Queries that run keep the old tables, whose memory comes back when the last one ends.
  for (const Schema& schema : schemas) {
    if (const absl::Status made = MakeTable(schema); !made.ok()) {
      LogError("no table table={} error=\"{}\"", schema.table, Message(made));
    }
  }
  position_.Reset();
  refilling_.reset();
  log_ = {};
  tables_refused_rows_ = 0;
  refused_upds_.clear();
  SetIncomplete(false);
  {
    const std::lock_guard lock(tables_mutex_);
    refused_since_.clear();
  }
  missing_before_ = counters_.messages_missing.load(std::memory_order_relaxed);
  CountSeq();
  // Makes the memory of the old tables usable again.
  Commit(DurableTables::Index::kWhenDue).IgnoreError();
}

void Rdb::EndDay(std::span<const std::byte> body) {
  const std::optional<int32_t> date = DateOf(body);
  EndedDay day;
  for (const auto& [name, entry] : entries_) {
    day.tables.push_back(entry->table);
    entry->prestressed = 0;
  }
  const bool kept = keeper_ != nullptr && date.has_value();
  LogInfo("day ended, tables {} date={} rows={}", kept ? "kept" : "emptied",
          date ? FormatDate(*date) : "unknown", day.rows());
  if (kept) {
    day.date = *date;
    day.complete = tables_refused_rows_ == 0 && refused_upds_.empty() &&
                   counters_.messages_missing.load(std::memory_order_relaxed) == missing_before_;
    ChangeTables([&day](TablesOfRdb& tables) {
      tables.kept.push_back(day);
      // The keeper may drop the day before the tables are replaced. Then it is not here any more,
      // and the empty tables that follow are not those of the day.
      tables.day.reset();
    });
    keeper_->OnDayEnded(std::move(day));
  } else {
    // Its rows go now. Whoever asks for them by the day's name must not find the empty tables.
    ChangeTables([](TablesOfRdb& tables) { tables.day.reset(); });
  }
  StartOver();
  // Until the name of the new log says it: rows that come now are of a later day.
  if (date) ChangeTables([date](TablesOfRdb& tables) { tables.day = *date + 1; });
}

void Rdb::NoteMissing(uint64_t messages) {
  counters_.messages_missing.fetch_add(messages, std::memory_order_relaxed);
  SetIncomplete(true);
}

void Rdb::OnReplayDone() {
  if (counters_.messages_missing.load(std::memory_order_relaxed) != missing_before_) {
    SetIncomplete(true);
  }
  if (keeper_ == nullptr) return;
  std::vector<Schema> schemas;
  for (const auto& [name, entry] : entries_) schemas.push_back(entry->table->schema());
  keeper_->OnReplayDone(log_.path, std::move(schemas));
}

void Rdb::SetBlockedDay(std::optional<BlockedDay> day) {
  const std::lock_guard lock(tables_mutex_);
  blocked_ = std::move(day);
}

std::optional<BlockedDay> Rdb::blocked_day() const {
  const std::lock_guard lock(tables_mutex_);
  return blocked_;
}

void Rdb::DropDay(const EndedDay& day) {
  ChangeTables([&day](TablesOfRdb& tables) {
    std::erase_if(tables.kept, [&day](const EndedDay& kept) { return kept.Is(day); });
  });
}

std::vector<std::shared_ptr<const Table>> Rdb::AllTables() const {
  std::vector<std::shared_ptr<const Table>> all;
  const std::shared_ptr<const TablesOfRdb> now = tables();
  for (const EndedDay& day : now->kept) {
    all.insert(all.end(), day.tables.begin(), day.tables.end());
  }
  for (const auto& [name, table] : now->current) {
    if (std::ranges::find(all, table) == all.end()) all.push_back(table);
  }
  return all;
}

size_t Rdb::days_kept() const { return tables()->kept.size(); }

LiveOutcome Rdb::OnLive(std::span<const std::byte> body) {
  const std::optional<std::string_view> verb = wire::PeekVerb(body);
  if (verb == protocol::kEnd) {
    EndDay(body);
    Add(counters_.days_ended, 1);
    return LiveOutcome::kDayEnded;
  }
  if (!protocol::IsUpd(verb.value_or(std::string_view()))) {
    Add(counters_.messages_other, 1);
    return LiveOutcome::kTaken;
  }
  Add(counters_.messages, 1);
  refilling_.reset();  // Still set only if the log could not be read to that point.
  const std::optional<Taken> taken = TakeUpd(body, Source::kPublished);
  if (!taken) return LiveOutcome::kOutOfOrder;
  Add(counters_.rows, taken->added);
  CommitIfDue(0);
  return LiveOutcome::kTaken;
}

void Rdb::OnLogged(std::span<const std::byte> body) {
  Add(counters_.messages_replayed, 1);
  const std::optional<std::string_view> table = wire::PeekUpdTable(body);
  if (!table) {
    Add(counters_.messages_other, 1);
  } else if (!refilling_ || !placement_.IsDurable(*table)) {
    const std::optional<Taken> taken = TakeUpd(body, Source::kLog);
    Add(counters_.rows_replayed, taken->added);
    Add(counters_.rows_known, taken->known);
  }
  position_.OnReplayed();
  if (refilling_ && position_.seq() >= refilling_->seq()) {
    position_ = *std::exchange(refilling_, std::nullopt);
  }
  CountSeq();
  // While tables are filled again, nothing that outlives the process changes, so nothing is
  // committed.
  if (!refilling_) CommitIfDue(kReplayCommitNs);
}

// Returns the schema of the upd's table; nullopt if the upd does not tell it.
std::optional<Schema> Rdb::SchemaFor(std::string_view name, const wire::UpdView& upd) {
  const auto known = std::ranges::find(options_.known_schemas, name, &Schema::table);
  if (known != options_.known_schemas.end()) {
    const absl::StatusOr<BatchView> batch = upd_rows_.Arrange(*known, upd);
    const absl::Status fits = batch.ok() ? CheckBatch(*known, *batch) : batch.status();
    if (fits.ok()) return *known;
    LogWarn(
        "rows do not fit the schema that is known, so it is inferred table={} schema=\"{}\" "
        "error=\"{}\"",
        name, FormatSchema(*known), Message(fits));
  }
  if (upd.batch.rows == 0) return std::nullopt;
  return InferSchema(name, upd);
}

Rdb::Entry* Rdb::EntryFor(std::string_view name, const wire::UpdView& upd) {
  const auto known = entries_.find(name);
  if (known != entries_.end()) return known->second.get();
  std::optional<Schema> schema;
  if (options_.infer_schemas) schema = SchemaFor(name, upd);
  if (schema) {
    if (const absl::Status made = MakeTable(*schema); made.ok()) {
      LogInfo("table made by its first upd table={} columns=\"{}\"", name, FormatSchema(*schema));
      for (const auto& [key, tier] : placement_.rules().keys()) {
        if (TableOfPlacementKey(key) == name) ReportMisplaced(key, {&*schema, 1});
      }
      return entries_.find(name)->second.get();
    } else {
      LogError("no table table={} error=\"{}\"", name, Message(made));
    }
  }
  Add(counters_.upds_unknown, 1);
  if (const auto unknown = unknown_rows_.find(name); unknown != unknown_rows_.end()) {
    unknown->second += upd.batch.rows;
  } else if (unknown_rows_.size() < kTablesToldMax) {
    unknown_rows_.emplace(name, upd.batch.rows);
    LogWarn("upd of an unknown table table={} rows={}", name, upd.batch.rows);
  }
  return nullptr;
}

// Notes that the table lacks rows, since now if it did not before.
void Rdb::NoteStale(std::string_view table) {
  if (counters_.incomplete.load(std::memory_order_relaxed) == 0) {
    LogError("tables are incomplete from here on, live is 0 table={} seq={}", table,
             position_.seq());
    SetIncomplete(true);
  }
  const std::lock_guard lock(tables_mutex_);
  if (refused_since_.size() < kTablesToldMax)
    refused_since_.try_emplace(table, clock_->MonotonicNs());
}

NameMap<int64_t> Rdb::stale_ms() const {
  const std::lock_guard lock(tables_mutex_);
  NameMap<int64_t> ms = refused_since_;
  const int64_t now_ns = clock_->MonotonicNs();
  for (auto& [table, value] : ms) value = (now_ns - value) / 1'000'000;
  return ms;
}

void Rdb::CountRefused(std::string_view table, const absl::Status& why, uint64_t rows) {
  auto refused = refused_upds_.find(table);
  if (refused == refused_upds_.end()) {
    if (refused_upds_.size() >= kTablesToldMax) return;
    refused = refused_upds_.emplace(std::string(table), RefusedUpds()).first;
    refused->second.first_seq = position_.seq();
    refused->second.why = Message(why);
  }
  ++refused->second.messages;
  refused->second.rows += rows;
  refused->second.last_seq = position_.seq();
}

void Rdb::Refuse(std::string_view table, const absl::Status& why, uint64_t rows) {
  if (why.code() == absl::StatusCode::kResourceExhausted) {
    Add(counters_.rows_refused, rows);
    tables_refused_rows_ += rows;
  } else {
    Add(counters_.upds_refused, 1);
    CountRefused(table, why, rows);
  }
  NoteStale(table);
  if (const std::optional<uint64_t> withheld = refused_limit_.Pass()) {
    LogError("upd refused table={} rows={} error=\"{}\" withheld={}", table, rows, Message(why),
             *withheld);
  }
}

// Takes an upd; nullopt if a published one is out of order. An upd that is refused counts as taken:
// taking it again from the log would not help.
std::optional<Rdb::Taken> Rdb::TakeUpd(std::span<const std::byte> body, Source source) {
  Taken taken;
  taken.table = wire::PeekUpdTable(body).value_or(std::string_view());
  const auto known = entries_.find(taken.table);
  size_t columns = known == entries_.end() ? 0 : known->second->table->schema().columns.size();
  if (known == entries_.end() && options_.infer_schemas) {
    const auto schema = std::ranges::find(options_.known_schemas, taken.table, &Schema::table);
    if (schema != options_.known_schemas.end()) columns = schema->columns.size();
  }
  wire::UpdView upd;
  if (const absl::Status decoded = decoder_.Decode(body, &upd, columns); !decoded.ok()) {
    Refuse(taken.table, decoded, 0);
    return taken;
  }
  taken.table = upd.table;
  taken.rows = upd.batch.rows;
  if (source == Source::kPublished && upd.seq) {
    if (!position_.OnPublished(upd.table, upd.batch.rows, *upd.seq)) return std::nullopt;
    CountSeq();
  }
  if (source == Source::kLog) taken.known = position_.RowsHere(upd.table, upd.batch.rows);
  Entry* const entry = EntryFor(upd.table, upd);
  if (entry == nullptr || taken.known == taken.rows) return taken;
  absl::StatusOr<BatchView> batch = upd_rows_.Arrange(entry->table->schema(), upd);
  if (batch.ok()) batch = upd_rows_.WithoutFirst(*batch, static_cast<size_t>(taken.known));
  const absl::Status status = batch.ok() ? entry->table->Append(*batch) : batch.status();
  if (!status.ok()) {
    Refuse(upd.table, status, taken.rows - taken.known);
    return taken;
  }
  taken.added = batch->rows;
  if (source == Source::kPublished && entry->time_column >= 0) {
    RecordLatency(*batch, static_cast<size_t>(entry->time_column));
  }
  return taken;
}

void Rdb::RecordLatency(const BatchView& batch, size_t time_column) {
  const int64_t visible_ns = clock_->NowNs();
  const std::byte* const times = batch.columns[time_column].data.data();
  const std::lock_guard lock(latency_mutex_);
  for (size_t i = 0; i < batch.rows; ++i) {
    const auto due_ns = LoadLittle<int64_t>(times + i * sizeof(int64_t));
    // Skips nulls and infinities, which would overflow: both are far more than a day away.
    if (due_ns < visible_ns - kNsPerDay || due_ns > visible_ns + kNsPerDay) continue;
    latency_.Record(visible_ns - due_ns);
    latency_buckets_.Record(visible_ns - due_ns);
  }
}

std::optional<Snapshot> TablesOfRdb::Find(std::string_view name) const {
  const auto at = current.find(name);
  if (at == current.end()) return std::nullopt;
  const Schema& schema = at->second->schema();
  std::vector<Snapshot> parts;
  for (const EndedDay& ended : kept) {
    for (const std::shared_ptr<const Table>& table : ended.tables) {
      // A day is kept before its tables are replaced: until then, they are the current ones, too.
      if (table == at->second) continue;
      if (table->schema() == schema && CanFollow(schema)) parts.push_back(table->TakeSnapshot());
    }
  }
  parts.push_back(at->second->TakeSnapshot());
  if (parts.size() == 1) return std::move(parts.front());
  return Snapshot::Join(std::move(parts));
}

std::optional<Snapshot> TablesOfRdb::FindOfDay(std::string_view name, int32_t date) const {
  std::vector<std::shared_ptr<const Table>> tables;
  for (const EndedDay& ended : kept) {
    if (ended.date != date) continue;
    for (const std::shared_ptr<const Table>& table : ended.tables) {
      if (table->schema().table == name) tables.push_back(table);
    }
  }
  const auto at = current.find(name);
  if (day == date && at != current.end() && std::ranges::find(tables, at->second) == tables.end()) {
    tables.push_back(at->second);
  }
  if (tables.empty()) return std::nullopt;
  std::vector<Snapshot> parts;
  for (const std::shared_ptr<const Table>& table : tables) parts.push_back(table->TakeSnapshot());
  if (parts.size() == 1) return std::move(parts.front());
  return Snapshot::Join(std::move(parts));
}

std::vector<std::string> TablesOfRdb::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : current) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::vector<int32_t> Rdb::Days() const {
  std::vector<int32_t> days;
  const std::lock_guard lock(tables_mutex_);
  for (const EndedDay& day : tables_->kept) days.push_back(day.date);
  days.insert(days.end(), awaited_.begin(), awaited_.end());
  if (tables_->day) days.push_back(*tables_->day);
  std::ranges::sort(days);
  days.erase(std::ranges::unique(days).begin(), days.end());
  return days;
}

void Rdb::SetAwaitedDays(std::vector<int32_t> days) {
  const std::lock_guard lock(tables_mutex_);
  awaited_ = std::move(days);
}

// The name of the log says which day its rows are of.
void Rdb::NoteLog(LogIdentity log) {
  // The end of a day that this process gets as it is published needs no look at the logs.
  const bool follows = counters_.caught_up.load(std::memory_order_relaxed) != 0;
  if (keeper_ != nullptr && !follows && log.path != log_.path) keeper_->OnOtherLog(log.path);
  log_ = std::move(log);
  if (const std::optional<DayLog> day = ParseDayLog(log_.path)) {
    ChangeTables([&day](TablesOfRdb& tables) { tables.day = day->date; });
  }
}

Histogram Rdb::Latency(bool reset) {
  const std::lock_guard lock(latency_mutex_);
  Histogram copy = latency_;
  if (reset) latency_.Reset();
  return copy;
}

}  // namespace tickstack::rdb
