#include "query/query.h"

#include "disk/object_store.h"
#include "query/columns/budget.h"
#include "query/columns/errors.h"
#include "query/language/evaluator.h"
#include "query/language/parser.h"
#include "query/language/process_values.h"
#include "query/language/sql_text.h"
#include "query/language/variables.h"
#include "query/remote/row_order.h"
#include "table/codec.h"

namespace tickstack::query {
namespace {

absl::Status CheckText(std::string_view text, const Limits& limits) {
  if (text.size() <= limits.max_text_bytes) return absl::OkStatus();
  return LimitError("a text of {} bytes, at most {}", text.size(), limits.max_text_bytes);
}

absl::StatusOr<Term> EvaluateProgram(std::string_view text, Context& context,
                                     const Limits& limits) {
  // `\l .` is `system "l ."`.
  if (text.starts_with('\\')) return RunSystemCommand(context, text.substr(1));
  TS_ASSIGN_OR_RETURN(const std::vector<NodePtr> statements, Parse(text, limits.max_depth));
  if (statements.size() == 1 && statements[0] != nullptr &&
      statements[0]->kind == Node::Kind::kQuery) {
    context.budget.set_root(statements[0]->query.get());
  }
  std::optional<OrderMark> mark;
  if (statements.back() != nullptr) mark.emplace(context.budget, *statements.back());
  TS_ASSIGN_OR_RETURN(Term last, EvaluateStatements(context, statements));
  // An assignment gives no answer, as in q.
  const bool assigned =
      statements.back() != nullptr && (statements.back()->kind == Node::Kind::kAssign ||
                                       statements.back()->kind == Node::Kind::kView);
  return assigned ? Term(Value()) : std::move(last);
}

absl::StatusOr<Term> EvaluateText(std::string_view text, Context& context, const Limits& limits) {
  TS_RETURN_IF_ERROR(CheckText(text, limits));
  if (AnswersUnlikeSql(text, context)) return SqlError(text, context);
  absl::StatusOr<Term> answer = EvaluateProgram(text, context, limits);
  if (!answer.ok()) return OrSqlError(text, context, answer.status());
  return answer;
}

bool IsText(const Value& value) { return value.type() == Type::kChar; }

absl::StatusOr<Term> EvaluateFunctionText(std::string_view text, std::span<Term> args,
                                          Context& context, const Limits& limits) {
  TS_ASSIGN_OR_RETURN(const std::vector<NodePtr> parsed, Parse(text, limits.max_depth));
  if (parsed.size() != 1 || parsed[0] == nullptr) {
    return TypeError("a request whose function is no expression");
  }
  const Node& function = *parsed[0];
  if (function.kind == Node::Kind::kName) return CallName(context, function.name, args);
  TS_ASSIGN_OR_RETURN(Term term, EvaluateNode(context, function));
  std::optional<LambdaMark> mark;
  if (const auto* const called = std::get_if<Function>(&term))
    mark.emplace(context.budget, *called);
  return ApplyTerm(context, std::move(term), args);
}

// Applies f to the rest of a list.
absl::StatusOr<Term> EvaluateCall(std::string_view text, std::span<Term> args, Context& context,
                                  const Limits& limits) {
  TS_RETURN_IF_ERROR(CheckText(text, limits));
  absl::StatusOr<Term> answer = EvaluateFunctionText(text, args, context, limits);
  if (!answer.ok()) return OrSqlError(text, context, answer.status());
  return answer;
}

absl::StatusOr<Term> EvaluateListRequest(const Value& request, Context& context,
                                         const Limits& limits) {
  if (request.count() == 0) return request;
  if (request.count() > 9) return RankError("{} arguments, at most 8", request.count() - 1);
  const Value function = ItemAt(request, 0);
  std::vector<Term> args;
  for (size_t i = 1; i < request.count(); ++i) args.emplace_back(ItemAt(request, i));
  if (args.empty()) args.emplace_back(Value());
  if (function.is_atom_of(Type::kSymbol)) return CallName(context, function.symbol(), args);
  if (IsText(function)) return EvaluateCall(function.text(), args, context, limits);
  if (function.is_function() && !function.is_null()) return ApplyTerm(context, function, args);
  return TypeError("a request whose function is a {}", NameOf(function.type()));
}

absl::StatusOr<Term> EvaluateAnyRequest(const Value& request, Context& context,
                                        const Limits& limits) {
  if (IsText(request)) {
    return EvaluateText(request.text(), context, limits);
  }
  if (request.is_list() || request.is(Type::kSymbol)) {
    return EvaluateListRequest(request, context, limits);
  }
  if (request.is_atom_of(Type::kSymbol)) return FindName(context, request.symbol());
  return request;
}

// Runs one evaluation within its bounds and with its memory. On an error, everything that it built
// is freed.
template <typename F>
absl::StatusOr<Value> Run(Environment& environment, const Limits& limits, KeptNames* names,
                          ClientHandle* client, F evaluate) {
  std::vector<KeptNames::Change> changes;
  absl::StatusOr<Value> value = RunInScratch(limits.scratch, [&]() -> absl::StatusOr<Value> {
    Budget budget(limits);
    const auto check_time = [&budget] { return budget.CheckTime(); };
    const disk::WaitCheck ends_waits(check_time);
    Frame frame(budget, nullptr);
    if (names != nullptr) TS_RETURN_IF_ERROR(names->Load(frame));
    frame.set_client(client);
    Variables variables(frame);
    Context context{environment, budget, variables};
    absl::StatusOr<Term> result = evaluate(context);
    if (names != nullptr) changes = names->ChangesOf(frame, budget);
    absl::StatusOr<Value> answer =
        result.ok() ? ToValue(*std::move(result), budget) : absl::StatusOr<Value>(result.status());
    return client == nullptr ? std::move(answer) : client->Settle(std::move(answer));
  });
  if (names == nullptr) return value;
  names->Keep(std::move(changes));
  // A function may be of an earlier text.
  if (!value.ok()) return names->Explain(WithoutPosition(value.status()));
  return value;
}

}  // namespace

std::shared_ptr<const StoredTable> Environment::FindStored(std::string_view) { return nullptr; }

std::optional<absl::StatusOr<Value>> Environment::AnswerWhole(const Value&, const Limits&,
                                                              const KeptNames*) {
  return std::nullopt;
}

std::shared_ptr<const RemoteTable> Environment::FindRemote(std::string_view) { return nullptr; }

std::optional<Value> Environment::FindValue(std::string_view) { return std::nullopt; }

bool Environment::Changes(std::string_view, std::span<const Value>) { return true; }

absl::Status Environment::Refusal(std::string_view) { return absl::OkStatus(); }

std::vector<std::string> Environment::FunctionNames() { return {}; }

std::vector<std::string> Environment::ValueNames() { return {}; }

ProcessFacts Environment::Facts() { return FactsOfThisProcess(); }

std::optional<absl::StatusOr<Value>> Environment::Call(std::string_view, std::span<const Value>) {
  return std::nullopt;
}

Limits LoopLimits() {
  Limits limits;
  limits.max_depth = 50;
  limits.max_levels = 500;
  limits.max_text_bytes = size_t{16} << 10;
  limits.max_result_bytes = size_t{4} << 20;
  limits.processor_time = std::chrono::milliseconds(20);
  limits.deadline = std::chrono::steady_clock::now() + limits.processor_time;
  return limits;
}

absl::StatusOr<Value> Evaluate(std::string_view text, Environment& environment,
                               const Limits& limits) {
  return Run(environment, limits, nullptr, nullptr,
             [&](Context& context) { return EvaluateText(text, context, limits); });
}

absl::StatusOr<Value> EvaluateRequest(const Value& request, Environment& environment,
                                      const Limits& limits, KeptNames* names,
                                      ClientHandle* client) {
  return Run(environment, limits, names, client,
             [&](Context& context) { return EvaluateAnyRequest(request, context, limits); });
}

absl::StatusOr<Value> EvaluateMessage(std::span<const std::byte> body, Environment& environment,
                                      const Limits& limits, ClientHandle* client) {
  const absl::StatusOr<Value> request = DecodeWithin(body, limits.max_result_bytes);
  if (absl::IsResourceExhausted(request.status())) {
    return LimitError("the request: {}", Message(request.status()));
  }
  TS_RETURN_IF_ERROR(request.status());
  return EvaluateRequest(*request, environment, limits, nullptr, client);
}

}  // namespace tickstack::query
