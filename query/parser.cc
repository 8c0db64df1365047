#include "query/parser.h"

#include <algorithm>
#include <utility>

#include "query/errors.h"
#include "query/lexer.h"
#include "query/literal.h"
#include "query/parser_state.h"

namespace tickstack::query {

bool Parser::AtEndOfExpression() const {
  switch (Peek().kind) {
    case TokenKind::kEnd:
    case TokenKind::kClose:
    case TokenKind::kSemicolon:
      return true;
    case TokenKind::kOperator:
      return comma_ends_ && Peek().text == ",";
    case TokenKind::kName:
      return AtName("by") || AtName("from") || AtName("where");
    default:
      return false;
  }
}

// The function that stands between its arguments at this token, if one does.
const Builtin* Parser::InfixAt() const {
  if (Peek().kind != TokenKind::kOperator && Peek().kind != TokenKind::kName) return nullptr;
  const Builtin* builtin = FindBuiltin(Peek().text);
  if (builtin == nullptr) return nullptr;
  return Peek().kind == TokenKind::kOperator || builtin->infix ? builtin : nullptr;
}

absl::Status Parser::Unexpected(const Token& token) const {
  if (token.kind == TokenKind::kOperator) return NyiError(token.text);
  if (token.kind == TokenKind::kEnd) {
    return ParseError("parse", token.position, "the text ends where an expression is expected");
  }
  return ParseError(token.text, token.position, "not expected here");
}

absl::Status Parser::Expect(TokenKind kind, std::string_view text, const Token& opened) {
  if (Peek().Is(kind, text)) {
    Take();
    return absl::OkStatus();
  }
  if (Peek().kind == TokenKind::kEnd) {
    return ParseError(opened.text, opened.position, "opened and never closed");
  }
  return Unexpected(Peek());
}

absl::StatusOr<NodePtr> Parser::Checked(NodePtr node) const {
  int below = 0;
  for (const NodePtr& child : node->children) {
    if (child != nullptr) below = std::max(below, child->depth);
  }
  node->depth = below + 1;
  if (node->depth > max_depth_) return StackError("more than {} levels", max_depth_);
  return node;
}

Parser::Result Parser::Constant(Value value) const {
  auto node = std::make_unique<Node>();
  node->value = std::move(value);
  return node;
}

NodePtr Parser::Function(const Builtin& builtin) {
  auto node = std::make_unique<Node>();
  node->kind = Node::Kind::kFunction;
  node->function = &builtin;
  return node;
}

Parser::Result Parser::MakeApply(NodePtr function, std::vector<NodePtr> args) const {
  auto node = std::make_unique<Node>();
  node->kind = Node::Kind::kApply;
  node->children.push_back(std::move(function));
  for (NodePtr& arg : args) node->children.push_back(std::move(arg));
  return Checked(std::move(node));
}

absl::StatusOr<std::vector<NodePtr>> Parser::Program() {
  std::vector<NodePtr> statements;
  // A system command is a line of its own kind: \l file.
  if (AtOperator("\\")) {
    return NyiError(fmt::format("\\{}", Peek(1).text));
  }
  for (;;) {
    TS_ASSIGN_OR_RETURN(NodePtr statement, Expression());
    statements.push_back(std::move(statement));
    if (Peek().kind == TokenKind::kEnd) return statements;
    if (Peek().kind != TokenKind::kSemicolon) return Unexpected(Peek());
    Take();
  }
}

// nullptr: nothing stands here.
Parser::Result Parser::Expression() {
  if (AtEndOfExpression()) return NodePtr();
  const Saved<int> level(depth_, depth_ + 1);
  if (depth_ > max_depth_) return StackError("more than {} levels", max_depth_);
  return ExpressionUnguarded();
}

Parser::Result Parser::RequiredExpression(std::string_view after) {
  TS_ASSIGN_OR_RETURN(NodePtr node, Expression());
  // `1+` is a projection.
  if (node == nullptr) return NyiError(after);
  return node;
}

Parser::Result Parser::ExpressionUnguarded() {
  TS_ASSIGN_OR_RETURN(NodePtr left, Term());
  return AfterTerm(std::move(left));
}

Parser::Result Parser::AfterTerm(NodePtr left) {
  if (AtEndOfExpression()) return left;
  std::vector<NodePtr> args;
  if (const Builtin* infix = InfixAt(); infix != nullptr) {
    const Token token = Take();
    if (Peek().kind == TokenKind::kOpen && Peek().text == "[" && !Peek().after_blank) {
      return NyiError(token.text);  // `x +[1;2]` applies x to a result: nobody writes it.
    }
    TS_ASSIGN_OR_RETURN(NodePtr right, RequiredExpression(token.text));
    args.push_back(std::move(left));
    args.push_back(std::move(right));
    return MakeApply(Function(*infix), std::move(args));
  }
  if (Peek().kind == TokenKind::kOperator) return NyiError(Peek().text);
  TS_ASSIGN_OR_RETURN(NodePtr right, RequiredExpression(Peek().text));
  args.push_back(std::move(right));
  return MakeApply(std::move(left), std::move(args));
}

// A primary with the brackets behind it.
Parser::Result Parser::Term() {
  TS_ASSIGN_OR_RETURN(NodePtr node, Primary());
  while (Peek().Is(TokenKind::kOpen, "[")) {
    TS_ASSIGN_OR_RETURN(std::vector<NodePtr> args, Bracketed());
    if (args.size() == 1 && args.front() == nullptr) {
      TS_ASSIGN_OR_RETURN(args.front(), Constant(Value()));  // f[] passes the generic null.
    }
    for (const NodePtr& arg : args) {
      if (arg == nullptr) return NyiError("[;]");  // A projection.
    }
    TS_ASSIGN_OR_RETURN(node, MakeApply(std::move(node), std::move(args)));
  }
  return node;
}

Parser::Result Parser::Primary() {
  switch (Peek().kind) {
    case TokenKind::kNumber:
      return Numbers();
    case TokenKind::kString: {
      const std::string_view quoted = Take().text;
      TS_ASSIGN_OR_RETURN(Value text, ParseString(quoted.substr(1, quoted.size() - 2)));
      return Constant(std::move(text));
    }
    case TokenKind::kSymbol:
      return Symbols();
    case TokenKind::kName:
      return NamePrimary();
    case TokenKind::kOperator:
      return OperatorPrimary();
    case TokenKind::kOpen:
      return Parenthesised();
    case TokenKind::kLambda:
      return NyiError("{");
    default:
      return Unexpected(Peek());
  }
}

// Words of digits side by side are one vector.
Parser::Result Parser::Numbers() {
  std::vector<std::string_view> words;
  do {
    words.push_back(Take().text);
  } while (Peek().kind == TokenKind::kNumber && Peek().after_blank);
  TS_ASSIGN_OR_RETURN(Value value, ParseNumbers(words));
  return Constant(std::move(value));
}

Parser::Result Parser::Symbols() {
  std::string_view text = Take().text.substr(1);
  SymbolVector names;
  for (;;) {
    const size_t end = text.find('`');
    names.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (names.size() == 1) return Constant(Value::Symbol(names[0]));
  return Constant(Value::Symbols(std::move(names)));
}

Parser::Result Parser::NamePrimary() {
  const Token token = Take();
  if (token.text == "select" || token.text == "exec") return QueryExpression(token.text == "exec");
  if (const Builtin* builtin = FindBuiltin(token.text)) return Function(*builtin);
  if (IsReservedWord(token.text)) return NyiError(token.text);
  auto node = std::make_unique<Node>();
  node->kind = Node::Kind::kName;
  node->name = token.text;
  return node;
}

// An operator where a value may stand: `+[1;2]`, `(+)`.
Parser::Result Parser::OperatorPrimary() {
  const Token token = Take();
  if (token.text == "$" && Peek().Is(TokenKind::kOpen, "[")) return Cond(token);
  if (token.text == "::" && AtEndOfExpression()) return Constant(Value());
  const Builtin* builtin = FindBuiltin(token.text);
  const bool noun = Peek().Is(TokenKind::kOpen, "[") || AtEndOfExpression();
  if (builtin == nullptr || !noun) return NyiError(token.text);
  return Function(*builtin);
}

// The items between [ and ]; a null pointer where there is nothing.
absl::StatusOr<std::vector<NodePtr>> Parser::Bracketed() {
  const Token open = Take();
  const Saved<bool> comma(comma_ends_, false);
  std::vector<NodePtr> items;
  for (;;) {
    TS_ASSIGN_OR_RETURN(NodePtr item, Expression());
    items.push_back(std::move(item));
    if (Peek().kind != TokenKind::kSemicolon) break;
    Take();
  }
  TS_RETURN_IF_ERROR(Expect(TokenKind::kClose, "]", open));
  return items;
}

// $[test;a;b], or $[x;y], which is the cast x$y.
Parser::Result Parser::Cond(const Token& dollar) {
  TS_ASSIGN_OR_RETURN(std::vector<NodePtr> items, Bracketed());
  if (items.size() == 2 && items[0] != nullptr && items[1] != nullptr) {
    return MakeApply(Function(*FindBuiltin(dollar.text)), std::move(items));
  }
  if (items.size() < 3) return NyiError("$[;]");
  if (items.size() % 2 == 0) return NyiError("$[;;;]");
  auto node = std::make_unique<Node>();
  node->kind = Node::Kind::kCond;
  for (NodePtr& item : items) {
    if (item == nullptr) {
      TS_ASSIGN_OR_RETURN(item, Constant(Value()));
    }
    node->children.push_back(std::move(item));
  }
  return Checked(std::move(node));
}

// (), (x), (x;y) or a table.
Parser::Result Parser::Parenthesised() {
  const Token open = Take();
  if (open.text == "[") return NyiError("[");  // A block of expressions.
  const Saved<bool> comma(comma_ends_, false);
  if (Peek().Is(TokenKind::kOpen, "[")) return TableLiteral(open);
  if (Peek().Is(TokenKind::kClose, ")")) {
    Take();
    return Constant(Value::List({}));
  }
  auto list = std::make_unique<Node>();
  list->kind = Node::Kind::kList;
  for (;;) {
    TS_ASSIGN_OR_RETURN(NodePtr item, Expression());
    if (item == nullptr && Peek().kind != TokenKind::kEnd) return NyiError("(;)");  // A projection.
    if (item != nullptr) list->children.push_back(std::move(item));
    if (Peek().kind != TokenKind::kSemicolon) break;
    Take();
  }
  TS_RETURN_IF_ERROR(Expect(TokenKind::kClose, ")", open));
  if (list->children.size() == 1) return std::move(list->children.front());
  return Checked(std::move(list));
}

absl::StatusOr<std::vector<NodePtr>> Parse(std::string_view text, int max_depth) {
  TS_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenise(text));
  return Parser(std::move(tokens), max_depth).Program();
}

}  // namespace tickstack::query
