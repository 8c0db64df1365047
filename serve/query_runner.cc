#include "serve/query_runner.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "query/columns/errors.h"
#include "serve/guarded_environment.h"
#include "serve/live_settings.h"
#include "serve/request_environments.h"
#include "wire/codec.h"

namespace tickstack::serve {
namespace {

constexpr size_t kFreeElsewhereBytes = size_t{1} << 20;
constexpr size_t kTextBytesMax = 100;  // The most bytes of a slow query that are logged.

// A value that a stream keeps.
struct KeptValue {
  explicit KeptValue(Value kept) : value(std::move(kept)) {}
  ~KeptValue() {
    if (free_on == nullptr) return;
    free_on->Post([large = std::make_shared<Value>(std::move(value))] {});
  }
  KeptValue(const KeptValue&) = delete;
  KeptValue& operator=(const KeptValue&) = delete;

  Value value;
  wire::EventLoop* free_on = nullptr;
};

absl::StatusOr<wire::Answer> MessageOf(wire::MessageKind kind, Value value,
                                       const wire::AnswerForm& form, wire::EventLoop* free_on) {
  const auto kept = std::make_shared<KeptValue>(std::move(value));
  TS_ASSIGN_OR_RETURN(wire::Answer message, wire::MakeMessage(kind, {kept, &kept->value}, form));
  if (message.stream != nullptr && message.bytes() >= kFreeElsewhereBytes) kept->free_on = free_on;
  return message;
}

absl::StatusOr<std::vector<wire::Answer>> MessagesOf(std::vector<Value> values,
                                                     const wire::AnswerForm& form,
                                                     wire::EventLoop* free_on) {
  std::vector<wire::Answer> messages;
  for (Value& value : values) {
    TS_ASSIGN_OR_RETURN(messages.emplace_back(),
                        MessageOf(wire::MessageKind::kAsync, std::move(value), form, free_on));
  }
  return messages;
}

std::string ErrorText(const absl::Status& status) {
  std::string text = query::QErrorText(status);
  return text == "limit" ? std::string(Message(status)) : text;
}

// Returns the text of a request, or of its part that is text.
std::string_view TextOf(const Value& asked) {
  if (asked.type() == Type::kChar) return asked.text();
  if (asked.is_atom_of(Type::kSymbol)) return asked.symbol();
  if (asked.is(Type::kSymbol) && asked.count() > 0) return asked.symbols()[0];
  if (asked.is_list() && asked.count() > 0) return TextOf(asked.items()[0]);
  return NameOf(asked.type());
}

void Increment(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

size_t Replies::bytes() const {
  size_t bytes = answer.bytes();
  for (const wire::Answer& message : messages) bytes += message.bytes();
  return bytes;
}

absl::StatusOr<Value> QueryRunner::Evaluate(const Value& asked, const QueryRequest& request,
                                            query::ClientHandle& handle, AnswerSink* sink) {
  const security::Access& access = request.client->access;
  query::Limits limits = LimitsOf(*request.client);
  limits.sink = sink;
  std::optional<query::KeptNames>& names = request.client->names;
  query::KeptNames* const kept = names ? &*names : nullptr;
  if (!access.is_restricted()) {
    std::optional<absl::StatusOr<Value>> whole = environment_->AnswerWhole(asked, limits, kept);
    if (whole.has_value()) return *std::move(whole);
  }
  auto* const environments = dynamic_cast<RequestEnvironments*>(environment_);
  const std::unique_ptr<query::Environment> of_request =
      environments == nullptr ? nullptr : environments->ForRequest();
  query::Environment& environment = of_request == nullptr ? *environment_ : *of_request;
  if (!access.is_restricted()) {
    return query::EvaluateRequest(asked, environment, limits, kept, &handle);
  }
  GuardedEnvironment guarded(environment, access);
  return query::EvaluateRequest(asked, guarded, limits, kept, &handle);
}

// Returns the process's limits, or those of the client where they are lower.
query::Limits QueryRunner::LimitsOf(const QueryClient& client) const {
  query::Limits limits = options_.limits;
  limits.cancelled = &client.gone;
  limits.user = client.facts.user;
  const std::shared_ptr<const LiveSettings> live = CurrentLiveSettings();
  int64_t timeout_ns = live == nullptr ? options_.timeout_ns : live->query_timeout_ns;
  if (const security::Grants* const grants = client.access.grants()) {
    if (grants->query_timeout_ns > 0) {
      timeout_ns = timeout_ns == 0 ? grants->query_timeout_ns
                                   : std::min(timeout_ns, grants->query_timeout_ns);
    }
    if (grants->query_max_bytes > 0) {
      limits.max_result_bytes = std::min(limits.max_result_bytes, grants->query_max_bytes);
    }
  }
  if (timeout_ns > 0) {
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  }
  return limits;
}

void QueryRunner::Count(const absl::Status& status, const QueryRequest& request) {
  if (status.ok()) return;
  if (query::QErrorText(status) != "stop") {
    Increment(counters_->failed);
  } else if (request.client->gone.load(std::memory_order_relaxed)) {
    Increment(counters_->cancelled);
  } else {
    Increment(counters_->stopped);
  }
}

void QueryRunner::LogIfSlow(const Value& asked, const QueryRequest& request, int64_t began_ns,
                            int64_t ended_ns) {
  const std::shared_ptr<const LiveSettings> live = CurrentLiveSettings();
  const int64_t slow_ns = live == nullptr ? options_.slow_ns : live->query_slow_ns;
  if (slow_ns == 0 || ended_ns - began_ns < slow_ns) return;
  const std::optional<uint64_t> withheld = slow_limit_.Pass(ended_ns);
  if (!withheld) return;
  const std::string_view text = TextOf(asked);
  LogWarn("slow query ms={} waited_ms={} host={} withheld={} text=\"{}{}\"",
          (ended_ns - began_ns) / 1'000'000, (began_ns - request.arrived_ns) / 1'000'000,
          request.client->peer, *withheld, text.substr(0, kTextBytesMax),
          text.size() > kTextBytesMax ? "..." : "");
}

Replies QueryRunner::Run(const QueryRequest& request, AnswerSink* sink) {
  const int64_t began_ns = options_.clock->MonotonicNs();
  absl::StatusOr<Value> asked = request.refusal.empty()
                                    ? wire::Decode(request.body)
                                    : absl::ResourceExhaustedError(request.refusal);
  const QueryClient& client = *request.client;
  query::ClientHandle handle(client.facts, request.ticket.has_value());
  absl::StatusOr<Value> value =
      asked.ok() ? Evaluate(*asked, request, handle, sink) : asked.status();
  const int64_t ended_ns = options_.clock->MonotonicNs();
  counters_->Record(ended_ns - request.arrived_ns);
  Count(value.status(), request);
  if (asked.ok()) LogIfSlow(*asked, request, began_ns, ended_ns);
  Replies replies;
  absl::StatusOr<std::vector<wire::Answer>> messages =
      MessagesOf(handle.TakeMessages(), client.form, options_.free_on);
  if (messages.ok()) {
    replies.messages = *std::move(messages);
  } else if (value.ok()) {
    value = absl::ResourceExhaustedError(fmt::format("limit: {}", Message(messages.status())));
  }
  if (!request.ticket) {
    const std::optional<uint64_t> withheld =
        value.ok() ? std::nullopt : async_limit_.Pass(ended_ns);
    if (withheld) {  // Its client gets no answer, so only this line says what went wrong.
      const std::string_view text = asked.ok() ? TextOf(*asked) : "";
      LogWarn("async request failed host={} user={} error=\"{}\" text=\"{}\" withheld={}",
              client.peer, client.facts.user, Message(value.status()),
              text.substr(0, kTextBytesMax), *withheld);
    }
    return replies;
  }
  if (value.ok()) {
    absl::StatusOr<wire::Answer> answer =
        MessageOf(wire::MessageKind::kResponse, *std::move(value), client.form, options_.free_on);
    replies.answer = answer.ok()
                         ? *std::move(answer)
                         : wire::ErrorAnswer(fmt::format("limit: {}", Message(answer.status())));
  } else {
    replies.answer = wire::ErrorAnswer(ErrorText(value.status()), query::PositionOf(value.status()),
                                       client.form);
  }
  return replies;
}

}  // namespace tickstack::serve
