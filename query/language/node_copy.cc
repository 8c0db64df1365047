#include "query/language/node_copy.h"

#include <algorithm>
#include <memory>

namespace tickstack::query {
namespace {

NodePtr CopyIfAny(const NodePtr& node) { return node == nullptr ? nullptr : CopyOf(*node); }

std::vector<NamedNode> CopyOf(const std::vector<NamedNode>& phrase) {
  std::vector<NamedNode> copy;
  for (const NamedNode& each : phrase) copy.push_back({each.name, each.named, CopyOf(*each.node)});
  return copy;
}

}  // namespace

std::unique_ptr<Query> CopyOf(const Query& query) {
  auto copy = std::make_unique<Query>();
  copy->verb = query.verb;
  copy->distinct = query.distinct;
  copy->limit = CopyIfAny(query.limit);
  copy->order = CopyIfAny(query.order);
  copy->descending = query.descending;
  copy->columns = CopyOf(query.columns);
  copy->groups = CopyOf(query.groups);
  copy->grouped = query.grouped;
  copy->source = CopyIfAny(query.source);
  for (const NodePtr& condition : query.conditions) {
    copy->conditions.push_back(CopyIfAny(condition));
  }
  return copy;
}

NodePtr CopyOf(const Node& node) {
  auto copy = std::make_unique<Node>();
  copy->kind = node.kind;
  copy->depth = node.depth;
  copy->position = node.position;
  copy->value = node.value;
  copy->name = node.name;
  copy->function = node.function;
  copy->closure = node.closure;
  copy->iterator = node.iterator;
  for (const NodePtr& child : node.children) copy->children.push_back(CopyIfAny(child));
  copy->names = node.names;
  copy->key_columns = node.key_columns;
  if (node.query != nullptr) copy->query = CopyOf(*node.query);
  return copy;
}

NodePtr ConstantNode(Value value) {
  auto node = std::make_unique<Node>();
  node->value = std::move(value);
  return node;
}

NodePtr NameNode(std::string_view name) {
  auto node = std::make_unique<Node>();
  node->kind = Node::Kind::kName;
  node->name = name;
  return node;
}

NodePtr FunctionNode(std::string_view builtin) {
  auto node = std::make_unique<Node>();
  node->kind = Node::Kind::kFunction;
  node->function = FindBuiltin(builtin);
  return node;
}

NodePtr ApplyNode(std::string_view builtin, std::vector<NodePtr> args) {
  auto node = std::make_unique<Node>();
  node->kind = Node::Kind::kApply;
  node->children.push_back(FunctionNode(builtin));
  for (NodePtr& arg : args) {
    node->depth = std::max(node->depth, arg->depth + 1);
    node->children.push_back(std::move(arg));
  }
  return node;
}

}  // namespace tickstack::query
