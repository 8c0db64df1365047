#pragma once

// The parser's state, for the parser's own files: parser.cc parses expressions, parser_terms.cc
// their terms, parser_query.cc the phrases of queries and table literals.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "query/language/ast.h"
#include "query/language/lexer.h"

namespace tickstack::query {

// The lambda that is being parsed.
struct LambdaScope {
  std::vector<std::string> parameters;
  bool named_parameters = false;  // True for [a;b], false for x, y and z.
  std::vector<std::string> locals;
};

class Parser {
 public:
  // With `positions`, nodes and errors get positions.
  Parser(std::vector<Token> tokens, int max_depth, std::string_view space, bool positions)
      : tokens_(std::move(tokens)), space_(space), max_depth_(max_depth), positions_(positions) {}

  absl::StatusOr<std::vector<NodePtr>> Program();

 private:
  using Result = absl::StatusOr<NodePtr>;

  absl::StatusOr<std::vector<NodePtr>> AllStatements();
  void SetPosition(Node& node, size_t position) const;

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token Take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_.back(); }
  bool AtName(std::string_view name) const { return Peek().Is(TokenKind::kName, name); }
  bool AtOperator(std::string_view text) const { return Peek().Is(TokenKind::kOperator, text); }
  bool AtEndOfExpression() const;
  absl::Status Unexpected(const Token& token) const;
  absl::Status Expect(TokenKind kind, std::string_view text, const Token& opened);

  NodePtr NewNode(Node::Kind kind);
  absl::StatusOr<NodePtr> Checked(NodePtr node) const;
  Result Constant(Value value);
  NodePtr FunctionNode(const Builtin& builtin);
  Result MakeApply(NodePtr function, std::vector<NodePtr> args);

  struct Parsed {
    NodePtr node;  // A term or an expression.
    // True if the node is written between its arguments: an operator, a keyword such as `in`, a
    // function with an iterator such as `+/`, or an expression that ends with one of these.
    bool verb = false;
  };
  Result Expression();
  absl::StatusOr<Parsed> VerbOrNoun();
  Result RequiredExpression(std::string_view after);
  absl::StatusOr<Parsed> AfterTerm(Parsed left);
  absl::StatusOr<Parsed> Infix(NodePtr left, NodePtr verb);
  absl::StatusOr<Parsed> AppliedTo(NodePtr function, Parsed right);
  absl::StatusOr<Parsed> AppliedOrComposed(NodePtr function, Parsed argument);
  absl::StatusOr<Parsed> Term();
  absl::StatusOr<Parsed> Primary();
  absl::StatusOr<Parsed> OperatorPrimary();
  absl::StatusOr<Parsed> NamePrimary();
  Result Brackets(NodePtr node);
  Result AppliedInBrackets(NodePtr node, std::vector<NodePtr> args);
  std::optional<Iterator> IteratorAt() const;

  bool IsAssignable(const Node& left) const;
  bool AtAssignment(const Node& left) const;
  bool AtIdentity() const;
  Result Assignment(NodePtr left);
  Result Target(const Node& left, const Builtin* through, bool global);
  Result Assigned(NodePtr node, NodePtr left, NodePtr value);
  bool AreOfAssignment(const std::vector<NodePtr>& args) const;
  Result BracketAssignment(const Builtin* through, std::vector<NodePtr> args);
  Result View(NodePtr node);

  Result Numbers();
  Result Symbols();
  Result Parenthesised();
  Result Name(const Token& token);
  Result Return();
  absl::StatusOr<Parsed> Signal(const Token& quote);
  Result Control(Node::Kind kind);
  Result LambdaExpression();
  absl::Status Parameters(LambdaScope& scope);
  Result Statements(Node::Kind kind, std::vector<NodePtr> statements);
  Result TableLiteral(const Token& open);
  Result DictLiteral(NodePtr columns);
  Result Cond(const Token& dollar);
  Result Primitive(const Value& value);
  Result QueryExpression(Query::Verb verb);
  absl::Status QueryLimit(Query& query);
  absl::Status QueryColumns(std::vector<NamedNode>& columns);
  absl::Status QueryConditions(Query& query);
  absl::StatusOr<NamedNode> NamedExpression();
  absl::StatusOr<std::vector<NodePtr>> Bracketed();

  std::vector<Token> tokens_;
  const std::string space_;  // Namespace of the lambdas in the text.
  size_t at_ = 0;
  int max_depth_;
  const bool positions_;
  int depth_ = 0;
  size_t nodes_ = 0;
  LambdaScope* lambda_ = nullptr;  // nullptr outside of lambdas.
  // True after `from`, where the word `where` begins the conditions and is not the function
  // `where`.
  bool where_ends_ = false;
  bool in_k_ = false;  // True while parsing k, not q.
  // True inside a query's phrase, where a comma separates phrases and is not the operator `,`.
  bool comma_ends_ = false;
};

// Sets a field of the parser while a bracket or phrase is parsed; the destructor restores it.
template <typename T>
class Saved {
 public:
  Saved(T& place, T now) : place_(place), before_(std::exchange(place, now)) {}
  ~Saved() { place_ = before_; }
  Saved(const Saved&) = delete;
  Saved& operator=(const Saved&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace tickstack::query
