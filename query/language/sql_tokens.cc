#include "query/language/sql_tokens.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace tickstack::query {
namespace {

bool IsWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsDigitOfSql(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsWordPart(char c) { return IsWordStart(c) || IsDigitOfSql(c); }
bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool IsOneOfChars(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// Returns the end of the text in quotes that begins at `at`; nullopt if the quote begins none.
std::optional<size_t> EndOfSqlText(std::string_view text, size_t at) {
  if (at > 0 && !IsSpace(text[at - 1]) && !IsOneOfChars(text[at - 1], "(,=<>")) return std::nullopt;
  for (size_t end = at + 1; end < text.size(); ++end) {
    if (text[end] != '\'') continue;
    if (end + 1 < text.size() && text[end + 1] == '\'') {
      ++end;
      continue;
    }
    const bool ends =
        end + 1 == text.size() || IsSpace(text[end + 1]) || IsOneOfChars(text[end + 1], "),;=<>!:");
    if (ends) return end + 1;
    return std::nullopt;
  }
  return std::nullopt;
}

// Returns the end of the name in backquotes that begins at `at`; nullopt if none does.
std::optional<size_t> EndOfBackquoted(std::string_view text, size_t at) {
  if (at > 0 && !IsSpace(text[at - 1]) && !IsOneOfChars(text[at - 1], "(,.=<>"))
    return std::nullopt;
  size_t end = at + 1;
  while (end < text.size() && IsWordPart(text[end])) ++end;
  if (end == at + 1 || end == text.size() || text[end] != '`') return std::nullopt;
  const bool ends = end + 1 == text.size() || IsSpace(text[end + 1]) ||
                    IsOneOfChars(text[end + 1], "),.;=<>+-*/");
  return ends ? std::optional(end + 1) : std::nullopt;
}

// Returns the end of the string that begins at `at`, with its closing quote if it has one.
size_t EndOfString(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

std::string WithoutQuotes(std::string_view quoted) {
  std::string text;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    text += quoted[i];
    if (quoted[i] == '\'') ++i;
  }
  return text;
}

// Returns the position after blanks and comments.
size_t AfterBlanks(std::string_view text, size_t at) {
  for (;;) {
    while (at < text.size() && IsSpace(text[at])) ++at;
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("--")) {
      at += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const size_t end = rest.find("*/", 2);
      at += end == std::string_view::npos ? rest.size() : end + 2;
    } else {
      return at;
    }
  }
}

size_t EndOfSign(std::string_view text, size_t at) {
  const std::string_view two = text.substr(at, 2);
  return at + (two == "<>" || two == "!=" || two == "<=" || two == ">=" ? 2 : 1);
}

}  // namespace

bool SqlToken::IsQuotedName() const {
  return kind == Kind::kQuoted && !text.empty() && IsWordStart(text[0]) &&
         std::ranges::all_of(text, IsWordPart);
}

std::vector<SqlToken> TokensOfSql(std::string_view text) {
  std::vector<SqlToken> tokens;
  size_t last = 0;
  for (size_t at = AfterBlanks(text, 0); at < text.size(); at = AfterBlanks(text, last)) {
    SqlToken token;
    token.after_blank = at > last;
    size_t end = at + 1;
    if (IsWordStart(text[at])) {
      token.kind = SqlToken::Kind::kWord;
      while (end < text.size() && IsWordPart(text[end])) ++end;
    } else if (IsDigitOfSql(text[at])) {
      token.kind = SqlToken::Kind::kNumber;
      while (end < text.size() && (IsWordPart(text[end]) || text[end] == '.')) ++end;
    } else if (const auto quoted = text[at] == '\'' ? EndOfSqlText(text, at) : std::nullopt) {
      token.kind = SqlToken::Kind::kText;
      end = *quoted;
    } else if (const auto name = text[at] == '`' ? EndOfBackquoted(text, at) : std::nullopt) {
      token.kind = SqlToken::Kind::kQuoted;
      token.backquoted = true;
      end = *name;
    } else if (text[at] == '"') {
      token.kind = SqlToken::Kind::kQuoted;
      end = EndOfString(text, at);
    } else {
      end = EndOfSign(text, at);
    }
    last = end;
    const std::string_view whole = text.substr(at, end - at);
    if (token.kind == SqlToken::Kind::kText) {
      token.text = WithoutQuotes(whole);
    } else if (token.kind == SqlToken::Kind::kQuoted) {
      token.text = whole.substr(1, whole.size() - std::min<size_t>(whole.size(), 2));
    } else {
      token.text = whole;
    }
    token.lower = token.text;
    if (token.kind == SqlToken::Kind::kWord) {
      for (char& c : token.lower)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

const SqlToken& TokenAt(SqlTokens tokens, size_t i) {
  static const SqlToken kNone;
  return i < tokens.size() ? tokens[i] : kNone;
}

// True for a word in a list of words that blanks divide.
bool IsOneWordOf(const SqlToken& token, std::string_view words) {
  if (!token.IsAnyWord()) return false;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (token.lower == word) return true;
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return false;
}

}  // namespace tickstack::query
