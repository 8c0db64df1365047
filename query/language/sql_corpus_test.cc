// Goal: no q is taken for SQL, nor a slip in q. Method: evaluates every text of q that the
// repository has, as it is and with each of its names in turn replaced by one without a value: the
// texts of the tests of queries, of the fuzzer's corpus, of docs/q.md and of docs/queries.toml.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "query/testing.h"

namespace tickstack::query {
namespace {

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << ": run from the root of the source tree";
  return {std::istreambuf_iterator<char>(file), {}};
}

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Reads the string literals of a C++ source. Literals with nothing but blanks between them are one.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view source) : source_(source) {}

  std::vector<std::string> Read() {
    std::vector<std::string> literals;
    bool is_continued = false;
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (source_.substr(at_).starts_with("//")) {
        at_ = std::min(source_.find('\n', at_), source_.size());
      } else if (c == '\'') {
        SkipCharacter();
      } else if (c == '"') {
        const std::string literal = IsRaw() ? Raw() : Escaped();
        is_continued ? literals.back() += literal : literals.emplace_back(literal);
        is_continued = true;
      } else {
        const bool is_prefix = c == 'R' && source_.substr(at_ + 1).starts_with('"');
        if (!is_prefix && std::isspace(static_cast<unsigned char>(c)) == 0) is_continued = false;
        ++at_;
      }
    }
    return literals;
  }

 private:
  bool IsRaw() const { return at_ > 0 && source_[at_ - 1] == 'R'; }

  // A quote within a number, 1'000, begins no character.
  void SkipCharacter() {
    const bool separates = at_ > 0 && IsWordChar(source_[at_ - 1]);
    at_ += 1;
    if (separates) return;
    at_ += source_[at_] == '\\' ? 2 : 1;
    at_ = std::min(source_.find('\'', at_), source_.size() - 1) + 1;
  }

  std::string Raw() {
    const size_t open = source_.find('(', at_);
    const std::string end = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t close = source_.find(end, open);
    at_ = close + end.size();
    return std::string(source_.substr(open + 1, close - open - 1));
  }

  std::string Escaped() {
    std::string text;
    for (++at_; source_[at_] != '"'; ++at_) {
      if (source_[at_] != '\\') {
        text += source_[at_];
        continue;
      }
      const char c = source_[++at_];
      text += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
    ++at_;
    return text;
  }

  std::string_view source_;
  size_t at_ = 0;
};

// True for a literal that is no text of q: a piece of one, a message, or SQL that a function takes.
bool IsOther(std::string_view text) {
  constexpr std::string_view kPieces[] = {" from trade", "TABLE", "select", "select "};
  return std::ranges::find(kPieces, text) != std::end(kPieces) || text.starts_with("table t: ") ||
         text.find(".o.ex") != text.npos;
}

// Returns the texts of the tests of queries, but for the tests of SQL, and of the fuzzer's corpus.
std::set<std::string> TextsOfSources() {
  std::set<std::string> texts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("query")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with("_test.cc") || name.starts_with("sql_")) continue;
    const std::string source = ReadAll(entry.path());
    for (const std::string& literal : LiteralReader(source).Read()) {
      if (!IsOther(literal)) texts.insert(literal);
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator("fuzz/corpus/query_fuzz")) {
    texts.insert(ReadAll(entry.path()));
  }
  return texts;
}

// Returns the examples of docs/q.md and the queries of docs/queries.toml.
std::set<std::string> TextsOfDocs() {
  std::set<std::string> texts;
  const std::string page = ReadAll("docs/q.md");
  for (size_t at = page.find("\nq)"); at != std::string::npos; at = page.find("\nq)", at + 1)) {
    texts.insert(page.substr(at + 3, page.find('\n', at + 1) - at - 3));
  }
  const std::string queries = ReadAll("docs/queries.toml");
  constexpr std::string_view kKey = "\nq = ", kLines = "\"\"\"";
  for (size_t at = queries.find(kKey); at != std::string::npos; at = queries.find(kKey, at + 1)) {
    const std::string_view value = std::string_view(queries).substr(at + kKey.size());
    if (value.starts_with(kLines)) {
      const size_t begin = kLines.size();
      texts.insert(std::string(value.substr(begin, value.find(kLines, begin) - begin)));
    } else {
      texts.insert(LiteralReader(value.substr(0, value.find('\n'))).Read().at(0));
    }
  }
  return texts;
}

// Returns the text with each of its words in turn replaced by a name without a value.
std::vector<std::string> WithWrongNames(const std::string& text) {
  std::vector<std::string> wrong;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = begin + 1;
    if (!IsWordChar(text[begin])) continue;
    while (end < text.size() && IsWordChar(text[end])) ++end;
    if (std::isdigit(static_cast<unsigned char>(text[begin])) != 0) continue;
    wrong.push_back(text.substr(0, begin) + "nosuch" + text.substr(end));
  }
  return wrong;
}

class SqlCorpus : public testing::Test {
 protected:
  SqlCorpus() { AddSampleTables(environment_); }

  void ExpectQ(const std::string& text) {
    Limits limits;
    limits.max_result_bytes = size_t{1} << 20;
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    const std::string answer = environment_.Ask(text, limits);
    EXPECT_FALSE(answer.starts_with("'nyi: SQL")) << text << "\n" << answer;
  }

  TestEnvironment environment_;
};

TEST_F(SqlCorpus, NoTextOfTheTestsIsSql) {
  const std::set<std::string> texts = TextsOfSources();
  EXPECT_GE(texts.size(), 5000U);
  for (const std::string& text : texts) {
    ExpectQ(text);
    for (const std::string& wrong : WithWrongNames(text)) ExpectQ(wrong);
  }
}

TEST_F(SqlCorpus, NoTextOfTheDocumentationIsSql) {
  const std::set<std::string> texts = TextsOfDocs();
  EXPECT_GE(texts.size(), 300U);
  for (const std::string& text : texts) {
    ExpectQ(text);
    for (const std::string& wrong : WithWrongNames(text)) ExpectQ(wrong);
  }
}

}  // namespace
}  // namespace tickstack::query
