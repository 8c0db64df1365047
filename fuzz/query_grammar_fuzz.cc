// Evaluates expressions that a grammar makes from bytes, so that most of them pass the parser: over
// captured and copied tables, within small limits. Each must end in a value, or in an error with a
// name, and in the same one when it is evaluated again.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "query/columns/errors.h"
#include "query/language/builtins.h"
#include "query/query.h"
#include "query/testing.h"

namespace {

using tickstack::query::Limits;

constexpr size_t kMaxText = 2000;
constexpr int kMaxDepth = 7;

constexpr auto kLiterals = std::to_array<std::string_view>({"0",
                                                            "1",
                                                            "2",
                                                            "3",
                                                            "-1",
                                                            "10",
                                                            "1000000",
                                                            "0N",
                                                            "0W",
                                                            "-0W",
                                                            "0n",
                                                            "0w",
                                                            "-0w",
                                                            "1.5",
                                                            "-2.25",
                                                            "1e300",
                                                            "0x00",
                                                            "0xff01",
                                                            "0b",
                                                            "1b",
                                                            "101b",
                                                            "0Nh",
                                                            "0Wh",
                                                            "3h",
                                                            "0Ni",
                                                            "7i",
                                                            "-0Wi",
                                                            "2e",
                                                            "0Ne",
                                                            "\"\"",
                                                            "\"a\"",
                                                            "\"abc\"",
                                                            "\" \"",
                                                            "`",
                                                            "`a",
                                                            "`sym",
                                                            "`a`b`c",
                                                            "`sym`time",
                                                            "`price`size",
                                                            "2013.10.07",
                                                            "0Nd",
                                                            "2013.10m",
                                                            "08:00",
                                                            "08:00:01",
                                                            "08:00:01.5",
                                                            "0D00:01",
                                                            "0Np",
                                                            "2013.10.07D08:00:01",
                                                            "0Nn",
                                                            "0Nt",
                                                            "1 2 3",
                                                            "3 1 2 1 0N",
                                                            "1.5 0n -2 0w",
                                                            "0 1 0 2h",
                                                            "()",
                                                            "`long$()",
                                                            "`symbol$()",
                                                            "`float$()",
                                                            "(1;`a;\"x\")",
                                                            "(1 2;3 4 5)",
                                                            "(\"ab\";\"c\")",
                                                            "`a`b!1 2",
                                                            "(`a`b`c)!(1;2.5;`z)",
                                                            "([]a:1 2 3;b:`x`y`x)",
                                                            "([k:`a`b]v:1 2)",
                                                            "([k:1 2 2]sym:`a`b`c;w:0n 1 2)",
                                                            "0#trade",
                                                            "5#vtrade",
                                                            "5#vquote",
                                                            "::"});
constexpr auto kNames = std::to_array<std::string_view>(
    {"trade", "quote", "vtrade", "vquote", "a",   "b",   "c", "x",    "y",    "z",
     "sym",   "price", "size",   "time",   "bid", "ask", "i", ".z.p", ".z.d", "nothing"});
constexpr auto kOperators = std::to_array<std::string_view>(
    {"+", "-", "*",    "%",        "=",      "<>",     "<",     ">",    "<=", ">=",
     "&", "|", "~",    "^",        ",",      "#",      "_",     "?",    "!",  "@",
     ".", "$", " in ", " within ", " like ", " xbar ", " mod ", " div "});
constexpr auto kIterators = std::to_array<std::string_view>({"'", "/", "\\", "':", "/:", "\\:"});
constexpr auto kColumns = std::to_array<std::string_view>(
    {"sym", "time", "price", "size", "bid", "ask", "i", "a", "b", "k", "v"});
constexpr auto kTypes = std::to_array<std::string_view>(
    {"`long", "`int", "`float", "`symbol", "`time", "`date", "`boolean", "\"J\"", "\"F\"", "`",
     "`minute", "`timestamp", "\"i\"", "7h"});
constexpr std::string_view kPunctuation = "()[]{};:`\"\\/' \n.,0Nn-#$%^&*_+=~|<>?!@";

class Grammar {
 public:
  explicit Grammar(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  std::string Text() {
    Statements();
    return std::move(text_);
  }

 private:
  uint8_t Next() {
    if (at_ == bytes_.size()) return 0;
    return bytes_[at_++];
  }
  bool IsFull() const { return at_ == bytes_.size() || text_.size() > kMaxText; }

  template <size_t n>
  void OneOf(const std::array<std::string_view, n>& choices) {
    text_ += choices[Next() % n];
  }

  void Function() {
    const tickstack::SymbolVector& names = FunctionNames();
    text_ += names[Next() % names.size()];
  }
  static const tickstack::SymbolVector& FunctionNames() {
    static const auto* const names = new tickstack::SymbolVector(tickstack::query::BuiltinNames());
    return *names;
  }

  void Statements() {
    const int count = 1 + Next() % 4;
    for (int i = 0; i < count; ++i) {
      if (i > 0) text_ += ';';
      Expression();
    }
  }

  void Arguments() {
    text_ += '[';
    const int count = 1 + Next() % 4;
    for (int i = 0; i < count; ++i) {
      if (i > 0) text_ += ';';
      if (Next() % 16 != 0) Expression();
    }
    text_ += ']';
  }

  void Phrases() {
    const int count = 1 + Next() % 3;
    for (int i = 0; i < count; ++i) {
      if (i > 0) text_ += ',';
      if (Next() % 3 == 0) {
        OneOf(kColumns);
        text_ += ':';
      }
      Expression();
    }
  }

  void Query() {
    static constexpr auto kKinds = std::to_array<std::string_view>(
        {"select ", "exec ", "update ", "delete ", "select distinct "});
    text_ += '(';
    OneOf(kKinds);
    if (Next() % 4 != 0) Phrases();
    if (Next() % 2 == 0) {
      text_ += " by ";
      Phrases();
    }
    text_ += " from ";
    Operand();
    if (Next() % 2 == 0) {
      text_ += " where ";
      Phrases();
    }
    text_ += ')';
  }

  void Lambda() {
    static constexpr auto kParameters =
        std::to_array<std::string_view>({"", "", "[x]", "[a;b]", "[x;y;z]", "[]"});
    text_ += '{';
    OneOf(kParameters);
    Statements();
    text_ += '}';
  }

  void Operand() {
    switch (Next() % 8) {
      case 0:
      case 1:
      case 2:
        return OneOf(kNames);
      case 3:
        text_ += '(';
        Expression();
        text_ += ')';
        return;
      case 4: {
        text_ += '(';
        const int count = 1 + Next() % 3;
        for (int i = 0; i < count; ++i) {
          if (i > 0) text_ += ';';
          Expression();
        }
        text_ += ')';
        return;
      }
      default:
        return OneOf(kLiterals);
    }
  }

  void Applied() {
    switch (Next() % 4) {
      case 0:
        return Function();
      case 1:
        text_ += '(';
        OneOf(kOperators);
        text_ += ')';
        return;
      default:
        return Lambda();
    }
  }

  void Control() {
    switch (Next() % 4) {
      case 0:
        text_ += "$[";
        break;
      case 1:
        text_ += "if[";
        break;
      case 2:
        text_ += "do[3;";
        break;
      default:
        text_ += "while[5>a+:1;";
        break;
    }
    Expression();
    text_ += ';';
    Expression();
    text_ += ';';
    Expression();
    text_ += ']';
  }

  void Expression() {
    if (++depth_ > kMaxDepth || IsFull()) {
      OneOf(Next() % 2 == 0 ? kShortLiterals : kShortNames);
      --depth_;
      return;
    }
    switch (Next() % 20) {
      case 0:
      case 1:
      case 2:
        Operand();
        OneOf(kOperators);
        Expression();
        break;
      case 3:
      case 4:
      case 5:
        Function();
        text_ += ' ';
        Expression();
        break;
      case 6:
        Function();
        Arguments();
        break;
      case 7:
        Applied();
        OneOf(kIterators);
        Operand();
        break;
      case 8:
        Operand();
        text_ += ' ';
        Applied();
        OneOf(kIterators);
        Operand();
        break;
      case 9:
        Lambda();
        Arguments();
        break;
      case 10:
        OneOf(kShortNames);
        if (Next() % 3 == 0) Arguments();
        if (Next() % 2 == 0) OneOf(kOperators);
        text_ += ':';
        Expression();
        break;
      case 11:
      case 12:
      case 13:
        Query();
        break;
      case 14:
        Control();
        break;
      case 15:
        text_ += "@.?!"[Next() % 4];
        Arguments();
        break;
      case 16:
        Operand();
        Arguments();
        break;
      case 17:
        OneOf(kTypes);
        text_ += '$';
        Expression();
        break;
      case 18:
        Operand();
        text_ += ' ';
        Function();
        text_ += ' ';
        Expression();
        break;
      default:
        if (Next() % 8 == 0) {
          text_ += kPunctuation[Next() % kPunctuation.size()];
        } else {
          Operand();
        }
    }
    --depth_;
  }

  static constexpr auto kShortNames =
      std::to_array<std::string_view>({"a", "b", "x", "y", "trade", "vtrade", "price", "sym"});
  static constexpr auto kShortLiterals =
      std::to_array<std::string_view>({"0", "1", "2", "0N", "`a", "1 2 3", "()", "2.5"});

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  int depth_ = 0;
  std::string text_;
};

tickstack::query::TestEnvironment& Environment() {
  static tickstack::query::TestEnvironment* const environment = [] {
    auto* made = new tickstack::query::TestEnvironment;
    tickstack::query::AddSampleTables(*made);
    return made;
  }();
  return *environment;
}

std::string Answer(std::string_view text) {
  const Limits limits{.max_depth = 100,
                      .max_levels = 400,
                      .max_text_bytes = 2 * kMaxText,
                      .max_result_bytes = size_t{1} << 20,
                      .deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20),
                      .cancelled = nullptr};
  const auto answer = tickstack::query::Evaluate(text, Environment(), limits);
  if (answer.ok()) return tickstack::query::Show(*answer);
  const std::string error = tickstack::query::QErrorText(answer.status());
  TS_CHECK(!error.empty());  // Every error has a name.
  return "'" + error;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = Grammar({data, size}).Text();
  static const bool shown = std::getenv("TICKSTACK_SHOW_QUERIES") != nullptr;
  if (shown) std::fprintf(stderr, "%s\n", text.c_str());
  const std::string answer = Answer(text);
  if (answer == "'stop") return 0;
  const std::string again = Answer(text);
  TS_CHECK(again == answer || again == "'stop");
  return 0;
}
