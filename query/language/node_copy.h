#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "query/language/ast.h"

namespace tickstack::query {

// Return copies, with copies of everything inside.
NodePtr CopyOf(const Node& node);
std::unique_ptr<Query> CopyOf(const Query& query);

// Return new expressions.
NodePtr ConstantNode(Value value);
NodePtr NameNode(std::string_view name);
NodePtr FunctionNode(std::string_view builtin);  // The built-in must exist.
// Applies a built-in to arguments.
NodePtr ApplyNode(std::string_view builtin, std::vector<NodePtr> args);

template <typename... Args>
NodePtr CallNode(std::string_view builtin, Args... args) {
  std::vector<NodePtr> list;
  (list.push_back(std::move(args)), ...);
  return ApplyNode(builtin, std::move(list));
}

}  // namespace tickstack::query
