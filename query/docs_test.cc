// Goal: docs/q.md tells the truth. Method: runs each line that starts with `q)` and compares the
// result with the line below.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "query/language/library.h"
#include "query/language/term.h"
#include "query/testing.h"

namespace tickstack::query {
namespace {

// Returns whether a word is part of a phrase and not a function.
bool IsPartOfAPhrase(std::string_view word) {
  constexpr std::string_view kWords[] = {"by", "delete", "do",     "exec",  "from",
                                         "if", "select", "update", "where", "while"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

TEST(Docs, EveryExampleOfTheSubsetGivesTheResultBelowIt) {
  TestEnvironment environment;
  AddSampleTables(environment);
  environment.SetValue(".u.i", Value::Long(3));
  environment.SetValue(".u.L", Value::Symbol(":log/sym2013.10.07"));
  std::ifstream file("docs/q.md");
  ASSERT_TRUE(file) << "run from the root of the source tree";
  int examples = 0;
  std::string line, result;
  while (std::getline(file, line)) {
    if (!line.starts_with("q)")) continue;
    ASSERT_TRUE(std::getline(file, result)) << line;
    EXPECT_EQ(environment.Ask(line.substr(2)), result) << line;
    ++examples;
  }
  EXPECT_GE(examples, 40);
}

std::string ReadDocument() {
  std::ifstream file("docs/q.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the text between a heading and the next one.
std::string_view SectionOf(std::string_view document, std::string_view heading) {
  const size_t begin = document.find(heading);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = document.substr(begin + heading.size());
  return rest.substr(0, rest.find("\n## "));
}

// Returns the pieces of code in a text: between single backticks, or between double ones.
std::vector<std::string> CodeIn(std::string_view text) {
  std::vector<std::string> found;
  for (size_t begin = text.find('`'); begin != std::string_view::npos; begin = text.find('`')) {
    const std::string_view fence = text.substr(begin).starts_with("``") ? "``" : "`";
    text.remove_prefix(begin + fence.size());
    const size_t end = text.find(fence);
    if (end == std::string_view::npos) break;
    std::string_view code = text.substr(0, end);
    // A blank separates a backtick that belongs to the code from the ones around it.
    if (code.starts_with(" ") && code.ends_with(" ")) code = code.substr(1, code.size() - 2);
    found.emplace_back(code);
    text.remove_prefix(end + fence.size());
  }
  return found;
}

TEST(Docs, WhatIsListedAsNotThereIsNyi) {
  TestEnvironment environment;
  AddSampleTables(environment);
  const std::string document = ReadDocument();
  std::string_view rows = SectionOf(document, "\n## What is not there\n");
  ASSERT_FALSE(rows.empty()) << "run from the root of the source tree";
  int expressions = 0;
  for (; !rows.empty(); rows.remove_prefix(std::min(rows.size(), rows.find('\n') + 1))) {
    const std::string_view row = rows.substr(0, rows.find('\n'));
    if (!row.starts_with("| ")) continue;
    for (const std::string& code : CodeIn(row.substr(0, row.find(" | ")))) {
      EXPECT_TRUE(environment.Ask(code).starts_with("'nyi")) << code << environment.Ask(code);
      // The error comes only when it is evaluated, and can be trapped. A command is a text of its
      // own.
      if (code.starts_with('\\') || code.find(')') == 1) continue;
      EXPECT_EQ(environment.Ask("$[0b;" + code + ";1]"), "1") << code;
      if (code.find("::") != std::string::npos) continue;  // In a lambda it would not be a view.
      EXPECT_EQ(environment.Ask("@[{" + code + "};0;`caught]"), "`caught") << code;
      ++expressions;
    }
  }
  EXPECT_GE(expressions, 20);
}

// Goal: no word of q is forgotten. Method: each implemented word is named somewhere, and each other
// one in the table of what is missing.
TEST(Docs, EveryWordOfTheLanguageIsNamed) {
  const std::string document = ReadDocument();
  const std::string_view absent = SectionOf(document, "\n## What is not there\n");
  const auto names = [](std::string_view text, std::string_view word) {
    const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      const size_t end = at + word.size();
      if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) {
        return true;
      }
    }
    return false;
  };
  const SymbolVector known = BuiltinNames();
  for (size_t i = 0; i < known.size(); ++i) EXPECT_TRUE(names(document, known[i])) << known[i];
  for (const std::string_view word : ReservedWords()) {
    const bool there =
        FindBuiltin(word) != nullptr || FindInLibrary(word) != nullptr || IsPartOfAPhrase(word);
    EXPECT_TRUE(names(there ? document : absent, word)) << word;
  }
}

}  // namespace
}  // namespace tickstack::query
