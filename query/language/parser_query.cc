// Parses the phrases of a query, and table literals: both have columns with names.

#include <algorithm>

#include "query/columns/errors.h"
#include "query/columns/table_view.h"
#include "query/language/parser.h"
#include "query/language/parser_state.h"

namespace tickstack::query {
namespace {

// The most columns of a query or table literal. Names are compared with each other, so their number
// must be bounded.
constexpr size_t kColumnsMax = 4096;

// True for functions whose first argument names a column: arithmetic and comparisons.
bool NamesByFirst(const Node& function) {
  return function.kind == Node::Kind::kFunction && function.function->infix &&
         !function.function->names_by_last;
}

absl::Status TooManyColumns() { return LimitError("more than {} columns", kColumnsMax); }

}  // namespace

// Returns q's name for a column without one. It is that of the first argument of arithmetic and of
// comparisons, of the last argument of any other function, and so on down to a name; of a list,
// that of the last item. `x` if this ends at something else than a name, or at the virtual column.
std::string NameOfColumn(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kName: {
      const std::string name = node.name.substr(node.name.rfind('.') + 1);
      return name == "i" || name.empty() ? "x" : name;
    }
    case Node::Kind::kApply:
    case Node::Kind::kList: {
      const bool first = node.kind == Node::Kind::kApply && NamesByFirst(*node.children[0]);
      const NodePtr& named = first ? node.children[1] : node.children.back();
      return named == nullptr ? "x" : NameOfColumn(*named);
    }
    case Node::Kind::kAssign:
      return node.children.size() == 1 ? node.name.substr(node.name.rfind('.') + 1) : "x";
    case Node::Kind::kConstant:
    case Node::Kind::kFunction:
    case Node::Kind::kClosure:
    case Node::Kind::kDerived:
    case Node::Kind::kTable:
    case Node::Kind::kCond:
    case Node::Kind::kBlock:
    case Node::Kind::kIf:
    case Node::Kind::kDo:
    case Node::Kind::kWhile:
    case Node::Kind::kView:
    case Node::Kind::kReturn:
    case Node::Kind::kSignal:
    case Node::Kind::kQuery:
      break;
  }
  return "x";
}

absl::StatusOr<NamedNode> Parser::NamedExpression() {
  NamedNode named;
  if (Peek().kind == TokenKind::kName && Peek(1).Is(TokenKind::kOperator, ":")) {
    named.name = Take().text;
    named.named = true;
    Take();
  }
  TS_ASSIGN_OR_RETURN(named.node, RequiredExpression(","));
  if (!named.named) named.name = NameOfColumn(*named.node);
  return named;
}

// ([key:x] a:y;b:z), after its opening parenthesis.
Parser::Result Parser::TableLiteral(const Token& open) {
  NodePtr table = NewNode(Node::Kind::kTable);
  UniqueNames names;
  for (const std::string_view close : {"]", ")"}) {
    if (close == "]") Take();
    while (Peek().kind != TokenKind::kClose) {
      TS_ASSIGN_OR_RETURN(NamedNode column, NamedExpression());
      if (table->names.size() == kColumnsMax) return TooManyColumns();
      table->names.push_back(names.Next(column.name));
      table->children.push_back(std::move(column.node));
      if (Peek().kind != TokenKind::kSemicolon) break;
      Take();
    }
    TS_RETURN_IF_ERROR(Expect(TokenKind::kClose, close, open));
    if (close == "]") table->key_columns = table->children.size();
    if (close == "]" && Peek().kind == TokenKind::kSemicolon) Take();
  }
  if (table->children.empty()) {
    return ParseError("(", open.position, "a table without columns");
  }
  if (table->children.size() == table->key_columns) return DictLiteral(std::move(table));
  return Checked(std::move(table));
}

// ([a:1;b:2]), which is `a`b!(1;2).
Parser::Result Parser::DictLiteral(NodePtr columns) {
  SymbolVector names;
  for (const std::string& name : columns->names) names.push_back(name);
  NodePtr values = NewNode(Node::Kind::kList);
  values->children = std::move(columns->children);
  std::vector<NodePtr> sides(2);
  TS_ASSIGN_OR_RETURN(sides[0], Constant(Value::Symbols(std::move(names))));
  TS_ASSIGN_OR_RETURN(sides[1], Checked(std::move(values)));
  return MakeApply(FunctionNode(*FindBuiltin("!")), std::move(sides));
}

absl::Status Parser::QueryColumns(std::vector<NamedNode>& columns) {
  const Saved<bool> comma(comma_ends_, true), where(where_ends_, false);
  if (AtEndOfExpression() && !AtOperator(",")) return absl::OkStatus();
  for (;;) {
    TS_ASSIGN_OR_RETURN(NamedNode column, NamedExpression());
    if (columns.size() == kColumnsMax) return TooManyColumns();
    columns.push_back(std::move(column));
    if (!AtOperator(",")) return absl::OkStatus();
    Take();
  }
}

absl::Status Parser::QueryConditions(Query& query) {
  const Saved<bool> comma(comma_ends_, true), where(where_ends_, false);
  for (;;) {
    TS_ASSIGN_OR_RETURN(NodePtr condition, RequiredExpression("where"));
    query.conditions.push_back(std::move(condition));
    if (!AtOperator(",")) return absl::OkStatus();
    Take();
  }
}

// Parses the [n], [>column] or [n;<column] of a select.
absl::Status Parser::QueryLimit(Query& query) {
  const Token open = Take();
  const Saved<bool> comma(comma_ends_, false), where(where_ends_, false);
  const auto at_order = [&] { return AtOperator("<") || AtOperator(">"); };
  if (!at_order()) {
    TS_ASSIGN_OR_RETURN(query.limit, RequiredExpression("select[]"));
    if (Peek().kind != TokenKind::kSemicolon) return Expect(TokenKind::kClose, "]", open);
    Take();
    if (!at_order()) return NyiError("select[;]");
  }
  const Token direction = Take();
  query.descending = direction.text == ">";
  TS_ASSIGN_OR_RETURN(query.order, RequiredExpression(direction.text));
  return Expect(TokenKind::kClose, "]", open);
}

// Checks which phrases a verb has, needs and permits.
static absl::Status CheckPhrases(const Query& query) {
  if (query.verb == Query::Verb::kUpdate && query.columns.empty()) {
    return QError(absl::StatusCode::kInvalidArgument, "update", "no columns to update");
  }
  if (query.verb != Query::Verb::kDelete) return absl::OkStatus();
  if (query.grouped) return NyiError("delete by");
  const bool names = std::ranges::all_of(query.columns, [](const NamedNode& column) {
    return !column.named && column.node->kind == Node::Kind::kName;
  });
  return names ? absl::OkStatus() : TypeError("delete of what is no column");
}

// `exec a,b by 0b`: no groups, but a table, as select answers. One column without a name has no
// answer in q (code.kx.com/q/basics/funsql), and is nyi when it is evaluated.
static bool IsTableOfExec(const Query& query) {
  return query.is_exec() && query.GroupsByNothing() &&
         (query.columns.size() > 1 || (query.columns.size() == 1 && query.columns[0].named));
}

Parser::Result Parser::QueryExpression(Query::Verb verb) {
  auto query = std::make_unique<Query>();
  query->verb = verb;
  const bool exec = verb == Query::Verb::kExec;
  if (Peek().Is(TokenKind::kOpen, "[") && !Peek().after_blank) {
    if (verb != Query::Verb::kSelect) return NyiError(exec ? "exec[" : "update[");
    TS_RETURN_IF_ERROR(QueryLimit(*query));
  }
  if (AtName("distinct") && verb == Query::Verb::kSelect) {  // Anywhere else it is the function.
    Take();
    query->distinct = true;
  }
  TS_RETURN_IF_ERROR(QueryColumns(query->columns));
  if (AtName("by")) {
    Take();
    query->grouped = true;
    TS_RETURN_IF_ERROR(QueryColumns(query->groups));
    if (query->groups.empty()) return NyiError("by");
    if (query->distinct && query->columns.size() == 1) {  // The distinct items of each group.
      query->distinct = false;
      std::vector<NodePtr> column;
      column.push_back(std::move(query->columns[0].node));
      TS_ASSIGN_OR_RETURN(query->columns[0].node,
                          MakeApply(FunctionNode(*FindBuiltin("distinct")), std::move(column)));
    }
    if (IsTableOfExec(*query)) {
      query->verb = Query::Verb::kSelect;
      query->groups.clear();
      query->grouped = false;
    }
  }
  TS_RETURN_IF_ERROR(CheckPhrases(*query));
  if (!AtName("from")) return ParseError("from", Peek().position, "a query without its from");
  Take();
  {
    const Saved<bool> where(where_ends_, true);
    TS_ASSIGN_OR_RETURN(query->source, RequiredExpression("from"));
  }
  if (AtName("where")) {
    Take();
    TS_RETURN_IF_ERROR(QueryConditions(*query));
  }

  NodePtr node = NewNode(Node::Kind::kQuery);
  int below = query->source->depth;
  for (const NamedNode& column : query->columns) below = std::max(below, column.node->depth);
  for (const NamedNode& group : query->groups) below = std::max(below, group.node->depth);
  for (const NodePtr& condition : query->conditions) below = std::max(below, condition->depth);
  for (const NodePtr* part : {&query->limit, &query->order}) {
    if (*part != nullptr) below = std::max(below, (*part)->depth);
  }
  node->query = std::move(query);
  node->depth = below + 1;
  if (node->depth > max_depth_) return StackError("more than {} levels", max_depth_);
  return node;
}

}  // namespace tickstack::query
