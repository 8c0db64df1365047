#pragma once

// The parser's state, and which of its files has what: parser.cc expressions, parser_query.cc the
// phrases of queries and table literals. For those files alone.

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "query/ast.h"
#include "query/lexer.h"

namespace tickstack::query {

class Parser {
 public:
  Parser(std::vector<Token> tokens, int max_depth)
      : tokens_(std::move(tokens)), max_depth_(max_depth) {}

  absl::StatusOr<std::vector<NodePtr>> Program();

 private:
  using Result = absl::StatusOr<NodePtr>;

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token Take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_.back(); }
  bool AtName(std::string_view name) const { return Peek().Is(TokenKind::kName, name); }
  bool AtOperator(std::string_view text) const { return Peek().Is(TokenKind::kOperator, text); }
  bool AtEndOfExpression() const;
  const Builtin* InfixAt() const;
  absl::Status Unexpected(const Token& token) const;
  absl::Status Expect(TokenKind kind, std::string_view text, const Token& opened);

  absl::StatusOr<NodePtr> Checked(NodePtr node) const;
  Result Constant(Value value) const;
  static NodePtr Function(const Builtin& builtin);
  Result MakeApply(NodePtr function, std::vector<NodePtr> args) const;

  Result Expression();
  Result RequiredExpression(std::string_view after);
  Result ExpressionUnguarded();
  Result AfterTerm(NodePtr left);
  Result Term();
  Result Primary();
  Result OperatorPrimary();
  Result NamePrimary();
  Result Numbers();
  Result Symbols();
  Result Parenthesised();
  Result TableLiteral(const Token& open);
  Result Cond(const Token& dollar);
  Result QueryExpression(bool exec);
  absl::Status QueryLimit(Query& query);
  absl::Status QueryColumns(std::vector<NamedNode>& columns);
  absl::Status QueryConditions(Query& query);
  absl::StatusOr<NamedNode> NamedExpression();
  absl::StatusOr<std::vector<NodePtr>> Bracketed();

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int max_depth_;
  int depth_ = 0;
  bool comma_ends_ = false;  // Inside a phrase of a query: a comma separates, it does not join.
};

// Keeps a value of the parser for the length of a bracket or phrase.
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
