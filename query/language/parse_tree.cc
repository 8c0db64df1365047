#include "query/language/parse_tree.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/function_value.h"
#include "query/language/functions.h"
#include "query/language/parser.h"
#include "query/language/select.h"

namespace tickstack::query {
namespace {

class TreeReader {
 public:
  explicit TreeReader(Budget& budget) : budget_(budget) {}

  absl::StatusOr<NodePtr> Read(const Value& tree, int depth) {
    if (depth > budget_.max_depth()) return StackError("more than {} levels", budget_.max_depth());
    TS_RETURN_IF_ERROR(budget_.Charge(sizeof(Node)));
    if (tree.is_atom_of(Type::kSymbol)) return Name(tree.symbol());
    if (tree.is_function() && !tree.is_null()) return FunctionNode(tree);
    // A list of names alone is a vector of them: one is itself, several are an application.
    const bool application = (tree.is_list() || tree.is(Type::kSymbol)) && tree.count() > 1;
    if (application) return Application(tree, depth);
    const bool enlisted = (tree.is_list() || tree.is(Type::kSymbol)) && tree.count() == 1;
    if (enlisted) TS_RETURN_IF_ERROR(budget_.Charge(ApproximateBytes(tree)));
    return Constant(enlisted ? ItemAt(tree, 0) : tree);
  }

 private:
  static absl::StatusOr<NodePtr> Name(std::string_view name) {
    if (const Builtin* const builtin = FindBuiltin(name)) return BuiltinNode(builtin);
    if (IsReservedWord(name)) return NyiError(name);
    auto node = std::make_unique<Node>();
    node->kind = Node::Kind::kName;
    node->name = name;
    return node;
  }
  static NodePtr BuiltinNode(const Builtin* builtin) {
    auto node = std::make_unique<Node>();
    node->kind = Node::Kind::kFunction;
    node->function = builtin;
    return node;
  }
  static absl::StatusOr<NodePtr> Constant(Value value) {
    auto node = std::make_unique<Node>();
    node->value = std::move(value);
    return node;
  }
  absl::StatusOr<NodePtr> FunctionNode(const Value& value) {
    TS_ASSIGN_OR_RETURN(Function function, FunctionOf(value, budget_));
    if (const auto* builtin = std::get_if<const Builtin*>(&function)) return BuiltinNode(*builtin);
    auto node = std::make_unique<Node>();
    node->kind = Node::Kind::kClosure;
    node->closure = std::move(function);
    return node;
  }
  absl::StatusOr<NodePtr> Application(const Value& tree, int depth) {
    if (tree.count() > kMaxParameters + 1) return RankError("{} arguments", tree.count() - 1);
    auto node = std::make_unique<Node>();
    node->kind = Node::Kind::kApply;
    for (size_t i = 0; i < tree.count(); ++i) {
      TS_ASSIGN_OR_RETURN(NodePtr child, Read(ItemAt(tree, i), depth + 1));
      node->depth = std::max(node->depth, child->depth + 1);
      node->children.push_back(std::move(child));
    }
    const Builtin* const head = node->children[0]->function;
    if (head != nullptr && head->name == ":") return NyiError("eval of an assignment");
    if (head != nullptr && head->name == "$" && node->children.size() > 3) {
      if (node->children.size() % 2 != 0) return NyiError("$[;;;]");
      node->children.erase(node->children.begin());
      node->kind = Node::Kind::kCond;
    }
    return node;
  }

  Budget& budget_;
};

bool IsEmptyList(const Value& value) { return value.is_list() && value.count() == 0; }

// A dictionary of names and trees, or a symbol atom or vector of columns, as a phrase of a query.
absl::StatusOr<std::vector<NamedNode>> PhraseOf(const Value& phrase, Budget& budget) {
  std::vector<NamedNode> columns;
  const auto add = [&](std::string_view name, const Value& tree) -> absl::Status {
    NamedNode column;
    TS_ASSIGN_OR_RETURN(column.node, NodeOfTree(tree, budget));
    column.name = name;
    column.named = true;
    columns.push_back(std::move(column));
    return absl::OkStatus();
  };
  if (!phrase.is_dict() || !(phrase.keys().is(Type::kSymbol) || phrase.keys().count() == 0) ||
      !(phrase.values().is_vector() || phrase.values().is_list()) ||
      phrase.values().count() != phrase.keys().count()) {
    return TypeError("a phrase that is no dictionary of names");
  }
  for (size_t i = 0; i < phrase.keys().count(); ++i) {
    TS_RETURN_IF_ERROR(add(phrase.keys().symbols()[i], ItemAt(phrase.values(), i)));
  }
  return columns;
}

// One column without a name of its own.
absl::StatusOr<std::vector<NamedNode>> SinglePhrase(const Value& tree, Budget& budget) {
  std::vector<NamedNode> columns(1);
  TS_ASSIGN_OR_RETURN(columns[0].node, NodeOfTree(tree, budget));
  columns[0].name = NameOfColumn(*columns[0].node);
  return columns;
}

absl::Status AddConditions(const Value& list, Query& query, Budget& budget) {
  if (!list.is_list() && !list.is(Type::kSymbol)) return TypeError("conditions that are no list");
  for (size_t i = 0; i < list.count(); ++i) {
    TS_ASSIGN_OR_RETURN(NodePtr condition, NodeOfTree(ItemAt(list, i), budget));
    query.conditions.push_back(std::move(condition));
  }
  return absl::OkStatus();
}

// The table, evaluated before: a name stays one, so that a stored table's partitions are picked.
absl::StatusOr<Term> Run(Context& context, Query& query, Term& table, bool by_name_is_value) {
  query.source = std::make_unique<Node>();
  if (auto* name = std::get_if<Value>(&table); name != nullptr && name->is_atom_of(Type::kSymbol)) {
    if (by_name_is_value) {
      query.source->kind = Node::Kind::kName;
      query.source->name = name->symbol();
    } else {
      query.source->value = std::move(*name);
    }
    return EvaluateQuery(context, query);
  }
  TS_ASSIGN_OR_RETURN(TableView view, ToView(context, std::move(table)));
  return EvaluateQueryOver(context, query, std::move(view));
}

bool IsFlag(const Value& value, bool flag) {
  return value.is_atom_of(Type::kBoolean) && (value.as<uint8_t>() != 0) == flag;
}

}  // namespace

absl::StatusOr<NodePtr> NodeOfTree(const Value& tree, Budget& budget) {
  return TreeReader(budget).Read(tree, 1);
}

absl::StatusOr<Term> FunctionalSelect(Context& context, std::span<Term> args) {
  Budget& budget = context.budget;
  std::vector<Value> parts;
  for (Term& arg : args.subspan(1)) {
    TS_ASSIGN_OR_RETURN(parts.emplace_back(), ToValue(std::move(arg), budget));
  }
  const Value &conditions = parts[0], &by = parts[1], &columns = parts[2];
  Query query;
  TS_RETURN_IF_ERROR(AddConditions(conditions, query, budget));
  query.distinct = IsFlag(by, true);
  const bool plain = IsFlag(by, true) || IsFlag(by, false);
  const bool exec = IsEmptyList(by) || (!plain && !by.is_dict()) ||
                    (by.is_dict() && !columns.is_dict() && !IsEmptyList(columns));
  query.verb = exec ? Query::Verb::kExec : Query::Verb::kSelect;
  if (!plain && !IsEmptyList(by)) {
    query.grouped = true;
    if (by.is_dict()) {
      TS_ASSIGN_OR_RETURN(query.groups, PhraseOf(by, budget));
    } else {
      TS_ASSIGN_OR_RETURN(query.groups, SinglePhrase(by, budget));
    }
    if (query.groups.empty()) return NyiError("by of nothing");
  }
  if (columns.is_dict()) {
    TS_ASSIGN_OR_RETURN(query.columns, PhraseOf(columns, budget));
  } else if (!IsEmptyList(columns)) {
    if (!exec) return TypeError("columns that are no dictionary");
    TS_ASSIGN_OR_RETURN(query.columns, SinglePhrase(columns, budget));
  }
  if (parts.size() > 3) {
    query.limit = std::make_unique<Node>();
    query.limit->value = parts[3];
  }
  return Run(context, query, args[0], true);
}

absl::StatusOr<Term> FunctionalUpdate(Context& context, std::span<Term> args) {
  Budget& budget = context.budget;
  std::vector<Value> parts;
  for (Term& arg : args.subspan(1)) {
    TS_ASSIGN_OR_RETURN(parts.emplace_back(), ToValue(std::move(arg), budget));
  }
  const Value &conditions = parts[0], &by = parts[1], &columns = parts[2];
  Query query;
  TS_RETURN_IF_ERROR(AddConditions(conditions, query, budget));
  if (columns.is_dict()) {
    query.verb = Query::Verb::kUpdate;
    TS_ASSIGN_OR_RETURN(query.columns, PhraseOf(columns, budget));
    if (query.columns.empty()) return LengthError("an update of no columns");
    if (by.is_dict()) {
      query.grouped = true;
      TS_ASSIGN_OR_RETURN(query.groups, PhraseOf(by, budget));
      if (query.groups.empty()) return NyiError("by of nothing");
    } else if (!IsFlag(by, false)) {
      return TypeError("groups that are no dictionary");
    }
    return Run(context, query, args[0], false);
  }
  query.verb = Query::Verb::kDelete;
  if (columns.type() != Type::kSymbol && !IsEmptyList(columns)) {
    return TypeError("columns to delete that are no names");
  }
  for (size_t i = 0; i < columns.count(); ++i) {
    NamedNode column;
    column.name = columns.is_atom() ? columns.symbol() : columns.symbols()[i];
    if (column.name.empty()) continue;
    column.node = std::make_unique<Node>();
    column.node->kind = Node::Kind::kName;
    column.node->name = column.name;
    query.columns.push_back(std::move(column));
  }
  return Run(context, query, args[0], false);
}

}  // namespace tickstack::query
