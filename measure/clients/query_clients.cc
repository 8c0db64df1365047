#include "measure/clients/query_clients.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/clock_steps.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "wire/client.h"
#include "wire/event_loop.h"

namespace tickstack::measure {
namespace {

using namespace std::chrono_literals;

constexpr auto kAskForSymbolsEvery = 1s;

wire::ClientOptions QueryClientOptions() {
  wire::ClientOptions options;
  options.user = "monitor";
  options.is_link = true;
  return options;
}

// A connection that asks strings. Answers that arrive after it has ended are dropped.
class Line : public wire::ClientHandler {
 public:
  Line(wire::EventLoop& loop, const wire::Address& address)
      : client_(loop, address, QueryClientOptions(), this) {}

  void OnConnected(wire::Connection& connection) override {
    connection_ = &connection;
    ++*connects_;
    OnUp();
  }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override {
    connection_ = nullptr;
    ++*connects_;
    OnDown();
  }

 protected:
  virtual void OnUp() = 0;
  virtual void OnDown() {}
  virtual void OnAnswer(const absl::StatusOr<Value>& answer) = 0;

  void Ask(std::string_view text) {
    if (connection_ == nullptr) return;
    connection_->Call(Value::String(text),
                      [this, connects = *connects_,
                       alive = std::weak_ptr(connects_)](const absl::StatusOr<Value>& answer) {
                        // When the connection ends this fails from the loop; the line may be gone
                        // by then.
                        const auto now = alive.lock();
                        if (now != nullptr && *now == connects) OnAnswer(answer);
                      });
  }

 private:
  wire::Connection* connection_ = nullptr;
  std::shared_ptr<uint64_t> connects_ = std::make_shared<uint64_t>(0);
  wire::Client client_;  // Last, because its callbacks use the other members.
};

}  // namespace

class QueryClients::Impl {
 public:
  Impl(QueryClients& owner, QueryClientsOptions options);
  ~Impl();

  void Begin();
  void End();
  std::vector<ClientResult> Stop();

 private:
  class Group;
  class SymbolLookup;

  int64_t NowNs();
  void OnFirstConnect();
  void BeginIfReady();
  void Publish();

  QueryClients& owner_;
  const QuerySet set_;
  const wire::Address rdb_;
  SymbolActivity symbols_;
  bool may_begin_;          // True if this object was told that it may begin.
  size_t unconnected_ = 0;  // Connections that were never established so far.
  wire::EventLoop loop_;
  const Clock& clock_ = loop_.clock();
  ClockSteps steps_{clock_};
  std::vector<std::unique_ptr<Group>> groups_;
  std::unique_ptr<SymbolLookup> symbol_lookup_;  // Exists until the symbols are known.
  std::thread thread_;
};

class QueryClients::Impl::Group final : public QuestionSender {
 public:
  Group(Impl& impl, size_t client, int64_t query_ns)
      : impl_(impl), group_(impl.set_, client, impl.symbols_, query_ns, this), timer_(impl.loop_) {
    for (size_t i = 0; i < static_cast<size_t>(group_.spec().count); ++i) {
      connections_.push_back(std::make_unique<RdbConnection>(*this, i));
    }
  }

  const ClientGroup& group() const { return group_; }
  void Begin(int64_t now_ns) {
    group_.Begin(now_ns);
    Pump(now_ns);
  }
  void OnClockSet(int64_t ns) { group_.OnClockSet(ns); }
  void End(int64_t now_ns) {
    group_.End(now_ns);
    Pump(now_ns);
  }
  ClientResult Result(int64_t now_ns) const { return group_.Result(now_ns); }

 private:
  // One of the connections of a group.
  class RdbConnection final : public Line {
   public:
    RdbConnection(Group& group, size_t number)
        : Line(group.impl_.loop_, group.impl_.rdb_), group_(group), number_(number) {}
    using Line::Ask;

    void OnConnectFailed(const absl::Status& why, std::chrono::milliseconds pause) override {
      static LogLimit limit(10 * kNsPerSecond);
      if (limit.Pass()) {
        LogWarn("client has no rdb client={} error=\"{}\" pause_ms={}", group_.group_.spec().name,
                Message(why), pause.count());
      }
    }

   private:
    void OnUp() override {
      const int64_t now_ns = group_.impl_.NowNs();
      group_.group_.OnConnected(number_, now_ns);
      group_.Pump(now_ns);
      if (!std::exchange(connected_once_, true)) group_.impl_.OnFirstConnect();
    }
    void OnDown() override { group_.group_.OnDisconnected(number_); }
    void OnAnswer(const absl::StatusOr<Value>& answer) override {
      const int64_t now_ns = group_.impl_.NowNs();
      group_.group_.OnAnswer(number_, answer, now_ns);
      group_.Pump(now_ns);
      group_.impl_.Publish();
    }

    Group& group_;
    const size_t number_;
    bool connected_once_ = false;
  };

  void Ask(size_t connection, std::string_view text) override {
    connections_[connection]->Ask(text);
  }

  void Pump(int64_t now_ns) {
    const int64_t call_ns = group_.Poll(now_ns);
    if (call_ns == armed_ns_) return;
    armed_ns_ = call_ns;
    if (call_ns == ClientGroup::kNever) return timer_.Cancel();
    timer_.Once(std::chrono::nanoseconds(std::max<int64_t>(0, call_ns - now_ns)), [this] {
      armed_ns_ = ClientGroup::kNever;
      Pump(impl_.NowNs());
    });
  }

  Impl& impl_;
  ClientGroup group_;
  wire::Timer timer_;
  int64_t armed_ns_ = ClientGroup::kNever;
  // Last, because their callbacks use the other members.
  std::vector<std::unique_ptr<RdbConnection>> connections_;
};

// Asks which symbols there are, until there are some.
class QueryClients::Impl::SymbolLookup final : public Line {
 public:
  explicit SymbolLookup(Impl& impl)
      : Line(impl.loop_, impl.rdb_), impl_(impl), timer_(impl.loop_) {}

 private:
  void OnUp() override { Ask(kSymbolsQuery); }
  void OnDown() override { timer_.Cancel(); }
  void OnAnswer(const absl::StatusOr<Value>& answer) override {
    if (answer.ok()) impl_.symbols_ = SymbolsOf(*answer);
    if (impl_.symbols_.empty()) {
      static LogLimit limit(10 * kNsPerSecond);
      if (limit.Pass()) {
        LogInfo("clients wait for symbols query=\"{}\" error=\"{}\"", kSymbolsQuery,
                Message(answer.status()));
      }
      return timer_.Once(kAskForSymbolsEvery, [this] { Ask(kSymbolsQuery); });
    }
    LogInfo("clients ask for symbols symbols={}", impl_.symbols_.size());
    // Posts to the loop, because this object is about to be destroyed.
    impl_.loop_.Post([&impl = impl_] {
      impl.symbol_lookup_ = nullptr;
      impl.BeginIfReady();
    });
  }

  Impl& impl_;
  wire::Timer timer_;
};

QueryClients::Impl::Impl(QueryClients& owner, QueryClientsOptions options)
    : owner_(owner),
      set_(std::move(options.set)),
      rdb_(std::move(options.rdb)),
      symbols_(std::move(options.symbols)),
      may_begin_(!options.wait) {
  for (size_t i = 0; i < set_.clients.size(); ++i) {
    unconnected_ += static_cast<size_t>(set_.clients[i].count);
    groups_.push_back(std::make_unique<Group>(*this, i, options.query_ns));
  }
  if (symbols_.empty() && set_.asks_for_symbols())
    symbol_lookup_ = std::make_unique<SymbolLookup>(*this);
  thread_ = std::thread([this] { loop_.Run(); });
}

QueryClients::Impl::~Impl() = default;

// Returns the time, and first tells the groups if the clock was set.
int64_t QueryClients::Impl::NowNs() {
  if (const int64_t step_ns = steps_.Take(); step_ns != 0) {
    for (const auto& group : groups_) group->OnClockSet(step_ns);
  }
  return clock_.NowNs();
}

void QueryClients::Impl::Begin() {
  loop_.Post([this] {
    may_begin_ = true;
    BeginIfReady();
  });
}

void QueryClients::Impl::End() {
  loop_.Post([this] {
    const int64_t now_ns = NowNs();
    for (const auto& group : groups_) group->End(now_ns);
    Publish();
  });
}

std::vector<ClientResult> QueryClients::Impl::Stop() {
  std::vector<ClientResult> results;
  loop_.Post([this, &results] {
    const int64_t now_ns = NowNs();
    for (const auto& group : groups_) results.push_back(group->Result(now_ns));
    symbol_lookup_ = nullptr;
    groups_.clear();
    loop_.Stop();
  });
  thread_.join();
  return results;
}

// Called when a connection is first established, and begins after the last one: an open loop that
// began before would count the time that the rdb took to start.
void QueryClients::Impl::OnFirstConnect() {
  if (--unconnected_ == 0) BeginIfReady();
}

void QueryClients::Impl::BeginIfReady() {
  if (!may_begin_ || symbol_lookup_ != nullptr || unconnected_ > 0) return;
  const int64_t now_ns = NowNs();
  for (const auto& group : groups_) group->Begin(now_ns);
  Publish();
}

void QueryClients::Impl::Publish() {
  uint64_t answers = 0, errors = 0;
  bool idle = true;
  for (const auto& group : groups_) {
    answers += group->group().answers();
    errors += group->group().errors();
    idle = idle && group->group().is_idle();
  }
  owner_.answers_.store(answers, std::memory_order_relaxed);
  owner_.errors_.store(errors, std::memory_order_relaxed);
  owner_.idle_.store(idle, std::memory_order_relaxed);
}

QueryClients::QueryClients(QueryClientsOptions options)
    : impl_(std::make_unique<Impl>(*this, std::move(options))) {}

QueryClients::~QueryClients() {
  if (impl_ != nullptr) Stop();
}

std::vector<ClientResult> QueryClients::Stop() {
  std::vector<ClientResult> results = impl_->Stop();
  impl_ = nullptr;
  return results;
}

void QueryClients::Begin() { impl_->Begin(); }
void QueryClients::End() { impl_->End(); }

}  // namespace tickstack::measure
