#include "query/evaluator.h"

#include <optional>
#include <vector>

#include "query/elements.h"
#include "query/errors.h"
#include "query/gather.h"
#include "query/indexing.h"
#include "query/select.h"

namespace tickstack::query {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

bool IsFunction(const Term& term) { return std::holds_alternative<const Builtin*>(term); }

absl::StatusOr<Term> EvaluateApply(Context& context, const Node& node) {
  std::vector<Term> args(node.children.size() - 1);
  for (size_t i = args.size(); i > 0; --i) {
    TS_ASSIGN_OR_RETURN(args[i - 1], EvaluateNode(context, *node.children[i]));
  }
  const Node& function = *node.children[0];
  if (function.kind == Node::Kind::kFunction) return Apply(context, *function.function, args);
  if (function.kind == Node::Kind::kName) return CallName(context, function.name, args);
  TS_ASSIGN_OR_RETURN(Term x, EvaluateNode(context, function));
  return ApplyTerm(context, std::move(x), args);
}

absl::StatusOr<Term> EvaluateList(Context& context, const Node& node) {
  std::vector<Value> items(node.children.size());
  for (size_t i = items.size(); i > 0; --i) {
    TS_ASSIGN_OR_RETURN(items[i - 1], EvaluateToValue(context, *node.children[i - 1]));
  }
  return Collapse(std::move(items));
}

// Columns of one table literal: vectors of one count; atoms are repeated.
absl::StatusOr<Term> EvaluateTable(Context& context, const Node& node) {
  std::vector<Value> columns;
  std::optional<size_t> rows;
  for (const NodePtr& child : node.children) {
    TS_ASSIGN_OR_RETURN(Value column, EvaluateToValue(context, *child));
    const bool vector = column.is_vector() || column.is_list();
    if (!vector && !column.is_atom()) return TypeError("a column of {}", NameOf(column.type()));
    if (vector && rows.has_value() && *rows != column.count()) {
      return LengthError("columns of {} and {} rows", *rows, column.count());
    }
    if (vector) rows = column.count();
    columns.push_back(std::move(column));
  }
  if (!rows.has_value()) return RankError("a table of atoms; enlist one of them");
  for (Value& column : columns) {
    if (!column.is_atom()) continue;
    TS_RETURN_IF_ERROR(context.budget.Charge(*rows, 16));
    column = Repeat(column, *rows);
  }
  TableView view = ViewOf(node.names, std::move(columns));
  view.key_columns = node.key_columns;
  return view;
}

absl::StatusOr<Term> EvaluateCond(Context& context, const Node& node) {
  size_t at = 0;
  for (; at + 1 < node.children.size(); at += 2) {
    TS_ASSIGN_OR_RETURN(const Value test, EvaluateToValue(context, *node.children[at]));
    const std::optional<int64_t> flag = test.is_atom() ? IndexOf(test) : std::nullopt;
    if (!flag.has_value()) return TypeError("a test of {}", NameOf(test.type()));
    if (*flag != 0) return EvaluateNode(context, *node.children[at + 1]);
  }
  return EvaluateNode(context, *node.children[at]);
}

}  // namespace

absl::StatusOr<Value> ToValue(Term term, Budget& budget) {
  return std::visit(
      Overloaded{
          [](Value& value) -> absl::StatusOr<Value> { return std::move(value); },
          [&](Slice& slice) { return Release(std::move(slice), budget); },
          [&](TableView& view) { return Release(std::move(view), budget); },
          [](const Builtin*& builtin) -> absl::StatusOr<Value> { return NyiError(builtin->name); }},
      term);
}

absl::StatusOr<Term> Apply(Context& context, const Builtin& builtin, std::span<Term> args) {
  TS_RETURN_IF_ERROR(context.budget.CheckTime());
  if (args.size() > builtin.max_args) {
    return RankError("{} arguments for {}, which takes {}", args.size(), builtin.name,
                     builtin.max_args);
  }
  if (args.size() < builtin.min_args) return NyiError(fmt::format("{}[;]", builtin.name));
  return builtin.apply(context, args);
}

absl::StatusOr<Term> CallName(Context& context, std::string_view name, std::span<Term> args) {
  absl::StatusOr<Term> found = FindName(context, name);
  if (found.ok()) return ApplyTerm(context, *std::move(found), args);
  if (found.status().code() != absl::StatusCode::kNotFound) return found;
  std::vector<Value> values;
  for (Term& arg : args) {
    TS_ASSIGN_OR_RETURN(Value value, ToValue(std::move(arg), context.budget));
    values.push_back(std::move(value));
  }
  std::optional<absl::StatusOr<Value>> result = context.environment.Call(name, values);
  if (!result.has_value()) return found;
  TS_RETURN_IF_ERROR(result->status());
  return *std::move(*result);
}

absl::StatusOr<Term> ApplyTerm(Context& context, Term x, std::span<Term> args) {
  if (IsFunction(x)) return Apply(context, *std::get<const Builtin*>(x), args);
  if (const auto* value = std::get_if<Value>(&x);
      value != nullptr && value->is_atom_of(Type::kSymbol)) {
    return CallName(context, value->symbol(), args);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const Value index, ToValue(std::move(args[i]), context.budget));
    if (index.is_null()) continue;  // x[] is x.
    // x[i;j] goes down one level an index; with more than one item on the way it would be a matrix.
    if (i + 1 < args.size() && !index.is_atom()) return NyiError("index at depth by a list");
    TS_ASSIGN_OR_RETURN(x, IndexTerm(context, x, index));
  }
  return x;
}

absl::StatusOr<Term> EvaluateNode(Context& context, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kConstant:
      return node.value;
    case Node::Kind::kName:
      return FindName(context, node.name);
    case Node::Kind::kFunction:
      return node.function;
    case Node::Kind::kApply:
      return EvaluateApply(context, node);
    case Node::Kind::kList:
      return EvaluateList(context, node);
    case Node::Kind::kTable:
      return EvaluateTable(context, node);
    case Node::Kind::kCond:
      return EvaluateCond(context, node);
    case Node::Kind::kQuery:
      return EvaluateQuery(context, *node.query);
  }
  return NyiError("expression");
}

absl::StatusOr<Value> EvaluateToValue(Context& context, const Node& node) {
  TS_ASSIGN_OR_RETURN(Term term, EvaluateNode(context, node));
  return ToValue(std::move(term), context.budget);
}

}  // namespace tickstack::query
