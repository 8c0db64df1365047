// Functions that turn texts, parse trees and names into values.

#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "query/language/builtins.h"
#include "query/language/evaluator.h"
#include "query/language/function_parts.h"
#include "query/language/functions.h"
#include "query/language/parse_tree.h"
#include "query/language/parser.h"
#include "query/language/process_values.h"
#include "query/language/sql_text.h"
#include "query/language/tree_of_node.h"
#include "query/language/variables.h"

namespace tickstack::query::builtins {
namespace {

// Evaluates a text as if a client had sent it: with the request's variables but without a lambda's.
Result ValueOfText(Context& context, std::string_view text) {
  const Budget::Level level(context.budget);
  TS_RETURN_IF_ERROR(level.Check());
  Result result = KeepingResult(context.budget, [&]() -> Result {
    if (AnswersUnlikeSql(text, context)) return SqlError(text, context);
    Variables variables(context.variables.request());
    if (text.starts_with('\\')) return RunSystemCommand(context, text.substr(1));
    TS_ASSIGN_OR_RETURN(const std::vector<NodePtr> statements,
                        ParseInside(text, context.budget, variables.space()));
    Context inner{context.environment, context.budget, variables};
    return EvaluateStatements(inner, statements);
  });
  if (result.ok()) return result;
  context.variables.request().AddToTrace(text);
  return OrSqlError(text, context, result.status());
}

// Returns the value of something: a text is evaluated, a name gives what it names for the request,
// a list applies its first item to the others, a dictionary gives its values, and a column of
// symbols is itself.
Result ValueOfTerm(Context& context, Args args) {
  // A symbol column of a query or of a stored table is an enumeration in an HDB of q.
  if (const auto* const column = std::get_if<Slice>(&args[0]);
      column != nullptr && column->type() == Type::kSymbol &&
      (context.scope != nullptr || column->column.stored() != nullptr)) {
    return std::move(args[0]);
  }
  TS_ASSIGN_OR_RETURN(const Value value, Take(context, args[0]));
  if (value.is_dict()) return value.values();
  if (value.is_null()) return Value::Long(0);  // The generic null is the primitive number 0.
  if (IsFileName(value)) return NyiError(value.symbol());
  if (value.type() == Type::kChar) return ValueOfText(context, value.text());
  if (value.is_atom_of(Type::kSymbol)) {
    Variables variables(context.variables.request());
    Context outside{context.environment, context.budget, variables};
    return FindName(outside, value.symbol());
  }
  if ((value.is_list() || value.is(Type::kSymbol)) && value.count() > 0) {
    TS_ASSIGN_OR_RETURN(std::vector<Value> items,
                        ItemsOfList(value, kMaxParameters + 1, context.budget));
    Term f = std::move(items[0]);
    if (std::get<Value>(f).type() == Type::kChar) {
      TS_ASSIGN_OR_RETURN(f, ValueOfText(context, std::get<Value>(f).text()));
    }
    items.erase(items.begin());
    if (items.empty()) items.emplace_back();
    std::vector<Term> arguments(std::make_move_iterator(items.begin()),
                                std::make_move_iterator(items.end()));
    return ApplyTerm(context, std::move(f), arguments);
  }
  TS_ASSIGN_OR_RETURN(const std::optional<Function> function, AsFunction(value, context.budget));
  if (function.has_value()) return FromValue(PartsOfFunction(*function, context));
  return NyiError("value");
}

Result ParseTerm(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, Take(context, args[0]));
  if (text.type() != Type::kChar) return TypeError("parse of a {}", NameOf(text.type()));
  TS_ASSIGN_OR_RETURN(const std::vector<NodePtr> statements,
                      ParseInside(text.text(), context.budget));
  return FromValue(TreeOfStatements(statements, context.budget));
}

// Evaluates a tree with the request's variables but without a lambda's.
Result Eval(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value tree, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(const NodePtr node, NodeOfTree(tree, context.budget));
  Variables variables(context.variables.request());
  Context outside{context.environment, context.budget, variables};
  return EvaluateNode(outside, *node);
}

// Does the same as eval, because everything is evaluated as if by reval.
Result Reval(Context& context, Args args) { return Apply(context, *FindBuiltin("eval"), args); }

// Returns the value of a name; `nyi` for a file's name.
Result Get(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value name, Take(context, args[0]));
  if (IsFileName(name)) return NyiError("get");
  Term term = name;
  return Apply(context, *FindBuiltin("value"), std::span(&term, 1));
}

// `.o.ex`, which drivers of JDBC and ODBC call with the text of a statement: q after `q)`, else
// SQL.
Result Statement(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, Take(context, args[0]));
  if (text.type() != Type::kChar) return TypeError(".o.ex of a {}", NameOf(text.type()));
  constexpr std::string_view kLanguage = "q)";
  if (!text.text().starts_with(kLanguage)) {
    return SqlError(text.text(), context, kLanguage);
  }
  Term statement = Value::String(text.text().substr(kLanguage.size()));
  return Apply(context, *FindBuiltin("value"), std::span(&statement, 1));
}

constexpr std::array kInterpretTable = {
    With(Builtin::kInterprets, Builtin{"value", 1, 1, false, ValueOfTerm}),
    With(Builtin::kInterprets, Builtin{"parse", 1, 1, false, ParseTerm}),
    With(Builtin::kInterprets, Builtin{"eval", 1, 1, false, Eval}),
    With(Builtin::kInterprets, Builtin{"reval", 1, 1, false, Reval}),
    With(Builtin::kInterprets, Builtin{"get", 1, 1, false, Get}),
    Builtin{".o.ex", 1, 1, false, Statement},
};

}  // namespace

std::span<const Builtin> InterpretFunctions() { return kInterpretTable; }

}  // namespace tickstack::query::builtins
