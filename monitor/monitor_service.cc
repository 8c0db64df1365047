#include "monitor/monitor_service.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/logging.h"
#include "base/status.h"
#include "monitor/client_options.h"
#include "wire/codec.h"

namespace tickstack::monitor {
// Tells the feed to start, each time that it connects.
class MonitorService::FeedStarter final : public wire::ClientHandler {
 public:
  FeedStarter(wire::EventLoop& loop, wire::Address address)
      : client_(loop, std::move(address), LinkOptions(), this) {}
  void OnConnected(wire::Connection& connection) override {
    LogInfo("starting the feed address={}", client_.address().ToString());
    connection.Call(Value::String(".feed.start[]"), [](const absl::StatusOr<Value>& answer) {
      if (answer.ok() || answer.status().code() == absl::StatusCode::kUnavailable) return;
      LogWarn("feed not started error=\"{}\"", Message(answer.status()));
    });
  }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override {}

 private:
  wire::Client client_;
};

class MonitorService::RdbLink final : public wire::ClientHandler, public Rdb {
 public:
  RdbLink(MonitorService& service, wire::Address address)
      : service_(service), client_(service.loop_, std::move(address), LinkOptions(), this) {}

  // Rdb
  void Ask(std::string_view query) override {
    connection_->Call(Value::String(query),
                      [this, connects = *connects_,
                       alive = std::weak_ptr(connects_)](const absl::StatusOr<Value>& answer) {
                        // When the connection ends this fails from the loop; the link may be gone
                        // by then.
                        const auto now = alive.lock();
                        if (now == nullptr || *now != connects || service_.stopped_) return;
                        service_.monitor_.OnAnswer(answer, service_.NowNs());
                        service_.Pump();
                      });
  }

  // ClientHandler
  void OnConnected(wire::Connection& connection) override {
    LogInfo("rdb connected address={}", client_.address().ToString());
    ++*connects_;
    connection_ = &connection;
    service_.monitor_.OnConnected(this, service_.NowNs());
    service_.Pump();
  }
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) override {
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) LogWarn("no rdb error=\"{}\" pause_ms={}", Message(why), pause.count());
  }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status& why) override {
    LogWarn("rdb lost error=\"{}\"", why.ok() ? "closed" : Message(why));
    ++*connects_;
    connection_ = nullptr;
    service_.monitor_.OnDisconnected(service_.NowNs());
  }

  bool is_connected() const { return connection_ != nullptr; }

 private:
  MonitorService& service_;
  wire::Connection* connection_ = nullptr;
  std::shared_ptr<uint64_t> connects_ = std::make_shared<uint64_t>(0);
  wire::Client client_;
};

MonitorService::MonitorService(wire::EventLoop& loop, wire::Address rdb,
                               std::optional<wire::Address> feed, MonitorSettings settings,
                               Monitor::OnSample on_sample, measure::QueryClients* clients)
    : clock_(loop.clock()),
      steps_(clock_),
      loop_(loop),
      monitor_(std::move(settings), std::move(on_sample)),
      clients_(clients),
      timer_(loop),
      queries_(&clock_, {{".monitor.begin", [this] { return BeginMeasuring(); }},
                         {".monitor.end", [this] { return EndMeasuring(); }},
                         {".monitor.stats", [this] { return Stats(); }}}),
      feed_address_(std::move(feed)),
      rdb_(std::make_unique<RdbLink>(*this, std::move(rdb))) {}

MonitorService::~MonitorService() { stopped_ = true; }

void MonitorService::Stop() {
  stopped_ = true;
  timer_.Cancel();
}

// Returns the time, and first tells the monitor if the clock was set.
int64_t MonitorService::NowNs() {
  if (const int64_t step_ns = steps_.Take(); step_ns != 0) {
    LogWarn("clock was set, samples are due at the same pace from now on step_s={:.1f}",
            static_cast<double>(step_ns) / static_cast<double>(kNsPerSecond));
    monitor_.OnClockSet(step_ns);
  }
  return clock_.NowNs();
}

void MonitorService::Pump() {
  if (stopped_) return;
  // The first whole sample shows that the rdb answers, so rows may come.
  if (monitor_.samples() > 0 && feed_address_ && feed_ == nullptr) {
    feed_ = std::make_unique<FeedStarter>(loop_, *feed_address_);
  }
  const int64_t now_ns = NowNs();
  const int64_t call_ns = monitor_.Poll(now_ns);
  if (call_ns == kNothingDue) return timer_.Cancel();
  timer_.Once(std::chrono::nanoseconds(std::max<int64_t>(0, call_ns - now_ns)), [this] { Pump(); });
}

Value MonitorService::BeginMeasuring() {
  LogInfo("measuring begins samples_before={}", monitor_.samples());
  monitor_.Restart(NowNs());
  if (clients_ != nullptr) clients_->Begin();
  Pump();
  return Value();
}

Value MonitorService::EndMeasuring() {
  if (clients_ != nullptr) clients_->End();
  return Value();
}

Value MonitorService::Stats() const {
  const auto counted = [this](uint64_t (measure::QueryClients::*count)() const) {
    return clients_ == nullptr ? 0 : static_cast<int64_t>((clients_->*count)());
  };
  const int64_t sample_ns = monitor_.last().end_ns;
  return Value::Dict(
      Value::Symbols({"samples", "missed", "errors", "reconnects", "answers", "client_errors",
                      "clients_idle", "connected", "sample_age_ms"}),
      Value::Longs(
          {monitor_.samples(), monitor_.missed(), monitor_.errors(), monitor_.reconnects(),
           counted(&measure::QueryClients::answers), counted(&measure::QueryClients::errors),
           clients_ == nullptr || clients_->is_idle() ? 1 : 0, rdb_->is_connected() ? 1 : 0,
           sample_ns == 0 ? kNullLong : (clock_.NowNs() - sample_ns) / 1'000'000}));
}

}  // namespace tickstack::monitor
