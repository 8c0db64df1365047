#include "query/language/tree_of_node.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/language/function_value.h"
#include "query/language/term.h"

namespace tickstack::query {
namespace {

bool IsSymbolAtom(const Value& value) { return value.is_atom_of(Type::kSymbol); }

// Returns a list of tree items. Symbols alone become a vector, as in q; anything else stays a list,
// so that an application does not become a constant.
Value TreeList(std::vector<Value> items) {
  const bool names = std::ranges::all_of(items, IsSymbolAtom) && !items.empty();
  return names ? Collapse(std::move(items)) : Value::List(std::move(items));
}

// Returns a tree that evaluates to the value itself.
Value Quoted(Value value) {
  std::vector<Value> one;
  one.push_back(std::move(value));
  return TreeList(std::move(one));
}

class TreeWriter {
 public:
  explicit TreeWriter(Budget& budget) : budget_(budget) {}
  // With `quote_lists`, a list that is a constant is quoted, so that it is not an application.
  TreeWriter(Budget& budget, bool quote_lists) : budget_(budget), quote_lists_(quote_lists) {}

  absl::StatusOr<Value> Write(const Node& node) {
    TS_RETURN_IF_ERROR(budget_.ChargeItems(2));
    switch (node.kind) {
      case Node::Kind::kConstant:
        return Constant(node.value);
      case Node::Kind::kName:
        return Value::Symbol(node.name);
      case Node::Kind::kFunction:
        return BuiltinTree(*node.function);
      case Node::Kind::kClosure:
        return ValueOf(node.closure, budget_);
      case Node::Kind::kApply:
        return Listed(std::vector<Value>(), node.children);
      case Node::Kind::kDerived:
        return Listed(Head(IteratorValue(node.iterator)), node.children);
      case Node::Kind::kList:
        return Call("enlist", node.children);
      case Node::Kind::kTable:
        return Table(node);
      case Node::Kind::kCond:
        return Call("$", node.children);
      case Node::Kind::kBlock:
        return Statements(node.children);
      case Node::Kind::kIf:
        return Listed(Head(Value::Symbol("if")), node.children);
      case Node::Kind::kDo:
        return Listed(Head(Value::Symbol("do")), node.children);
      case Node::Kind::kWhile:
        return Listed(Head(Value::Symbol("while")), node.children);
      case Node::Kind::kAssign:
        return Assignment(node);
      case Node::Kind::kView:
        return NyiError("parse of a view");
      case Node::Kind::kReturn:
        return Call(":", node.children);
      case Node::Kind::kSignal:
        return NyiError("parse of a signal");
      case Node::Kind::kQuery:
        return QueryTree(*node.query);
    }
    return NyiError("parse");
  }

  absl::StatusOr<Value> Statements(std::span<const NodePtr> statements) {
    return Listed(Head(Value::Char(';')), statements, Value());
  }

  absl::StatusOr<Value> QueryTree(const Query& query) {
    const bool reads = query.verb == Query::Verb::kSelect || query.is_exec();
    std::vector<Value> items;
    TS_ASSIGN_OR_RETURN(items.emplace_back(), BuiltinNamed(reads ? "?" : "!"));
    TS_ASSIGN_OR_RETURN(items.emplace_back(), Write(*query.source));
    std::vector<Value> conditions;
    for (const NodePtr& condition : query.conditions) {
      TS_ASSIGN_OR_RETURN(conditions.emplace_back(), Write(*condition));
    }
    items.push_back(conditions.empty() ? Value::List({}) : Quoted(TreeList(std::move(conditions))));
    TS_ASSIGN_OR_RETURN(items.emplace_back(), Groups(query));
    TS_ASSIGN_OR_RETURN(items.emplace_back(), Columns(query));
    if (query.limit != nullptr) {
      TS_ASSIGN_OR_RETURN(items.emplace_back(), Write(*query.limit));
    } else if (query.order != nullptr) {
      items.push_back(Value::Long(kInfinityLong));
    }
    if (query.order != nullptr) {
      std::vector<Value> order = Head(*UnaryFormOf(query.descending ? ">" : "<"));
      TS_ASSIGN_OR_RETURN(order.emplace_back(), Write(*query.order));
      items.push_back(Quoted(Value::List(std::move(order))));
    }
    return Value::List(std::move(items));
  }

 private:
  static std::vector<Value> Head(Value head) {
    std::vector<Value> items;
    items.push_back(std::move(head));
    return items;
  }
  absl::StatusOr<Value> BuiltinTree(const Builtin& builtin) { return ValueOf(&builtin, budget_); }
  absl::StatusOr<Value> BuiltinNamed(std::string_view name) {
    return BuiltinTree(*FindBuiltin(name));
  }

  absl::StatusOr<Value> Constant(const Value& value) {
    TS_RETURN_IF_ERROR(budget_.Charge(ApproximateBytes(value)));
    const bool names = value.type() == Type::kSymbol;
    const bool list = quote_lists_ && value.is_list() && value.count() > 0;
    return names || list ? Quoted(value) : value;
  }

  // Returns the nodes after `items`, with `missing` for absent ones.
  absl::StatusOr<Value> Listed(std::vector<Value> items, std::span<const NodePtr> nodes,
                               const Value& missing = MissingArgument()) {
    TS_RETURN_IF_ERROR(budget_.ChargeItems(nodes.size()));
    for (const NodePtr& node : nodes) {
      if (node == nullptr) {
        items.push_back(missing);
      } else {
        TS_ASSIGN_OR_RETURN(items.emplace_back(), Write(*node));
      }
    }
    return TreeList(std::move(items));
  }
  absl::StatusOr<Value> Call(std::string_view builtin, std::span<const NodePtr> args) {
    TS_ASSIGN_OR_RETURN(Value head, BuiltinNamed(builtin));
    return Listed(Head(std::move(head)), args);
  }

  // Makes the tree of an assignment: children[0] is the target, the others are indices.
  absl::StatusOr<Value> Assignment(const Node& node) {
    std::vector<Value> items;
    if (node.function == nullptr) {
      TS_ASSIGN_OR_RETURN(items.emplace_back(), BuiltinNamed(":"));
    } else {
      std::optional<Value> head = UnaryFormOf(node.function->name);
      if (!head.has_value()) return NyiError(fmt::format("parse of {}:", node.function->name));
      items.push_back(*std::move(head));
    }
    if (node.children.size() == 1) {
      items.push_back(Value::Symbol(node.name));
    } else {
      TS_ASSIGN_OR_RETURN(items.emplace_back(), Listed(Head(Value::Symbol(node.name)),
                                                       std::span(node.children).subspan(1)));
    }
    TS_ASSIGN_OR_RETURN(items.emplace_back(), Write(*node.children[0]));
    return TreeList(std::move(items));
  }

  absl::StatusOr<Value> Table(const Node& node) {
    SymbolVector names;
    for (const std::string& name : node.names) names.push_back(name);
    std::vector<Value> dict, flipped;
    TS_ASSIGN_OR_RETURN(dict.emplace_back(), BuiltinNamed("!"));
    dict.push_back(Quoted(Value::Symbols(std::move(names))));
    TS_ASSIGN_OR_RETURN(dict.emplace_back(), Call("enlist", node.children));
    TS_ASSIGN_OR_RETURN(flipped.emplace_back(), BuiltinNamed("flip"));
    flipped.push_back(Value::List(std::move(dict)));
    Value table = Value::List(std::move(flipped));
    if (node.key_columns == 0) return table;
    std::vector<Value> keyed;
    TS_ASSIGN_OR_RETURN(keyed.emplace_back(), BuiltinNamed("!"));
    keyed.push_back(Value::Long(static_cast<int64_t>(node.key_columns)));
    keyed.push_back(std::move(table));
    return Value::List(std::move(keyed));
  }

  // Returns a phrase as a dictionary of names to trees.
  absl::StatusOr<Value> Phrase(const std::vector<NamedNode>& phrase) {
    UniqueNames unique;
    SymbolVector names;
    std::vector<Value> trees;
    for (const NamedNode& column : phrase) {
      names.push_back(unique.Next(column.name));
      TS_ASSIGN_OR_RETURN(trees.emplace_back(), Write(*column.node));
    }
    return Value::Dict(Value::Symbols(std::move(names)), TreeList(std::move(trees)));
  }
  // Returns a phrase of exec: the tree of one column without a name, otherwise a dictionary.
  absl::StatusOr<Value> ExecPhrase(const std::vector<NamedNode>& phrase) {
    if (phrase.empty()) return Value::List({});
    if (phrase.size() > 1 || phrase[0].named) return Phrase(phrase);
    TS_ASSIGN_OR_RETURN(Value tree, Write(*phrase[0].node));
    return Quoted(std::move(tree));
  }

  absl::StatusOr<Value> Groups(const Query& query) {
    if (query.is_exec()) return ExecPhrase(query.groups);
    if (!query.grouped) return Value::Boolean(query.distinct);
    if (query.distinct) return NyiError("select distinct by");
    return Phrase(query.groups);
  }

  absl::StatusOr<Value> Columns(const Query& query) {
    if (query.is_exec()) return ExecPhrase(query.columns);
    if (query.verb != Query::Verb::kDelete) {
      return query.columns.empty() ? Value::List({}) : Phrase(query.columns);
    }
    SymbolVector names;
    for (const NamedNode& column : query.columns) names.push_back(column.name);
    if (names.empty()) return Value::Symbols({});
    return Quoted(Value::Symbols(std::move(names)));
  }

  Budget& budget_;
  const bool quote_lists_ = false;
};

}  // namespace

absl::StatusOr<Value> TreeOfStatements(std::span<const NodePtr> statements, Budget& budget) {
  if (statements.size() != 1) return TreeWriter(budget).Statements(statements);
  if (statements[0] == nullptr) return Value();
  return TreeWriter(budget).Write(*statements[0]);
}

absl::StatusOr<Value> TreeOfNode(const Node& node, Budget& budget) {
  return TreeWriter(budget, /*quote_lists=*/true).Write(node);
}

absl::StatusOr<Value> TreeOfQuery(const Query& query, Budget& budget) {
  return TreeWriter(budget, /*quote_lists=*/true).QueryTree(query);
}

absl::StatusOr<Value> TreeOfBuiltin(std::string_view name, Budget& budget) {
  return ValueOf(FindBuiltin(name), budget);
}

Value QuotedTree(Value value) { return Quoted(std::move(value)); }

Value TreeOfItems(std::vector<Value> items) { return TreeList(std::move(items)); }

}  // namespace tickstack::query
