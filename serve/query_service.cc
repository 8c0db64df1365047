#include "serve/query_service.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <string_view>
#include <utility>

#include "base/byte_buffer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "serve/forwarded_answer.h"
#include "serve/loop_answers.h"

namespace tickstack::serve {
namespace {

using namespace std::chrono_literals;

constexpr size_t kRequestBytesMax = size_t{16} << 20;
// No client intends a longer message, so a longer one is not waited for.
constexpr uint64_t kSkippedBytesMax = uint64_t{4} << 30;
constexpr size_t kWaitingMax = 64;
constexpr size_t kWaitingBytesMax = kRequestBytesMax;
// Bytes of the waiting requests of all clients at which each one may have only as many as a client
// without rights.
constexpr size_t kWaitingBytesOfAllMax = size_t{256} << 20;
constexpr size_t kWaitingBytesOfFew = size_t{1} << 20;
// The longest time until the service sees that a client left which it does not read from, or which
// does not read.
constexpr auto kCheckInterval = 50ms;
// Time for a client to read its last answer after the listeners were released.
constexpr auto kLastAnswerAtMost = 60s;

size_t MaxResultBytes(const QueryServiceOptions& options) {
  if (options.max_result_bytes > 0) return options.max_result_bytes;
  const size_t capacity =
      options.scratch == nullptr ? SIZE_MAX : options.scratch->Stats().capacity_bytes;
  return capacity == SIZE_MAX ? query::Limits().max_result_bytes : capacity;
}

size_t MaxUnreadBytes(const QueryServiceOptions& options, size_t max_result_bytes) {
  if (options.max_unread_bytes > 0) return options.max_unread_bytes;
  // Twice SIZE_MAX wraps, and SIZE_MAX is no bound in either case.
  return std::max(2 * max_result_bytes, max_result_bytes);
}

void Add(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.fetch_add(n, std::memory_order_relaxed);
}
void Subtract(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.fetch_sub(n, std::memory_order_relaxed);
}

// True for the name of a process's value, or the call of its function without arguments, such as
// `.rdb.stats[]`. The body is then a string: its type, attribute and length, then the text.
bool AsksForStatistics(std::span<const std::byte> body) {
  constexpr size_t kHeadBytes = 6, kNameBytesMax = 32;
  if (body.size() <= kHeadBytes || body.size() > kHeadBytes + kNameBytesMax) return false;
  if (static_cast<Type>(body.front()) != Type::kChar) return false;
  std::string_view text = AsText(body.subspan(kHeadBytes));
  if (text.ends_with("[]")) text.remove_suffix(2);
  return text.starts_with('.') && std::ranges::all_of(text, [](char c) {
           return c == '.' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

uint64_t CountWaiting(const std::deque<QueryRequest>& requests) {
  return static_cast<uint64_t>(std::ranges::count_if(requests, &QueryRequest::counts_as_waiting));
}

QueryRunnerOptions RunnerOptions(const QueryServiceOptions& options, size_t max_result_bytes,
                                 ScratchMemory* scratch, WorkerPool* helpers,
                                 wire::EventLoop* free_on) {
  QueryRunnerOptions runner;
  runner.clock = &free_on->clock();
  runner.limits.max_result_bytes = max_result_bytes;
  runner.limits.scratch = scratch;
  runner.limits.workers = helpers;
  runner.timeout_ns = options.timeout_ns;
  runner.slow_ns = options.slow_ns;
  runner.free_on = free_on;
  return runner;
}

absl::Status RowsAreGone() { return absl::AbortedError("rows that it may have seen are gone"); }

}  // namespace

QueryService::QueryService(const QueryServiceOptions& options, query::Environment* environment,
                           QueryCounters* counters)
    : options_(options),
      counters_(*counters),
      scratch_(options.scratch == nullptr ? std::nullopt : std::make_optional(options.scratch)),
      max_result_bytes_(MaxResultBytes(options)),
      max_unread_bytes_(MaxUnreadBytes(options, max_result_bytes_)),
      helpers_(options.helpers, [nice = options.nice] { SetThreadNice(nice); }),
      runner_(RunnerOptions(options, max_result_bytes_, scratch_.has_value() ? &*scratch_ : nullptr,
                            &helpers_, &free_loop_),
              environment, &counters_),
      check_clients_(loop_) {}

absl::StatusOr<std::unique_ptr<QueryService>> QueryService::Start(
    const QueryServiceOptions& options, query::Environment* environment, QueryCounters* counters) {
  std::unique_ptr<QueryService> service(new QueryService(options, environment, counters));
  QueryService* const raw = service.get();
  wire::ServerOptions server;
  server.connection.max_message_bytes = kRequestBytesMax;
  server.large_messages = wire::LargeMessages::kQueriers;
  server.http_options.status = options.status;
  TS_ASSIGN_OR_RETURN(service->server_,
                      wire::Listen(service->loop_, options.listener, server, raw));
  service->check_clients_.Every(kCheckInterval, [raw] { raw->CheckClients(); });
  service->socket_thread_ = std::thread([raw] { raw->loop_.Run(); });
  service->free_thread_ = std::thread([raw] {
    SetThreadNice(raw->options_.nice);
    raw->free_loop_.Run();
  });
  for (int i = 0; i < std::max(1, options.threads); ++i) {
    service->workers_.emplace_back([raw] {
      SetThreadNice(raw->options_.nice);
      raw->Work();
    });
  }
  return service;
}

QueryService::~QueryService() {
  queue_.Stop();
  loop_.Stop();
  if (socket_thread_.joinable()) socket_thread_.join();
  // Evaluations look only at their client's flag, which nobody else touches now.
  for (const auto& [id, client] : clients_) {
    client->gone.store(true, std::memory_order_relaxed);
  }
  for (std::thread& worker : workers_) worker.join();
  free_loop_.Stop();
  if (free_thread_.joinable()) free_thread_.join();
  server_ = nullptr;
  for (const auto& [id, client] : clients_) {
    // Breaks the cycle: a request knows its client, and the client its requests.
    Subtract(counters_.waiting, CountWaiting(queue_.Drop(*client)));
    Forget(*client, client->unread.bytes());
    Subtract(counters_.clients, 1);
  }
}

std::vector<std::unique_ptr<wire::DetachedListener>> QueryService::ReleaseListeners() {
  std::promise<std::vector<std::unique_ptr<wire::DetachedListener>>> released;
  loop_.Post([&] {
    released_ = true;
    auto listeners = server_->ReleaseListeners();
    std::vector<std::shared_ptr<QueryClient>> clients;
    for (const auto& [id, client] : clients_) clients.push_back(client);
    for (const std::shared_ptr<QueryClient>& client : clients) {
      client->connection->PauseReading();
      EndIfAnswered(*client);
    }
    released.set_value(std::move(listeners));
  });
  return released.get_future().get();
}

bool QueryService::WaitForClients(std::chrono::nanoseconds at_most) {
  const int64_t give_up_ns = MonotonicNs() + at_most.count();
  while (counters_.clients.load(std::memory_order_relaxed) > 0) {
    if (MonotonicNs() >= give_up_ns) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// ---- the socket thread

// Disconnects a client that awaits nothing, because a successor listens now.
void QueryService::EndIfAnswered(QueryClient& client) {
  if (!released_ || client.waiting > 0 || client.connection == nullptr) return;
  client.connection->CloseWhenSent(kLastAnswerAtMost);
}

void QueryService::OnOpened(wire::Connection& connection) {
  auto client = std::make_shared<QueryClient>();
  client->peer = connection.peer();
  client->form = connection.form();
  client->facts = FactsOf(connection);
  client->access = security::Access(connection);
  client->contents = Contents();
  client->connection = connection.shared_from_this();
  if (!connection.by_http()) client->names.emplace();
  clients_.emplace(connection.id(), std::move(client));
  Add(counters_.clients, 1);
  if (!released_) return;
  // It was accepted just before the listeners went. This function must leave it open.
  connection.PauseReading();
  loop_.Post([client = clients_.at(connection.id()), this] { EndIfAnswered(*client); });
}

void QueryService::OnClosed(wire::Connection& connection, const absl::Status&) {
  const auto at = clients_.find(connection.id());
  if (at == clients_.end()) return;
  const std::shared_ptr<QueryClient> client = std::move(at->second);
  clients_.erase(at);
  client->gone.store(true, std::memory_order_relaxed);
  client->connection = nullptr;
  const std::deque<QueryRequest> dropped = queue_.Drop(*client);
  Add(counters_.cancelled, dropped.size());
  Subtract(counters_.waiting, CountWaiting(dropped));
  Forget(*client, client->unread.bytes());
  Subtract(counters_.clients, 1);
}

void QueryService::OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) {
  if (message.kind == wire::MessageKind::kResponse) return;
  QueryRequest request;
  request.body = message.body;
  request.owner = message.owner;
  const auto client = clients_.find(connection.id());
  if (client != clients_.end()) {
    const absl::Status may = client->second->access.TakeRequest(loop_.clock().MonotonicNs());
    if (!may.ok()) request.refusal = Message(may);
  }
  if (message.kind == wire::MessageKind::kSync) request.ticket = connection.TakeTicket();
  Push(connection, std::move(request));
}

bool QueryService::OnTooLarge(wire::Connection& connection, wire::MessageKind kind,
                              uint64_t bytes) {
  if (kind == wire::MessageKind::kResponse || bytes > kSkippedBytesMax) return false;
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("request refused host={} bytes={} bound={} withheld={}", connection.peer(), bytes,
            connection.max_message_bytes(), *withheld);
  }
  QueryRequest request;
  request.refusal =
      fmt::format("limit: request of {} bytes, at most {}", bytes, connection.max_message_bytes());
  if (kind == wire::MessageKind::kSync) request.ticket = connection.TakeTicket();
  Push(connection, std::move(request));
  return true;
}

void QueryService::Push(wire::Connection& connection, QueryRequest request) {
  const auto at = clients_.find(connection.id());
  if (at == clients_.end()) return;
  QueryClient& client = *at->second;
  ++client.waiting;
  client.waiting_bytes += request.body.size();
  const auto of_all = [this] {
    size_t bytes = 0;
    for (const auto& [id, each] : clients_) bytes += each->waiting_bytes;
    return bytes;
  };
  const bool has_many =
      client.waiting_bytes >= kWaitingBytesOfFew &&
      (client.waiting_bytes >= kWaitingBytesMax ||
       connection.max_message_bytes() < kRequestBytesMax || of_all() >= kWaitingBytesOfAllMax);
  if (client.waiting >= kWaitingMax || has_many) {
    client.paused = true;
    connection.PauseReading();
  }
  request.client = at->second;
  request.arrived_ns = loop_.clock().MonotonicNs();
  Add(counters_.queries, 1);
  request.counts_as_waiting = !AsksForStatistics(request.body);
  if (request.counts_as_waiting) Add(counters_.waiting, 1);
  queue_.Push(std::move(request));
}

void QueryService::Deliver(const QueryRequest& request, Replies replies) {
  QueryClient& client = *request.client;
  if (client.connection == nullptr) return Forget(client, replies.bytes());
  const std::shared_ptr<wire::Connection> connection = client.connection;
  if (client.contents != Contents()) {
    Forget(client, replies.bytes());
    return connection->Close(RowsAreGone());
  }
  --client.waiting;
  client.waiting_bytes -= request.body.size();
  if (client.paused && !released_ && client.waiting <= kWaitingMax / 2 &&
      client.waiting_bytes <= kWaitingBytesMax / 2) {
    client.paused = false;
    connection->ResumeReading();
  }
  if (!request.ticket && replies.messages.empty()) return EndIfAnswered(client);
  const int64_t now_ns = loop_.clock().MonotonicNs();
  for (wire::Answer& message : replies.messages) {
    client.unread.Add(message.bytes(), now_ns);
    connection->Queue(std::move(message));
  }
  if (request.ticket) {
    client.unread.Add(replies.answer.bytes(), now_ns);
    connection->Reply(*request.ticket, std::move(replies.answer));
  } else {
    connection->Flush();
  }
  CountSent(request.client, now_ns);
  EndIfAnswered(client);
}

void QueryService::OnSent(wire::Connection& connection) {
  const auto at = clients_.find(connection.id());
  if (at != clients_.end()) CountSent(at->second, loop_.clock().MonotonicNs());
}

void QueryService::CountSent(const std::shared_ptr<QueryClient>& client, int64_t now_ns) {
  const size_t bytes = client->unread.OnSent(client->connection->sent_bytes(), now_ns);
  if (bytes == 0) return;
  const size_t before = client->unread_bytes.load(std::memory_order_relaxed);
  Forget(*client, bytes);
  if (before > RequestQueue::kUnreadBytesMax) queue_.OnRead(client);
}

void QueryService::Forget(QueryClient& client, size_t bytes) {
  client.unread_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  Subtract(counters_.unread_bytes, bytes);
}

// The evaluation that found fewer rows got them from the thread that changed this before, and this
// thread has the answer from that evaluation: so it sees the change, too. A client that connects
// after the change also sees what was changed before it, such as `caught_up` of an rdb.
uint64_t QueryService::Contents() const {
  return options_.contents == nullptr ? 0 : options_.contents->load(std::memory_order_acquire);
}

void QueryService::CheckClients() {
  const int64_t now_ns = loop_.clock().MonotonicNs();
  for (const auto& [id, client] : clients_) {
    wire::Connection& connection = *client->connection;
    if (!connection.is_open()) continue;  // OnClosed is about to come.
    if (client->contents != Contents()) {
      connection.Close(RowsAreGone());
      continue;
    }
    CountSent(client, now_ns);
    if (client->paused && connection.PeerHasClosed()) {
      connection.Close(absl::OkStatus());
    } else if (client->unread.IsLate(options_.unread_timeout_ns, now_ns)) {
      LogWarn("client cut off, it does not read host={} unread_bytes={}", client->peer,
              client->unread.bytes());
      Add(counters_.clients_cut_off, 1);
      connection.Close(ResourceExhausted("{}: an answer is not read", client->peer));
    }
  }
}

// ---- the threads that evaluate

// Sends the client of a request the answer that another process gives, while it arrives.
class QueryService::Forwarder final : public AnswerSink {
 public:
  Forwarder(QueryService& service, const QueryRequest& request)
      : service_(service), request_(request) {}

  bool has_begun() const { return answer_.has_value(); }

  bool Begin(size_t bytes) override {
    // After an answer that ended early, another process may be asked.
    if (has_begun()) return false;
    const wire::AnswerForm& form = request_.client->form;
    // Whatever needs the value, or another form of it, is made from the whole answer.
    if (!request_.ticket || form.compress || form.error_positions || bytes > INT32_MAX)
      return false;
    if (!service_.AdmitMessage(*request_.client, bytes)) return false;
    QueryService& service = service_;
    const std::shared_ptr<QueryClient> client = request_.client;
    answer_.emplace(bytes, [&service, client] {
      service.loop_.Post([&service, client] {
        if (client->connection == nullptr) return;
        client->connection->Flush();
        service.CountSent(client, service.loop_.clock().MonotonicNs());
      });
    });
    auto replies = std::make_shared<Replies>();
    replies->answer.stream = answer_->MakeStream();
    // The request itself goes back when it is done; its body exists until then.
    QueryRequest answered{.client = client, .body = request_.body, .owner = nullptr};
    answered.ticket = request_.ticket;
    service.loop_.Post([&service, answered = std::move(answered), replies] {
      service.Deliver(answered, std::move(*replies));
    });
    return true;
  }

  void Add(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) override {
    answer_->Add(bytes, owner);
  }

 private:
  QueryService& service_;
  const QueryRequest& request_;
  std::optional<ForwardedAnswer> answer_;
};

void QueryService::Work() {
  while (std::optional<QueryRequest> request = queue_.Take()) {
    const std::shared_ptr<QueryClient> client = request->client;
    if (request->counts_as_waiting) Subtract(counters_.waiting, 1);
    Add(counters_.running, 1);
    std::optional<Forwarder> forwarder(std::in_place, *this, *request);
    Replies made = runner_.Run(*request, &*forwarder);
    const bool forwarded = forwarder->has_begun();
    forwarder.reset();
    if (forwarded) {
      Subtract(counters_.running, 1);
      loop_.Post([request = *std::move(request)] {});
      queue_.Finish(client);
      continue;
    }
    // std::function needs copyable contents, hence the shared_ptr. The request goes back as a whole
    // and must be released on the loop's thread: its message lies in a block of the connection,
    // which fills the block again as soon as nobody holds it.
    auto replies = std::make_shared<Replies>(Admit(*request, std::move(made)));
    Subtract(counters_.running, 1);
    loop_.Post(
        [this, request = *std::move(request), replies] { Deliver(request, std::move(*replies)); });
    queue_.Finish(client);
  }
}

// Counts what a request sends as unread. A message that does not fit is dropped with all later
// ones, and the answer becomes an error.
Replies QueryService::Admit(const QueryRequest& request, Replies replies) {
  QueryClient& client = *request.client;
  for (size_t i = 0; i < replies.messages.size(); ++i) {
    const size_t bytes = replies.messages[i].bytes();
    if (AdmitMessage(client, bytes)) continue;
    replies.messages.resize(i);
    Add(counters_.failed, 1);
    const std::string error =
        fmt::format("limit: message of {} bytes to .z.w, at most {} bytes are unread", bytes,
                    max_unread_bytes_);
    if (request.ticket) {
      replies.answer = wire::ErrorAnswer(error);
    } else {
      static LogLimit limit;
      if (const std::optional<uint64_t> withheld = limit.Pass()) {
        LogWarn("async request failed host={} error=\"{}\" withheld={}", client.peer, error,
                *withheld);
      }
    }
    break;
  }
  replies.answer = AdmitAnswer(client, std::move(replies.answer));
  return replies;
}

bool QueryService::AdmitMessage(QueryClient& client, size_t bytes) {
  const uint64_t unread = counters_.unread_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (unread + bytes > max_unread_bytes_) {
    Subtract(counters_.unread_bytes, bytes);
    return false;
  }
  client.unread_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

// Counts an answer as unread, or puts an error in its place if too much is unread already.
wire::Answer QueryService::AdmitAnswer(QueryClient& client, wire::Answer answer) {
  const size_t bytes = answer.bytes();
  const uint64_t unread = counters_.unread_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes < wire::kStreamBytesMin || unread + bytes <= max_unread_bytes_) {
    client.unread_bytes.fetch_add(bytes, std::memory_order_relaxed);
    return answer;
  }
  Subtract(counters_.unread_bytes, bytes);
  Add(counters_.failed, 1);
  return AdmitAnswer(
      client, wire::ErrorAnswer(fmt::format(
                  "limit: answer of {} bytes, {} bytes of others are unread, at most {}", bytes,
                  unread, max_unread_bytes_)));
}

}  // namespace tickstack::serve
