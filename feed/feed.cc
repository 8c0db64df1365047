#include "feed/feed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "wire/codec.h"
#include "wire/ipc.h"
#include "wire/protocol.h"
#include "wire/upd_encoder.h"

namespace tickstack::feed {

namespace protocol = wire::protocol;
namespace {

// The beginnings of the tickerplant's refusals: another feed has the name, or has taken it over.
constexpr std::string_view kHeldWord = "held:", kTakenWord = "taken:";
constexpr std::string_view kAccessWord = "access:";  // The name belongs to another user.
// Those that do not pass: another map of shards, or a source that another map has rows of.
constexpr std::string_view kShardWord = "shard:", kAgainWord = "again:";
constexpr size_t kChunkBytes = size_t{256} << 10;  // Passed to the link at once: fits the cache.

Value RowsDict(const NameMap<int64_t>& rows, const std::vector<std::string>& tables) {
  SymbolVector names;
  std::vector<int64_t> counts;
  for (const std::string& table : tables) {
    names.push_back(table);
    const auto found = rows.find(table);
    counts.push_back(found == rows.end() ? 0 : found->second);
  }
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::span<const int64_t>(counts)));
}

Value CountsDict(const SourceCounts& counts) {
  SymbolVector names;
  std::vector<int64_t> numbers;
  for (const auto& [name, number] : counts) {
    names.push_back(name);
    numbers.push_back(number);
  }
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::span<const int64_t>(numbers)));
}

// Returns one number of each line, by the names of the lines.
Value LinesDict(const std::vector<LineStats>& lines, int64_t LineStats::* number) {
  SourceCounts counts;
  for (const LineStats& line : lines) counts.emplace_back(line.name, line.*number);
  return CountsDict(counts);
}

// Reads the answer to `.u.feed`: symbols to longs. nullopt for anything else.
std::optional<NameMap<int64_t>> ReadRows(const Value& answer) {
  if (!answer.is_dict() || !answer.keys().is(Type::kSymbol) || !answer.values().is(Type::kLong) ||
      answer.keys().count() != answer.values().count()) {
    return std::nullopt;
  }
  NameMap<int64_t> rows;
  const SymbolVector& tables = answer.keys().symbols();
  const std::span<const int64_t> counts = answer.values().span<int64_t>();
  for (size_t i = 0; i < tables.size(); ++i) rows[tables[i]] = counts[i];
  return rows;
}

std::string Format(const NameMap<int64_t>& rows, const std::vector<std::string>& tables) {
  std::string text;
  for (const std::string& table : tables) {
    const auto found = rows.find(table);
    text += fmt::format(" {}={}", table, found == rows.end() ? 0 : found->second);
  }
  return text;
}

}  // namespace

std::string_view NameOf(FeedState state) {
  switch (state) {
    case FeedState::kWaiting:
      return "waiting";
    case FeedState::kAsking:
      return "asking";
    case FeedState::kHeld:
      return "held";
    case FeedState::kPublishing:
      return "publishing";
    case FeedState::kConfirming:
      return "confirming";
    case FeedState::kDone:
      return "done";
    case FeedState::kFailed:
      return "failed";
  }
  return "";
}

Feed::Feed(FeedSettings settings, std::unique_ptr<Source> source)
    : settings_(std::move(settings)),
      source_(std::move(source)),
      take_over_(settings_.take_over),
      admitted_(!settings_.waits_for_others) {
  for (const std::string& table : source_->tables()) {
    rows_sent_[table] = rows_asked_[table] = rows_logged_[table] = 0;
  }
}

void Feed::Start(int64_t now_ns) {
  if (state_ != FeedState::kWaiting) return;
  LogInfo("started source={}", source_->Describe());
  state_ = FeedState::kAsking;
  if (link_ != nullptr) AskRows(now_ns);
}

void Feed::OnConnected(Link* link, int64_t now_ns) {
  link_ = link;
  ++connects_;
  numbered_ = true;
  answer_pending_ = false;
  pending_.clear();
  if (state_ == FeedState::kWaiting || state_ == FeedState::kFailed) return;
  state_ = FeedState::kAsking;
  AskRows(now_ns);
}

void Feed::OnDisconnected(int64_t) {
  link_ = nullptr;
  answer_pending_ = false;
  pending_.clear();
  if (state_ == FeedState::kPublishing || state_ == FeedState::kConfirming ||
      state_ == FeedState::kHeld) {
    state_ = FeedState::kAsking;
  }
}

// Asks how many rows are logged. A tickerplant that does not know that is asked something else: its
// answer shows that it has read what came before.
void Feed::AskRows(int64_t now_ns) {
  answer_pending_ = true;
  rows_asked_ = rows_sent_;
  ask_ns_ = now_ns + (state_ == FeedState::kPublishing ? kReceiptNs : kConfirmNs);
  if (numbered_) {
    std::vector<Value> call;
    call.push_back(Value::String(protocol::kFeed));
    call.push_back(Value::Symbol(settings_.name));
    const bool claims = state_ == FeedState::kAsking || state_ == FeedState::kHeld;
    if (claims && !settings_.instance.empty()) {
      call.push_back(Value::Symbol(settings_.instance));
      SymbolVector how;
      if (take_over_) how.push_back(protocol::kTakeover);
      if (settings_.again) how.push_back(protocol::kAgain);
      if (how.size() == 1) call.push_back(Value::Symbol(how[0]));
      if (how.size() > 1) call.push_back(Value::Symbols(std::move(how)));
    }
    link_->Ask(Value::List(std::move(call)));
  } else {
    link_->Ask(Value::String(""));
  }
}

void Feed::OnAnswer(const absl::StatusOr<Value>& answer, int64_t now_ns) {
  if (link_ == nullptr || !answer_pending_) return;  // It belongs to an earlier connection.
  answer_pending_ = false;
  if (!numbered_) {
    if (state_ == FeedState::kConfirming) {
      state_ = FeedState::kDone;
      LogWarn("done unconfirmed{}", Format(rows_sent_, source_->tables()));
    }
    return;
  }
  if (answer.ok()) return OnRows(*answer, now_ns);
  if (answer.status().code() == absl::StatusCode::kUnavailable) return;  // OnDisconnected follows.
  if (state_ == FeedState::kAsking && Message(answer.status()).starts_with(protocol::kFeed)) {
    if (source_->live_input() != nullptr) {
      return Fail(FailedPrecondition(
          "the tickerplant does not know .u.feed, which says what a live source may forget"));
    }
    LogWarn(
        "tickerplant does not know .u.feed: publishing by .u.upd, a broken connection may lose "
        "rows");
    numbered_ = false;
    granted_ = true;
    return Resume(rows_sent_, now_ns);
  }
  const std::string_view why = Message(answer.status());
  if (why.starts_with(kHeldWord) || why.starts_with(kAccessWord))
    return OnHeld(answer.status(), now_ns);
  if (why.starts_with(kTakenWord)) {
    taken_over_ = true;
    return Fail(answer.status());
  }
  if (why.starts_with(kShardWord) || why.starts_with(kAgainWord)) return Fail(answer.status());
  static LogLimit limit;
  if (limit.Pass(now_ns)) LogError(".u.feed refused error={}", Message(answer.status()));
  ask_ns_ = now_ns + kReceiptNs;
}

void Feed::OnHeld(const absl::Status& why, int64_t now_ns) {
  if (state_ != FeedState::kAsking && state_ != FeedState::kHeld) return;
  const bool first = std::exchange(state_, FeedState::kHeld) != FeedState::kHeld;
  held_pause_ns_ = first ? kHeldNsMin : std::min(2 * held_pause_ns_, kHeldNsMax);
  ask_ns_ = now_ns + held_pause_ns_;
  held_ = why;
  static LogLimit limit(10 * kNsPerSecond);
  if (first || limit.Pass(now_ns)) {
    LogWarn("waits for its name name={} error=\"{}\"", settings_.name, Message(why));
  }
}

void Feed::OnClockSet(int64_t ns) {
  for (int64_t* const time_ns : {&ask_ns_, &flush_ns_, &progress_ns_, &rate_ns_}) *time_ns += ns;
  if (!clock_started_) return;
  source_->MoveClock(ns);
  if (source_->next_due_ns() == kAlwaysDue) return;  // It has no pace.
  LogWarn("clock was set, rows are due at the same pace from now on step_s={:.1f}{}",
          static_cast<double>(ns) / static_cast<double>(kNsPerSecond), ShardText());
}

void Feed::OnRefused(std::string_view why, int64_t now_ns) {
  const bool lost = why.starts_with(kTakenWord) || why.starts_with(kHeldWord);
  if (lost && (state_ == FeedState::kPublishing || state_ == FeedState::kConfirming)) {
    taken_over_ = true;
    return Fail(FailedPrecondition("{}", why));
  }
  // After the first refusal, all further messages are refused for the gap: only the first one has
  // the reason.
  if (refusal_.empty()) refusal_ = why;
  if (state_ == FeedState::kPublishing) ask_ns_ = std::min(ask_ns_, now_ns);
}

void Feed::OnRows(const Value& answer, int64_t now_ns) {
  std::optional<NameMap<int64_t>> logged = ReadRows(answer);
  if (!logged) {
    return Fail(InvalidArgument(".u.feed: answer of type {}, expected symbols to longs",
                                int{answer.code()}));
  }
  if (state_ == FeedState::kAsking || state_ == FeedState::kHeld) {
    take_over_ = false;
    held_ = absl::OkStatus();
    rows_logged_ = *logged;
    progress_ns_ = now_ns;
    resends_ = 0;
    granted_ = true;
    const bool has_rows =
        std::ranges::any_of(rows_logged_, [](const auto& rows) { return rows.second > 0; });
    if (!admitted_ && !has_rows) return WaitForOthers(now_ns);
    Resume(*logged, now_ns);
    return AskForWindow();
  }
  CheckReceipt(*std::move(logged), now_ns);
}

// Another shard has not answered yet, and may refuse the source.
void Feed::WaitForOthers(int64_t now_ns) {
  state_ = FeedState::kAsking;
  ask_ns_ = now_ns + kReceiptNs;
  static LogLimit limit(10 * kNsPerSecond);
  if (limit.Pass(now_ns)) {
    LogInfo("waits for the claims of the other shards name={}", settings_.name);
  }
}

void Feed::Admit(int64_t now_ns) {
  if (std::exchange(admitted_, true)) return;
  if (state_ == FeedState::kAsking) ask_ns_ = now_ns;
}

void Feed::Resume(const NameMap<int64_t>& logged, int64_t now_ns) {
  for (auto& [table, rows] : rows_sent_) {
    const auto found = logged.find(table);
    rows = found == logged.end() ? 0 : found->second;
  }
  // Without numbers the source cannot be rewound: it continues.
  if (numbered_ || !clock_started_) {
    if (absl::Status status = source_->Rewind(rows_sent_); !status.ok()) return Fail(status);
  }
  if (!clock_started_) {
    source_->Start(now_ns);
    clock_started_ = true;
    rate_ns_ = now_ns;
  }
  pending_.clear();
  refusal_.clear();
  pause_ns_.reset();
  flush_ns_ = now_ns;
  ask_ns_ = now_ns + kReceiptNs;
  state_ = FeedState::kPublishing;
  LogInfo("publishing from{}{}", Format(rows_sent_, source_->tables()), ShardText());
}

// A source without a pace would overrun any subscriber that is slower than the tickerplant.
void Feed::AskForWindow() {
  if (settings_.window_rows == 0 || source_->next_due_ns() != kAlwaysDue) return;
  link_->Send(wire::EncodeMessage(
      wire::MessageKind::kAsync,
      Value::List({Value::String(protocol::kWindow), Value::Long(settings_.window_rows)})));
}

// Compares the logged rows with those sent before the request. The tickerplant reads a connection
// in order, so rows that it has not logged by now are refused, unless it restarted.
void Feed::CheckReceipt(NameMap<int64_t> logged, int64_t now_ns) {
  int64_t behind = 0;
  bool progress = false;
  for (const auto& [table, asked] : rows_asked_) {
    const int64_t now = logged[table], before = rows_logged_[table];
    if (now < before) {
      return Fail(DataLoss("tickerplant: {} rows of {} logged, {} before on this connection", now,
                           table, before));
    }
    progress |= now > before;
    behind += std::max<int64_t>(0, asked - now);
  }
  rows_logged_ = std::move(logged);
  source_->OnLogged(rows_logged_);
  if (progress) resends_ = 0;
  if (progress || behind == 0) progress_ns_ = now_ns;
  if (state_ == FeedState::kConfirming && AllLogged()) {
    state_ = FeedState::kDone;
    LogInfo("done logged{}{}", Format(rows_logged_, source_->tables()), ShardText());
  } else if (behind > 0 && (!refusal_.empty() || now_ns - progress_ns_ >= kRefusedNs)) {
    refused_ += behind;
    SendAgain(now_ns);
  }
  // A refusal may have overtaken this answer, and be of rows that were sent after the question.
  if (rows_sent_ == rows_asked_) refusal_.clear();
}

void Feed::SendAgain(int64_t now_ns) {
  const std::string rows = fmt::format(
      "sent{} logged{} why=\"{}\"", Format(rows_asked_, source_->tables()),
      Format(rows_logged_, source_->tables()), refusal_.empty() ? "not said" : refusal_);
  if (++resends_ > kResendsMax) {
    return Fail(FailedPrecondition("tickerplant refuses rows: {}", rows));
  }
  LogError("rows refused, sending them again attempt={} {}", resends_, rows);
  progress_ns_ = now_ns;
  Resume(rows_logged_, now_ns);
}

bool Feed::AllLogged() const {
  for (const auto& [table, sent] : rows_sent_) {
    const auto found = rows_logged_.find(table);
    if (found == rows_logged_.end() || found->second < sent) return false;
  }
  return true;
}

int64_t Feed::Poll(int64_t now_ns) {
  CountRate(now_ns);
  // A live source is due at all times only if it has failed. Without a connection, the feed would
  // not ask it, and its lines would stay readable, so that the loop spins.
  if (link_ == nullptr && state_ == FeedState::kAsking && source_->live_input() != nullptr &&
      source_->next_due_ns() == kAlwaysDue) {
    Fail(source_->Next(now_ns).status());
  }
  if (link_ == nullptr) return kNeverDue;
  ask_ns_ = std::min(ask_ns_, now_ns + kClockLookNs);
  if (state_ == FeedState::kPublishing && now_ns >= flush_ns_) Publish(now_ns);
  const bool may_ask = state_ == FeedState::kAsking || state_ == FeedState::kHeld ||
                       state_ == FeedState::kConfirming ||
                       (state_ == FeedState::kPublishing && numbered_);
  if (may_ask && !answer_pending_ && now_ns >= ask_ns_) AskRows(now_ns);
  const int64_t call_ns = NextCall(now_ns);
  return call_ns == kNeverDue ? call_ns : std::min(call_ns, now_ns + kClockLookNs);
}

int64_t Feed::NextCall(int64_t now_ns) const {
  if (link_ == nullptr) return kNeverDue;
  const int64_t ask_ns = answer_pending_ ? kNeverDue : ask_ns_;
  switch (state_) {
    case FeedState::kAsking:
    case FeedState::kHeld:
    case FeedState::kConfirming:
      return ask_ns;
    case FeedState::kPublishing: {
      const int64_t due_ns = std::max(source_->next_due_ns(), flush_ns_);
      const int64_t publish_ns = pause_ns_ ? now_ns + *pause_ns_ : due_ns;
      return std::min(publish_ns, numbered_ ? ask_ns : kNeverDue);
    }
    case FeedState::kWaiting:
    case FeedState::kDone:
    case FeedState::kFailed:
      break;
  }
  return kNeverDue;
}

// Sends due rows. Returns a pause in ns if more are due than the queue, one call or the source may
// take at once.
absl::StatusOr<std::optional<int64_t>> Feed::SendDue(int64_t now_ns) {
  for (size_t bytes = 0; link_ != nullptr;) {
    if (bytes >= kPollBytesMax) return 0;
    if (link_->queued_bytes() + pending_.size() >= settings_.queue_bytes_max) return kQueueFullNs;
    TS_ASSIGN_OR_RETURN(const FeedBatch* batch, source_->Next(now_ns));
    if (batch == nullptr) {
      if (source_->next_due_ns() <= now_ns) return 0;  // It needs another call.
      break;
    }
    AppendMessage(*batch);
    bytes += batch->data.size();
    if (source_->next_due_ns() != kAlwaysDue) {
      lag_ns_max_ = std::max(lag_ns_max_, now_ns - batch->due_ns);
    }
    if (pending_.size() >= kChunkBytes) SendPending();
  }
  return std::nullopt;
}

void Feed::Publish(int64_t now_ns) {
  const bool was_full = pause_ns_ == kQueueFullNs;
  const absl::StatusOr<std::optional<int64_t>> pause_ns = SendDue(now_ns);
  SendPending();
  if (!pause_ns.ok()) return Fail(pause_ns.status());
  pause_ns_ = *pause_ns;
  if (pause_ns_ == kQueueFullNs && !was_full) ++queue_full_count_;
  if (settings_.batch_ns > 0 && !pause_ns_) {
    const int64_t periods = (now_ns - flush_ns_) / settings_.batch_ns + 1;
    flush_ns_ += periods * settings_.batch_ns;
  }
  if (link_ == nullptr || source_->next_due_ns() != kNeverDue) return;
  state_ = FeedState::kConfirming;
  progress_ns_ = now_ns;
  ask_ns_ = now_ns;
  LogInfo("all sent{}{}", Format(rows_sent_, source_->tables()), ShardText());
  if (rows_total_ > 0) return;
  const bool had_all = std::any_of(rows_sent_.begin(), rows_sent_.end(),
                                   [](const auto& rows) { return rows.second > 0; });
  if (had_all) {
    LogWarn("nothing published: the tickerplant has every row of it already name={}",
            settings_.name);
  }
}

// Appends (`.u.updn; name; first row; table; x), or (`.u.upd; table; x) without numbers.
void Feed::AppendMessage(const FeedBatch& batch) {
  wire::UpdEncoder upd(pending_);
  upd.BeginFrame();
  if (numbered_) {
    upd.NumberedHead(settings_.name, batch.first_row, batch.table);
  } else {
    upd.Head(protocol::kFeedUpd, batch.table);
  }
  pending_.Append(batch.data);
  upd.EndFrame(wire::MessageKind::kAsync);
  rows_sent_[batch.table] = batch.first_row + batch.rows;
  rows_total_ += batch.rows;
}

void Feed::SendPending() {
  if (pending_.empty() || link_ == nullptr) return;
  ByteBuffer messages = std::exchange(pending_, ByteBuffer());
  pending_.reserve(std::min(messages.size() + messages.size() / 8, 2 * kChunkBytes));
  link_->Send(std::move(messages));
}

void Feed::Fail(absl::Status why) {
  LogError("failed error={}{}", Message(why), ShardText());
  error_ = std::move(why);
  state_ = FeedState::kFailed;
}

std::string Feed::ShardText() const {
  return settings_.shard.empty() ? std::string() : " shard=" + settings_.shard;
}

void Feed::CountRate(int64_t now_ns) {
  if (!clock_started_ || now_ns - rate_ns_ < kNsPerSecond) return;
  rows_per_s_ = static_cast<double>(rows_total_ - rate_rows_) * static_cast<double>(kNsPerSecond) /
                static_cast<double>(now_ns - rate_ns_);
  rate_rows_ = rows_total_;
  rate_ns_ = now_ns;
}

Value Feed::Stats(int64_t now_ns) const {
  const int64_t due_ns = clock_started_ ? source_->next_due_ns() : kNeverDue;
  const bool late = due_ns != kAlwaysDue && due_ns < now_ns;
  constexpr double kNsPerMs = 1e6;
  SymbolVector names;
  std::vector<Value> values;
  const auto add = [&](std::string_view name, Value value) {
    names.push_back(name);
    values.push_back(std::move(value));
  };
  add("state", Value::Symbol(NameOf(state_)));
  add("connected", Value::Boolean(link_ != nullptr));
  add("numbered", Value::Boolean(numbered_));
  add("rows", RowsDict(rows_sent_, source_->tables()));
  add("logged", RowsDict(rows_logged_, source_->tables()));
  add("messages", CountsDict(source_->Counts()));
  const std::vector<LineStats> lines = source_->Lines();
  add("line_packets", LinesDict(lines, &LineStats::packets));
  add("line_bytes", LinesDict(lines, &LineStats::bytes));
  add("line_lost", LinesDict(lines, &LineStats::lost));
  add("line_repeated", LinesDict(lines, &LineStats::repeated));
  add("line_bad", LinesDict(lines, &LineStats::bad));
  add("rows_total", Value::Long(rows_total_));
  add("rows_per_s", Value::Float(rows_per_s_));
  add("lag_ms", Value::Float(late ? static_cast<double>(now_ns - due_ns) / kNsPerMs : 0));
  add("lag_ms_max", Value::Float(static_cast<double>(lag_ns_max_) / kNsPerMs));
  add("reconnects", Value::Long(std::max<int64_t>(0, connects_ - 1)));
  add("refused", Value::Long(refused_));
  add("queue_full", Value::Long(queue_full_count_));
  add("error", Value::String(Message(state_ == FeedState::kHeld ? held_ : error_)));
  add("name", Value::Symbol(settings_.name));
  add("instance", Value::Symbol(settings_.instance));
  return Value::Dict(Value::Symbols(std::move(names)), Value::List(std::move(values)));
}

}  // namespace tickstack::feed
