#include "rdb/query_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/logging.h"
#include "base/status.h"
#include "query/errors.h"
#include "query/query.h"
#include "wire/codec.h"

namespace tickstack::rdb {
namespace {

constexpr size_t kRequestBytesMax = size_t{16} << 20;
constexpr size_t kWaitingMax = 64;

ByteBuffer ErrorMessage(const absl::Status& status) {
  return wire::EncodeMessage(wire::MessageKind::kResponse, Value::Error(query::QErrorText(status)));
}

size_t MaxResultBytes(const QueryServiceOptions& options) {
  if (options.max_result_bytes > 0) return options.max_result_bytes;
  const size_t capacity =
      options.scratch == nullptr ? SIZE_MAX : options.scratch->Stats().capacity_bytes;
  return capacity == SIZE_MAX ? query::Limits().max_result_bytes : capacity;
}

}  // namespace

struct QueryService::Client {
  std::shared_ptr<wire::Connection> connection;  // The socket thread's.
  size_t waiting = 0;                            // The socket thread's.
  std::atomic<bool> gone{false};                 // Ends what is being evaluated for it.
};

QueryService::QueryService(const QueryServiceOptions& options, RdbEnvironment* environment)
    : options_(options),
      environment_(environment),
      max_result_bytes_(MaxResultBytes(options)),
      helpers_(options.helpers) {
  if (options.scratch != nullptr) scratch_.emplace(options.scratch);
}

absl::StatusOr<std::unique_ptr<QueryService>> QueryService::Start(
    const QueryServiceOptions& options, RdbEnvironment* environment) {
  std::unique_ptr<QueryService> service(new QueryService(options, environment));
  wire::ServerOptions server;
  server.connection.max_message_bytes = kRequestBytesMax;
  // Replies may be larger than what others are allowed to leave unread.
  server.connection.max_queue_bytes = service->max_result_bytes_ + kRequestBytesMax;
  TS_ASSIGN_OR_RETURN(service->server_,
                      wire::Listen(service->loop_, options.listener, server, service.get()));
  service->socket_thread_ = std::thread([raw = service.get()] { raw->loop_.Run(); });
  for (int i = 0; i < std::max(1, options.threads); ++i) {
    service->workers_.emplace_back([raw = service.get()] { raw->Work(); });
  }
  return service;
}

QueryService::~QueryService() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true, std::memory_order_relaxed);
  }
  wake_.notify_all();
  loop_.Stop();
  if (socket_thread_.joinable()) socket_thread_.join();
  // Evaluations look at their client's flag only; nobody else touches it now.
  for (const std::shared_ptr<Client>& client : clients_) {
    client->gone.store(true, std::memory_order_relaxed);
  }
  for (std::thread& worker : workers_) worker.join();
  server_ = nullptr;
}

void QueryService::OnOpened(wire::Connection& connection) {
  auto client = std::make_shared<Client>();
  client->connection = connection.shared_from_this();
  clients_.push_back(std::move(client));
}

void QueryService::OnClosed(wire::Connection& connection, const absl::Status&) {
  const auto at = std::find_if(clients_.begin(), clients_.end(), [&](const auto& client) {
    return client->connection.get() == &connection;
  });
  if (at == clients_.end()) return;
  (*at)->gone.store(true, std::memory_order_relaxed);
  (*at)->connection = nullptr;
  clients_.erase(at);
}

void QueryService::OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) {
  const auto at = std::find_if(clients_.begin(), clients_.end(), [&](const auto& client) {
    return client->connection.get() == &connection;
  });
  if (at == clients_.end() || message.kind == wire::MessageKind::kResponse) return;
  Request request{*at, message.body, message.owner, std::nullopt};
  if (message.kind == wire::MessageKind::kSync) request.ticket = connection.TakeTicket();
  if (++(*at)->waiting >= kWaitingMax) connection.PauseReading();
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  wake_.notify_one();
}

void QueryService::Work() {
  while (true) {
    Request request;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(
          lock, [this] { return stopping_.load(std::memory_order_relaxed) || !requests_.empty(); });
      if (stopping_.load(std::memory_order_relaxed)) return;
      request = std::move(requests_.front());
      requests_.pop_front();
    }
    ByteBuffer answer;
    if (!request.client->gone.load(std::memory_order_relaxed)) answer = Answer(request);
    Done(std::move(request), std::move(answer));
  }
}

// The whole response, ready to send.
ByteBuffer QueryService::Answer(const Request& request) {
  const absl::StatusOr<Value> decoded = wire::Decode(request.body);
  if (!decoded.ok()) return ErrorMessage(decoded.status());
  query::Limits limits;
  limits.cancelled = &request.client->gone;
  limits.max_result_bytes = max_result_bytes_;
  limits.workers = &helpers_;
  limits.scratch = scratch_.has_value() ? &*scratch_ : nullptr;
  if (options_.timeout_ns > 0) {
    limits.deadline =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(options_.timeout_ns);
  }
  const absl::StatusOr<Value> value = query::EvaluateRequest(*decoded, *environment_, limits);
  if (!value.ok()) {
    static LogLimit limit;
    if (!request.ticket && limit.Pass()) {
      LogWarn("async request failed error=\"{}\"", Message(value.status()));
    }
    return ErrorMessage(value.status());
  }
  if (!request.ticket) return ByteBuffer();
  absl::StatusOr<ByteBuffer> answer =
      query::RunInScratch(limits.scratch, [&]() -> absl::StatusOr<ByteBuffer> {
        TS_RETURN_IF_ERROR(wire::EncodedBytes(*value).status());
        return wire::EncodeMessage(wire::MessageKind::kResponse, *value);
      });
  return answer.ok() ? *std::move(answer) : ErrorMessage(answer.status());
}

void QueryService::Done(Request request, ByteBuffer answer) {
  // std::function wants what it holds to be copyable. The request goes back as a whole: its
  // message's owner belongs to the connection, which fills a block again as soon as nobody holds
  // it, so it must be let go on the thread that looks.
  auto bytes = std::make_shared<ByteBuffer>(std::move(answer));
  loop_.Post([request = std::move(request), bytes] {
    Client& client = *request.client;
    if (client.connection == nullptr) return;
    const std::shared_ptr<wire::Connection> connection = client.connection;
    if (--client.waiting == kWaitingMax / 2) connection->ResumeReading();
    if (request.ticket) connection->Reply(*request.ticket, wire::Answer{std::move(*bytes), nullptr});
  });
}

}  // namespace tickstack::rdb
