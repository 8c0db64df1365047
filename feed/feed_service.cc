#include "feed/feed_service.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "feed/feed_stats.h"
#include "wire/codec.h"
#include "wire/protocol.h"
#include "wire/readable_watch.h"

namespace tickstack::feed {

namespace protocol = wire::protocol;
namespace {

// Rows that become due within this time are sent together: a separate row costs a message and a
// wake-up in two processes, some 20 us of processor time. It delays no row by more than this.
constexpr int64_t kGatherNs = 250'000;
// Longest time between two calls of a live source: if somebody sets the clock, its deadline may be
// far away until the source is told.
constexpr int64_t kLiveWaitNsMax = kNsPerSecond;

}  // namespace

// The client side of one tickerplant: reports the connection's events to the feed, and calls it
// when rows are due.
class FeedService::Sender final : public wire::ClientHandler, public Link {
 public:
  Sender(FeedService& service, FeedTarget target)
      : service_(service),
        shard_(std::move(target.shard)),
        feed_(std::move(target.feed)),
        timer_(service.loop_),
        live_timer_(service.loop_),
        client_(service.loop_, std::move(target.tickerplant), Options(), this) {
    if (LiveInput* const live = feed_->live_input(); live != nullptr) {
      watch_.emplace(service.loop_, live->fd(), [this] { Receive(); });
    }
  }

  const std::string& shard() const { return shard_; }
  Feed& feed() { return *feed_; }
  void Pump();

  // Link:
  void Send(ByteBuffer messages) override { connection_->Send(std::move(messages)); }
  void Ask(const Value& request) override {
    connection_->Call(request, [this, connects = *connects_, alive = std::weak_ptr(connects_)](
                                   const absl::StatusOr<Value>& answer) {
      // Fails, from the loop, when the connection ends: by then this link may be destroyed.
      const auto now = alive.lock();
      if (now == nullptr || *now != connects || service_.stopped_) return;
      feed_->OnAnswer(answer, service_.NowNs());
      service_.AdmitIfAllGranted();
      Pump();
    });
  }
  size_t queued_bytes() const override { return connection_->queued_bytes(); }

  // ClientHandler:
  void OnConnected(wire::Connection& connection) override {
    LogInfo("tickerplant connected address={}", client_.address().ToString());
    ++*connects_;
    connection_ = &connection;
    feed_->OnConnected(this, service_.NowNs());
    Pump();
  }
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) override {
    if (!connect_limit_.Pass()) return;
    LogWarn("no tickerplant address={} error=\"{}\" pause_ms={}", client_.address().ToString(),
            Message(why), pause.count());
  }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage& message) override {
    const absl::StatusOr<Value> value = wire::Decode(message.body);
    if (!value.ok() || !value->is_list() || value->count() != 2) return;
    const std::vector<Value>& items = value->items();
    if (!items[0].is_atom_of(Type::kSymbol) || items[0].symbol() != protocol::kRefused) return;
    if (!items[1].is_string()) return;
    feed_->OnRefused(items[1].text(), service_.NowNs());
    Pump();
  }
  void OnClosed(wire::Connection&, const absl::Status& why) override {
    if (!service_.stopped_) {
      LogWarn("tickerplant lost address={} error=\"{}\"", client_.address().ToString(),
              why.ok() ? "closed" : Message(why));
    }
    ++*connects_;
    connection_ = nullptr;
    feed_->OnDisconnected(service_.NowNs());
  }

  wire::Connection* connection() const { return connection_; }
  void Close(std::chrono::nanoseconds at_most) {
    timer_.Cancel();
    live_timer_.Cancel();
    watch_.reset();
    if (connection_ != nullptr) connection_->CloseWhenSent(at_most);
  }

 private:
  void Receive();
  static wire::ClientOptions Options() {
    wire::ClientOptions options;
    options.user = "feed";
    options.is_link = true;
    return options;
  }

  FeedService& service_;
  const std::string shard_;
  std::unique_ptr<Feed> feed_;
  wire::Timer timer_;
  wire::Timer live_timer_;                    // When a live source has something to do.
  std::optional<wire::ReadableWatch> watch_;  // Only for a live source.
  LogLimit connect_limit_{10 * kNsPerSecond};
  wire::Connection* connection_ = nullptr;
  std::shared_ptr<uint64_t> connects_ = std::make_shared<uint64_t>(0);
  wire::Client client_;
};

// Lets the feed send due rows, and schedules the next call.
void FeedService::Sender::Pump() {
  if (service_.stopped_) return;
  const int64_t now_ns = service_.NowNs();
  const int64_t call_ns = feed_->Poll(now_ns);
  if (call_ns == kNeverDue) return timer_.Cancel();
  const int64_t wait_ns = call_ns <= now_ns ? 0 : std::max(kGatherNs, call_ns - now_ns);
  timer_.Once(std::chrono::nanoseconds(wait_ns), [this] { Pump(); });
}

// Lets a live source take what has arrived, and sends the rows. A feed that has failed receives
// nothing more.
void FeedService::Sender::Receive() {
  if (service_.stopped_) return;
  if (feed_->finished()) return watch_.reset();
  const int64_t now_ns = service_.NowNs();
  const int64_t call_ns = feed_->live_input()->Receive(now_ns);
  if (call_ns == kNeverDue) {
    live_timer_.Cancel();
  } else {
    const std::chrono::nanoseconds wait(std::clamp<int64_t>(call_ns - now_ns, 0, kLiveWaitNsMax));
    live_timer_.Once(wait, [this] { Receive(); });
  }
  Pump();
}

FeedService::FeedService(wire::EventLoop& loop, std::vector<FeedTarget> targets)
    : clock_(loop.clock()),
      steps_(clock_),
      loop_(loop),
      queries_(&clock_, {{".feed.start",
                          [this] {
                            Start();
                            return Value();
                          }},
                         {".feed.stats",
                          [this] { return Stats(); },
                          serve::LoopQueries::Effect::kReads,
                          {"rows", "logged"}}}) {
  for (FeedTarget& target : targets) {
    senders_.push_back(std::make_unique<Sender>(*this, std::move(target)));
  }
}

FeedService::FeedService(wire::EventLoop& loop, wire::Address tickerplant,
                         std::unique_ptr<Feed> feed)
    : FeedService(loop, [&] {
        std::vector<FeedTarget> one;
        one.push_back({{}, std::move(tickerplant), std::move(feed)});
        return one;
      }()) {}

FeedService::~FeedService() { stopped_ = true; }

// Returns the time, and first tells the feeds if the clock was set.
int64_t FeedService::NowNs() {
  if (const int64_t step_ns = steps_.Take(); step_ns != 0) {
    for (const auto& sender : senders_) sender->feed().OnClockSet(step_ns);
  }
  return clock_.NowNs();
}

void FeedService::Start() {
  for (const auto& sender : senders_) {
    sender->feed().Start(NowNs());
    sender->Pump();
  }
}

// A shard that refuses the source must do so before another one has rows of it.
void FeedService::AdmitIfAllGranted() {
  if (std::exchange(admitted_, true)) return;
  admitted_ =
      std::ranges::all_of(senders_, [](const auto& each) { return each->feed().granted(); });
  if (!admitted_) return;
  for (const auto& sender : senders_) {
    sender->feed().Admit(NowNs());
    sender->Pump();
  }
}

bool FeedService::refused() const {
  return !admitted_ && std::ranges::any_of(senders_, [](const auto& each) {
    return each->feed().state() == FeedState::kFailed;
  });
}

void FeedService::StopPublishing(std::chrono::nanoseconds at_most) {
  stopped_ = true;
  for (const auto& sender : senders_) sender->Close(at_most);
}

bool FeedService::connected() const {
  return std::ranges::any_of(senders_,
                             [](const auto& sender) { return sender->connection() != nullptr; });
}

const Feed& FeedService::feed(size_t i) const { return senders_[i]->feed(); }

Value FeedService::Stats() const {
  std::vector<std::pair<std::string, Value>> stats;
  for (const auto& sender : senders_) {
    stats.emplace_back(sender->shard(), sender->feed().Stats(clock_.NowNs()));
  }
  return stats.size() == 1 ? stats.front().second : MergedStats(stats);
}

}  // namespace tickstack::feed
