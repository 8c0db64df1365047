#include "query/query.h"

#include "query/budget.h"
#include "query/errors.h"
#include "query/evaluator.h"
#include "query/parser.h"

namespace tickstack::query {
namespace {

absl::Status CheckText(std::string_view text, const Limits& limits) {
  if (text.size() <= limits.max_text_bytes) return absl::OkStatus();
  return LimitError("a text of {} bytes, at most {}", text.size(), limits.max_text_bytes);
}

// `\l .` is `system "l ."`, which is a function of the process, if anything.
absl::StatusOr<Term> EvaluateSystem(std::string_view text, Context& context) {
  const std::string_view command = text.substr(1);
  const Value argument = Value::String(command);
  std::optional<absl::StatusOr<Value>> result =
      context.environment.Call("system", std::span(&argument, 1));
  if (!result.has_value()) return NyiError(text.substr(0, text.find(' ')));
  TS_RETURN_IF_ERROR(result->status());
  return *std::move(*result);
}

absl::StatusOr<Term> EvaluateText(std::string_view text, Context& context, const Limits& limits) {
  TS_RETURN_IF_ERROR(CheckText(text, limits));
  if (text.starts_with('\\')) return EvaluateSystem(text, context);
  TS_ASSIGN_OR_RETURN(const std::vector<NodePtr> statements, Parse(text, limits.max_depth));
  Term last = Value();
  for (const NodePtr& statement : statements) {
    last = Value();
    if (statement == nullptr) continue;
    TS_ASSIGN_OR_RETURN(last, EvaluateNode(context, *statement));
  }
  return last;
}

// Texts that clients send on their own and that need more of q than the subset: each is recognised
// as it stands.

// PyKX asks with this when it connects whether it talks to q; what it wants to hear is the marker.
constexpr std::string_view kPykxContextProbe = "k){x:. x;$[99h<@x;:`$\"_pykx_fn_marker\"";
constexpr std::string_view kPykxStringProbe = "@[{2<count .s};(::);{0b}]";
// Grafana's plug-in wraps what the user typed into a dictionary.
constexpr std::string_view kGrafanaWrapper = "{[x] value x[`Query;`Query]}";

std::optional<Value> FindItem(const Value& dict, std::string_view key) {
  if (!dict.is_dict() || !dict.keys().is(Type::kSymbol)) return std::nullopt;
  const Value& values = dict.values();
  if (!values.is_list() && !values.is_vector()) return std::nullopt;
  for (size_t i = 0; i < dict.keys().count() && i < values.count(); ++i) {
    if (dict.keys().symbols()[i] == key) return ItemAt(values, i);
  }
  return std::nullopt;
}

absl::StatusOr<Term> EvaluateGrafana(const Value& wrapped, Context& context, const Limits& limits) {
  const std::optional<Value> query = FindItem(wrapped, "Query");
  if (!query.has_value()) return TypeError("a Grafana request without Query");
  const std::optional<Value> text = FindItem(*query, "Query");
  if (!text.has_value() || text->type() != Type::kChar) {
    return TypeError("a Grafana request without Query.Query");
  }
  return EvaluateText(text->text(), context, limits);
}

// The source text of a lambda; nullopt for one that was not sent as text.
std::optional<std::string_view> LambdaText(const Value& function) {
  if (!function.is(Type::kLambda)) return std::nullopt;
  const std::string_view bytes = AsText(function.function_bytes());
  // Type byte, name of the namespace and its NUL, then a char vector: type, attribute, count.
  const size_t name_end = bytes.find('\0', 1);
  constexpr size_t kVectorHead = 6;
  if (name_end == std::string_view::npos || bytes.size() < name_end + 1 + kVectorHead) {
    return std::nullopt;
  }
  return bytes.substr(name_end + 1 + kVectorHead);
}

bool IsText(const Value& value) { return value.type() == Type::kChar; }

// f applied to the rest of a list.
absl::StatusOr<Term> EvaluateCall(std::string_view text, std::span<Term> args, Context& context,
                                  const Limits& limits) {
  if (text.starts_with(kPykxContextProbe)) return Value::Symbol("_pykx_ctx_marker");
  if (text == kGrafanaWrapper && args.size() == 1) {
    TS_ASSIGN_OR_RETURN(const Value wrapped, ToValue(std::move(args[0]), context.budget));
    return EvaluateGrafana(wrapped, context, limits);
  }
  TS_RETURN_IF_ERROR(CheckText(text, limits));
  TS_ASSIGN_OR_RETURN(const std::vector<NodePtr> parsed, Parse(text, limits.max_depth));
  if (parsed.size() != 1 || parsed[0] == nullptr) {
    return TypeError("a request whose function is no expression");
  }
  const Node& function = *parsed[0];
  if (function.kind == Node::Kind::kName) return CallName(context, function.name, args);
  TS_ASSIGN_OR_RETURN(Term term, EvaluateNode(context, function));
  return ApplyTerm(context, std::move(term), args);
}

absl::StatusOr<Term> EvaluateListRequest(const Value& request, Context& context,
                                         const Limits& limits) {
  if (request.count() == 0) return request;
  const Value function = ItemAt(request, 0);
  std::vector<Term> args;
  for (size_t i = 1; i < request.count(); ++i) args.emplace_back(ItemAt(request, i));
  if (args.empty()) args.emplace_back(Value());
  if (args.size() > 8) return RankError("{} arguments, at most 8", args.size());
  if (function.is_atom_of(Type::kSymbol)) return CallName(context, function.symbol(), args);
  if (IsText(function)) return EvaluateCall(function.text(), args, context, limits);
  if (const std::optional<std::string_view> text = LambdaText(function)) {
    return EvaluateCall(*text, args, context, limits);
  }
  return TypeError("a request whose function is a {}", NameOf(function.type()));
}

absl::StatusOr<Term> EvaluateAnyRequest(const Value& request, Context& context,
                                        const Limits& limits) {
  if (IsText(request)) {
    if (request.text() == kPykxStringProbe) return Value::Boolean(false);
    return EvaluateText(request.text(), context, limits);
  }
  if (request.is_list() || request.is(Type::kSymbol)) {
    return EvaluateListRequest(request, context, limits);
  }
  if (request.is_atom_of(Type::kSymbol)) return FindName(context, request.symbol());
  return request;
}

// One evaluation within its bounds and with its memory. All that it built is gone when an error is
// returned.
template <typename F>
absl::StatusOr<Value> Run(Environment& environment, const Limits& limits, F evaluate) {
  return RunInScratch(limits.scratch, [&]() -> absl::StatusOr<Value> {
    Budget budget(limits);
    Context context{environment, budget};
    TS_ASSIGN_OR_RETURN(Term result, evaluate(context));
    return ToValue(std::move(result), budget);
  });
}

}  // namespace

std::shared_ptr<const StoredTable> Environment::FindStored(std::string_view) { return nullptr; }

std::optional<Value> Environment::FindValue(std::string_view) { return std::nullopt; }

std::optional<absl::StatusOr<Value>> Environment::Call(std::string_view, std::span<const Value>) {
  return std::nullopt;
}

Limits LoopLimits() {
  Limits limits;
  limits.max_depth = 50;
  limits.max_text_bytes = size_t{16} << 10;
  limits.max_result_bytes = size_t{32} << 20;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  return limits;
}

absl::StatusOr<Value> Evaluate(std::string_view text, Environment& environment,
                               const Limits& limits) {
  return Run(environment, limits,
             [&](Context& context) { return EvaluateText(text, context, limits); });
}

absl::StatusOr<Value> EvaluateRequest(const Value& request, Environment& environment,
                                      const Limits& limits) {
  return Run(environment, limits,
             [&](Context& context) { return EvaluateAnyRequest(request, context, limits); });
}

}  // namespace tickstack::query
