#include "serve/loop_queries.h"

#include <algorithm>

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
  return function->call();
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
  if (AnswerCall(connection, message, guarded)) return;
  // The client gets the error as its answer, and the process needs no more of it.
  (void)AnswerOnLoop(connection, message, guarded);
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

}  // namespace tickstack::serve
