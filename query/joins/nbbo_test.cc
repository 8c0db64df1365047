// Goal: nbbo gives what its header says, however the rows are cut into parts. Method: random quotes
// of few symbols, venues and prices, so that ties and withdrawn quotes are frequent, compared with
// a search through all venues after each row; as a captured table in small chunks, as some of its
// rows, and as values; on one thread and on several.

#include "query/joins/nbbo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "query/testing.h"

namespace tickstack::query {
namespace {

constexpr double kNoBid = 0;

struct Quote {
  int64_t time;
  std::string sym;
  char ex;
  double bid, ask;
  int64_t bsize, asize;
};
using Quotes = std::vector<Quote>;

double RandomPrice(std::mt19937_64& rng) {
  const uint64_t kind = rng() % 12;
  if (kind == 0) return kNoBid;
  if (kind == 1) return std::numeric_limits<double>::quiet_NaN();
  if (kind == 2) return -0.0;
  return static_cast<double>(rng() % 7) - 1;  // Includes 0 and negative prices.
}

Quotes RandomQuotes(std::mt19937_64& rng, size_t rows, size_t symbols, size_t venues) {
  Quotes quotes;
  for (size_t i = 0; i < rows; ++i) {
    const size_t symbol = rng() % symbols;
    quotes.push_back({static_cast<int64_t>(i), symbol == 0 ? "" : fmt::format("s{}", symbol),
                      static_cast<char>('A' + rng() % venues), RandomPrice(rng), RandomPrice(rng),
                      rng() % 9 == 0 ? kNullLong : static_cast<int64_t>(rng() % 100),
                      static_cast<int64_t>(rng() % 100)});
  }
  return quotes;
}

template <typename F>
Value VectorOf(Type type, const Quotes& quotes, F f) {
  using T = decltype(f(quotes[0]));
  std::vector<T> items;
  for (const Quote& quote : quotes) items.push_back(f(quote));
  return Value::Vector(type, std::span<const T>(items));
}

// Returns the quotes as a table, with prices as floats and sizes as longs.
Value TableOf(const Quotes& quotes) {
  SymbolVector sym;
  for (const Quote& quote : quotes) sym.push_back(quote.sym);
  return Value::Table(
      {"time", "sym", "ex", "bid", "ask", "bsize", "asize", "venue"},
      {VectorOf(Type::kTimestamp, quotes, [](const Quote& q) { return q.time; }),
       Value::Symbols(std::move(sym)),
       VectorOf(Type::kChar, quotes, [](const Quote& q) { return q.ex; }),
       VectorOf(Type::kFloat, quotes, [](const Quote& q) { return q.bid; }),
       VectorOf(Type::kFloat, quotes, [](const Quote& q) { return q.ask; }),
       VectorOf(Type::kLong, quotes, [](const Quote& q) { return q.bsize; }),
       VectorOf(Type::kLong, quotes, [](const Quote& q) { return q.asize; }),
       VectorOf(Type::kLong, quotes, [](const Quote& q) { return int64_t{q.ex} << 40; })});
}

bool IsQuote(double price) { return price != 0 && !std::isnan(price); }

// Returns the rows of nbbo as text: price and size of both sides.
std::vector<std::string> BestByDefinition(const Quotes& quotes) {
  std::vector<std::string> rows;
  std::map<std::string, std::map<char, Quote>> last;
  for (const Quote& quote : quotes) {
    last[quote.sym].insert_or_assign(quote.ex, quote);
    double bid = NAN, ask = NAN;
    int64_t bsize = kNullLong, asize = kNullLong;
    for (const auto& [ex, of] : last[quote.sym]) {
      if (IsQuote(of.bid) && !(of.bid <= bid)) bid = of.bid;
      if (IsQuote(of.ask) && !(of.ask >= ask)) ask = of.ask;
    }
    for (const auto& [ex, of] : last[quote.sym]) {
      if (of.bid == bid) bsize = std::max<int64_t>(bsize, 0) + std::max<int64_t>(of.bsize, 0);
      if (of.ask == ask) asize = std::max<int64_t>(asize, 0) + std::max<int64_t>(of.asize, 0);
    }
    rows.push_back(fmt::format("{} {} {} {} {} {}", quote.time, quote.sym, bid, ask, bsize, asize));
  }
  return rows;
}

std::vector<std::string> RowsOf(const absl::StatusOr<Value>& table) {
  std::vector<std::string> rows;
  if (!table.ok()) {
    ADD_FAILURE() << table.status();
    return rows;
  }
  const auto time = table->FindColumn("time")->span<int64_t>();
  const SymbolVector& sym = table->FindColumn("sym")->symbols();
  const auto bid = table->FindColumn("bid")->span<double>();
  const auto ask = table->FindColumn("ask")->span<double>();
  const auto bsize = table->FindColumn("bsize")->span<int64_t>();
  const auto asize = table->FindColumn("asize")->span<int64_t>();
  for (size_t i = 0; i < time.size(); ++i) {
    rows.push_back(fmt::format("{} {} {} {} {} {}", time[i], sym[i],
                               std::isnan(bid[i]) ? NAN : bid[i], std::isnan(ask[i]) ? NAN : ask[i],
                               bsize[i], asize[i]));
  }
  return rows;
}

Quotes Only(const Quotes& quotes, auto keep) {
  Quotes only;
  std::ranges::copy_if(quotes, std::back_inserter(only), keep);
  return only;
}

TEST(Nbbo, AgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const size_t rows = std::array<size_t, 6>{0, 1, 2, 65, 300, 1'500}[rng() % 6];
    const Quotes quotes = RandomQuotes(rng, rows, 1 + rng() % 4, 1 + rng() % 12);
    TestEnvironment environment;
    environment.SetValue("vq", TableOf(quotes));
    environment.CaptureTable("q", "vq");
    const auto best = [&](std::string_view venue, std::string_view from) {
      return RowsOf(
          Evaluate(fmt::format("nbbo[`sym`{}`bid`ask`bsize`asize;{}]", venue, from), environment));
    };
    const std::vector<std::string> expected = BestByDefinition(quotes);
    ASSERT_EQ(best("ex", "q"), expected);
    ASSERT_EQ(best("ex", "vq"), expected);
    ASSERT_EQ(best("venue", "q"), expected);
    ASSERT_EQ(best("ex", "select from q where sym=`s1"),
              BestByDefinition(Only(quotes, [](const Quote& q) { return q.sym == "s1"; })));
    ASSERT_EQ(best("venue", "select from q where bsize>40"),
              BestByDefinition(Only(quotes, [](const Quote& q) { return q.bsize > 40; })));
    ASSERT_EQ(best("ex", "select from aj[`sym`time;q;select sym,time,x:bid from q] where sym=`s1"),
              BestByDefinition(Only(quotes, [](const Quote& q) { return q.sym == "s1"; })));
  }
}

TEST(Nbbo, IsTheSameInParts) {
  WorkerPool pool(3);
  Limits helped;
  helped.workers = &pool;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const Quotes quotes = RandomQuotes(rng, 300'000, 1 + 40 * seed, 5);
    TestEnvironment environment;
    environment.SetValue("vq", TableOf(quotes));
    environment.CaptureTable("q", "vq", 4096);
    const std::vector<std::string> expected = BestByDefinition(quotes);
    for (const std::string_view from :
         {"nbbo[`sym`ex`bid`ask`bsize`asize;q]", "nbbo[`sym`venue`bid`ask`bsize`asize;vq]"}) {
      EXPECT_TRUE(RowsOf(Evaluate(from, environment, helped)) == expected) << from;
    }
  }
}

TEST(Nbbo, KeepsTheTypesOfPricesAndSumsSizesAsSumDoes) {
  TestEnvironment environment;
  const std::string table =
      "([]sym:`a`a`a`a;ex:\"NQNQ\";bid:9 9 0 8{0};ask:12 11 0 0{0};bs:1 2 3 4{1};as:1 2 3 4{1})";
  for (const auto& [price, size, bid, ask, sizes] : std::initializer_list<
           std::tuple<std::string, std::string, std::string, std::string, std::string>>{
           {"h", "h", "9 9 9 8h", "12 11 11 0Nh", "bs:1 3 2 4i;as:1 2 2 0Ni"},
           {"i", "i", "9 9 9 8i", "12 11 11 0Ni", "bs:1 3 2 4i;as:1 2 2 0Ni"},
           {"", "", "9 9 9 8", "12 11 11 0N", "bs:1 3 2 4;as:1 2 2 0N"},
           {"e", "e", "9 9 9 8e", "12 11 11 0Ne", "bs:1 3 2 4e;as:1 2 2 0Ne"},
           {"f", "f", "9 9 9 8f", "12 11 11 0n", "bs:1 3 2 4f;as:1 2 2 0n"}}) {
    EXPECT_EQ(environment.Ask("([]sym:`a`a`a`a;bid:" + bid + ";ask:" + ask + ";" + sizes +
                              ")~nbbo[`sym`ex`bid`ask`bs`as;" +
                              fmt::format(fmt::runtime(table), price, size) + "]"),
              "1b")
        << price;
  }
}

TEST(Nbbo, TakesSymbolsAndVenuesOfAnyType) {
  TestEnvironment environment;
  for (const std::string venues : {"`N`Q`N", "1 2 1", "\"NQN\"", "101b", "0x010201", "1 2 1h",
                                   "09:30 09:31 09:30", "1.5 2.5 1.5"}) {
    EXPECT_EQ(environment.Ask("nbbo[`s`x`b`a;([]s:7 7 7;x:" + venues + ";b:1 2 3;a:6 5 6)]"),
              "([]s:7 7 7;b:1 2 3;a:6 5 5)")
        << venues;
  }
}

TEST(Nbbo, NamesWhatIsWrong) {
  TestEnvironment environment;
  environment.SetValue("q", TableOf({}));
  EXPECT_EQ(environment.Ask("nbbo[`sym`ex`bid`ask;q]"),
            "([]time:`timestamp$();sym:`symbol$();bid:`float$();ask:`float$())");
  EXPECT_EQ(environment.Ask("nbbo[`sym`ex`bid;q]"), "'length");
  EXPECT_EQ(environment.Ask("nbbo[`sym`ex`bid`ask`bsize;q]"), "'length");
  EXPECT_EQ(environment.Ask("nbbo[`sym;q]"), "'type");
  EXPECT_EQ(environment.Ask("nbbo[1 2 3 4;q]"), "'type");
  EXPECT_EQ(environment.Ask("nbbo[`sym`ex`bid`nope;q]"), "'nope");
  EXPECT_EQ(environment.Ask("nbbo[`sym`ex`bid`time;q]"), "'type");
  EXPECT_EQ(environment.Ask("nbbo[`sym`ex`bid`ask`sym`bsize;q]"), "'type");
  EXPECT_EQ(environment.Ask("nbbo[`sym`ex`bid`ask;5]"), "'type");
  EXPECT_EQ(environment.Ask("nbbo[`sym`sym`bid`bid;([]sym:`a`b;bid:1 2)]"),
            "([]sym:`a`b;bid:1 2;bid1:1 2)");
  Limits limits;
  limits.max_result_bytes = 100'000;
  EXPECT_EQ(environment.Ask("nbbo[`s`x`b`a;([]s:til 9000;x:til 9000;b:1;a:2)]", limits), "'limit");
}

}  // namespace
}  // namespace tickstack::query
