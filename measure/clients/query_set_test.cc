#include "measure/clients/query_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/status.h"
#include "base/time.h"
#include "measure/clients/question_text.h"
#include "tests/support/without_column.h"

namespace tickstack::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kQuery = "[[query]]\nname = \"last\"\ntext = \"x\"\n";

QuerySet Parsed(std::string_view text) {
  const absl::StatusOr<QuerySet> set = ParseQuerySet(text, "q.toml");
  EXPECT_TRUE(set.ok()) << set.status();
  return set.value_or(QuerySet());
}
// Returns the error for a file whose query is in lines 1 to 3 and whose client starts at line 4.
std::string ClientError(std::string_view keys) {
  const std::string text = fmt::format("{}[[client]]\n{}", kQuery, keys);
  return WithoutColumn(std::string(Message(ParseQuerySet(text, "q.toml").status())));
}
std::string QueryError(std::string_view keys) {
  const std::string text = fmt::format("[[query]]\n{}", keys);
  return WithoutColumn(std::string(Message(ParseQuerySet(text, "q.toml").status())));
}

TEST(QuerySet, ReadsAFile) {
  const QuerySet set = Parsed(R"(
seed = 7
[[client]]
name = "desk"
count = 3
mode = "open"
rate_per_s = 50
arrivals = "even"
queries = ["newest", "price"]
weights = [1, 9]
[[client]]
name = "analyst"
think_ms = 250
queries = ["price"]
[[query]]
name = "price"
text = "exec last price from trade where sym=`{symbol}"
symbols = "turn"
check = "not_empty"
allow_errors = true
window_s = 5
[[query]]
name = "newest"
text = "exec max time from trade"
)");
  EXPECT_EQ(set.name, "q");
  EXPECT_EQ(set.seed, 7u);
  ASSERT_EQ(set.clients.size(), 2u);
  const ClientSpec& desk = set.clients[0];
  EXPECT_EQ(desk.mode, ClientSpec::Mode::kOpen);
  EXPECT_EQ(desk.count, 3);
  EXPECT_EQ(desk.every_ms, 20);
  EXPECT_FALSE(desk.poisson);
  EXPECT_THAT(desk.queries, ElementsAre(1, 0));
  EXPECT_THAT(desk.weights, ElementsAre(1, 9));
  EXPECT_EQ(set.clients[1].mode, ClientSpec::Mode::kClosed);
  EXPECT_EQ(set.clients[1].think_ms, 250);
  const QuerySpec& price = set.queries[0];
  EXPECT_TRUE(price.symbols_in_turn && price.not_empty && price.allow_errors);
  EXPECT_EQ(price.window_s, 5);
  EXPECT_TRUE(price.asks_for_symbol() && set.asks_for_symbols());
  EXPECT_FALSE(set.queries[1].asks_for_symbol() || set.queries[1].not_empty);
}

TEST(QuerySet, HasTheBuiltInOnesAndTheExample) {
  EXPECT_TRUE(LoadQuerySet("monitor")->clients.empty());
  for (const char* name : {"paper", "heavy", "examples/queries.toml"}) {
    const absl::StatusOr<QuerySet> set = LoadQuerySet(name);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_FALSE(set->clients.empty()) << name;
  }
  EXPECT_EQ(LoadQuerySet("paper")->clients[0].every_ms, 0);  // As often as the monitor samples.
  EXPECT_EQ(Message(LoadQuerySet("light").status()),
            "queries light: expected monitor, paper, heavy, or a file such as desk.toml");
  EXPECT_EQ(LoadQuerySet("none.toml").status().code(), absl::StatusCode::kNotFound);
}

TEST(QuerySet, ErrorsNameTheirPlace) {
  const std::string at = "q.toml:5: client[0].";
  const std::pair<std::string, std::string> of_clients[] = {
      {"name = ''", at + "name: expected 1 to 48 letters, digits, - and _, found \"\""},
      {"name = 'a b'", at + "name: expected 1 to 48 letters"},
      {"count = 0\nname = 'a'", at + "count: expected an integer from 1 to 4096"},
      {"mode = 'half'\nname = 'a'", at + "mode: expected \"closed\" or \"open\", found \"half\""},
      {"rate_per_s = 5\nname = 'a'", at + "rate_per_s: expected mode = \"open\" with it"},
      {"think_ms = 5\nname = 'a'\nmode = 'open'", at + "think_ms: expected mode = \"closed\""},
      {"think_ms = -1\nname = 'a'", at + "think_ms: expected 0 to 3.6e+06, found -1"},
      {"think_ms = nan\nname = 'a'", at + "think_ms: expected 0 to 3.6e+06, found nan"},
      {"every_ms = 0\nname = 'a'\nmode = 'open'", at + "every_ms: expected 0.01 to 3.6e+06"},
      {"every_ms = 5\nrate_per_s = 5\nname = 'a'\nmode = 'open'",
       at + "every_ms: expected either this or rate_per_s"},
      {"queries = []\nname = 'a'", at + "queries: expected the names of queries, found none"},
      {"queries = ['first']\nname = 'a'", at + "queries: no [[query]] has the name \"first\""},
      {"queries = ['last', 'last']\nname = 'a'", at + "queries: last is there twice"},
      {"weights = [1, 2]\nqueries = ['last']\nname = 'a'",
       at + "weights: expected one for each of the 1 queries, found 2"},
      {"weights = [0]\nqueries = ['last']\nname = 'a'", at + "weights: expected an array of"},
      {"speed = 5\nqueries = ['last']\nname = 'a'", at + "speed: unknown key"},
      {"name = 'a'\nqueries = ['last']\n[[client]]\nname = 'a'\nqueries = ['last']",
       "q.toml:8: client[1].name: a client before has the name a"},
      {"name = 'a'\ncount = 4000\nqueries = ['last']\n[[client]]\nname = 'b'\ncount = 97\n"
       "queries = ['last']",
       "client: expected up to 32 clients with 4096 connections in all, found 2 with 4097"}};
  for (const auto& [keys, expected] : of_clients) {
    EXPECT_THAT(ClientError(keys), HasSubstr(expected)) << keys;
  }
  const std::string query_at = "q.toml:2: query[0].";
  const std::pair<std::string, std::string> of_queries[] = {
      {"text = ''\nname = 'a'", query_at + "text: expected 1 to 16384 bytes of q, found 0"},
      {"symbols = 'all'\nname = 'a'\ntext = 'x'",
       query_at + "symbols: expected \"activity\" or \"turn\", found \"all\""},
      {"window_s = 1e9\nname = 'a'\ntext = 'x'", query_at + "window_s: expected 0 to 86400"},
      {"check = 'some'\nname = 'a'\ntext = 'x'",
       query_at + "check: expected \"any\" or \"not_empty\", found \"some\""},
      {"name = 'a'\ntext = 'x'\n[[query]]\nname = 'a'",
       "q.toml:5: query[1].name: a query before has the name a"},
      {"name = 'a'\ntext = 'x'", "client: expected a [[client]], found none"},
      {"name = 'a'\ntext = 'x'\n[[query]]\nname = 'b'\ntext = 'x'\n[[client]]\nname = 'c'\n"
       "queries = ['a']",
       "query: no client asks b"}};
  for (const auto& [keys, expected] : of_queries) {
    EXPECT_THAT(QueryError(keys), HasSubstr(expected)) << keys;
  }
}

TEST(SymbolActivity, ReadsAFileAndWhatAnRdbAnswers) {
  const absl::StatusOr<SymbolActivity> file =
      ParseSymbols("QUIET,1\nSPY,3\n\nBRK.B,2.5\n", "s.csv");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 3u);
  EXPECT_EQ(file->InTurn(0), "SPY");
  EXPECT_EQ(file->InTurn(5), "QUIET");
  EXPECT_EQ(file->ByActivity(0), "SPY");
  EXPECT_EQ(file->ByActivity(0.999), "QUIET");
  EXPECT_EQ(Message(ParseSymbols("SPY,3\nA,0\n", "s.csv").status()),
            "s.csv:2: expected a weight above 0, found \"0\"");
  EXPECT_EQ(Message(ParseSymbols("A;exit,1\n", "s.csv").status()),
            "s.csv:1: expected a symbol of letters, digits, . and _, found \"A;exit\"");
  EXPECT_EQ(Message(ParseSymbols("\n", "s.csv").status()), "s.csv: expected symbols, found none");

  const auto counted = [](Value names, Value counts) {
    return SymbolsOf(Value::KeyedTable(Value::Table({"sym"}, {std::move(names)}),
                                       Value::Table({"n"}, {std::move(counts)})));
  };
  const SymbolActivity asked =
      counted(Value::Symbols({"A", "x`y", "B", "C"}), Value::Longs({1, 9, 2, 0}));
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked.InTurn(0), "B");
  EXPECT_TRUE(counted(Value::Longs({1}), Value::Longs({1})).empty());
  EXPECT_TRUE(SymbolsOf(Value::Long(3)).empty());
}

TEST(QuestionTexts, FillInSymbolsAndTimesAndLeaveFunctionsAlone) {
  const QuerySet set = Parsed(R"(
[[client]]
name = "a"
queries = ["q", "f"]
[[query]]
name = "q"
text = "f[`{symbol};`{symbol}] {begin} {end}"
symbols = "turn"
window_s = 1.5
[[query]]
name = "f"
text = "{x+1} 2"
)");
  const SymbolActivity symbols({{"A", 2}, {"B", 1}});
  QuestionTexts texts(set, 0, symbols);
  const int64_t now_ns = 7'373 * kNsPerDay + 10 * kNsPerSecond;
  for (const char* symbol : {"A", "B", "A"}) {
    EXPECT_EQ(texts.Next(), 0u);
    EXPECT_EQ(texts.Text(0, now_ns), fmt::format("f[`{0};`{0}] 2020.03.09D00:00:08.500000000 "
                                                 "2020.03.09D00:00:10.000000000",
                                                 symbol));
    EXPECT_EQ(texts.Next(), 1u);
    EXPECT_EQ(texts.Text(1, now_ns), "{x+1} 2");
  }
}

// Goal: queries are drawn by their weights and symbols by their activity, and a second run draws
// the same.
TEST(QuestionTexts, DrawByWeightAndActivity) {
  const QuerySet set = Parsed(R"(
[[client]]
name = "a"
queries = ["q", "r"]
weights = [9, 1]
[[query]]
name = "q"
text = "{symbol}"
[[query]]
name = "r"
text = "r"
)");
  const SymbolActivity symbols({{"A", 6}, {"B", 3}});
  QuestionTexts texts(set, 0, symbols);
  const auto draw = [&texts] {
    std::vector<std::string> drawn;
    for (int i = 0; i < 10'000; ++i) drawn.push_back(texts.Text(texts.Next(), 0));
    return drawn;
  };
  const std::vector<std::string> drawn = draw();
  std::map<std::string, int> counts;
  for (const std::string& text : drawn) ++counts[text];
  EXPECT_NEAR(counts["A"], 6'000, 300);
  EXPECT_NEAR(counts["B"], 3'000, 300);
  EXPECT_NEAR(counts["r"], 1'000, 200);
  texts.Restart();
  EXPECT_EQ(draw(), drawn);
}

}  // namespace
}  // namespace tickstack::measure
