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
    // A list of names alone is a vector of them: one name is itself, several are an application.
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
  static NodePtr NewNode(Node::Kind kind) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    return node;
  }

  // Adds the items of a tree from `first` on as children of a node; a missing argument has no node.
  absl::StatusOr<NodePtr> WithChildren(NodePtr node, const Value& tree, size_t first, int depth) {
    for (size_t i = first; i < tree.count(); ++i) {
      const Value item = ItemAt(tree, i);
      if (IsMissingArgument(item)) {
        const bool allowed = node->kind == Node::Kind::kApply || node->kind == Node::Kind::kList;
        node->children.push_back(allowed ? nullptr : NewNode(Node::Kind::kConstant));
        continue;
      }
      TS_ASSIGN_OR_RETURN(NodePtr child, Read(item, depth + 1));
      node->depth = std::max(node->depth, child->depth + 1);
      node->children.push_back(std::move(child));
    }
    return node;
  }

  // Returns the node of a tree that is a special form by its head; nullptr if it is an application.
  absl::StatusOr<NodePtr> SpecialForm(const Value& tree, const Value& head, int depth) {
    constexpr std::pair<std::string_view, Node::Kind> kControls[] = {
        {"if", Node::Kind::kIf}, {"do", Node::Kind::kDo}, {"while", Node::Kind::kWhile}};
    if (head.is_atom_of(Type::kSymbol)) {
      for (const auto& [word, kind] : kControls) {
        if (head.symbol() == word) return WithChildren(NewNode(kind), tree, 1, depth);
      }
      return NodePtr();
    }
    if (head.is_atom_of(Type::kChar) && head.text() == ";") {
      return WithChildren(NewNode(Node::Kind::kBlock), tree, 1, depth);
    }
    if (const std::optional<Iterator> iterator = IteratorOf(head); iterator.has_value()) {
      if (tree.count() != 2) return RankError("an iterator of {} values", tree.count() - 1);
      NodePtr node = NewNode(Node::Kind::kDerived);
      node->iterator = *iterator;
      return WithChildren(std::move(node), tree, 1, depth);
    }
    const Builtin* const through = OperatorOfUnaryForm(head);
    if (through != nullptr && tree.count() == 3) return Assignment(tree, through, depth);
    return NodePtr();
  }

  // Makes (:;`a;x) or (:;(`a;i);x); `through` is the operator of a+:x.
  absl::StatusOr<NodePtr> Assignment(const Value& tree, const Builtin* through, int depth) {
    const Value target = ItemAt(tree, 1);
    const bool indexed = (target.is_list() || target.is(Type::kSymbol)) && target.count() > 1;
    const Value name = indexed ? ItemAt(target, 0) : target;
    if (!name.is_atom_of(Type::kSymbol)) {
      return QError(absl::StatusCode::kInvalidArgument, "assign", "only names are assigned");
    }
    NodePtr node = NewNode(Node::Kind::kAssign);
    node->name = name.symbol();
    node->function = through;
    TS_ASSIGN_OR_RETURN(node, WithChildren(std::move(node), tree, 2, depth));
    if (indexed) {
      TS_ASSIGN_OR_RETURN(node, WithChildren(std::move(node), target, 1, depth));
    }
    return node;
  }

  absl::StatusOr<NodePtr> Application(const Value& tree, int depth) {
    const Value head = ItemAt(tree, 0);
    TS_ASSIGN_OR_RETURN(NodePtr special, SpecialForm(tree, head, depth));
    if (special != nullptr) return special;
    TS_ASSIGN_OR_RETURN(NodePtr function, Read(head, depth + 1));
    const std::string_view name =
        function->function != nullptr ? function->function->name : std::string_view();
    if (name == ":" && tree.count() == 3) return Assignment(tree, nullptr, depth);
    if (name == ":" && tree.count() == 2) return Read(ItemAt(tree, 1), depth + 1);
    if (name == "$" && tree.count() > 3) {
      if (tree.count() % 2 != 0) return NyiError("$[;;;]");
      return WithChildren(NewNode(Node::Kind::kCond), tree, 1, depth);
    }
    if (name == "enlist" && tree.count() > 2) {
      TS_ASSIGN_OR_RETURN(NodePtr list, WithChildren(NewNode(Node::Kind::kList), tree, 1, depth));
      const auto is_missing = [](const NodePtr& item) { return item == nullptr; };
      if (std::ranges::none_of(list->children, is_missing)) return list;
    }
    if (tree.count() > kMaxParameters + 1) return RankError("{} arguments", tree.count() - 1);
    NodePtr node = NewNode(Node::Kind::kApply);
    node->depth = function->depth + 1;
    node->children.push_back(std::move(function));
    // Keeps a table's name, so that the query decides which partitions it opens.
    const Value source = ItemAt(tree, 1);
    const bool of_name = name == "?" && tree.count() > 4 && source.is_atom_of(Type::kSymbol);
    if (of_name) {
      TS_ASSIGN_OR_RETURN(NodePtr quoted, Constant(source));
      node->children.push_back(std::move(quoted));
    }
    return WithChildren(std::move(node), tree, of_name ? 2 : 1, depth);
  }

  Budget& budget_;
};

bool IsEmptyList(const Value& value) { return value.is_list() && value.count() == 0; }

// Makes a phrase of a query from a dictionary of names and trees, or from one or more columns'
// symbols.
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

// Makes a phrase of one column without a name.
absl::StatusOr<std::vector<NamedNode>> SinglePhrase(const Value& tree, Budget& budget) {
  std::vector<NamedNode> columns(1);
  TS_ASSIGN_OR_RETURN(columns[0].node, NodeOfTree(tree, budget));
  columns[0].name = NameOfColumn(*columns[0].node);
  return columns;
}

absl::Status AddConditions(const Value& list, Query& query, Budget& budget) {
  if (!list.is_list() && !list.is_vector()) return TypeError("conditions that are no list");
  for (size_t i = 0; i < list.count(); ++i) {
    TS_ASSIGN_OR_RETURN(NodePtr condition, NodeOfTree(ItemAt(list, i), budget));
    query.conditions.push_back(std::move(condition));
  }
  return absl::OkStatus();
}

// Takes (idesc;`a), the order of select[>a].
absl::Status SetOrder(const Value& order, Query& query, Budget& budget) {
  if (order.count() != 2 || !(order.is_list() || order.is(Type::kSymbol))) {
    return TypeError("an order that is no list of a function and a column");
  }
  TS_ASSIGN_OR_RETURN(const NodePtr grade, NodeOfTree(ItemAt(order, 0), budget));
  const std::string_view name =
      grade->function != nullptr ? grade->function->name : std::string_view();
  if (name != "iasc" && name != "idesc") return TypeError("an order by what is not iasc or idesc");
  query.descending = name == "idesc";
  TS_ASSIGN_OR_RETURN(query.order, NodeOfTree(ItemAt(order, 1), budget));
  return absl::OkStatus();
}

// Runs a query over a table that was evaluated before. A stored table is still a name, so that the
// query picks its partitions.
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
  const auto* const dict = std::get_if<Value>(&table);
  const bool entries = query.verb == Query::Verb::kDelete && dict != nullptr && dict->is_dict() &&
                       !dict->is_keyed_table();
  if (entries) {
    query.source->value = *dict;
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
  if (parts.size() > 4) TS_RETURN_IF_ERROR(SetOrder(parts[4], query, budget));
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
