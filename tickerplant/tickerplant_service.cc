#include "tickerplant/tickerplant_service.h"

#include <algorithm>
#include <chrono>

#include "base/logging.h"
#include "base/printable.h"
#include "base/status.h"
#include "query/columns/errors.h"
#include "security/user_rights.h"
#include "serve/loop_answers.h"
#include "tickerplant/standby/unsettled.h"
#include "tickerplant/verbs.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

using namespace std::chrono_literals;

using wire::Connection;
using wire::MessageKind;

namespace {

constexpr std::chrono::milliseconds kDayTick{100};
constexpr std::chrono::milliseconds kRetryPause{100};
// A feed whose machine is unreachable is disconnected after this time, also with unacknowledged
// data.
constexpr std::chrono::milliseconds kFeedSilentMax{30'000};

FeedNames::Sender SenderOf(const Connection& connection) {
  return {.connection = connection.id(), .peer = connection.peer(), .user = connection.user()};
}

// Returns the error of rows that the sender may not publish, and logs it. Returns other results
// unchanged.
absl::Status DenialOf(const Connection& sender, absl::Status staged) {
  if (!absl::IsPermissionDenied(staged)) return staged;
  return security::Access(sender).Deny(fmt::format("publish to {}", Message(staged)));
}

// (`.u.err; text), for a feed whose rows are refused.
Value Refusal(const absl::Status& why) {
  return Value::List({Value::Symbol(protocol::kRefused), Value::String(Message(why))});
}

}  // namespace

TickerplantService::TickerplantService(wire::EventLoop& loop,
                                       std::unique_ptr<Tickerplant> tickerplant,
                                       const BatchClock& batches,
                                       std::function<void(absl::Status)> on_failed)
    : loop_(loop),
      clock_(loop.clock()),
      tickerplant_(std::move(tickerplant)),
      batches_(batches),
      on_failed_(std::move(on_failed)),
      day_end_(loop, tickerplant_.get(), this),
      batch_timer_(loop),
      day_timer_(loop),
      retry_timer_(loop),
      gate_([this](uint64_t connection, bool is_read) { SetReading(connection, is_read); }),
      alive_timer_(loop),
      replication_timer_(loop) {
  if (batches_.interval_ns() > 0) {
    const int64_t now_ns = clock_.NowNs();
    batch_timer_.Every(
        std::chrono::nanoseconds(batches_.interval_ns()),
        [this] {
          tickerplant_->Publish();
          ServeBehind();
        },
        std::chrono::nanoseconds(batches_.NextAfter(now_ns) - now_ns));
  }
  day_timer_.Every(kDayTick, [this] {
    // BeginToServe ends a day that is over before this leader serves clients.
    if (replication_ == nullptr || serves_) {
      day_end_.EndIfDue();
    } else {
      day_end_.Advance();
    }
    EndIfLogFailed();
    DropStalled();
    ServeBehind();
    ReleaseFeeds();
  });
}

TickerplantService::~TickerplantService() = default;

void TickerplantService::OnOpened(Connection& connection) {
  connections_.emplace(connection.id(), connection.shared_from_this());
  const security::Grants* const grants = security::Access(connection).grants();
  if (grants == nullptr || grants->publish.all) return;
  std::vector<bool>& allowed = may_publish_[connection.id()];
  for (const Schema& schema : tickerplant_->schemas()) {
    allowed.push_back(grants->publish.Has(schema.table));
  }
}

void TickerplantService::OnMessage(Connection& connection, const wire::ReceivedMessage& message) {
  ++messages_seen_;
  Take(connection, message);
}

void TickerplantService::Take(Connection& connection, const wire::ReceivedMessage& message) {
  const std::optional<std::string_view> name = wire::PeekVerb(message.body);
  if (replication_ != nullptr) {
    if (const auto taken = replication_->TakeMessage(connection.id(), message, name)) {
      if (!taken->ok()) connection.Close(*taken);
      return;
    }
    if (!serves_ && RefuseUnsettled(connection, message, name)) return;
  }
  if (day_end_.is_ending() &&
      day_end_.MustWait(connection.id(), !name || !Verbs::IsWithoutRows(*name))) {
    return HoldForNextDay(connection, message);
  }
  const Verb* const rows = name ? Verbs::FindRows(*name) : nullptr;
  if (rows != nullptr) return StageMessage(connection, message, *rows);
  if (BehindOutletOf(connection) != nullptr) return gate_.HoldRequest({connection, message});
  Evaluate(connection, message);
}

void TickerplantService::StageMessage(Connection& connection, const wire::ReceivedMessage& message,
                                      const Verb& verb) {
  const absl::Status status = (this->*verb.stage)(connection, message.body, message.owner);
  const bool sync = message.kind == MessageKind::kSync;
  if (status.ok()) {
    stager_ = connection.id();
    if (sync) {
      answers_.Add(
          {connection.id(), tickerplant_->upds_staged(), {{}, connection.TakeTicket(), Value()}});
    }
    return;
  }
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("upd refused host={} error=\"{}\" withheld={}", connection.peer(), Message(status),
            *withheld);
  }
  const std::string text = query::QErrorText(status);
  if (sync) {
    connection.ReplyError(connection.TakeTicket(), text);
  } else if (verb.answer == Verb::Answer::kLoggedOrRefused) {
    // A feed that numbers its rows must learn of a gap: all its later rows will be refused.
    connection.SendAsync(Refusal(status));
  }
}

// Returns which tables the sender may publish to; nullptr: all of them. Cost: a comparison if no
// sender is restricted, else a look-up by connection.
const std::vector<bool>* TickerplantService::AllowedTables(const Connection& sender) const {
  if (sender.rights() == nullptr || may_publish_.empty()) return nullptr;
  const auto found = may_publish_.find(sender.id());
  return found == may_publish_.end() ? nullptr : &found->second;
}

absl::Status TickerplantService::StagePlain(Connection& sender, std::span<const std::byte> body,
                                            const std::shared_ptr<const void>& owner) {
  return DenialOf(sender, tickerplant_->StageUpd(body, owner, AllowedTables(sender)));
}

absl::Status TickerplantService::StageNumbered(Connection& sender, std::span<const std::byte> body,
                                               const std::shared_ptr<const void>& owner) {
  // Messages of one feed come in runs that begin with the same bytes. Looking up the name of each
  // would cost a tenth of the tickerplant's work for a single row.
  const bool same = sender.id() == last_sender_.connection &&
                    feed_names_.changes() == last_sender_.changes &&
                    AsText(body).starts_with(AsText(last_sender_.begin));
  const std::vector<bool>* const allowed = AllowedTables(sender);
  const std::string_view user =
      sender.rights() == nullptr ? std::string_view() : std::string_view(sender.user());
  if (same) return DenialOf(sender, tickerplant_->StageNumberedUpd(body, owner, allowed, user));
  const std::optional<std::string_view> feed = Tickerplant::FeedOf(body);
  if (feed) {
    TS_RETURN_IF_ERROR(feed_names_.MaySend(*feed, sender.id()));
    if (const absl::Status may = MayUseFeed(sender, *feed, /*takeover=*/false); !may.ok()) {
      feed_names_.CountUpdRefused();
      return may;
    }
  }
  TS_RETURN_IF_ERROR(DenialOf(sender, tickerplant_->StageNumberedUpd(body, owner, allowed, user)));
  if (!feed) return absl::OkStatus();
  feed_names_.OnAccepted(*feed, SenderOf(sender));
  const char* const end = feed->data() + feed->size() + 1;  // Includes the NUL.
  last_sender_.connection = sender.id();
  last_sender_.changes = feed_names_.changes();
  last_sender_.begin.clear();
  last_sender_.begin.Append(
      body.first(static_cast<size_t>(end - reinterpret_cast<const char*>(body.data()))));
  return absl::OkStatus();
}

// With a users file, a name belongs to the user whose connection owns it, or else to the user whose
// rows are numbered under it. Only a user who may administer takes it over from another one, and
// only by asking to: rows of two senders under one name would pass for duplicates of each other.
absl::Status TickerplantService::MayUseFeed(const Connection& sender, std::string_view feed,
                                            bool takeover) const {
  const security::Access access(sender);
  if (!access.is_restricted()) return absl::OkStatus();
  const FeedNames::Owner* const held = feed_names_.Find(feed);
  const std::string owner = held != nullptr ? held->user : tickerplant_->OwnerOf(feed);
  if (owner.empty() || owner == sender.user()) return absl::OkStatus();
  if (!access.grants()->administer) {
    return access.Deny(fmt::format("claim feed {}, which {} owns", Printable(feed), owner));
  }
  if (!takeover) {
    return FailedPrecondition(
        "held: feed {} belongs to user {}: give this feed another name, or take over with "
        ".u.feed[name;instance;`takeover] (tickstack feed --take-over)",
        Printable(feed), owner);
  }
  return access.MayAdminister(
      fmt::format("{} take-over of {} from {}", protocol::kFeed, Printable(feed), owner));
}

absl::Status TickerplantService::ClaimFeed(Connection& connection, std::string_view name,
                                           std::string_view instance, bool takeover) {
  TS_ASSIGN_OR_RETURN(const FeedNames::Grant grant,
                      feed_names_.Claim(name, instance, takeover, SenderOf(connection)));
  // A subscriber may leave bytes unread as long as its queue allows; a feed has few to read.
  if (!outlets_.contains(connection.id())) connection.SetUnacknowledgedMax(kFeedSilentMax);
  if (!grant.changed) return absl::OkStatus();
  const std::string owner = Describe(*feed_names_.Find(name));
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    const auto from = connections_.find(grant.taken_from);
    LogInfo("feed claimed name={} owner=\"{}\" taken_from={} withheld={}", name, owner,
            from == connections_.end() ? "nobody" : from->second->peer(), *withheld);
  }
  const auto before = connections_.find(grant.taken_from);
  if (before == connections_.end()) return absl::OkStatus();
  // Tells the previous owner now: it may send no rows, which would be refused, for a long time.
  const absl::Status taken = feed_names_.CheckSender(name, grant.taken_from);
  before->second->SendAsync(Refusal(taken));
  return absl::OkStatus();
}

void TickerplantService::Evaluate(Connection& connection, const wire::ReceivedMessage& message) {
  Verbs verbs(*this, connection);
  if (const absl::Status may = verbs.access().TakeRequest(clock_.MonotonicNs()); !may.ok()) {
    if (message.kind != MessageKind::kSync) return;
    return serve::AnswerSync(connection, connection.TakeTicket(), may);
  }
  serve::LoopAnswer answer = serve::EvaluateOnLoop(connection, message, verbs);
  const absl::Status status = answer.value.status();
  // A feed that numbers its rows learns of a gap however it sends them.
  if (!answer.ticket && !verbs.refused().ok()) connection.SendAsync(Refusal(verbs.refused()));
  // Its messages may say that the rows are logged. Messages of later requests stay behind them.
  const bool waits =
      verbs.has_staged() || (!answer.messages.empty() && answers_.Has(connection.id()));
  // What a feed sent before must be logged or refused when it is answered: it would take rows that
  // wait for standbys for refused ones, and give up in the end.
  const std::string& feed = verbs.asked_feed();
  const bool is_receipt = replication_ != nullptr && answer.ticket && status.ok() &&
                          wire::PeekVerb(message.body) == protocol::kFeed &&
                          tickerplant_->FeedRows(feed) != tickerplant_->LoggedFeedRows(feed);
  if (is_receipt) {
    answers_.Add({connection.id(), tickerplant_->upds_staged(), std::move(answer),
                  Receipt{feed, verbs.claims()}});
  } else if (waits) {
    answers_.Add({connection.id(), tickerplant_->upds_staged(), std::move(answer)});
  } else {
    serve::Send(connection, answer);
  }
  if (status.ok()) return;
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("request failed host={} error=\"{}\" withheld={}", connection.peer(), Message(status),
            *withheld);
  }
}

// Returns the answer to `.u.feed[feed]`: the tables that the client may know, and how many rows of
// each are logged.
Value TickerplantService::LoggedRowsOf(std::string_view feed, const Connection& of) const {
  const std::vector<int64_t> rows = tickerplant_->LoggedFeedRows(feed);
  const security::Access access(of);
  SymbolVector names;
  std::vector<int64_t> known;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string& table = tickerplant_->schemas()[i].table;
    if (!access.Knows(table)) continue;
    names.push_back(table);
    known.push_back(rows[i]);
  }
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::span<const int64_t>(known)));
}

void TickerplantService::OnDrained(Connection& connection) {
  if (tickerplant_->has_staged()) CommitStaged();
  ServeBehind();
  HoldFeed(connection);
  if (tickerplant_->has_staged()) {
    if (stager_ == connection.id()) {
      // Clients that only query are still answered.
      if (replication_ == nullptr || disk_full_) {
        RetryLater(connection);
      } else {
        HoldForStandbys(connection);
      }
    }
    if (replication_ == nullptr) return;
  }
  AnswerWaiting();
}

// Answers the waiting requests whose rows are logged, or needed no logging.
void TickerplantService::AnswerWaiting() {
  if (failed_) return;
  for (AnswerQueue::Waiting& waiting : answers_.TakeLogged(tickerplant_->upds_logged())) {
    const auto it = connections_.find(waiting.connection);
    if (it == connections_.end()) continue;
    if (waiting.receipt) waiting.answer.value = ValueOf(*waiting.receipt, *it->second);
    serve::Send(*it->second, waiting.answer);
  }
}

absl::StatusOr<Value> TickerplantService::ValueOf(const Receipt& receipt,
                                                  const Connection& of) const {
  if (receipt.claims) {
    // Another connection may have taken the name over meanwhile.
    if (feed_names_.Find(receipt.feed) == nullptr) {
      return FailedPrecondition("held: feed {} had another owner meanwhile: claim it again",
                                Printable(receipt.feed));
    }
    TS_RETURN_IF_ERROR(feed_names_.CheckSender(receipt.feed, of.id()));
  }
  return LoggedRowsOf(receipt.feed, of);
}

void TickerplantService::CommitStaged() {
  if (failed_) return;
  if (const absl::Status status = tickerplant_->Commit(); !status.ok()) {
    if (status.code() == absl::StatusCode::kResourceExhausted) {
      if (!std::exchange(disk_full_, true))
        LogError("log full, feeds are paused error=\"{}\"", Message(status));
      return;
    }
    return Fail(status);
  }
  if (std::exchange(disk_full_, false))
    LogInfo("log writable again seq={}", tickerplant_->logged_seq());
}

// A sync may fail while no rows come, such as the one at the end of a day.
void TickerplantService::EndIfLogFailed() {
  if (failed_) return;
  if (const absl::Status status = tickerplant_->log().status(); !status.ok()) Fail(status);
}

void TickerplantService::Fail(const absl::Status& why) {
  failed_ = true;
  LogError("log failed error=\"{}\"", Message(why));
  on_failed_(why);
}

absl::Status TickerplantService::Follow(const UpstreamOptions& options) {
  TS_ASSIGN_OR_RETURN(upstream_, Upstream::Open(loop_, options, this));
  return absl::OkStatus();
}

bool TickerplantService::LogRows() {
  CommitStaged();
  ServeBehind();
  if (failed_ || tickerplant_->has_staged()) return false;
  AnswerWaiting();
  return true;
}

// Called by gate_.
void TickerplantService::SetReading(uint64_t connection, bool is_read) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  is_read ? found->second->ResumeReading() : found->second->PauseReading();
}

void TickerplantService::RetryLater(const Connection& feed) {
  gate_.Stop(feed.id(), ReadGate::Reason::kDiskFull);
  retry_timer_.Every(kRetryPause, [this] {
    CommitStaged();
    if (replication_ != nullptr ? disk_full_ : tickerplant_->has_staged()) return;
    retry_timer_.Cancel();
    AnswerWaiting();
    gate_.ReleaseAll(ReadGate::Reason::kDiskFull);
  });
}

// Says now, and from now on every kAliveEveryMs, that this process works.
void TickerplantService::SayAliveTo(Connection& connection) {
  const auto is_same = [&](const std::weak_ptr<Connection>& told) {
    return told.lock().get() == &connection;
  };
  if (std::ranges::any_of(told_alive_, is_same)) return;
  told_alive_.push_back(connection.weak_from_this());
  if (told_alive_.size() == 1) {
    alive_timer_.Every(std::chrono::milliseconds(protocol::kAliveEveryMs), [this] { SayAlive(); });
  }
  SayAlive();
}

void TickerplantService::SayAlive() {
  if (replication_ != nullptr && replication_->is_cut_off()) return;
  std::erase_if(told_alive_, [](const std::weak_ptr<Connection>& told) {
    const std::shared_ptr<Connection> connection = told.lock();
    return connection == nullptr || !connection->is_open();
  });
  const Value message = Value::List({Value::Symbol(protocol::kAlive)});
  for (const std::weak_ptr<Connection>& told : std::vector(told_alive_)) {
    const std::shared_ptr<Connection> connection = told.lock();
    // Bytes that it has not read yet say the same.
    if (connection != nullptr && connection->queued_bytes() == 0) connection->SendAsync(message);
  }
}

// ---- the end of a day

void TickerplantService::EndDayTo(int32_t next, std::function<void(absl::Status)> done) {
  day_end_.EndAsUpstream(next, std::move(done));
}

void TickerplantService::HoldForNextDay(const Connection& connection,
                                        const wire::ReceivedMessage& message) {
  day_end_.Hold({connection, message});
  gate_.Stop(connection.id(), ReadGate::Reason::kNextDay);
}

void TickerplantService::TakeHeld(std::vector<HeldMessage> held) {
  for (const HeldMessage& message : held) {
    const auto found = connections_.find(message.connection);
    if (found == connections_.end()) continue;
    const std::shared_ptr<Connection> connection = found->second;
    // Reads again later, unless what follows stops it.
    gate_.Release(connection->id(), ReadGate::Reason::kNextDay);
    const std::shared_ptr<const void> owner = message.body;
    Take(*connection, {message.kind, message.body->span(), owner});
    OnDrained(*connection);
  }
}

// ---- subscribers that are behind

const Outlet* TickerplantService::BehindOutletOf(const Connection& connection) const {
  if (tickerplant_->catch_up().size() == 0) return nullptr;
  const auto outlet = outlets_.find(connection.id());
  const bool is_behind =
      outlet != outlets_.end() && tickerplant_->catch_up().Has(outlet->second.get());
  return is_behind ? outlet->second.get() : nullptr;
}

void TickerplantService::SendInOrder(uint64_t connection, const Value& message) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  const auto outlet = outlets_.find(connection);
  if (outlet == outlets_.end()) return found->second->SendAsync(message);
  tickerplant_->SendInOrder(outlet->second.get(),
                            wire::EncodeMessage(MessageKind::kAsync, message));
}

void TickerplantService::OnSent(Connection&) { ServeBehind(); }

// Serves subscribers that are behind in the next turn of the loop, if there is something to do.
void TickerplantService::ServeBehind() {
  if (serve_turn_posted_ || !tickerplant_->catch_up().is_due()) return;
  serve_turn_posted_ = true;
  loop_.Post([alive = std::weak_ptr(alive_), this] {
    if (!alive.expired()) TakeServeTurn();
  });
}

void TickerplantService::TakeServeTurn() {
  serve_turn_posted_ = false;
  const Tickerplant::Served served = tickerplant_->ServeBehind();
  for (const CatchUp::Failure& failure : served.failed) {
    failure.outlet->Close(ResourceExhausted("behind, and its rows cannot be read from the log: {}",
                                            Message(failure.why)));
  }
  for (const Outlet* const outlet : served.live) GoLive(outlet);
  ReleaseFeeds();
  ServeBehind();
}

// Answers what a subscriber asked while it was behind.
void TickerplantService::GoLive(const Outlet* outlet) {
  const uint64_t id = static_cast<const ConnectionOutlet*>(outlet)->connection().id();
  const std::vector<HeldMessage> requests = gate_.TakeRequests(id);
  const auto found = connections_.find(id);
  if (requests.empty() || found == connections_.end()) return;
  const std::shared_ptr<Connection> connection = found->second;
  for (const HeldMessage& request : requests) {
    const std::shared_ptr<const void> owner = request.body;
    Take(*connection, {request.kind, request.body->span(), owner});
  }
  OnDrained(*connection);
  gate_.Release(id, ReadGate::Reason::kBehind);
}

// Stops reading a feed that asked to wait for subscribers that are behind.
void TickerplantService::HoldFeed(const Connection& connection) {
  if (feed_windows_.empty() || tickerplant_->catch_up().size() == 0) return;
  const uint64_t behind_rows = tickerplant_->catch_up().LagOfFurthest().rows;
  if (feed_windows_.MustWait(connection.id(), behind_rows)) {
    gate_.Stop(connection.id(), ReadGate::Reason::kWindow);
  }
}

void TickerplantService::ReleaseFeeds() {
  if (feed_windows_.waiting() == 0) return;
  for (const uint64_t id : feed_windows_.Release(tickerplant_->catch_up().LagOfFurthest().rows)) {
    gate_.Release(id, ReadGate::Reason::kWindow);
  }
}

void TickerplantService::DropStalled() {
  if (stall_max_ns_ == 0) return;
  for (Outlet* const outlet : tickerplant_->FindStalled(stall_max_ns_)) {
    outlet->Close(ResourceExhausted("stalled: has read nothing for {} s, with {} bytes unsent",
                                    stall_max_ns_ / kNsPerSecond, outlet->queued_bytes()));
  }
}

void TickerplantService::OnClosed(Connection& connection, const absl::Status& why) {
  const auto outlet = outlets_.find(connection.id());
  if (outlet != outlets_.end()) {
    tickerplant_->Unsubscribe(outlet->second.get());
    outlets_.erase(outlet);
    const bool dropped = why.code() == absl::StatusCode::kResourceExhausted;
    if (dropped) ++dropped_;
    if (dropped) {
      LogWarn("subscriber dropped host={} seq={} reason=\"{}\"", connection.peer(),
              tickerplant_->published_seq(), Message(why));
    } else {
      LogInfo("subscriber disconnected host={} seq={} reason=\"{}\"", connection.peer(),
              tickerplant_->published_seq(), Message(why));
    }
  } else if (!why.ok()) {
    static LogLimit limit;
    if (const std::optional<uint64_t> withheld = limit.Pass()) {
      LogWarn("connection ended host={} reason=\"{}\" withheld={}", connection.peer(), Message(why),
              *withheld);
    }
  }
  answers_.OnConnectionGone(connection.id());
  gate_.OnConnectionGone(connection.id());
  chained_.erase(connection.id());
  feed_windows_.OnConnectionGone(connection.id());
  if (standbys_ != nullptr) standbys_->OnConnectionGone(connection.id());
  publishers_.OnConnectionGone(connection.id());
  day_end_.closers().OnConnectionGone(connection.id());
  feed_names_.OnConnectionGone(connection.id());
  may_publish_.erase(connection.id());
  connections_.erase(connection.id());
}

ConnectionOutlet& TickerplantService::OutletOf(Connection& connection) {
  std::unique_ptr<ConnectionOutlet>& outlet = outlets_[connection.id()];
  if (outlet == nullptr) {
    outlet = std::make_unique<ConnectionOutlet>(connection);
    connection.SetUnacknowledgedMax(0ms);
  }
  return *outlet;
}

absl::Status TickerplantService::MayHandOver() {
  if (replication_ != nullptr) {
    return absl::FailedPreconditionError("it leads standbys: stop it, and one of them leads");
  }
  if (failed_) return absl::FailedPreconditionError("the log has failed");
  if (day_end_.is_ending()) return absl::UnavailableError("the day is ending");
  if (!tickerplant_->ended_logs().is_idle()) {
    return absl::UnavailableError("the log of an ended day is being synced");
  }
  CommitStaged();
  if (tickerplant_->has_staged()) return absl::UnavailableError("the disk is full");
  return absl::OkStatus();
}

absl::Status TickerplantService::Close() {
  if (upstream_ != nullptr) upstream_->Stop();
  batch_timer_.Cancel();
  day_timer_.Cancel();
  retry_timer_.Cancel();
  day_end_.Stop();
  alive_timer_.Cancel();
  replication_timer_.Cancel();
  CommitStaged();
  return tickerplant_->Close();
}

}  // namespace tickstack::tickerplant
