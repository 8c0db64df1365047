#include "aggengine/engine.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "wire/codec.h"
#include "wire/protocol.h"
#include "wire/upd_encoder.h"

namespace tickstack::aggengine {

namespace protocol = wire::protocol;
namespace {

const Schema* FindSchema(std::span<const Schema> schemas, std::string_view table) {
  const auto found = std::find_if(schemas.begin(), schemas.end(),
                                  [&](const Schema& schema) { return schema.table == table; });
  return found == schemas.end() ? nullptr : &*found;
}

}  // namespace

Engine::Engine(EngineOptions options, mem::Tier* tier, const Clock* clock)
    : options_(std::move(options)), tier_(tier), clock_(clock) {}

Engine::~Engine() = default;

std::vector<std::string> Engine::Sources() const {
  std::vector<std::string> tables;
  for (const BarSpec& spec : options_.bars) {
    if (std::find(tables.begin(), tables.end(), spec.table) == tables.end()) {
      tables.push_back(spec.table);
    }
  }
  return tables;
}

// ---- tables

// Returns how much memory histories may take. A bounded tier keeps half of its room free of them:
// the histories, which only late rows need, must not keep bars from being made.
size_t Engine::HistoryBudget() const {
  const size_t capacity = tier_->Stats().capacity_bytes;
  return capacity == SIZE_MAX ? options_.history_bytes
                              : std::min(options_.history_bytes, capacity / 2);
}

bool Engine::MakeBars(const BarSpec& spec, std::span<const Schema> schemas) {
  const Schema* const from = FindSchema(schemas, spec.table);
  if (from == nullptr) {
    LogError("no bars, the tickerplant does not have their source bars={} table={}", spec.name,
             spec.table);
    return false;
  }
  const absl::StatusOr<Schema> expected = SchemaOf(spec, *from);
  if (!expected.ok()) {
    LogError("no bars bars={} error=\"{}\"", spec.name, Message(expected.status()));
    return false;
  }
  const Schema* const to = FindSchema(schemas, spec.name);
  if (to == nullptr || !(*to == *expected)) {
    LogError(
        "no bars, the tickerplant does not have their table bars={} expected=\"{}\" found=\"{}\"",
        spec.name, FormatSchema(*expected), to == nullptr ? "none" : FormatSchema(*to));
    return false;
  }
  BarSource*& source = source_of_[spec.table];
  if (source == nullptr) {
    sources_.push_back(std::make_unique<BarSource>(*from, &symbols_));
    source = sources_.back().get();
  }
  bars_of_[spec.name] = source->AddBars(spec, tier_, HistoryBudget());
  return true;
}

void Engine::OnSchemas(std::span<const Schema> schemas) {
  std::vector<Schema> relevant;
  for (const Schema& schema : schemas) {
    const bool is_ours =
        std::any_of(options_.bars.begin(), options_.bars.end(), [&](const BarSpec& spec) {
          return spec.table == schema.table || spec.name == schema.table;
        });
    if (is_ours) relevant.push_back(schema);
  }
  std::sort(relevant.begin(), relevant.end(),
            [](const Schema& a, const Schema& b) { return a.table < b.table; });
  if (relevant == known_) return;
  // Bars that could not be made before may lack earlier rows.
  StartOver();
  bars_of_.clear();
  source_of_.clear();
  sources_.clear();
  for (Unanswered& sent : unanswered_) sent.bars = nullptr;
  known_ = std::move(relevant);
  for (const BarSpec& spec : options_.bars) {
    if (MakeBars(spec, schemas)) {
      LogInfo("bars bars={} table={} width_ms={} columns=\"{}\"", spec.name, spec.table,
              spec.width_ns / 1'000'000, FormatSchema(bars_of_[spec.name]->schema()));
    }
  }
}

void Engine::StartOver() {
  for (const std::unique_ptr<BarSource>& source : sources_) source->Clear();
  for (Unanswered& sent : unanswered_) sent.records.clear();
  missing_before_ = subscription_.messages_missing.load(std::memory_order_relaxed);
  position_.Reset();
  log_ = {};
}

// ---- rows

tplog::LiveOutcome Engine::OnLive(std::span<const std::byte> body) {
  const std::optional<std::string_view> verb = wire::PeekVerb(body);
  if (verb == protocol::kEnd) {
    TakeAdded();
    size_t bars = 0, waiting = 0;
    for (const auto& [name, of] : bars_of_) {
      bars += of->records();
      waiting += of->changed_rows();
    }
    LogInfo("day ended bars={} rows_waiting={}", bars, waiting);
    StartOver();
    closing_date_.reset();
    ++counters_.days_ended;
    return tplog::LiveOutcome::kDayEnded;
  }
  if (verb == protocol::kClosing) {
    const absl::StatusOr<Value> message = wire::Decode(body);
    const bool is_whole = message.ok() && message->is_list() && message->count() == 2 &&
                          message->items()[1].is_atom_of(Type::kDate);
    if (is_whole) closing_date_ = message->items()[1].as<int32_t>();
    return tplog::LiveOutcome::kTaken;
  }
  if (!protocol::IsUpd(verb.value_or(std::string_view()))) return tplog::LiveOutcome::kTaken;
  ++counters_.messages;
  return TakeUpd(body, Origin::kPublished) ? tplog::LiveOutcome::kTaken
                                           : tplog::LiveOutcome::kOutOfOrder;
}

void Engine::OnLogged(std::span<const std::byte> body) {
  if (wire::PeekUpdTable(body)) TakeUpd(body, Origin::kLog);
  position_.OnReplayed();
}

void Engine::Refuse(std::string_view table, const absl::Status& why) {
  ++counters_.upds_refused;
  if (const std::optional<uint64_t> withheld = refused_limit_.Pass()) {
    LogError("upd refused table={} error=\"{}\" withheld={}", table, Message(why), *withheld);
  }
}

// Returns false if a published upd is out of order. An upd that is refused counts as taken.
bool Engine::TakeUpd(std::span<const std::byte> body, Origin origin) {
  const std::string_view table = wire::PeekUpdTable(body).value_or(std::string_view());
  const auto from = source_of_.find(table);
  const auto own = bars_of_.find(table);
  const Schema* const schema = from != source_of_.end() ? &from->second->schema()
                               : own != bars_of_.end()  ? &own->second->schema()
                                                        : nullptr;
  wire::UpdView upd;
  const absl::Status decoded =
      decoder_.Decode(body, &upd, schema == nullptr ? 0 : schema->columns.size());
  if (!decoded.ok()) {
    // Upds of foreign tables count too: without their rows the position would be wrong.
    Refuse(table, decoded);
    return true;
  }
  if (origin == Origin::kPublished && upd.seq &&
      !position_.OnPublished(upd.table, upd.batch.rows, *upd.seq)) {
    return false;
  }
  const uint64_t here = origin == Origin::kLog ? position_.RowsHere(upd.table, upd.batch.rows) : 0;
  if (schema == nullptr || here == upd.batch.rows) return true;
  absl::StatusOr<BatchView> batch = upd_rows_.Arrange(*schema, upd);
  if (batch.ok()) batch = upd_rows_.WithoutFirst(*batch, static_cast<size_t>(here));
  const absl::Status fits = batch.ok() ? CheckBatch(*schema, *batch) : batch.status();
  if (!fits.ok()) {
    Refuse(upd.table, fits);
    return true;
  }
  if (from == source_of_.end()) {
    // Live rows of a bar table are echoes of older states of this engine.
    if (origin == Origin::kLog) TakeOwnRows(*own->second, *batch);
    return true;
  }
  if (const absl::Status added = AddRows(*from->second, *batch); !added.ok()) {
    Refuse(upd.table, added);
    return true;
  }
  if (origin == Origin::kLog) counters_.rows_replayed += batch->rows;
  return true;
}

absl::Status Engine::AddRows(BarSource& source, const BatchView& batch) {
  TS_RETURN_IF_ERROR(source.Add(batch));
  counters_.rows_in += batch.rows;
  if (source.added() >= kRowsTogether) TakeAdded(source);
  return absl::OkStatus();
}

void Engine::TakeAdded() {
  for (const std::unique_ptr<BarSource>& source : sources_) TakeAdded(*source);
  taken_ns_ = clock_->MonotonicNs();
}

void Engine::TakeAdded(BarSource& source) {
  if (source.added() == 0) return;
  const BarSource::Taken taken = source.TakeAdded();
  counters_.rows_without_time += taken.without_time;
  counters_.rows_late += taken.late;
  counters_.rows_refused += taken.refused;
  counters_.rows_forgotten += taken.forgotten;
  newest_ns_ = std::max(newest_ns_, taken.newest_ns);
  if (taken.refused == 0) return;
  if (const std::optional<uint64_t> withheld = refused_limit_.Pass()) {
    LogError("bars lack rows, their tier is full table={} rows={} withheld={}",
             source.schema().table, taken.refused, *withheld);
  }
}

void Engine::TakeOwnRows(Bars& bars, const BatchView& batch) {
  const ColumnView& names = batch.columns[0];
  if (names.data.size() < names.rows) return;
  own_symbols_.resize(names.rows);
  if (symbols_.InternAll(names.data, own_symbols_) != names.data.size()) return;
  for (const ColumnView& column : batch.columns) {
    const size_t width = WidthOf(column.type);
    if (width > 0 && column.data.size() != column.rows * width) return;
  }
  TakeAdded();  // Takes them first: they came before this message.
  bars.OnLogged(batch, own_symbols_);
}

// ---- publishing

void Engine::ReportMissing() const {
  LogError(
      "bars are not published, because rows of the log are missing messages_missing={}: repair the "
      "log and restart the engine, or wait for the next day",
      subscription_.messages_missing.load(std::memory_order_relaxed) - missing_before_);
}

bool Engine::has_changes() const {
  if (lacks_rows()) return false;  // None that will be published.
  return std::any_of(bars_of_.begin(), bars_of_.end(),
                     [](const auto& named) { return named.second->has_changes(); }) ||
         std::any_of(sources_.begin(), sources_.end(),
                     [](const auto& source) { return source->added() > 0; });
}

std::optional<ByteBuffer> Engine::NextMessage() {
  if (unanswered_.size() >= kUnansweredMax || lacks_rows()) return std::nullopt;
  TakeAdded();
  std::vector<Bars*> all;
  for (const std::unique_ptr<BarSource>& source : sources_) {
    for (const std::unique_ptr<Bars>& bars : source->bars()) all.push_back(bars.get());
  }
  for (size_t turns = 0; turns < all.size(); ++turns) {
    Bars* const bars = all[next_bars_++ % all.size()];
    while (bars->has_changes()) {
      Unanswered sent{bars, {}};
      ByteBuffer message;
      wire::UpdEncoder upd(message);
      upd.BeginFrame();
      upd.Head(protocol::kFeedUpd, bars->schema().table);
      const size_t rows = bars->TakeChangedRows(kMessageRowsMax, symbols_, message, sent.records);
      if (rows == 0) continue;
      upd.EndFrame(wire::MessageKind::kSync);
      unanswered_.push_back(std::move(sent));
      counters_.rows_out += rows;
      if (again_) counters_.rows_out_again += rows;
      ++counters_.messages_out;
      RecordLag();
      return message;
    }
  }
  again_ = false;
  return std::nullopt;
}

void Engine::RecordLag() {
  if (newest_ns_ == INT64_MIN) return;
  const int64_t lag_ns = clock_->NowNs() - newest_ns_;
  newest_ns_ = INT64_MIN;
  lag_ns_.reset();
  if (lag_ns < -kNsPerDay || lag_ns > kNsPerDay) return;  // The day is replayed.
  lag_ns_ = lag_ns;
  lag_ns_max_ = std::max(lag_ns, lag_ns_max_.value_or(lag_ns));
  lag_buckets_.Record(lag_ns);
}

void Engine::OnAnswer(const absl::Status& answer) {
  if (unanswered_.empty()) return;
  if (!answer.ok()) {
    ++counters_.messages_out_refused;
    if (const std::optional<uint64_t> withheld = refused_limit_.Pass()) {
      LogError("the tickerplant refuses bars error=\"{}\" withheld={}", Message(answer), *withheld);
    }
  }
  unanswered_.pop_front();
}

void Engine::OnLinkLost() {
  for (const Unanswered& sent : unanswered_) {
    if (sent.bars != nullptr) sent.bars->PublishAgain(sent.records);
  }
  again_ = !unanswered_.empty();
  unanswered_.clear();
}

// ---- counters

Value Engine::Stats(bool asks_kernel) const {
  SymbolVector names;
  std::vector<int64_t> values;
  const auto add = [&](std::string_view name, uint64_t value) {
    names.push_back(name);
    values.push_back(static_cast<int64_t>(value));
  };
  size_t bars = 0, waiting = 0, state = 0, history = 0, index = 0;
  for (const auto& [name, of] : bars_of_) {
    bars += of->records();
    waiting += of->changed_rows();
  }
  for (const std::unique_ptr<BarSource>& source : sources_) {
    state += source->bytes();
    history += source->history_bytes();
    index += source->index_bytes();
  }
  add("live", subscription_.live.load(std::memory_order_relaxed));
  add("connected", subscription_.connected.load(std::memory_order_relaxed));
  add("incomplete", lacks_rows() ? 1 : 0);
  add("seq", position_.seq());
  add("messages", counters_.messages);
  add("rows_in", counters_.rows_in);
  add("rows_replayed", counters_.rows_replayed);
  add("rows_late", counters_.rows_late);
  add("rows_without_time", counters_.rows_without_time);
  add("rows_refused", counters_.rows_refused);
  add("rows_forgotten", counters_.rows_forgotten);
  add("upds_refused", counters_.upds_refused);
  add("messages_missing", subscription_.messages_missing.load(std::memory_order_relaxed));
  add("starts_over", subscription_.starts_over.load(std::memory_order_relaxed));
  add("rows_out", counters_.rows_out);
  add("rows_out_again", counters_.rows_out_again);
  add("messages_out", counters_.messages_out);
  add("messages_out_refused", counters_.messages_out_refused);
  add("messages_unanswered", unanswered_.size());
  add("rows_waiting", waiting);
  add("days_ended", counters_.days_ended);
  add("bars", bars);
  add("state_bytes", state);
  add("state_resident_bytes",
      asks_kernel ? tier_->ResidentBytes() : static_cast<uint64_t>(kNullLong));
  add("history_bytes", history);
  add("state_index_bytes", index);
  add("lag_ns", static_cast<uint64_t>(lag_ns_.value_or(kNullLong)));
  add("lag_ns_max", static_cast<uint64_t>(lag_ns_max_.value_or(kNullLong)));
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::span<const int64_t>(values)));
}

}  // namespace tickstack::aggengine
