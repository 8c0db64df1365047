#include "query/language/evaluator.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/language/amend.h"
#include "query/language/append.h"
#include "query/language/function_value.h"
#include "query/language/functions.h"
#include "query/language/indexing.h"
#include "query/language/item_terms.h"
#include "query/language/namespaces.h"
#include "query/language/select.h"
#include "query/language/variables.h"
#include "query/remote/remote_source.h"
#include "query/remote/row_order.h"

namespace tickstack::query {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

absl::StatusOr<Term> EvaluateProjection(Context& context, const Node& node) {
  std::vector<std::optional<Term>> args(node.children.size() - 1);
  for (size_t i = args.size(); i > 0; --i) {
    if (node.children[i] == nullptr) continue;
    TS_ASSIGN_OR_RETURN(args[i - 1], EvaluateNode(context, *node.children[i]));
  }
  TS_ASSIGN_OR_RETURN(Term x, EvaluateNode(context, *node.children[0]));
  return Project(context, std::move(x), std::move(args));
}

// Returns whether this is f[x;(y;z)] where f takes y and z without the list being made
// (Builtin::apply_to_items).
bool GoesToItems(const Node& node) {
  const Builtin* const function = node.children[0]->function;
  return node.children[0]->kind == Node::Kind::kFunction && function->apply_to_items != nullptr &&
         node.children.size() == function->max_args + 1 &&
         node.children.back()->kind == Node::Kind::kList;
}

absl::StatusOr<Term> EvaluateToItems(Context& context, const Node& node) {
  const Node& list = *node.children.back();
  const size_t first = node.children.size() - 2;  // The arguments before the items.
  std::vector<Term> args(first + list.children.size());
  for (size_t i = args.size(); i > 0; --i) {
    const NodePtr& from = i > first ? list.children[i - first - 1] : node.children[i];
    TS_ASSIGN_OR_RETURN(args[i - 1], EvaluateNode(context, *from));
  }
  TS_RETURN_IF_ERROR(context.budget.CheckTime());
  return node.children[0]->function->apply_to_items(context, args);
}

// Returns whether this is ?[t;c;b;a] with the name of a remote table, whose days the conditions
// choose. The value of the name would be the rows of the last days only.
bool IsOverRemote(Context& context, const Node& node) {
  const Node& function = *node.children[0];
  return function.kind == Node::Kind::kFunction && node.children.size() > 4 &&
         function.function == FindBuiltin("?") &&
         RemoteSource(context, *node.children[1]) != nullptr;
}

absl::StatusOr<Term> EvaluateApply(Context& context, const Node& node) {
  const auto is_missing = [](const NodePtr& child) { return child == nullptr; };
  if (std::ranges::any_of(node.children, is_missing)) return EvaluateProjection(context, node);
  const Node& function = *node.children[0];
  if (GoesToItems(node)) return EvaluateToItems(context, node);
  if (function.kind == Node::Kind::kFunction && node.children.size() == 2 &&
      node.children[1]->kind == Node::Kind::kName && function.function->Is(Builtin::kNeedsNoRows)) {
    if (const auto remote = RemoteSource(context, *node.children[1])) {
      TS_ASSIGN_OR_RETURN(std::optional<Term> term,
                          EvaluateWithoutRows(context, *remote, *function.function));
      if (term.has_value()) return *std::move(term);
    }
  }
  if (function.kind == Node::Kind::kFunction && function.function->name == "count" &&
      node.children.size() == 2 && node.children[1]->kind == Node::Kind::kQuery) {
    TS_ASSIGN_OR_RETURN(std::optional<Term> count, CountOfRows(context, *node.children[1]));
    if (count.has_value()) return *std::move(count);
  }
  const ArgumentMarks marks(context, node);
  std::vector<Term> args(node.children.size() - 1);
  const size_t names = IsOverRemote(context, node) ? 1 : 0;
  if (names == 1) args[0] = Value::Symbol(node.children[1]->name);
  for (size_t i = args.size(); i > names; --i) {
    TS_ASSIGN_OR_RETURN(args[i - 1], EvaluateNode(context, *node.children[i]));
  }
  if (function.kind == Node::Kind::kFunction) return Apply(context, *function.function, args);
  if (function.kind == Node::Kind::kName) return CallName(context, function.name, args);
  TS_ASSIGN_OR_RETURN(Term x, EvaluateNode(context, function));
  return ApplyTerm(context, std::move(x), args);
}

absl::StatusOr<Term> EvaluateDerived(Context& context, const Node& node) {
  TS_ASSIGN_OR_RETURN(Term inner, EvaluateNode(context, *node.children[0]));
  TS_ASSIGN_OR_RETURN(inner, Shared(std::move(inner), context.budget));
  TS_ASSIGN_OR_RETURN(query::Function derived, MakeDerived(node.iterator, std::move(inner)));
  return Term(std::move(derived));
}

absl::StatusOr<Term> EvaluateList(Context& context, const Node& node) {
  std::vector<Value> items(node.children.size());
  for (size_t i = items.size(); i > 0; --i) {
    TS_ASSIGN_OR_RETURN(items[i - 1], EvaluateToValue(context, *node.children[i - 1]));
  }
  return CollectItems(std::move(items), context.budget);
}

// Evaluates the columns of a table literal, from the right: vectors of one count; atoms are
// repeated.
absl::StatusOr<Term> EvaluateTable(Context& context, const Node& node) {
  std::vector<Value> columns(node.children.size());
  std::optional<size_t> rows;
  for (size_t i = columns.size(); i-- > 0;) {
    TS_ASSIGN_OR_RETURN(Value column, EvaluateToValue(context, *node.children[i]));
    const bool vector = column.is_vector() || column.is_list();
    if (!vector && !column.is_atom()) return TypeError("a column of {}", NameOf(column.type()));
    if (vector && rows.has_value() && *rows != column.count()) {
      return LengthError("columns of {} and {} rows", column.count(), *rows);
    }
    if (vector) rows = column.count();
    columns[i] = std::move(column);
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

absl::StatusOr<bool> EvaluateTest(Context& context, const Node& node) {
  TS_ASSIGN_OR_RETURN(const Value test, EvaluateToValue(context, node));
  return IsTrue(test);
}

absl::StatusOr<Term> EvaluateCond(Context& context, const Node& node) {
  size_t at = 0;
  for (; at + 1 < node.children.size(); at += 2) {
    TS_ASSIGN_OR_RETURN(const bool test, EvaluateTest(context, *node.children[at]));
    if (test) return EvaluateNode(context, *node.children[at + 1]);
  }
  return EvaluateNode(context, *node.children[at]);
}

absl::StatusOr<Term> EvaluateAssign(Context& context, const Node& node, bool wants_value);

// Evaluates a statement whose value is dropped.
absl::Status EvaluateStatement(Context& context, const Node& statement) {
  const Budget::Temporaries temporaries(context.budget);
  if (statement.kind != Node::Kind::kAssign) return EvaluateNode(context, statement).status();
  const Budget::Level level(context.budget);
  TS_RETURN_IF_ERROR(level.Check());
  return EvaluateAssign(context, statement, false).status();
}

// Evaluates the statements of a block in turn, and returns the last value.
absl::StatusOr<Term> EvaluateEach(Context& context, std::span<const NodePtr> statements) {
  TS_RETURN_IF_ERROR(context.budget.CheckTime());
  for (const NodePtr& statement : statements) {
    if (statement == nullptr) continue;
    if (&statement == &statements.back()) return EvaluateNode(context, *statement);
    TS_RETURN_IF_ERROR(EvaluateStatement(context, *statement));
  }
  return Term(Value());
}

// Evaluates if, do and while, whose statements' values are dropped.
absl::StatusOr<Term> EvaluateControl(Context& context, const Node& node) {
  const std::span<const NodePtr> statements = std::span(node.children).subspan(1);
  const auto run = [&]() -> absl::Status {
    TS_RETURN_IF_ERROR(context.budget.CheckTime());
    for (const NodePtr& statement : statements) {
      if (statement != nullptr) TS_RETURN_IF_ERROR(EvaluateStatement(context, *statement));
    }
    return absl::OkStatus();
  };
  const Node& head = *node.children[0];
  if (node.kind == Node::Kind::kDo) {
    TS_ASSIGN_OR_RETURN(const Value count, EvaluateToValue(context, head));
    const std::optional<int64_t> n = count.is_atom() ? IndexOf(count) : std::nullopt;
    if (!n.has_value()) return TypeError("do of a {}", NameOf(count.type()));
    for (int64_t i = 0; i < *n; ++i) TS_RETURN_IF_ERROR(run());
    return Term(Value());
  }
  for (;;) {
    TS_ASSIGN_OR_RETURN(const bool test, [&] {
      const Budget::Temporaries temporaries(context.budget);
      return EvaluateTest(context, head);
    }());
    if (!test) return Term(Value());
    TS_RETURN_IF_ERROR(run());
    if (node.kind == Node::Kind::kIf) return Term(Value());
  }
}

// name:value, name+:value with a function.
absl::StatusOr<Term> AssignWhole(Context& context, std::string_view name, const Builtin* function,
                                 Term value) {
  if (function != nullptr) {
    absl::StatusOr<Term> found = FindName(context, name);
    // `name,:x` begins with the empty list.
    if (absl::IsNotFound(found.status()) && function->name == ",") found = Term(Value::List({}));
    TS_RETURN_IF_ERROR(found.status());
    Term before = *std::move(found);
    if (function->name == ",") {
      TS_ASSIGN_OR_RETURN(value, Append(context, std::move(before), std::move(value)));
    } else {
      Term args[] = {std::move(before), std::move(value)};
      TS_ASSIGN_OR_RETURN(value, Apply(context, *function, args));
    }
  }
  // The value of the assignment shares its memory with the variable.
  TS_ASSIGN_OR_RETURN(value, Shared(std::move(value), context.budget));
  TS_RETURN_IF_ERROR(AssignName(context, name, value));
  return value;
}

// `.a[`b]:x` is `.a.b:x` where .a is a namespace. nullopt: it is an entry of a variable.
std::optional<std::string> EntryOfNamespace(const Context& context, std::string_view name,
                                            std::span<const Value> indices) {
  const bool entry = name.size() > 1 && name[0] == '.' && name.find('.', 1) == name.npos &&
                     indices.size() == 1 && indices[0].is_atom_of(Type::kSymbol) &&
                     !indices[0].symbol().empty() && !context.variables.Has(name);
  return entry ? std::optional(NameWithin(name, indices[0].symbol())) : std::nullopt;
}

// Returns whether a name such as `d.a` is that of an entry or column of a variable.
bool IsWithinVariable(const Context& context, std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view base = name.substr(0, dot);
  if (!context.variables.Has(base)) return false;
  const Frame& frame = context.variables.FrameOf(base);
  const bool local = &frame == context.variables.locals();
  const Term* const term = frame.Find(local ? std::string(base) : context.variables.Whole(base));
  if (term == nullptr) return false;
  const auto* const value = std::get_if<Value>(term);
  return std::holds_alternative<TableView>(*term) ||
         (value != nullptr && (value->is_dict() || value->is_table()));
}

// The value of `x[i]+:y` is that of the changed items. Without `wants_value` it is not looked up.
absl::StatusOr<Term> EvaluateAssign(Context& context, const Node& node, bool wants_value) {
  TS_ASSIGN_OR_RETURN(Term value, EvaluateNode(context, *node.children[0]));
  if (node.children.size() == 1 && !IsWithinVariable(context, node.name)) {
    return AssignWhole(context, node.name, node.function, std::move(value));
  }
  std::vector<Value> indices(node.children.size() - 1);
  for (size_t i = indices.size(); i > 0; --i) {
    TS_ASSIGN_OR_RETURN(indices[i - 1], EvaluateToValue(context, *node.children[i]));
  }
  if (const auto entry = EntryOfNamespace(context, node.name, indices)) {
    return AssignWhole(context, *entry, node.function, std::move(value));
  }
  std::string_view name = node.name;
  if (IsWithinVariable(context, name)) {  // `d.a:x` is d[`a]:x.
    std::vector<Value> path;
    const size_t dot = name.find('.');
    for (std::string_view rest = name.substr(dot + 1);; rest.remove_prefix(rest.find('.') + 1)) {
      path.push_back(Value::Symbol(rest.substr(0, rest.find('.'))));
      if (rest.find('.') == std::string_view::npos) break;
    }
    name = name.substr(0, dot);
    indices.insert(indices.begin(), path.begin(), path.end());
  }
  const Term op = query::Function(node.function);
  Change change{node.function == nullptr ? nullptr : &op, std::nullopt};
  TS_ASSIGN_OR_RETURN(change.y, ToValue(value, context.budget));
  TS_RETURN_IF_ERROR(AmendVariable(context, name, indices, change));
  if (node.function == nullptr || !wants_value) return value;
  TS_ASSIGN_OR_RETURN(Term changed, FindName(context, name));
  return IndexDeep(context, std::move(changed), indices);
}

absl::StatusOr<Term> EvaluateView(Context& context, const Node& node) {
  TS_RETURN_IF_ERROR(CheckAssignable(context, node.name));
  const auto& lambda = std::get<std::shared_ptr<const Lambda>>(node.children[0]->closure);
  TS_RETURN_IF_ERROR(
      context.variables.request().AssignView(context.variables.Whole(node.name), lambda));
  return Term(Value());
}

// Leaves the lambda, and keeps the value in its frame until then.
absl::StatusOr<Term> EvaluateReturn(Context& context, const Node& node) {
  TS_ASSIGN_OR_RETURN(Term value, EvaluateNode(context, *node.children[0]));
  context.variables.innermost().returned = std::move(value);
  return absl::CancelledError("returned");
}

absl::StatusOr<Term> EvaluateSignal(Context& context, const Node& node) {
  TS_ASSIGN_OR_RETURN(const Value text, EvaluateToValue(context, *node.children[0]));
  const bool string = text.type() == Type::kChar && !text.is_atom();
  if (!text.is_atom_of(Type::kSymbol) && !string) {
    return QError(absl::StatusCode::kInvalidArgument, "stype", "a signal that is no text");
  }
  // An error without a name would not be seen as one.
  const std::string_view name = text.text().empty() ? "signal" : text.text();
  return QError(absl::StatusCode::kInvalidArgument, name, "signalled by the request");
}

}  // namespace

absl::StatusOr<Value> ToValue(Term term, Budget& budget) {
  return std::visit(
      Overloaded{[](Value& value) -> absl::StatusOr<Value> { return std::move(value); },
                 [&](Slice& slice) -> absl::StatusOr<Value> {
                   // A vector that is copied as a whole keeps its attribute.
                   const Value* const whole = slice.IsAll() ? slice.column.value() : nullptr;
                   const Attribute attribute =
                       whole == nullptr ? Attribute::kNone : whole->attribute();
                   TS_ASSIGN_OR_RETURN(Value value, Release(std::move(slice), budget));
                   value.set_attribute(attribute);
                   return value;
                 },
                 [&](TableView& view) { return Release(std::move(view), budget); },
                 [&](query::Function& function) { return ValueOf(function, budget); }},
      term);
}

absl::StatusOr<Term> CallName(Context& context, std::string_view name, std::span<Term> args) {
  TS_ASSIGN_OR_RETURN(std::optional<Term> whole, FindWholeName(context, name));
  if (whole.has_value()) return ApplyTerm(context, *std::move(whole), args);
  if (name.starts_with('.')) {
    TS_ASSIGN_OR_RETURN(std::optional<Term> item, IndexNamespace(context, name, args));
    if (item.has_value()) return *std::move(item);
  }
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

namespace {

// True for a query that has nothing but one column and the name of a table.
bool IsColumnOfTable(const Query& query) {
  return query.verb == Query::Verb::kSelect && query.columns.size() == 1 &&
         !query.columns[0].named && !query.grouped && query.conditions.empty() &&
         query.limit == nullptr && query.order == nullptr && !query.distinct &&
         query.source != nullptr && query.source->kind == Node::Kind::kName;
}

// Refuses `*` and `count(*)` as columns: they are SQL, and q would count the operator.
absl::Status CheckColumnsOfSql(const Query& query) {
  const auto is = [](const Node& node, std::string_view name) {
    return node.kind == Node::Kind::kFunction && node.function->name == name;
  };
  for (const NamedNode& column : query.columns) {
    const Node& node = *column.node;
    const bool counts = node.kind == Node::Kind::kApply && node.children.size() == 2 &&
                        node.children[1] != nullptr && is(*node.children[0], "count") &&
                        is(*node.children[1], "*");
    if (!counts && !is(node, "*")) continue;
    if (!IsColumnOfTable(query)) return NyiError("SQL; write it in q");
    return NyiError(
        fmt::format("SQL; in q: select {}from {}", counts ? "count i " : "", query.source->name));
  }
  return absl::OkStatus();
}

absl::StatusOr<Term> EvaluateKind(Context& context, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kConstant:
      return node.value;
    case Node::Kind::kName:
      if (const RowUse use = TakeRowUse(context.budget, node); use.any_order) {
        if (const auto remote = RemoteSource(context, node)) {
          return AllRowsOf(context, *remote, use);
        }
      }
      return FindName(context, node.name);
    case Node::Kind::kFunction:
      return Term(query::Function(node.function));
    case Node::Kind::kClosure:
      return Term(node.closure);
    case Node::Kind::kApply:
      return EvaluateApply(context, node);
    case Node::Kind::kDerived:
      return EvaluateDerived(context, node);
    case Node::Kind::kList:
      return EvaluateList(context, node);
    case Node::Kind::kTable:
      return EvaluateTable(context, node);
    case Node::Kind::kCond:
      return EvaluateCond(context, node);
    case Node::Kind::kBlock:
      return EvaluateEach(context, node.children);
    case Node::Kind::kIf:
    case Node::Kind::kDo:
    case Node::Kind::kWhile:
      return EvaluateControl(context, node);
    case Node::Kind::kAssign:
      return EvaluateAssign(context, node, true);
    case Node::Kind::kView:
      return EvaluateView(context, node);
    case Node::Kind::kReturn:
      return EvaluateReturn(context, node);
    case Node::Kind::kSignal:
      return EvaluateSignal(context, node);
    case Node::Kind::kQuery:
      TS_RETURN_IF_ERROR(CheckColumnsOfSql(*node.query));
      return EvaluateQuery(context, *node.query);
  }
  return NyiError("expression");
}

}  // namespace

absl::StatusOr<Term> EvaluateNode(Context& context, const Node& node) {
  if (node.kind == Node::Kind::kConstant) return node.value;
  const Budget::Level level(context.budget);
  TS_RETURN_IF_ERROR(level.Check());
  absl::StatusOr<Term> result = EvaluateKind(context, node);
  if (!result.ok() && node.position != Node::kNoPosition &&
      result.status().code() != absl::StatusCode::kCancelled) {  // That is no error: `:x`.
    result = AtPosition(result.status(), node.position);
  }
  return result;
}

absl::StatusOr<Term> EvaluateStatements(Context& context, std::span<const NodePtr> statements) {
  absl::StatusOr<Term> last = EvaluateEach(context, statements);
  std::optional<Term>& returned = context.variables.innermost().returned;
  if (last.ok() || !returned.has_value()) return last;
  return *std::exchange(returned, std::nullopt);
}

absl::StatusOr<Value> EvaluateToValue(Context& context, const Node& node) {
  TS_ASSIGN_OR_RETURN(Term term, EvaluateNode(context, node));
  return ToValue(std::move(term), context.budget);
}

}  // namespace tickstack::query
