#include "serve/loop_queries.h"

#include <algorithm>

#include "base/logging.h"
#include "base/status.h"
#include "query/columns/elements.h"
#include "security/user_rights.h"
#include "serve/guarded_environment.h"
#include "serve/loop_answers.h"
#include "wire/codec.h"
#include "wire/upd.h"

namespace tickstack::serve {

std::vector<std::string> LoopQueries::Functions::FunctionNames() {
  std::vector<std::string> names;
  for (const Function& function : functions_) names.emplace_back(function.name);
  return names;
}

std::optional<absl::StatusOr<Value>> LoopQueries::Functions::Call(std::string_view name,
                                                                  std::span<const Value>) {
  const auto function = std::ranges::find(functions_, name, &Function::name);
  if (function == functions_.end()) return std::nullopt;
  absl::StatusOr<Value> answer = function->call();
  const bool knows_all = access_ == nullptr || access_->KnowsAllTables();
  if (!answer.ok() || knows_all) return answer;
  if (function->by_table.empty()) return WithholdTexts(*std::move(answer));
  return WithoutHidden(*answer, function->by_table);
}

Value LoopQueries::Functions::WithoutHidden(const Value& answer,
                                            std::span<const std::string_view> by_table) const {
  const SymbolVector& names = answer.keys().symbols();
  std::vector<Value> items = answer.values().items();
  bool hides = false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::find(by_table, names[i]) == by_table.end()) continue;
    const SymbolVector& tables = items[i].keys().symbols();
    std::vector<uint32_t> entries;
    for (size_t table = 0; table < tables.size(); ++table) {
      if (access_->Knows(tables[table])) entries.push_back(static_cast<uint32_t>(table));
    }
    hides |= entries.size() < tables.size();
    items[i] = Value::Dict(query::TakeItems(items[i].keys(), entries),
                           query::TakeItems(items[i].values(), entries));
  }
  Value known = Value::Dict(answer.keys(), Value::List(std::move(items)));
  return hides ? WithholdTexts(std::move(known)) : known;
}

bool LoopQueries::Functions::Changes(std::string_view name, std::span<const Value>) {
  const auto function = std::ranges::find(functions_, name, &Function::name);
  return function != functions_.end() && function->effect == Effect::kChanges;
}

void LoopQueries::OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) {
  const security::Access access(connection);
  if (const absl::Status may = access.TakeRequest(MonotonicNs()); !may.ok()) {
    if (message.kind == wire::MessageKind::kSync) {
      AnswerSync(connection, connection.TakeTicket(), may);
    }
    return;
  }
  if (prepare_) prepare_();
  GuardedEnvironment guarded(environment_, access);
  environment_.set_access(&access);
  const absl::Status status = AnswerCall(connection, message, guarded)
                                  ? absl::OkStatus()
                                  : AnswerOnLoop(connection, message, guarded);
  environment_.set_access(nullptr);
  if (status.ok() || message.kind == wire::MessageKind::kSync) return;  // It is the answer.
  static LogLimit limit;
  if (const std::optional<uint64_t> withheld = limit.Pass()) {
    LogWarn("async request failed host={} user={} error=\"{}\" withheld={}", connection.peer(),
            connection.user(), Message(status), *withheld);
  }
}

// Returns false if the message is no call of a function, malformed, or has large arguments, which
// query::LoopLimits bounds.
bool LoopQueries::AnswerCall(wire::Connection& connection, const wire::ReceivedMessage& message,
                             query::Environment& environment) {
  constexpr size_t kCallBytesMax = 4096;
  if (message.body.size() > kCallBytesMax) return false;
  const std::optional<std::string_view> name = wire::PeekVerb(message.body);
  if (!name || !wire::Decode(message.body).ok()) return false;
  const std::optional<absl::StatusOr<Value>> answer = environment.Call(*name, {});
  if (!answer) return false;
  if (message.kind == wire::MessageKind::kSync) {
    AnswerSync(connection, connection.TakeTicket(), *answer);
  }
  return true;
}

wire::ServerOptions LoopServerOptions(wire::StatusSource* status) {
  constexpr size_t kRequestBytesMaxOnLoop = size_t{16} << 20;
  wire::ServerOptions options;
  options.connection.max_message_bytes = kRequestBytesMaxOnLoop;
  options.large_messages = wire::LargeMessages::kAdministrators;
  options.http_options.status = status;
  return options;
}

}  // namespace tickstack::serve
