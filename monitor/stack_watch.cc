#include "monitor/stack_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "base/status.h"
#include "base/string_map.h"
#include "base/time.h"
#include "monitor/client_options.h"
#include "serve/event_json.h"
#include "table/format_value.h"
#include "wire/protocol.h"

namespace tickstack::monitor {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 1s;

constexpr std::string_view kOfTickerplant[] = {wire::protocol::kStats, wire::protocol::kActivity};
constexpr std::string_view kOfChained[] = {wire::protocol::kStats, wire::protocol::kActivity,
                                           wire::protocol::kUpstream};
// The last one counts the queries that wait, so no other question of the monitor is among them.
constexpr std::string_view kOfRdb[] = {".tier.stats", ".rdb.stale", ".rdb.blocked", ".rdb.stats"};
constexpr std::string_view kOfHdb[] = {".hdb.stats"};
constexpr std::string_view kOfFeed[] = {".feed.stats"};
constexpr std::string_view kOfAggEngine[] = {".agg.stats"};

struct FunctionsOfRole {
  std::string_view role;
  std::span<const std::string_view> functions;
};
constexpr FunctionsOfRole kRoles[] = {{"tickerplant", kOfTickerplant},
                                      {"chained", kOfChained},
                                      {"rdb", kOfRdb},
                                      {"hdb", kOfHdb},
                                      {"feed", kOfFeed},
                                      {"aggengine", kOfAggEngine}};

// Empty for a role that has no functions.
std::span<const std::string_view> FunctionsOf(std::string_view role) {
  for (const FunctionsOfRole& each : kRoles) {
    if (each.role == role) return each.functions;
  }
  return {};
}

}  // namespace

absl::StatusOr<WatchedProcess> ParseWatched(std::string_view text) {
  const size_t colon = text.find(':'), equals = text.find('=');
  if (colon == std::string_view::npos || equals == std::string_view::npos || colon > equals) {
    return InvalidArgument("watch '{}': expected ROLE:NAME=ADDRESS", text);
  }
  WatchedProcess watched;
  watched.role = text.substr(0, colon);
  watched.name = text.substr(colon + 1, equals - colon - 1);
  if (FunctionsOf(watched.role).empty()) {
    return InvalidArgument("watch '{}': found role '{}', expected that of a process", text,
                           watched.role);
  }
  TS_ASSIGN_OR_RETURN(watched.address, wire::ParseAddress(text.substr(equals + 1)));
  return watched;
}

// The connection to one process, and its newest answers.
class StackWatch::Link final : public wire::ClientHandler {
 public:
  Link(wire::EventLoop& loop, const WatchedProcess& process)
      : process_(process),
        known_(std::make_shared<Known>()),
        client_(loop, process.address, LinkOptions(), this) {}

  // A process that has not answered yet is not asked again.
  void Ask() {
    if (client_.connection() == nullptr || known_->pending > 0) return;
    for (const std::string_view function : FunctionsOf(process_.role)) {
      ++known_->pending;
      // The link may be gone when the connection ends.
      client_.connection()->Call(
          Value::String(fmt::format("{}[]", function)),
          [function, weak = std::weak_ptr(known_),
           connects = known_->connects](const absl::StatusOr<Value>& answer) {
            const std::shared_ptr<Known> known = weak.lock();
            if (known == nullptr || known->connects != connects) return;
            known->Take(function, answer);
          });
    }
  }

  std::string Json() const {
    std::string facts;
    for (const auto& [function, json] : known_->facts) {
      facts += fmt::format("{}{}:{}", facts.empty() ? "" : ",", serve::JsonText(function), json);
    }
    return fmt::format(
        R"({{"role":{},"name":{},"host":{},"port":{},"connected":{},"error":{},"ms":{},)"
        R"("facts":{{{}}}}})",
        serve::JsonText(process_.role), serve::JsonText(process_.name),
        serve::JsonText(process_.address.host), process_.address.port,
        client_.connection() != nullptr, serve::JsonText(known_->error),
        known_->ms ? fmt::format("{}", *known_->ms) : "null", facts);
  }

  // ClientHandler
  void OnConnected(wire::Connection&) override {
    ++known_->connects;
    known_->pending = 0;
    known_->error.clear();
    Ask();
  }
  void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds) override {
    known_->error = Message(why);
  }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status& why) override {
    ++known_->connects;
    known_->pending = 0;
    known_->error = why.ok() ? "it has closed the connection" : std::string(Message(why));
  }

 private:
  struct Known {
    void Take(std::string_view function, const absl::StatusOr<Value>& answer) {
      --pending;
      if (!answer.ok()) {
        error = fmt::format("{}[]: {}", function, Message(answer.status()));
        return;
      }
      facts[std::string(function)] = FormatJson(*answer);
      ms = (SystemClock::Instance().NowNs() + kUnixNsOfKdbEpoch) / 1'000'000;
    }
    StringMap<std::string> facts;  // JSON of each function's answer.
    std::optional<int64_t> ms;
    std::string error;
    int pending = 0;
    uint64_t connects = 0;
  };

  const WatchedProcess& process_;
  const std::shared_ptr<Known> known_;
  wire::Client client_;
};

StackWatch::StackWatch(wire::EventLoop& loop, std::vector<WatchedProcess> processes)
    : loop_(loop), processes_(std::move(processes)), timer_(loop) {}

StackWatch::~StackWatch() = default;

std::string StackWatch::Json() {
  wanted_ns_ = loop_.clock().MonotonicNs();
  if (links_.empty() && !processes_.empty()) {
    for (const WatchedProcess& process : processes_) {
      links_.push_back(std::make_unique<Link>(loop_, process));
    }
    timer_.Every(kInterval, [this] { Ask(); });
  }
  std::string json = "[";
  for (const std::unique_ptr<Link>& link : links_) {
    json += fmt::format("{}{}", json.size() > 1 ? "," : "", link->Json());
  }
  return json + "]";
}

void StackWatch::Ask() {
  if (loop_.clock().MonotonicNs() - wanted_ns_ > kWantedNs) {
    links_.clear();
    return timer_.Cancel();
  }
  for (const std::unique_ptr<Link>& link : links_) link->Ask();
}

}  // namespace tickstack::monitor
