#include "tickerplant/chained/upstream.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <thread>
#include <utility>

#include "base/crc32c.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "tplog/log_piece.h"
#include "tplog/subscription_answer.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

using namespace std::chrono_literals;

namespace {

constexpr auto kDiskFullPause = 100ms;
constexpr auto kEndDayPause = 1000ms;  // Before a failed end of day is tried again.
constexpr auto kFirstAskMax = 5000ms;
constexpr auto kFirstAskPause = 200ms;
constexpr int32_t kDaysMax = 36'525;  // Days between two logs of an upstream: a century.
constexpr size_t kCutsMax = 10'000;   // Power cuts within a day.
constexpr int64_t kLossIsNoStopNs = kNsPerSecond;
constexpr int64_t kMarkNs = kNsPerSecond;  // Time between two marks.
// The beginning of the upstream's error for a day without a log (Tickerplant::LogOf).
constexpr std::string_view kNoLog = "log: there is no log";

wire::ClientOptions LinkOptions() {
  wire::ClientOptions options;
  options.user = "chained";
  options.is_link = true;
  return options;
}

// True if the upstream answered with an error. Otherwise there was no answer.
bool IsAnswer(const absl::Status& status) { return status.code() == absl::StatusCode::kUnknown; }

std::optional<int32_t> FirstAfter(const std::vector<tplog::LogOfDay>& days, int32_t day) {
  const auto after = std::ranges::upper_bound(days, day, {}, &tplog::LogOfDay::date);
  return after == days.end() ? std::nullopt : std::optional(after->date);
}

uint64_t CopiedRows(const NameMap<uint64_t>& rows, std::string_view table) {
  const auto found = rows.find(table);
  return found == rows.end() ? 0 : found->second;
}

// True if there are as many rows of each table as in `least`, or more.
bool HasAtLeast(const NameMap<uint64_t>& rows, const NameMap<uint64_t>& least) {
  return std::ranges::all_of(
      least, [&rows](const auto& each) { return CopiedRows(rows, each.first) >= each.second; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Upstream>> Upstream::Open(wire::EventLoop& loop,
                                                         const UpstreamOptions& options,
                                                         UpstreamTarget* target) {
  TS_ASSIGN_OR_RETURN(UpstreamRows rows, UpstreamRows::Create(target->plant().schemas(),
                                                              options.symbols, options.all_tables));
  std::unique_ptr<Upstream> upstream(new Upstream(loop, options, target, std::move(rows)));
  TS_RETURN_IF_ERROR(upstream->BeginDay());
  upstream->client_ =
      std::make_unique<wire::Client>(loop, options.address, LinkOptions(), upstream.get());
  return upstream;
}

Upstream::Upstream(wire::EventLoop& loop, UpstreamOptions options, UpstreamTarget* target,
                   UpstreamRows rows)
    : loop_(loop),
      options_(std::move(options)),
      target_(target),
      pause_(loop),
      answer_due_(loop),
      rows_(std::move(rows)),
      at_end_ns_(loop.clock().MonotonicNs()) {}

Upstream::~Upstream() { stopped_ = true; }

void Upstream::Stop() {
  if (std::exchange(stopped_, true)) return;
  pause_.Cancel();
  answer_due_.Cancel();
  WriteMark();
  client_->Stop();
}

// ---- the day and its mark

absl::Status Upstream::BeginDay() {
  const Tickerplant& plant = target_->plant();
  const tplog::TplogTotals& totals = plant.log().totals();
  name_ = UpstreamName(plant.date(), options_.symbols);
  const std::string of_day = UpstreamName(plant.date(), {});
  for (const auto& [feed, rows] : totals.feed_rows) {
    if (!IsUpstreamName(feed) || !feed.starts_with(of_day) || feed == name_) continue;
    return FailedPrecondition(
        "{}: has rows of the upstream by other symbols: put the symbols back until the day has "
        "ended, or move this log away to copy the day again",
        plant.log().path());
  }
  if (!totals.feed_progress_known) {
    return FailedPrecondition(
        "{}: its index was made later, so it is not known which rows of the upstream it has: move "
        "this log away to copy the day again",
        plant.log().path());
  }
  seq_ = marked_seq_ = 0;
  first_crc_.reset();
  last_crc_.reset();
  cuts_noted_ = cuts_checked_ = 0;
  cuts_.clear();
  member_cuts_noted_ = false;
  log_messages_.reset();
  rows_.set_rows({});
  RestoreMark();
  LogInfo("copying upstream={} date={} seq={} name={}", options_.address.ToString(),
          FormatDate(plant.date()), seq_, name_);
  return absl::OkStatus();
}

void Upstream::RestoreMark() {
  const Tickerplant& plant = target_->plant();
  const absl::StatusOr<std::optional<UpstreamMark>> mark = ReadUpstreamMark(plant.log().path());
  if (!mark.ok()) {
    LogWarn("mark of the upstream not read, reading its log from the beginning error=\"{}\"",
            Message(mark.status()));
    return;
  }
  if (!mark->has_value() || (*mark)->name != name_) return;
  // A table that was added since begins with the log's first message. A log that was shortened here
  // lacks rows that the mark counts.
  const bool has_tables = std::ranges::all_of(
      plant.schemas(), [&](const Schema& schema) { return (*mark)->rows.contains(schema.table); });
  first_crc_ = (*mark)->first_crc;
  cuts_noted_ = cuts_checked_ = (*mark)->cuts;
  if (!has_tables || !HasAtLeast(LoggedRows(), (*mark)->rows)) return;
  seq_ = marked_seq_ = (*mark)->seq;
  last_crc_ = (*mark)->last_crc;
  rows_.set_rows((*mark)->rows);
}

void Upstream::WriteMark() {
  if (!first_crc_ || target_->plant().has_staged() || seq_ == marked_seq_) return;
  UpstreamMark mark{name_, seq_, *first_crc_, cuts_checked_, {}, last_crc_};
  for (const Schema& schema : target_->plant().schemas()) {
    mark.rows[schema.table] = CopiedRows(rows_.rows(), schema.table);
  }
  marked_ns_ = loop_.clock().MonotonicNs();
  marked_seq_ = seq_;
  if (const absl::Status written = WriteUpstreamMark(target_->plant().log().path(), mark);
      !written.ok()) {
    static LogLimit limit(60 * kNsPerSecond);
    if (limit.Pass()) LogWarn("mark of the upstream not written error=\"{}\"", Message(written));
  }
}

NameMap<uint64_t> Upstream::LoggedRows() const {
  const Tickerplant& plant = target_->plant();
  const std::vector<int64_t> logged = plant.LoggedFeedRows(name_);
  NameMap<uint64_t> rows;
  for (size_t i = 0; i < logged.size(); ++i) {
    rows[plant.schemas()[i].table] = static_cast<uint64_t>(logged[i]);
  }
  return rows;
}

// ---- the connection

void Upstream::OnConnected(wire::Connection& connection) {
  ++turn_;
  connection_ = &connection;
  member_cuts_noted_ = false;
  lost_.clear();
  LogInfo("upstream connected address={} seq={}", options_.address.ToString(), seq_);
  // Calls wait until the connection is started, which happens when this function returns.
  loop_.Post([this, alive = std::weak_ptr(alive_), turn = turn_] {
    if (!alive.expired() && turn == turn_ && !stopped_) AskEpoch();
  });
}

void Upstream::OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) {
  lost_ = Message(why);
  // Not a warning at once: at the orderly stop of a stack, its upstream ends first.
  if (loop_.clock().MonotonicNs() - lost_ns_ < kLossIsNoStopNs) return;
  static LogLimit limit(10 * kNsPerSecond);
  if (limit.Pass()) {
    LogWarn("waiting for the upstream address={} reason=\"{}\" retry_ms={}",
            options_.address.ToString(), lost_, pause.count());
  }
}

void Upstream::OnClosed(wire::Connection&, const absl::Status& why) {
  ++turn_;
  ++reconnects_;
  connection_ = nullptr;
  is_at_end_ = false;
  lost_ns_ = loop_.clock().MonotonicNs();
  lost_ = why.ok() ? "the upstream closed the connection" : std::string(Message(why));
  pause_.Cancel();
  answer_due_.Cancel();
  if (!stopped_) {
    LogInfo("upstream lost address={} seq={} reason=\"{}\"", options_.address.ToString(), seq_,
            lost_);
  }
}

// Asks on the current connection. An answer is dropped if another turn has begun meanwhile.
void Upstream::Ask(const Value& request, Answered done) {
  if (connection_ == nullptr || stopped_) return;
  answer_due_.Once(kAnswerMax, [this] {
    if (connection_ == nullptr) return;
    connection_->Close(Unavailable("no answer for {} s", kAnswerMax.count()));
  });
  connection_->Call(request, [this, alive = std::weak_ptr(alive_), turn = turn_,
                              done = std::move(done)](const absl::StatusOr<Value>& answer) {
    if (alive.expired() || turn != turn_ || stopped_) return;
    answer_due_.Cancel();
    if (!answer.ok() && !IsAnswer(answer.status())) return;  // The connection ends.
    done(answer);
  });
}

void Upstream::Refuse(const absl::Status& why) {
  ++refusals_;
  is_at_end_ = false;
  const std::string text(Message(why));
  static LogLimit limit(60 * kNsPerSecond);
  if (text != refused_ || limit.Pass()) {
    LogError("upstream cannot be copied address={} date={} seq={} error=\"{}\"",
             options_.address.ToString(), FormatDate(target_->plant().date()), seq_, text);
  }
  refused_ = text;
  pause_.Once(kRefusedPause, [this] {
    ++turn_;
    AskEpoch();
  });
}

void Upstream::AskEpoch() {
  Ask(tplog::EpochRequest(), [this](const absl::StatusOr<Value>& answer) {
    const absl::Status followed = leader_.Follow(answer, loop_.clock().MonotonicNs());
    followed.ok() ? CheckTables() : connection_->Close(followed);
  });
}

// Makes sure that no table of the upstream is left out because it was added there only.
void Upstream::CheckTables() {
  if (!options_.all_tables) return CheckSchemas(0);
  Ask(Value::String(protocol::kTables), [this](const absl::StatusOr<Value>& answer) {
    if (!answer.ok() || !answer->is(Type::kSymbol)) {
      return Refuse(
          InvalidArgument("{}: {}, expected symbols", protocol::kTables,
                          answer.ok() ? NameOf(answer->type()) : Message(answer.status())));
    }
    for (size_t i = 0; i < answer->symbols().size(); ++i) {
      const std::string_view table = answer->symbols()[i];
      if (target_->plant().FindTable(table) >= 0) continue;
      return Refuse(FailedPrecondition(
          "the upstream has table {}, which is missing here: add it to [tables] and start this "
          "process again, or list the tables to copy in `tables`",
          table));
    }
    CheckSchemas(0);
  });
}

// Compares the schemas from `table` on, one after another.
void Upstream::CheckSchemas(size_t table) {
  const std::span<const Schema> schemas = target_->plant().schemas();
  if (table == schemas.size()) return CheckFirstMessage();
  const Schema& schema = schemas[table];
  Ask(Value::Symbol(schema.table), [this, table, &schema](const absl::StatusOr<Value>& answer) {
    if (!answer.ok()) {
      return Refuse(FailedPrecondition("the upstream has no table {}: {}", schema.table,
                                       Message(answer.status())));
    }
    const absl::StatusOr<Schema> found = tplog::SchemaOf(schema.table, *answer);
    if (!found.ok()) return Refuse(found.status());
    if (FormatSchema(*found) != FormatSchema(schema)) {
      return Refuse(FailedPrecondition("table {} is \"{}\" at the upstream, expected \"{}\"",
                                       schema.table, FormatSchema(*found), FormatSchema(schema)));
    }
    CheckSchemas(table + 1);
  });
}

// Makes sure that the upstream's log is the one that was begun: paths and dates are used again, on
// another day of a replay or after a cleanup.
void Upstream::CheckFirstMessage() {
  if (!first_crc_) return Read();
  Ask(tplog::LogPieceRequest(target_->plant().date(), 0, 1), [this](const absl::StatusOr<Value>&
                                                                        answer) {
    if (!answer.ok()) return OnPiece(answer);
    const absl::StatusOr<tplog::LogPiece> piece = tplog::ParseLogPiece(*answer);
    if (!piece.ok()) return Refuse(piece.status());
    if (piece->messages.empty() || Crc32c(piece->messages) != *first_crc_) {
      return Refuse(FailedPrecondition(
          "the upstream has another log of {} than the one that was begun here: move {} away to "
          "copy the day again",
          FormatDate(target_->plant().date()), target_->plant().log().path()));
    }
    CheckLastMessage();
  });
}

// Makes sure that a cluster's log did not lose messages that were read here, as it does if an
// operator accepts that.
void Upstream::CheckLastMessage() {
  if (!last_crc_ || !leader_.has_standbys()) return Read();
  Ask(tplog::LogPieceRequest(target_->plant().date(), seq_ - 1, 1),
      [this](const absl::StatusOr<Value>& answer) {
        if (!answer.ok()) return OnPiece(answer);
        const absl::StatusOr<tplog::LogPiece> piece = tplog::ParseLogPiece(*answer);
        if (!piece.ok()) return Refuse(piece.status());
        if (piece->messages.empty() || Crc32c(piece->messages) != *last_crc_) {
          return Refuse(DataLoss(
              "the upstream's log lost messages, and rows of message {} are logged here: move {} "
              "away to copy the day again",
              seq_ - 1, target_->plant().log().path()));
        }
        Read();
      });
}

// ---- the log

void Upstream::Read() {
  // Rows that the full disk keeps out of the log come first, also on a new connection.
  if (target_->plant().has_staged()) return LogAndContinue(false, std::nullopt);
  Ask(tplog::LogPieceRequest(target_->plant().date(), seq_, options_.piece_bytes),
      [this](const absl::StatusOr<Value>& answer) { OnPiece(answer); });
}

void Upstream::OnPiece(const absl::StatusOr<Value>& answer) {
  if (!answer.ok()) {
    if (Message(answer.status()).starts_with(kNoLog)) return FindNextDay();
    return Refuse(FailedPrecondition(
        "{}: {} (an upstream must be a tickerplant that has this function, or the log lost "
        "messages)",
        protocol::kChain, Message(answer.status())));
  }
  const auto owner = std::make_shared<const Value>(*answer);
  const absl::StatusOr<tplog::LogPiece> piece = tplog::ParseLogPiece(*owner);
  if (!piece.ok()) return Refuse(piece.status());
  const int32_t day = target_->plant().date();
  if (piece->next_date && (*piece->next_date <= day || *piece->next_date > day + kDaysMax)) {
    return Refuse(InvalidArgument("{}: day {} cannot follow {}", protocol::kChain,
                                  *piece->next_date, FormatDate(day)));
  }
  log_messages_ = piece->log_messages;
  absl::Status taken = NoteCuts(piece->cuts);
  if (taken.ok()) taken = TakeMessages(piece->messages, owner);
  if (!taken.ok()) {
    target_->LogRows();
    return Refuse(taken);
  }
  refused_.clear();
  LogAndContinue(piece->messages.empty(), piece->next_date);
}

absl::Status Upstream::NoteCuts(const std::vector<uint64_t>& cuts) {
  if (leader_.has_standbys()) return NoteMemberCuts(cuts);
  if (cuts.size() > kCutsMax) {
    return InvalidArgument("{}: {} power cuts, expected at most {}", protocol::kChain, cuts.size(),
                           kCutsMax);
  }
  if (cuts.size() < cuts_noted_) {
    return FailedPrecondition(
        "the upstream's log knows of {} power cuts, expected {}: it is "
        "another log",
        cuts.size(), cuts_noted_);
  }
  for (; cuts_noted_ < cuts.size(); ++cuts_noted_) {
    cuts_.push_back({cuts[cuts_noted_], LoggedRows()});
  }
  return CheckCuts();
}

// A member got back what a power cut took from it, unless no other member had it. That a message
// behind the cut is the one that was read here shows it. Only rows that were logged here after the
// last mark could be of messages that were lost.
absl::Status Upstream::NoteMemberCuts(const std::vector<uint64_t>& cuts) {
  if (!std::exchange(member_cuts_noted_, true)) {
    cuts_.clear();
    for (const uint64_t messages : cuts) {
      if (messages >= seq_ || !last_crc_) cuts_.push_back({messages, LoggedRows()});
    }
  }
  return CheckCuts();
}

// Checks the cuts whose message is reached. A cut that is refused stays, so it is refused again.
absl::Status Upstream::CheckCuts() {
  for (auto cut = cuts_.begin(); cut != cuts_.end();) {
    if (cut->messages > seq_) {
      ++cut;
      continue;
    }
    if (cut->messages < seq_ || !HasAtLeast(rows_.rows(), cut->logged_rows)) {
      return DataLoss(
          "a power cut shortened the upstream's log to {} messages, and rows of later ones are "
          "logged here: move {} away to copy the day again",
          cut->messages, target_->plant().log().path());
    }
    cut = cuts_.erase(cut);
  }
  if (cuts_.empty()) cuts_checked_ = cuts_noted_;
  return absl::OkStatus();
}

absl::Status Upstream::TakeMessages(std::span<const std::byte> messages,
                                    const std::shared_ptr<const void>& owner) {
  while (!messages.empty()) {
    TS_ASSIGN_OR_RETURN(const std::optional<size_t> bytes, wire::ValueBytes(messages));
    if (!bytes) {
      return DataLoss("log message {}: {} bytes are not a whole value", seq_, messages.size());
    }
    const std::span<const std::byte> message = messages.first(*bytes);
    const absl::StatusOr<std::optional<UpstreamRows::Taken>> taken = rows_.Take(message);
    if (!taken.ok()) return Annotate(taken.status(), fmt::format("log message {}", seq_));
    if (taken->has_value()) {
      const absl::Status staged = target_->plant().StageLogged(
          (*taken)->table, (*taken)->x, (*taken)->owner != nullptr ? (*taken)->owner : owner, name_,
          (*taken)->first_row);
      if (!staged.ok()) {
        rows_.TakeBack(**taken);
        return Annotate(staged, fmt::format("log message {}", seq_));
      }
    }
    if (seq_ == 0) first_crc_ = Crc32c(message);
    last_crc_ = leader_.has_standbys() ? std::optional(Crc32c(message)) : std::nullopt;
    ++seq_;
    messages = messages.subspan(*bytes);
    if (!cuts_.empty()) TS_RETURN_IF_ERROR(CheckCuts());
  }
  return absl::OkStatus();
}

void Upstream::LogAndContinue(bool is_at_end, std::optional<int32_t> next_date) {
  if (stopped_) return;
  if (!target_->LogRows()) {
    return pause_.Once(kDiskFullPause, [=, this] { LogAndContinue(is_at_end, next_date); });
  }
  const int64_t now_ns = loop_.clock().MonotonicNs();
  is_at_end_ = !next_date && (is_at_end || seq_ == log_messages_);
  if (is_at_end_) at_end_ns_ = now_ns;
  if (leader_.has_standbys() || now_ns - marked_ns_ >= kMarkNs) WriteMark();
  if (!is_at_end) return Read();
  if (next_date) return EndDay(*next_date);
  pause_.Once(std::chrono::nanoseconds(options_.poll_ns), [this] { Read(); });
}

// The upstream has no log of this day: continues with the next one that it has.
void Upstream::FindNextDay() {
  Ask(tplog::LogDaysRequest(), [this](const absl::StatusOr<Value>& answer) {
    const int32_t day = target_->plant().date();
    const absl::StatusOr<std::vector<tplog::LogOfDay>> days =
        answer.ok() ? tplog::ParseLogDays(*answer)
                    : absl::StatusOr<std::vector<tplog::LogOfDay>>(answer.status());
    if (!days.ok()) return Refuse(days.status());
    const std::optional<int32_t> next = FirstAfter(*days, day);
    if (!next) {
      return Refuse(
          FailedPrecondition("the upstream has no log of {}, nor of a later day", FormatDate(day)));
    }
    if (std::ranges::find(*days, day, &tplog::LogOfDay::date) != days->end())
      return Read();  // It is there by now.
    ++days_missing_;
    LogError(
        "the upstream has no log of the day any more: what follows its message {} is missing here "
        "date={} next={}",
        seq_, FormatDate(day), FormatDate(*next));
    EndDay(*next);
  });
}

void Upstream::EndDay(int32_t next) {
  if (std::exchange(is_ending_day_, true)) return;
  const int32_t day = target_->plant().date();
  const std::string mark = UpstreamMarkPath(target_->plant().log().path());
  target_->EndDayTo(next, [this, alive = std::weak_ptr(alive_), day, mark,
                           next](const absl::Status& ended) {
    if (alive.expired()) return;
    is_ending_day_ = false;
    if (stopped_) return;
    ++turn_;
    if (!ended.ok()) {
      LogError("day not ended, trying again date={} error=\"{}\"", FormatDate(day), Message(ended));
      return pause_.Once(kEndDayPause, [this, next] { EndDay(next); });
    }
    std::remove(mark.c_str());  // Nobody needs it any more.
    if (next > day + 1) {
      days_skipped_ += static_cast<uint64_t>(next - day - 1);
      LogWarn("the upstream has no logs of days between from={} to={}", FormatDate(day),
              FormatDate(next));
    }
    if (const absl::Status begun = BeginDay(); !begun.ok()) return Refuse(begun);
    Read();
  });
}

int64_t Upstream::BehindNs() const {
  return is_at_end_ ? 0 : loop_.clock().MonotonicNs() - at_end_ns_;
}

Value Upstream::Stats() const {
  SymbolVector names;
  std::vector<Value> values;
  const auto add = [&](std::string_view name, Value value) {
    names.push_back(name);
    values.push_back(std::move(value));
  };
  const auto add_count = [&](std::string_view name, uint64_t count) {
    add(name, Value::Long(static_cast<int64_t>(count)));
  };
  const bool connected = connection_ != nullptr;
  const std::string_view state = !connected          ? "unconnected"
                                 : !refused_.empty() ? "refused"
                                 : is_at_end_        ? "live"
                                                     : "reading";
  add("state", Value::Symbol(state));
  add("address", Value::Symbol(options_.address.ToString()));
  add_count("connected", connected ? 1 : 0);
  add("date", Value::Date(target_->plant().date()));
  add("day", Value::Symbol(FormatDate(target_->plant().date())));
  add_count("messages", seq_);
  const bool knows_end = log_messages_ && *log_messages_ >= seq_;
  add("behind_messages",
      Value::Long(knows_end ? static_cast<int64_t>(*log_messages_ - seq_) : kNullLong));
  add("behind_ms", Value::Long(BehindNs() / 1'000'000));
  add_count("lost", reconnects_);
  add_count("refusals", refusals_);
  add_count("days_missing", days_missing_);
  add_count("days_skipped", days_skipped_);
  add("error", Value::String(!connected ? lost_ : refused_));
  return Value::Dict(Value::Symbols(std::move(names)), Value::List(std::move(values)));
}

absl::StatusOr<std::optional<int32_t>> DayToFollow(
    const std::optional<Tickerplant::NewestDay>& newest, const Value& logs) {
  TS_ASSIGN_OR_RETURN(const std::vector<tplog::LogOfDay> days, tplog::ParseLogDays(logs));
  if (newest) return FirstAfter(days, newest->date);
  return days.empty() ? std::nullopt : std::optional(days.back().date);
}

absl::StatusOr<int32_t> DayToFollow(const TickerplantOptions& plant, const UpstreamOptions& options,
                                    const Clock* clock) {
  TS_ASSIGN_OR_RETURN(const DayClock day, DayClock::Create("UTC", 0, std::nullopt));
  TS_ASSIGN_OR_RETURN(const std::optional<Tickerplant::NewestDay> newest,
                      Tickerplant::FindNewestDay(plant, day, clock));
  if (newest && !newest->ended) return newest->date;
  LogLimit limit(10 * kNsPerSecond);
  // Those of its members that are standbys do not answer.
  std::vector<wire::Address> members = {options.address};
  std::ranges::copy(std::exchange(members.front().others, {}), std::back_inserter(members));
  for (size_t i = 0;; ++i) {
    const wire::Address& member = members[i % members.size()];
    const absl::StatusOr<Value> answer =
        wire::Ask(member, tplog::LogDaysRequest(), kFirstAskMax, LinkOptions());
    if (!answer.ok() && IsAnswer(answer.status())) {
      return FailedPrecondition("upstream {}: {}: {}", member.ToString(), protocol::kLogs,
                                Message(answer.status()));
    }
    std::string why(answer.ok() ? "it has no later day" : Message(answer.status()));
    if (answer.ok()) {
      TS_ASSIGN_OR_RETURN(const std::optional<int32_t> next, DayToFollow(newest, *answer));
      if (next) return *next;
    }
    if (limit.Pass()) {
      LogWarn("waiting for the upstream's day address={} reason=\"{}\"", member.ToString(), why);
    }
    std::this_thread::sleep_for(kFirstAskPause);
  }
}

}  // namespace tickstack::tickerplant
