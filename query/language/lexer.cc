#include "query/language/lexer.h"

#include <array>
#include <optional>

#include "query/columns/errors.h"

namespace tickstack::query {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsAlnum(char c) { return IsDigit(c) || IsAlpha(c); }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  absl::StatusOr<std::vector<Token>> Run() {
    for (;;) {
      const size_t before = at_;
      SkipBlanks();
      after_blank_ = at_ > before || at_ == 0;
      if (at_ == source_.size()) break;
      TS_RETURN_IF_ERROR(Next());
    }
    Add(TokenKind::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void Add(TokenKind kind, size_t end) {
    tokens_.push_back({kind, source_.substr(at_, end - at_), at_, after_blank_});
    at_ = end;
  }

  void SkipBlanks();
  absl::Status Next();
  bool StartsNumber() const;
  size_t EndOfNumber() const;
  size_t EndOfName() const;
  size_t EndOfSymbols() const;
  size_t EndOfOperator() const;
  std::optional<size_t> EndOfString(size_t begin) const;

  std::string_view source_;
  size_t at_ = 0;
  bool after_blank_ = true;
  std::vector<Token> tokens_;
};

void Lexer::SkipBlanks() {
  while (at_ < source_.size()) {
    const bool comment = source_[at_] == '/' && (at_ == 0 || IsBlank(source_[at_ - 1]));
    if (comment) {
      while (at_ < source_.size() && source_[at_] != '\n') ++at_;
    } else if (IsBlank(source_[at_])) {
      ++at_;
    } else {
      return;
    }
  }
}

bool Lexer::StartsNumber() const {
  const char c = Peek(), next = Peek(1);
  if (IsDigit(c) || (c == '.' && IsDigit(next))) return true;
  if (c != '-' || !(IsDigit(next) || (next == '.' && IsDigit(Peek(2))))) return false;
  if (tokens_.empty() || after_blank_) return true;
  switch (tokens_.back().kind) {
    case TokenKind::kOperator:
    case TokenKind::kOpen:
    case TokenKind::kSemicolon:
      return true;
    case TokenKind::kNumber:
    case TokenKind::kString:
    case TokenKind::kSymbol:
    case TokenKind::kName:
    case TokenKind::kClose:
    case TokenKind::kEnd:
      break;
  }
  return false;
}

size_t Lexer::EndOfNumber() const {
  size_t end = at_ + (Peek() == '-' ? 1 : 0);
  const bool hex = source_.substr(end).starts_with("0x");
  // 0: and the like are operators; with a digit after the colon it is a time.
  if (IsDigit(Peek()) && Peek(1) == ':' && !IsDigit(Peek(2))) return at_ + 2;
  bool plain = !hex;  // Only digits and a point so far, so an exponent may follow.
  for (; end < source_.size(); ++end) {
    const char c = source_[end];
    const bool exponent_sign = (c == '-' || c == '+') && plain && source_[end - 1] == 'e' &&
                               end + 1 < source_.size() && IsDigit(source_[end + 1]);
    if (!IsAlnum(c) && c != '.' && c != ':' && !exponent_sign) break;
    if (exponent_sign || (!IsDigit(c) && c != '.' && c != 'e')) plain = false;
  }
  return end;
}

size_t Lexer::EndOfName() const {
  size_t end = at_;
  while (end < source_.size() &&
         (IsAlnum(source_[end]) || source_[end] == '_' || source_[end] == '.')) {
    ++end;
  }
  return end;
}

// Returns the end of `a`b.c`:host:5010`: after a colon a name may have slashes.
size_t Lexer::EndOfSymbols() const {
  size_t end = at_;
  while (end < source_.size() && source_[end] == '`') {
    bool path = false;
    for (++end; end < source_.size(); ++end) {
      const char c = source_[end];
      path = path || c == ':';
      if (!IsAlnum(c) && c != '.' && c != ':' && c != '_' && !(path && c == '/')) break;
    }
  }
  return end;
}

size_t Lexer::EndOfOperator() const {
  constexpr std::array<std::string_view, 7> kTwo = {"<>", "<=", ">=", "::", "':", "/:", "\\:"};
  for (std::string_view two : kTwo) {
    if (source_.substr(at_).starts_with(two)) return at_ + 2;
  }
  constexpr std::string_view kOne = "+-*%=<>,~!#_@.?$&|^:'/\\";
  return kOne.find(Peek()) != std::string_view::npos ? at_ + 1 : at_;
}

std::optional<size_t> Lexer::EndOfString(size_t begin) const {
  for (size_t end = begin + 1; end < source_.size(); ++end) {
    if (source_[end] == '\\')
      ++end;
    else if (source_[end] == '"')
      return end + 1;
  }
  return std::nullopt;
}

absl::Status Lexer::Next() {
  const char c = Peek();
  if (StartsNumber()) {
    Add(TokenKind::kNumber, EndOfNumber());
  } else if (IsAlpha(c) ||
             (c == '.' && (IsAlpha(Peek(1)) || (Peek(1) == '.' && IsAlpha(Peek(2)))))) {
    Add(TokenKind::kName, EndOfName());
  } else if (c == '`') {
    Add(TokenKind::kSymbol, EndOfSymbols());
  } else if (c == '"') {
    const std::optional<size_t> end = EndOfString(at_);
    if (!end.has_value()) return ParseError("\"", at_, "a string that never ends");
    Add(TokenKind::kString, *end);
  } else if (c == '(' || c == '[' || c == '{') {
    Add(TokenKind::kOpen, at_ + 1);
  } else if (c == ')' || c == ']' || c == '}') {
    Add(TokenKind::kClose, at_ + 1);
  } else if (c == ';') {
    Add(TokenKind::kSemicolon, at_ + 1);
  } else if (const size_t end = EndOfOperator(); end > at_) {
    Add(TokenKind::kOperator, end);
  } else {
    return ParseError("char", at_, "no token starts with this character");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Token>> Tokenise(std::string_view source) { return Lexer(source).Run(); }

}  // namespace tickstack::query
