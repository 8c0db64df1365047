#include "tickerplant/tickerplant.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/logging.h"
#include "base/status.h"
#include "table/storable.h"
#include "table/value_reader.h"
#include "tickerplant/chained/upstream_rows.h"
#include "tickerplant/feed_names.h"
#include "tickerplant/feed_owner.h"
#include "tickerplant/logged_schemas.h"
#include "tplog/tplog_format.h"
#include "wire/codec.h"
#include "wire/protocol.h"
#include "wire/upd_encoder.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;
namespace {

ByteBuffer LogPrefix(std::string_view table) {
  ByteBuffer out;
  wire::UpdEncoder(out).Head(protocol::kUpd, table);
  return out;
}

// `(.u.updn; `feed; row; `table; x)` with its small arguments parsed, but not x.
struct NumberedCall {
  std::string_view feed;
  int64_t row;
  std::string_view table;
  std::span<const std::byte> x;
};

constexpr size_t kFeedNameMax = FeedNames::kNameBytesMax;  // The index keeps the name for ever.

using Reader = ValueReader<const std::byte>;

// The element of the next value, if that is an atom of this type.
std::optional<std::span<const std::byte>> TakeAtom(Reader& reader, Type type) {
  Reader::Head head;
  if (reader.PeekCode() != -static_cast<int>(type)) return std::nullopt;
  if (reader.TakeHead(&head) != ReadOutcome::kWhole) return std::nullopt;
  return head.elements;
}

std::optional<std::string_view> TakeName(Reader& reader) {
  const std::optional<std::span<const std::byte>> name = TakeAtom(reader, Type::kSymbol);
  if (!name || name->size() == 1) return std::nullopt;  // Empty, but for its NUL.
  return AsText(name->first(name->size() - 1));
}

absl::StatusOr<NumberedCall> ParseNumberedCall(std::span<const std::byte> body) {
  constexpr size_t kItems = 5;
  Reader reader(body);
  Reader::Head list, verb;
  if (reader.TakeHead(&list) != ReadOutcome::kWhole || list.code != 0 || list.count != kItems) {
    return absl::InvalidArgumentError("rank: expected .u.updn[feed;row;table;x]");
  }
  // The caller has read the verb: a symbol or a string.
  if (reader.TakeHead(&verb) != ReadOutcome::kWhole) {
    return absl::InvalidArgumentError("length: .u.updn ends inside its name");
  }
  const std::optional<std::string_view> feed = TakeName(reader);
  const auto row = feed ? TakeAtom(reader, Type::kLong) : std::nullopt;
  const std::optional<std::string_view> table = row ? TakeName(reader) : std::nullopt;
  const int64_t first_row = table ? LoadLittle<int64_t>(row->data()) : -1;
  if (first_row < 0) {
    return absl::InvalidArgumentError(
        "type: .u.updn[feed;row;table;x] takes a symbol, a long from 0, and a symbol");
  }
  TS_RETURN_IF_ERROR(Tickerplant::CheckFeedName(*feed));
  return NumberedCall{*feed, first_row, *table, body.subspan(reader.offset())};
}

int64_t RowsOf(const tplog::TableRows& rows, std::string_view table) {
  const auto it = rows.find(table);
  return it == rows.end() ? 0 : static_cast<int64_t>(it->second);
}

bool IsStamped(Type type) {
  return type == Type::kTimestamp || type == Type::kTimespan || type == Type::kTime;
}

// Which of the schemas are of these tables.
std::vector<bool> TablesIn(std::span<const Schema> schemas, std::span<const std::string> tables) {
  std::vector<bool> in;
  for (const Schema& schema : schemas) {
    in.push_back(std::ranges::find(tables, schema.table) != tables.end());
  }
  return in;
}

}  // namespace

Tickerplant::Tickerplant(TickerplantOptions options, DayClock day, const Clock* clock)
    : options_(std::move(options)),
      day_(day),
      clock_(clock),
      publication_(options_.schemas, {.batch = options_.batch,
                                      .at_once = TablesIn(options_.schemas, options_.at_once),
                                      .publish_bytes = options_.publish_bytes}),
      catch_up_(options_.schemas, /*keep_order=*/!options_.batch, clock),
      rows_logged_(options_.schemas.size()),
      activity_(options_.schemas.size()),
      shard_id_(IdOf(options_.shard.map.get(), options_.shard.index)) {
  for (size_t i = 0; i < options_.schemas.size(); ++i) {
    table_index_[options_.schemas[i].table] = i;
    log_prefix_.push_back(LogPrefix(options_.schemas[i].table));
  }
  if (options_.shard.map != nullptr) shard_rows_.emplace(options_.shard, options_.schemas);
}

absl::StatusOr<std::unique_ptr<Tickerplant>> Tickerplant::Open(TickerplantOptions options,
                                                               DayClock day, const Clock* clock,
                                                               OpenedLog opened) {
  if (options.schemas.empty()) return absl::InvalidArgumentError("tickerplant: no tables");
  std::unique_ptr<Tickerplant> tickerplant(new Tickerplant(std::move(options), day, clock));
  for (const std::string& table : tickerplant->options_.at_once) {
    if (tickerplant->FindTable(table) < 0) return InvalidArgument("at_once: no table {}", table);
  }
  const int64_t now_ns = clock->NowNs();
  const int32_t clock_date = tickerplant->day_.DateAt(now_ns);
  const bool is_open = opened.writer != nullptr;
  int32_t today = opened.date;
  if (!is_open) {
    TS_ASSIGN_OR_RETURN(today, tickerplant->DayToOpen());
  }
  if (!tickerplant->day_.is_fixed() && today > clock_date + 1) {
    LogWarn("day is ahead of the clock, and ends when the clock has passed it date={} clock={}",
            FormatDate(today), FormatDate(clock_date));
  }
  if (today != clock_date && tickerplant->day_.is_fixed()) {
    LogInfo("day has ended here before, the next one is open date={} ended={}", FormatDate(today),
            FormatDate(clock_date));
  }
  if (is_open) {
    TS_ASSIGN_OR_RETURN(const std::optional<int32_t> before, tickerplant->NewestLog(today));
    if (before) tickerplant->ended_log_ = {tickerplant->LogPath(*before), std::nullopt};
    tickerplant->UseLog(today, std::move(opened.writer));
  } else {
    TS_ASSIGN_OR_RETURN(NameMap<tplog::TableRows> carried, tickerplant->SettleLogBefore(today));
    TS_RETURN_IF_ERROR(tickerplant->OpenLog(today, std::move(carried)));
    opened.last_blocks = tickerplant->log_->recovery().last_blocks;
  }
  TS_RETURN_IF_ERROR(CheckLoggedSchemas(tickerplant->log_->path(), opened.last_blocks,
                                        tickerplant->options_.schemas));
  // A chained tickerplant has the rows of its upstream's days, whatever their map was.
  const TickerplantOptions& opened_with = tickerplant->options_;
  if (!opened_with.follows_upstream) {
    TS_RETURN_IF_ERROR(SettleShard(
        ShardFileOf(opened_with.log_directory, opened_with.log_name), tickerplant->log_->path(),
        tickerplant->log_->totals().messages > 0, tickerplant->shard_id_));
  }
  // From here on, waiting would keep feeds waiting.
  tickerplant->options_.log.lock_wait = {};
  tickerplant->catch_up_.EnterLog(*tickerplant->log_);
  // If its day is over, it ends now. The clock has not jumped: nothing ran at the end of that day.
  if (today < clock_date) tickerplant->jumped_ns_ = now_ns - kJumpHeldNs;
  return tickerplant;
}

int Tickerplant::FindTable(std::string_view table) const {
  const auto it = table_index_.find(table);
  return it == table_index_.end() ? -1 : static_cast<int>(it->second);
}

absl::Status Tickerplant::CheckFeedName(std::string_view feed) {
  if (IsUpstreamName(feed)) {
    return InvalidArgument("type: {} is no feed's name: rows of an upstream have it", feed);
  }
  if (SplitOwner(feed).number != 0) {
    return InvalidArgument("type: {} is no feed's name: the index has it for rows of a user", feed);
  }
  if (feed.size() <= kFeedNameMax) return absl::OkStatus();
  return InvalidArgument("length: a feed's name of {} bytes, at most {}", feed.size(),
                         kFeedNameMax);
}

std::vector<int64_t> Tickerplant::FeedRows(std::string_view feed) const {
  const auto found = numbered_feeds_.find(feed);
  return RowsByTable(found == numbered_feeds_.end() ? tplog::TableRows() : found->second.rows);
}

std::vector<int64_t> Tickerplant::LoggedFeedRows(std::string_view feed) const {
  tplog::TableRows sum;
  const auto found = numbered_feeds_.find(feed);
  if (found == numbered_feeds_.end()) return RowsByTable(sum);
  const NameMap<tplog::TableRows>& logged = log_->totals().feed_rows;
  for (const std::string& name : found->second.names) {
    const auto of_name = logged.find(name);
    if (of_name == logged.end()) continue;
    for (const auto& [table, rows] : of_name->second) sum[table] += rows;
  }
  return RowsByTable(sum);
}

std::string Tickerplant::OwnerOf(std::string_view feed) const {
  const auto found = numbered_feeds_.find(feed);
  if (found != numbered_feeds_.end() && !found->second.user.empty()) return found->second.user;
  const std::string_view source = SplitName(feed).name;
  for (const auto& [name, numbered] : numbered_feeds_) {
    if (!numbered.user.empty() && SplitName(name).name == source) return numbered.user;
  }
  for (const auto& [name, tables] : options_.shard.left_rows) {
    const FeedOwner owner = SplitOwner(name);
    if (owner.number != 0 && SplitName(owner.name).name == source) return std::string(owner.user);
  }
  return {};
}

// Returns the progress of a feed whose rows were accepted from `user`.
Tickerplant::NumberedFeed& Tickerplant::Number(std::string_view feed, std::string_view user) {
  NumberedFeed& numbered = numbered_feeds_[feed];
  const bool has_new_owner = !user.empty() && numbered.user != user;
  if (!has_new_owner && !numbered.names.empty()) return numbered;
  if (has_new_owner) {
    ++numbered.owner_number;
    numbered.user = user;
  }
  numbered.logged_as = numbered.owner_number == 0
                           ? std::string(feed)
                           : NameUnderOwner(feed, numbered.owner_number, numbered.user);
  numbered.names.push_back(numbered.logged_as);
  return numbered;
}

std::optional<Tickerplant::EarlierRows> Tickerplant::FindEarlierRows(std::string_view feed) const {
  const auto rows_of = [](const tplog::TableRows& tables) {
    uint64_t sum = 0;
    for (const auto& [table, rows] : tables) sum += rows;
    return sum;
  };
  if (std::ranges::any_of(LoggedFeedRows(feed), [](int64_t rows) { return rows > 0; })) {
    return std::nullopt;
  }
  const std::string_view source = SplitName(feed).name;
  for (const auto* const names : {&log_->totals().feed_rows, &options_.shard.left_rows}) {
    for (const auto& [logged_as, tables] : *names) {
      const uint64_t rows = rows_of(tables);
      const std::string_view name = SplitOwner(logged_as).name;
      if (name != feed && rows > 0 && SplitName(name).name == source)
        return EarlierRows{std::string(name), rows};
    }
  }
  return std::nullopt;
}

std::vector<int64_t> Tickerplant::RowsByTable(const tplog::TableRows& rows) const {
  std::vector<int64_t> by_table;
  for (const Schema& schema : options_.schemas) by_table.push_back(RowsOf(rows, schema.table));
  return by_table;
}

// ---- staging

// Returns the index of the table; kInvalidArgument with the table's name, as in kdb+tick.
absl::StatusOr<size_t> Tickerplant::TableOf(std::optional<std::string_view> name) {
  if (!name)
    return absl::InvalidArgumentError("type: an upd begins with a verb and a table's name");
  if (options_.schemas[last_table_].table != *name) {
    const int found = FindTable(*name);
    if (found < 0) return InvalidArgument("{}: no such table", *name);
    last_table_ = static_cast<size_t>(found);
  }
  return last_table_;
}

absl::Status Tickerplant::StageUpd(std::span<const std::byte> body,
                                   const std::shared_ptr<const void>& owner,
                                   const std::vector<bool>* allowed) {
  const absl::Status status = [&]() -> absl::Status {
    TS_ASSIGN_OR_RETURN(const size_t table, TableOf(wire::PeekUpdTable(body)));
    if (allowed != nullptr && !(*allowed)[table]) return NotAllowed(table);
    wire::UpdView upd;
    decoder_.NameColumns(&options_.schemas[table]);
    TS_RETURN_IF_ERROR(decoder_.Decode(body, &upd, options_.schemas[table].columns.size()));
    return Stage(table, upd, upd.x, owner, {}, 0, {});
  }();
  if (!status.ok()) ++counters_.upds_refused;
  return status;
}

std::optional<std::string_view> Tickerplant::FeedOf(std::span<const std::byte> body) {
  const absl::StatusOr<NumberedCall> call = ParseNumberedCall(body);
  if (!call.ok()) return std::nullopt;
  return call->feed;
}

absl::Status Tickerplant::NotAllowed(size_t table) const {
  return PermissionDenied("{}", options_.schemas[table].table);
}

absl::Status Tickerplant::StageNumberedUpd(std::span<const std::byte> body,
                                           const std::shared_ptr<const void>& owner,
                                           const std::vector<bool>* allowed,
                                           std::string_view user) {
  const absl::Status status = [&]() -> absl::Status {
    TS_ASSIGN_OR_RETURN(const NumberedCall call, ParseNumberedCall(body));
    TS_ASSIGN_OR_RETURN(const size_t table, TableOf(call.table));
    if (allowed != nullptr && !(*allowed)[table]) return NotAllowed(table);
    wire::RowsView rows;
    decoder_.NameColumns(&options_.schemas[table]);
    TS_RETURN_IF_ERROR(decoder_.DecodeX(call.x, &rows, options_.schemas[table].columns.size()));
    return Stage(table, rows, call.x, owner, call.feed, call.row, user);
  }();
  if (!status.ok()) ++counters_.upds_refused;
  return status;
}

absl::Status Tickerplant::StageLogged(size_t table, std::span<const std::byte> x,
                                      const std::shared_ptr<const void>& owner,
                                      std::string_view feed, int64_t first_row) {
  const absl::Status status = [&]() -> absl::Status {
    wire::RowsView rows;
    decoder_.NameColumns(&options_.schemas[table]);
    TS_RETURN_IF_ERROR(decoder_.DecodeX(x, &rows, options_.schemas[table].columns.size()));
    return Stage(table, rows, x, owner, feed, first_row, {}, /*of_upstream=*/true);
  }();
  if (!status.ok()) ++counters_.upds_refused;
  return status;
}

// Returns which column of the upd belongs where in the schema; kStamp for a time that the
// tickerplant adds.
absl::StatusOr<std::vector<size_t>> Tickerplant::ColumnOrder(const Schema& schema,
                                                             const wire::RowsView& rows) const {
  std::vector<size_t> order;
  const bool stamps = IsStamped(schema.columns.front().type);
  if (rows.form != wire::UpdForm::kTable) {
    const size_t found = rows.batch.columns.size();
    const bool no_time = stamps && found + 1 == schema.columns.size() &&
                         rows.batch.columns.front().type != schema.columns.front().type;
    if (no_time) order.push_back(kStamp);
    for (size_t i = 0; i < found; ++i) order.push_back(i);
    return order;
  }
  for (const ColumnSpec& column : schema.columns) {
    const auto it = std::find(rows.names.begin(), rows.names.end(), column.name);
    if (it != rows.names.end()) {
      order.push_back(static_cast<size_t>(it - rows.names.begin()));
    } else if (order.empty() && stamps) {
      order.push_back(kStamp);
    } else {
      return InvalidArgument("mismatch: {}: the upd's table has no column {}", schema.table,
                             column.name);
    }
  }
  const size_t taken = order.size() - (order.front() == kStamp ? 1 : 0);
  if (taken != rows.names.size()) {
    return InvalidArgument("mismatch: {}: {} columns, the upd's table has {}", schema.table, taken,
                           rows.names.size());
  }
  return order;
}

absl::Status Tickerplant::Stage(size_t table, wire::RowsView& rows, std::span<const std::byte> x,
                                const std::shared_ptr<const void>& owner, std::string_view feed,
                                int64_t first_row, std::string_view user, bool of_upstream) {
  const Schema& schema = options_.schemas[table];
  if (rows.batch.columns.empty()) {
    return InvalidArgument("length: 0 columns, table {} has {}", schema.table,
                           schema.columns.size());
  }
  size_t skip = 0;
  if (!feed.empty()) {
    // Find, not insert: a feed is added once its first rows have been accepted.
    const auto of_feed = numbered_feeds_.find(feed);
    const int64_t logged =
        of_feed == numbered_feeds_.end() ? 0 : RowsOf(of_feed->second.rows, schema.table);
    if (first_row > logged) {
      return InvalidArgument("gap: feed {} sends row {} of {}, expected {}", feed, first_row,
                             schema.table, logged);
    }
    skip = std::min(static_cast<size_t>(logged - first_row), rows.batch.rows);
    counters_.rows_duplicated += skip;
  }
  if (skip > 0 && skip == rows.batch.rows) return absl::OkStatus();

  const bool as_it_came =
      skip == 0 && rows.batch.columns.size() == schema.columns.size() &&
      (rows.form == wire::UpdForm::kColumns || rows.form == wire::UpdForm::kRow);
  std::shared_ptr<const void> own;
  const auto replace_x = [&](ByteBuffer bytes) {
    auto encoded = std::make_shared<ByteBuffer>(std::move(bytes));
    x = encoded->span();
    own = std::move(encoded);
    return decoder_.DecodeX(x, &rows, schema.columns.size());
  };
  if (!as_it_came) {
    TS_ASSIGN_OR_RETURN(const std::vector<size_t> order, ColumnOrder(schema, rows));
    const int64_t now_ns = clock_->NowNs();
    const int64_t local_ns = day_.LocalTimespan(now_ns);
    const Type stamp_type = schema.columns.front().type;
    const int64_t stamp_ns = stamp_type == Type::kTimestamp ? now_ns : local_ns;
    const auto stamp_ms = static_cast<int32_t>(local_ns / 1'000'000);
    const std::span<const std::byte> stamp = stamp_type == Type::kTime
                                                 ? std::as_bytes(std::span(&stamp_ms, 1))
                                                 : std::as_bytes(std::span(&stamp_ns, 1));
    TS_RETURN_IF_ERROR(replace_x(EncodeColumns(rows.batch, skip, order, stamp_type, stamp)));
  }
  if (absl::Status fits = CheckBatch(schema, rows.batch); !fits.ok()) [[unlikely]] {
    if (rows.batch.columns.size() != schema.columns.size()) return fits;
    TS_ASSIGN_OR_RETURN(ByteBuffer vectors, EncodeListsAsVectors(schema, rows.batch));
    TS_RETURN_IF_ERROR(replace_x(std::move(vectors)));
    TS_RETURN_IF_ERROR(CheckBatch(schema, rows.batch));
  }
  // The upstream has them in its log.
  if (!of_upstream) TS_RETURN_IF_ERROR(CheckStorable(schema, rows.batch));
  // The upstream has checked its rows, perhaps by the map of an earlier day.
  if (shard_rows_ && !of_upstream) TS_RETURN_IF_ERROR(shard_rows_->Check(table, rows.batch));

  NumberedFeed* const numbered = feed.empty() ? nullptr : &Number(feed, user);
  BlockFor(feed, numbered == nullptr ? std::string_view() : numbered->logged_as)
      .Add(table, log_prefix_[table], x, rows.batch, own != nullptr ? own : owner);
  if (numbered != nullptr) numbered->rows[schema.table] += rows.batch.rows;
  ++counters_.upds;
  counters_.rows += rows.batch.rows;
  return absl::OkStatus();
}

StagedBlock& Tickerplant::BlockFor(std::string_view feed, std::string_view logged_as) {
  // A block that was offered to the gate does not change any more.
  const bool is_offered = !offered_ns_.empty() && offered_ns_.size() == staged_.size();
  const bool is_full =
      gate_ != nullptr && !staged_.empty() && staged_.back().bytes() >= CommitGate::kBlockBytes;
  if (staged_.empty() || staged_.back().logged_as() != logged_as || is_offered || is_full) {
    staged_.push_back(std::exchange(spare_, {}));
    staged_.back().Reset(feed, logged_as, options_.schemas.size());
  }
  return staged_.back();
}

// ---- logging and publishing

// Valid until the next call.
tplog::TplogBlock Tickerplant::LogBlockOf(const StagedBlock& block, int64_t time_ns) {
  block_rows_.clear();
  for (size_t table = 0; table < options_.schemas.size(); ++table) {
    if (block.rows_of(table) > 0) {
      block_rows_.push_back(
          {options_.schemas[table].table, static_cast<uint32_t>(block.rows_of(table))});
    }
  }
  return {.segments = block.segments(),
          .messages = block.messages(),
          .time_ns = time_ns,
          .feed = block.logged_as(),
          .rows = block_rows_};
}

// Offers the staged blocks that the gate does not have yet, as far as it may have them.
absl::Status Tickerplant::OfferStaged() {
  if (offered_ns_.empty()) offered_seq_ = logged_seq();
  while (offered_ns_.size() < staged_.size() && gate_->HasRoom()) {
    const StagedBlock& block = staged_[offered_ns_.size()];
    const int64_t now_ns = clock_->NowNs();
    TS_RETURN_IF_ERROR(gate_->Offer({date_, offered_seq_}, LogBlockOf(block, now_ns)));
    offered_seq_ += block.messages();
    offered_ns_.push_back(now_ns);
  }
  return absl::OkStatus();
}

absl::Status Tickerplant::Commit() {
  if (gate_ != nullptr) TS_RETURN_IF_ERROR(OfferStaged());
  while (!staged_.empty()) {
    StagedBlock& block = staged_.front();
    int64_t time_ns = 0;
    if (gate_ == nullptr) {
      time_ns = clock_->NowNs();
    } else {
      if (offered_ns_.empty()) TS_RETURN_IF_ERROR(OfferStaged());
      if (!gate_->IsAcknowledged({date_, logged_seq() + block.messages()})) break;
      time_ns = offered_ns_.front();
    }
    if (absl::Status status = log_->Append(LogBlockOf(block, time_ns)); !status.ok()) {
      ++counters_.log_retries;
      return status;
    }
    upds_logged_ += block.messages();
    if (gate_ != nullptr) {
      offered_ns_.pop_front();
      gate_->OnLogged({date_, logged_seq()});
    }
    activity_.OnLogged(block, clock_->MonotonicNs());
    for (size_t i = 0; i < block.messages(); ++i) {
      const StagedBlock::Upd upd = block.upd(i);
      publication_.Add(upd.table, upd.batch, upd.owner);
      rows_logged_[upd.table] += upd.batch.rows;
    }
    block.Reset({}, {}, options_.schemas.size());
    spare_ = std::move(block);
    staged_.pop_front();
    if (publication_.is_due() || IsDueForThoseBehind()) Publish();
  }
  // The gate has room again.
  if (gate_ != nullptr) TS_RETURN_IF_ERROR(OfferStaged());
  publication_.PublishEager();
  // Eager rows alone never make a publication due.
  if (FindSlow()) Publish();
  return absl::OkStatus();
}

// Nothing is pending if everyone who wants the rows is behind.
bool Tickerplant::IsDueForThoseBehind() const {
  return catch_up_.size() > 0 &&
         log_->totals().log_bytes - published_bytes_ >= options_.publish_bytes;
}

void Tickerplant::Publish() {
  publication_.Publish(logged_seq());
  AfterPublication();
}

absl::Status Tickerplant::Subscribe(std::string_view table, const Subscription& subscription) {
  const int index = FindTable(table);
  if (!table.empty() && index < 0) return absl::NotFoundError(AbslView(table));
  Publish();
  for (size_t i = 0; i < options_.schemas.size(); ++i) {
    if (!table.empty() && static_cast<int>(i) != index) continue;
    publication_.Subscribe(i, subscription);
  }
  return absl::OkStatus();
}

void Tickerplant::Unsubscribe(const Outlet* outlet) {
  publication_.Unsubscribe(outlet);
  catch_up_.Remove(outlet);
}

std::vector<const Subscription*> Tickerplant::SubscriptionsOf(size_t table) const {
  std::vector<const Subscription*> all = publication_.SubscriptionsOf(table);
  const std::vector<const Subscription*> behind = catch_up_.SubscriptionsOf(table);
  all.insert(all.end(), behind.begin(), behind.end());
  return all;
}

// ---- subscribers that are behind

size_t Tickerplant::LiveQueueBytes() const {
  const size_t share = kLiveQueuesBytes / std::max<size_t>(publication_.outlets_max(), 1);
  return std::min(options_.live_queue_bytes, std::max(share, kLiveQueueBytesMin));
}

// True if there are live subscribers whose queues are too long.
bool Tickerplant::FindSlow() {
  if (options_.live_queue_bytes == 0) return false;
  slow_.clear();
  publication_.FindSlow(LiveQueueBytes(), slow_);
  return !slow_.empty();
}

// Everything logged is published, so that subscribers may change between live and behind.
void Tickerplant::AfterPublication() {
  catch_up_.OnPublished(published_seq(), rows_logged_);
  published_bytes_ = log_->totals().log_bytes;
  if (!FindSlow()) return;
  if (const absl::Status ready = catch_up_.Prepare(); !ready.ok()) {
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) {
      LogWarn("slow subscribers cannot be served from the log path={} error=\"{}\"", log_->path(),
              Message(ready));
    }
    return;
  }
  for (Outlet* const outlet : slow_) {
    ++counters_.fell_behind;
    static LogLimit limit;
    if (const std::optional<uint64_t> withheld = limit.Pass()) {
      LogInfo("subscriber behind host={} seq={} queued_bytes={} withheld={}", outlet->name(),
              published_seq(), outlet->queued_bytes(), *withheld);
    }
    catch_up_.Add(outlet, publication_.Take(outlet), log_->End());
  }
}

Tickerplant::Served Tickerplant::ServeBehind() {
  CatchUp::Served served = catch_up_.Serve(kTurnBytes);
  Served done;
  done.failed = std::move(served.failed);
  if (served.caught_up.empty()) return done;
  // Rows that wait for the timer are published now, because a subscriber becomes live between two
  // publications.
  if (published_seq() != logged_seq()) Publish();
  for (Outlet* const outlet : served.caught_up) {
    const CatchUp::Lag lag = catch_up_.LagOf(outlet);
    if (absl::Status status = catch_up_.ServeRest(outlet); !status.ok()) {
      catch_up_.Remove(outlet);
      done.failed.push_back({outlet, std::move(status)});
      continue;
    }
    if (outlet->queued_bytes() > LiveQueueBytes()) continue;  // It is too slow to be live.
    for (const TableSubscription& each : catch_up_.Take(outlet)) {
      publication_.Subscribe(each.table, each.subscription);
    }
    static LogLimit limit;
    if (const std::optional<uint64_t> withheld = limit.Pass()) {
      LogInfo("subscriber caught up host={} seq={} ms={} withheld={}", outlet->name(),
              published_seq(), (clock_->NowNs() - lag.since_ns) / 1'000'000, *withheld);
    }
    done.live.push_back(outlet);
  }
  return done;
}

void Tickerplant::SendInOrder(Outlet* outlet, const ByteBuffer& message) {
  const auto shared = std::make_shared<const ByteBuffer>(message.Clone());
  if (catch_up_.Has(outlet)) return catch_up_.QueueFor(outlet, shared);
  const wire::Segment segment{shared->span(), shared};
  outlet->Queue({&segment, 1});
  outlet->Flush();
}

// ---- days

bool Tickerplant::IsRollDue() {
  const int64_t now_ns = DayNs();
  if (now_ns < day_end_ns_) jumped_ns_.reset();
  if (now_ns < day_end_ns_ || (gate_ == nullptr && has_staged())) return false;
  const int32_t today = day_.DateAt(now_ns);
  if (today <= date_ + 1) return true;
  if (!jumped_ns_) {
    LogWarn("clock jumped, end of day postponed from={} to={} days={} held_s={}", FormatDate(date_),
            FormatDate(today), today - date_, kJumpHeldNs / kNsPerSecond);
  }
  if (!jumped_ns_ || now_ns < *jumped_ns_) jumped_ns_ = now_ns;
  return now_ns - *jumped_ns_ >= kJumpHeldNs;
}

int64_t Tickerplant::OverdueNs() const {
  return std::max<int64_t>(0, clock_->NowNs() - day_end_ns_);
}

absl::StatusOr<bool> Tickerplant::RollIfDue() {
  if (!IsRollDue() || has_staged()) return false;
  jumped_ns_.reset();
  TS_RETURN_IF_ERROR(RollTo(NextDay()));
  return true;
}

absl::Status Tickerplant::MayEndDay() const {
  if (options_.follows_upstream) {
    return absl::FailedPreconditionError("day: it ends when the upstream's day ends");
  }
  // At most once a day: repeated requests must not run ahead of the calendar.
  if (date_ > day_.DateAt(DayNs())) {
    return FailedPrecondition("day: {} has not begun yet", FormatDate(date_));
  }
  return absl::OkStatus();
}

absl::Status Tickerplant::EndDay() {
  TS_RETURN_IF_ERROR(MayEndDay());
  TS_RETURN_IF_ERROR(Commit());
  if (has_staged()) return absl::UnavailableError("day: rows wait for standbys");
  return RollTo(date_ + 1);
}

absl::Status Tickerplant::EndDayTo(int32_t next) {
  if (next <= date_) {
    return FailedPrecondition("day: {} does not follow {}", FormatDate(next), FormatDate(date_));
  }
  TS_RETURN_IF_ERROR(Commit());
  if (has_staged()) return absl::UnavailableError("day: rows wait for standbys");
  return RollTo(next);
}

absl::Status Tickerplant::RollTo(int32_t date) {
  Publish();
  const int32_t ended = date_;
  // Marks the day as ended first, so that a process that dies from here on begins with the next
  // day; no client knows yet. The feeds' logged rows are carried over, and must not be lost after
  // that.
  if (options_.log.fsync != tplog::FsyncPolicy::kNone) TS_RETURN_IF_ERROR(log_->Sync());
  TS_RETURN_IF_ERROR(log_->SetEnded(true));
  std::unique_ptr<tplog::TplogWriter> old = std::exchange(log_, nullptr);
  // Feeds continue their numbers. An upstream numbers the rows of each day anew.
  NameMap<tplog::TableRows> carried = old->totals().feed_rows;
  absl::erase_if(carried, [](const auto& feed) { return IsUpstreamName(feed.first); });
  if (absl::Status opened = OpenLog(date, std::move(carried)); !opened.ok()) {
    log_ = std::move(old);
    if (const absl::Status resumed = log_->SetEnded(false); !resumed.ok()) {
      LogError("day not ended, a restart starts the next one error=\"{}\"", Message(resumed));
    }
    return opened;
  }
  activity_.OnDayEnded();
  ended_log_ = {old->path(), old->totals().messages};
  ended_logs_.Close(std::move(old));
  std::vector<Value> end;
  end.push_back(Value::Symbol(protocol::kEnd));
  end.push_back(Value::Date(ended));
  const ByteBuffer message =
      wire::EncodeMessage(wire::MessageKind::kAsync, Value::List(std::move(end)));
  catch_up_.QueueForAll(std::make_shared<const ByteBuffer>(message.Clone()));
  catch_up_.EnterLog(*log_);
  publication_.Broadcast(message);
  LogInfo("day ended date={} next={}", FormatDate(ended), FormatDate(date));
  return absl::OkStatus();
}

absl::Status Tickerplant::Close() {
  Publish();
  ended_logs_.Wait();
  // Members of a cluster do not lead after a power cut that may have taken rows.
  return gate_ == nullptr ? log_->Close() : log_->CloseDurably();
}

}  // namespace tickstack::tickerplant
