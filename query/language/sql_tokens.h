#pragma once

// Divides SQL, or what may be SQL, into tokens.

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack::query {

struct SqlToken {
  enum class Kind {
    kWord,    // A keyword or name, without dots.
    kNumber,  // 12, 1.5
    kText,    // 'IBM', without its quotes.
    kQuoted,  // "price", a name in SQL and a string in q, or `price`; without its quotes.
    kSign,    // ( ) , ; * = <> != and so on; any character that starts nothing else.
  };
  Kind kind = Kind::kSign;
  std::string text;
  std::string lower;         // The text of a word in small letters, otherwise the text.
  bool after_blank = false;  // True if a blank or a comment is before it.
  bool backquoted = false;   // True for `price`.

  bool IsWord(std::string_view word) const { return kind == Kind::kWord && lower == word; }
  bool IsOneOf(std::initializer_list<std::string_view> words) const {
    return kind == Kind::kWord && std::ranges::find(words, lower) != words.end();
  }
  bool IsSign(std::string_view sign) const { return kind == Kind::kSign && text == sign; }
  bool IsCapital() const { return kind == Kind::kWord && text != lower; }
  bool IsAnyWord() const { return kind == Kind::kWord; }
  // True for a text in quotes that has the form of a name.
  bool IsQuotedName() const;
};

// Every text has tokens. Comments of SQL are left out. A quote begins a text only where SQL may
// have one, because in q it is also an iterator: after a blank, a bracket, a comma or a comparison,
// and if a second one follows before a blank, bracket, comma, semicolon or the end. The same goes
// for a backquote, with which symbols begin in q.
std::vector<SqlToken> TokensOfSql(std::string_view text);

using SqlTokens = std::span<const SqlToken>;

// Returns a token; one that is no word, sign or constant if there is none.
const SqlToken& TokenAt(SqlTokens tokens, size_t i);

// True for a word in a list of words that blanks divide.
bool IsOneWordOf(const SqlToken& token, std::string_view words);

}  // namespace tickstack::query
