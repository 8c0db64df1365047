#include "serve/loop_queries.h"

#include <algorithm>

#include "serve/loop_answers.h"

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

void LoopQueries::OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) {
  if (prepare_) prepare_();
  // The client gets the error as its answer, and the process needs no more of it.
  (void)AnswerOnLoop(connection, message, environment_);
}

}  // namespace tickstack::serve
