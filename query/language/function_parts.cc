#include "query/language/function_parts.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/errors.h"
#include "query/language/ast.h"
#include "query/language/function_value.h"
#include "query/language/functions.h"
#include "query/language/item_terms.h"
#include "query/language/named_parameters.h"

namespace tickstack::query {
namespace {

// Collects a lambda's constants, and the names that it uses but neither takes nor assigns, in the
// order of their first mention.
class MentionedNames {
 public:
  explicit MentionedNames(const Lambda& lambda) : lambda_(lambda) {
    for (const NodePtr& statement : lambda.statements) Add(statement.get());
  }
  const std::vector<std::string>& globals() const { return globals_; }
  std::vector<Value>& constants() { return constants_; }

 private:
  void AddName(const std::string& name) {
    const auto is = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, name) != names.end();
    };
    if (!name.empty() && !is(lambda_.parameters) && !is(lambda_.locals) && !is(globals_)) {
      globals_.push_back(name);
    }
  }

  void Add(const Node* node) {
    if (node == nullptr) return;
    if (node->kind == Node::Kind::kName || node->kind == Node::Kind::kAssign) AddName(node->name);
    if (node->kind == Node::Kind::kConstant && !node->value.is_null()) {
      constants_.push_back(node->value);
    }
    for (const NodePtr& child : node->children) Add(child.get());
    if (node->query == nullptr) return;
    // A name of a column may look like a global; q counts it as well.
    const Query& query = *node->query;
    for (const NodePtr* part : {&query.source, &query.limit, &query.order}) Add(part->get());
    for (const NodePtr& condition : query.conditions) Add(condition.get());
    for (const NamedNode& column : query.columns) Add(column.node.get());
    for (const NamedNode& group : query.groups) Add(group.node.get());
  }

  const Lambda& lambda_;
  std::vector<std::string> globals_;
  std::vector<Value> constants_;
};

Value NamesOf(const std::vector<std::string>& names) {
  SymbolVector symbols;
  for (const std::string& name : names) symbols.push_back(name);
  return Value::Symbols(std::move(symbols));
}

Value PartsOfLambdaValue(const std::vector<std::string>& parameters,
                         const std::vector<std::string>& locals,
                         const std::vector<std::string>& globals, std::vector<Value> constants,
                         std::string_view source) {
  std::vector<Value> parts = {Value::Vector(Type::kByte, ByteBuffer()), NamesOf(parameters),
                              NamesOf(locals), NamesOf(globals)};
  for (Value& constant : constants) parts.push_back(std::move(constant));
  parts.push_back(Value::Vector(Type::kLong, ByteBuffer()));
  parts.push_back(Value::String(""));
  parts.push_back(Value::String(""));
  parts.push_back(Value::Long(-1));
  parts.push_back(Value::String(source));
  return Value::List(std::move(parts));
}

absl::StatusOr<Value> PartsOfLambda(const Lambda& lambda, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(lambda.source.size() + lambda.nodes * 64));
  MentionedNames mentions(lambda);
  std::vector<std::string> globals = {lambda.space == "." ? "" : lambda.space.substr(1)};
  globals.insert(globals.end(), mentions.globals().begin(), mentions.globals().end());
  return PartsOfLambdaValue(lambda.parameters, lambda.locals, globals,
                            std::move(mentions.constants()), lambda.source);
}

// Returns the names of a function's parameters that has no text in q: x, y and z, or letters from
// a.
std::vector<std::string> ParametersOf(const Function& function, Context& context) {
  if (const auto* process = std::get_if<std::shared_ptr<const ProcessFunction>>(&function)) {
    auto* const named = dynamic_cast<NamedParameters*>(&context.environment);
    if (named == nullptr) return {"x"};
    return named->ParametersOf((*process)->name);
  }
  const size_t count = std::min(std::get<const Builtin*>(function)->max_args, kMaxParameters);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    names.emplace_back(1, static_cast<char>((count <= 3 ? 'x' : 'a') + static_cast<char>(i)));
  }
  return names;
}

}  // namespace

absl::StatusOr<Value> PartsOfFunction(const Function& function, Context& context) {
  Budget& budget = context.budget;
  if (const auto* lambda = std::get_if<std::shared_ptr<const Lambda>>(&function)) {
    return PartsOfLambda(**lambda, budget);
  }
  if (const auto* derived = std::get_if<std::shared_ptr<const Derived>>(&function)) {
    return ToValue((*derived)->inner, budget);
  }
  if (const auto* composed = std::get_if<std::shared_ptr<const Composition>>(&function)) {
    TS_ASSIGN_OR_RETURN(Value outer, ToValue((*composed)->outer, budget));
    TS_ASSIGN_OR_RETURN(Value inner, ValueOf((*composed)->inner, budget));
    return Value::List({std::move(outer), std::move(inner)});
  }
  if (const auto* projection = std::get_if<std::shared_ptr<const Projection>>(&function)) {
    std::vector<Value> parts;
    TS_ASSIGN_OR_RETURN(parts.emplace_back(), ValueOf((*projection)->function, budget));
    std::vector<std::optional<Term>> args = (*projection)->args;
    while (!args.empty() && !args.back().has_value()) args.pop_back();  // Drops them, as q does.
    for (const std::optional<Term>& arg : args) {
      if (!arg.has_value()) {
        parts.push_back(MissingArgument());
        continue;
      }
      TS_ASSIGN_OR_RETURN(parts.emplace_back(), ToValue(*arg, budget));
    }
    return Value::List(std::move(parts));
  }
  TS_ASSIGN_OR_RETURN(const Value value, ValueOf(function, budget));
  if (value.is(Type::kLambda)) {
    return PartsOfLambdaValue(ParametersOf(function, context), {}, {""}, {}, FunctionText(value));
  }
  return Value::Long(static_cast<int64_t>(value.function_bytes()[1]));
}

}  // namespace tickstack::query
