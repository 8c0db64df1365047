// Goal: every function of the subset ends in a value or in an error with a name, whatever its
// arguments are. Method: all functions of one and two arguments with all of a set of values: each
// type, nulls, infinities, nothing, nested, tables and functions. A crash or a failed check is the
// failure.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "query/testing.h"

namespace tickstack::query {
namespace {

constexpr std::string_view kValues[] = {
    "1b",
    "0x05",
    "3h",
    "-2i",
    "2",
    "0N",
    "0W",
    "1.5",
    "0n",
    "\"a\"",
    "`a",
    "`",
    "09:30",
    "2013.10.07D09:30:15.5",
    "0Ng",
    "::",
    "()",
    "`long$()",
    "\"\"",
    "0 0N 2 -1",
    "3 1 2h",
    "0n 1.5 -0w",
    "1 2 1e",
    "101b",
    "0x0102",
    "\"ab a\"",
    "`b`a`b",
    "2013.10.07 0Nd",
    "0D00:01 0D00:02",
    "0Ng 0Ng",
    "(1 2;3 4)",
    "(1;`a;\"x\";())",
    "(\"ab\";\"\";\"c\")",
    "`a`b!1 2",
    "`a`b!(1 2;\"x\")",
    "(1 2;3)!(`a;1)",
    "([]a:1 2 1;b:`x`y`x)",
    "([]a:();b:())",
    "([k:`a`b]v:1 0N)",
    "trade",
    "exec price from trade",
    "exec sym from trade",
    "exec cond from trade",
    "{x}",
    "(+)",
};

std::vector<std::string> NamesOfFunctions(TestEnvironment& environment) {
  const absl::StatusOr<Value> names = Evaluate("key `.q", environment);
  std::vector<std::string> functions = {"+",  "-", "*", "%", "&", "|", "=", "<>", "<", ">", "<=",
                                        ">=", "~", "$", ",", "#", "_", "!", "?",  "^", "@", "."};
  for (size_t i = 0; i < names->count(); ++i) functions.emplace_back(names->symbols()[i]);
  functions.emplace_back(".Q.s");
  functions.emplace_back(".Q.s1");
  return functions;
}

TEST(Arguments, EndInAValueOrAnErrorWithAName) {
  TestEnvironment environment;
  AddSampleTables(environment);
  Limits limits;
  limits.max_result_bytes = size_t{1} << 20;
  limits.max_levels = 100;
  const auto ask = [&](const std::string& text) {
    // Some would go on for ever, such as `over` of an index.
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    EXPECT_NE(environment.Ask(text, limits), "'") << text;
  };
  const std::vector<std::string> functions = NamesOfFunctions(environment);
  for (size_t f = 0; f < functions.size(); ++f) {
    for (size_t x = 0; x < std::size(kValues); ++x) {
      ask(fmt::format("{}[{}]", functions[f], kValues[x]));
      // Asks every sixth pair, different ones for each function: all of them take a minute.
      for (size_t y = (f + x) % 6; y < std::size(kValues); y += 6) {
        ask(fmt::format("{}[{};{}]", functions[f], kValues[x], kValues[y]));
      }
    }
  }
}

}  // namespace
}  // namespace tickstack::query
