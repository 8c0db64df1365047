#include "feed/sources/sim_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "base/status.h"
#include "base/time.h"
#include "feed/sources/source_testing.h"

namespace tickstack::feed {
namespace {

constexpr int64_t kStartNs = 637'000'000 * kNsPerSecond;

std::unique_ptr<SimSource> Make(const SimOptions& options) {
  absl::StatusOr<std::unique_ptr<SimSource>> source = SimSource::Create(options);
  EXPECT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE((*source)->Rewind({}).ok());
  (*source)->Start(kStartNs);
  return *std::move(source);
}

SimOptions Paced(int64_t rows, int64_t batch_rows) {
  SimOptions options;
  options.rows = rows;
  options.batch_rows = batch_rows;
  options.rate = 1'000;
  options.symbols = 100;
  return options;
}

RowsByTable AllRows(const SimOptions& options) {
  RowsByTable rows;
  EXPECT_TRUE(Drain(*Make(options), kStartNs + kNsPerDay, rows).ok());
  return rows;
}

std::vector<std::string> Fields(const std::string& row) {
  std::vector<std::string> fields(1);
  for (const char c : row) {
    if (c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

TEST(SimMarket, NamesEverySymbolOnceInOneToFiveCapitals) {
  const SimMarket market(8'000, 1);
  std::set<std::string> names;
  for (size_t i = 0; i < market.symbols(); ++i) {
    const std::string name(market.name(i));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_THAT(name, testing::MatchesRegex("[A-Z][A-Z]?[A-Z]?[A-Z]?[A-Z]?"));
  }
  EXPECT_EQ(market.name(1), "AAPL");
}

TEST(SimMarket, TakesEveryNumberOfSymbols) {
  for (const int64_t symbols : {1, 2, 3, 17, 1'000, 65'536}) {
    const SimMarket market(symbols, 7);
    for (uint64_t event = 0; event < 10'000; ++event) {
      ASSERT_LT(market.At(event).symbol, symbols);
    }
  }
}

TEST(SimMarket, DrawsSymbolsByZipf) {
  constexpr int64_t kSymbols = 8'000;
  constexpr uint64_t kEvents = 4'000'000;
  const SimMarket market(kSymbols, 3);
  std::vector<double> drawn(kSymbols);
  for (uint64_t event = 0; event < kEvents; ++event) ++drawn[market.At(event).symbol];
  double harmonic = 0;
  for (int64_t rank = 1; rank <= kSymbols; ++rank) harmonic += 1.0 / static_cast<double>(rank);
  for (const size_t rank : {0u, 1u, 2u, 9u, 99u, 999u, 7'999u}) {
    const double expected = kEvents / (harmonic * static_cast<double>(rank + 1));
    // Six standard deviations, and the rounding of a share to 1/65,536 of a slot.
    EXPECT_NEAR(drawn[rank], expected, 6 * std::sqrt(expected) + kEvents / 8'000.0 / 100) << rank;
  }
}

// Goal: prices are a walk, not noise around a level. Method: the mean square of the change over a
// lag grows in proportion to the lag.
TEST(SimMarket, PricesAreARandomWalk) {
  const SimMarket market(200, 5);
  constexpr uint64_t kStep = 4'096;
  const auto mean_square = [&market](uint64_t lag) {
    double sum = 0, count = 0;
    for (uint32_t symbol = 0; symbol < 200; ++symbol) {
      for (uint64_t at = 0; at < 60'000; at += 97) {
        const double before = market.BidCents(symbol, at * kStep);
        const double change = market.BidCents(symbol, (at + lag) * kStep) / before - 1;
        sum += change * change;
        ++count;
      }
    }
    return sum / count;
  };
  const double ratio = mean_square(1'600) / mean_square(100);
  EXPECT_GT(ratio, 8);
  EXPECT_LT(ratio, 32);
}

// Goal: a name that people know has a price that they expect. The walk's standard deviation over
// its whole length is 2 %; its extremes stay well within 20 %.
TEST(SimMarket, KnownSymbolsHaveTheirPrices) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const SimMarket market(100, seed);
    const std::pair<uint32_t, double> expected[] = {{0, 274}, {1, 266}, {2, 22}, {9, 1801}};
    for (const auto& [symbol, dollars] : expected) {
      for (uint64_t event = 0; event < uint64_t{1} << 28; event += uint64_t{1} << 22) {
        const double bid = market.BidCents(symbol, event) / 100.0;
        ASSERT_GT(bid, 0.8 * dollars) << market.name(symbol);
        ASSERT_LT(bid, 1.2 * dollars) << market.name(symbol);
      }
    }
  }
}

TEST(SimMarket, PricesStayAboveADollar) {
  const SimMarket market(8'000, 11);
  for (uint32_t symbol = 0; symbol < 8'000; ++symbol) {
    for (uint64_t event = 0; event < uint64_t{1} << 28; event += uint64_t{1} << 22) {
      ASSERT_GE(market.BidCents(symbol, event), 100);
    }
  }
}

TEST(SimSource, SendsTenQuotesToATradeInTheDefaultSchemas) {
  const RowsByTable rows = AllRows(Paced(1'100, 64));
  ASSERT_EQ(rows.at("quote").size(), 1'000u);
  ASSERT_EQ(rows.at("trade").size(), 100u);
  for (const std::string& row : rows.at("quote")) {
    const std::vector<std::string> field = Fields(row);
    ASSERT_EQ(field.size(), 8u);
    EXPECT_GT(std::stod(field[3]), std::stod(field[2])) << row;
    EXPECT_EQ(std::stol(field[4]) % 100, 0);
    EXPECT_GT(std::stol(field[4]), 0);
    EXPECT_EQ(std::stol(field[5]) % 100, 0);
  }
  for (const std::string& row : rows.at("trade")) ASSERT_EQ(Fields(row).size(), 7u);
}

TEST(SimSource, ARowDoesNotDependOnTheBatchSize) {
  const RowsByTable expected = AllRows(Paced(5'000, 2'400));
  for (const int64_t batch_rows : {1, 2, 7, 10, 11, 999}) {
    SCOPED_TRACE(batch_rows);
    ExpectSameRows(AllRows(Paced(5'000, batch_rows)), expected);
  }
}

TEST(SimSource, NeverExceedsTheBatchSize) {
  for (const int64_t batch_rows : {1, 2, 10, 11, 100}) {
    const std::unique_ptr<SimSource> source = Make(Paced(3'000, batch_rows));
    while (true) {
      const absl::StatusOr<const FeedBatch*> batch = source->Next(kStartNs + kNsPerDay);
      ASSERT_TRUE(batch.ok());
      if (*batch == nullptr) break;
      EXPECT_LE((*batch)->rows, batch_rows);
      EXPECT_GT((*batch)->rows, 0);
    }
  }
}

TEST(SimSource, AnotherSeedGivesOtherRows) {
  SimOptions options = Paced(100, 10);
  const RowsByTable one = AllRows(options);
  options.seed = 2;
  EXPECT_NE(AllRows(options), one);
}

// Goal: a rewind continues exactly at the requested row. Method: at random moments some batches
// count as lost, for each table independently; the remaining rows and the repeated ones must be the
// rows of an undisturbed run.
TEST(SimSource, ResumesExactlyAfterTheRowsThatAreDone) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const SimOptions options = Paced(3'000, static_cast<int64_t>(1 + rng() % 300));
    const RowsByTable expected = AllRows(options);
    const std::unique_ptr<SimSource> source = Make(options);
    RowsByTable rows;
    for (int losses = 0; losses < 20; ++losses) {
      ASSERT_TRUE(Drain(*source, kStartNs + kNsPerDay, rows, static_cast<int64_t>(rng() % 9)).ok());
      for (auto& [table, texts] : rows) texts.resize(texts.size() - rng() % (texts.size() + 1) / 2);
      ASSERT_TRUE(source->Rewind(Counts(rows)).ok());
    }
    ASSERT_TRUE(Drain(*source, kStartNs + kNsPerDay, rows).ok());
    ExpectSameRows(rows, expected);
  }
}

TEST(SimSource, HandsARowOutWhenItIsDueAndStampsItSo) {
  const std::unique_ptr<SimSource> source = Make(Paced(50, 100));
  RowsByTable rows;
  EXPECT_EQ(source->next_due_ns(), kStartNs);
  ASSERT_TRUE(Drain(*source, kStartNs - 1, rows).ok());
  EXPECT_TRUE(rows.empty());
  constexpr int64_t kPeriodNs = 1'000'000;
  for (int64_t event = 0; event < 50; ++event) {
    const int64_t due_ns = kStartNs + event * kPeriodNs;
    ASSERT_EQ(source->next_due_ns(), due_ns);
    RowsByTable early;
    ASSERT_TRUE(Drain(*source, due_ns - 1, early).ok());
    ASSERT_TRUE(early.empty());
    ASSERT_TRUE(Drain(*source, due_ns, rows).ok());
    const std::string table = event % 11 == 10 ? "trade" : "quote";
    EXPECT_EQ(Fields(rows[table].back())[0], std::to_string(due_ns));
  }
  EXPECT_EQ(source->next_due_ns(), kNeverDue);
}

TEST(SimSource, ALateRowKeepsTheTimeAtWhichItWasDue) {
  const std::unique_ptr<SimSource> source = Make(Paced(50, 100));
  RowsByTable rows;
  ASSERT_TRUE(Drain(*source, kStartNs + kNsPerSecond, rows).ok());
  EXPECT_EQ(Fields(rows["quote"].front())[0], std::to_string(kStartNs));
  EXPECT_EQ(Fields(rows["quote"][5])[0], std::to_string(kStartNs + 5'000'000));
}

TEST(SimSource, AfterARestartTheNextRowIsDueAtOnce) {
  absl::StatusOr<std::unique_ptr<SimSource>> source = SimSource::Create(Paced(1'100, 100));
  ASSERT_TRUE(source.ok());
  ASSERT_TRUE((*source)->Rewind({{"quote", 500}, {"trade", 50}}).ok());
  (*source)->Start(kStartNs);
  EXPECT_EQ((*source)->next_due_ns(), kStartNs);
}

TEST(SimSource, SpeedMultipliesTheRate) {
  SimOptions options = Paced(50, 100);
  options.speed = 4;
  const std::unique_ptr<SimSource> source = Make(options);
  RowsByTable rows;
  ASSERT_TRUE(Drain(*source, kStartNs, rows).ok());
  EXPECT_EQ(source->next_due_ns(), kStartNs + 250'000);
}

TEST(SimSource, WithRateZeroEverythingIsDueAndStampedWhenItIsMade) {
  SimOptions options = Paced(50, 10);
  options.rate = 0;
  const std::unique_ptr<SimSource> source = Make(options);
  EXPECT_EQ(source->next_due_ns(), kAlwaysDue);
  RowsByTable rows;
  ASSERT_TRUE(Drain(*source, kStartNs + 77, rows).ok());
  EXPECT_EQ(rows["quote"].size(), 46u);
  EXPECT_EQ(Fields(rows["quote"].back())[0], std::to_string(kStartNs + 77));
  EXPECT_EQ(source->next_due_ns(), kNeverDue);
}

TEST(SimSource, ADayOfTheProfileHasRateTimesSecondsUpdates) {
  const auto updates = [](double rate, double seconds) {
    SimOptions options;
    options.rate = rate;
    options.seconds = seconds;
    return Make(options)->events_end();
  };
  EXPECT_EQ(updates(48'000, 1'800), 86'400'000);
  EXPECT_EQ(updates(0, 10), 480'000);
  EXPECT_EQ(updates(0.5, 10), 5);
  EXPECT_EQ(updates(10, 0), kInfinityLong);
}

TEST(SimSource, NamesTheOptionThatIsOutOfRange) {
  const auto error = [](auto change) {
    SimOptions options;
    change(options);
    return std::string(Message(SimSource::Create(options).status()));
  };
  EXPECT_EQ(error([](SimOptions& o) { o.profile = "may1962"; }),
            "profile 'may1962': expected march2020");
  EXPECT_THAT(error([](SimOptions& o) { o.rate = -1; }), testing::StartsWith("rate -1:"));
  EXPECT_THAT(error([](SimOptions& o) { o.rate = NAN; }), testing::StartsWith("rate nan:"));
  EXPECT_THAT(error([](SimOptions& o) { o.symbols = 0; }), testing::StartsWith("symbols 0:"));
  EXPECT_THAT(error([](SimOptions& o) { o.batch_rows = 0; }), testing::StartsWith("batch-rows"));
  EXPECT_THAT(error([](SimOptions& o) { o.seconds = -2; }), testing::StartsWith("seconds -2:"));
  EXPECT_THAT(error([](SimOptions& o) { o.speed = -2; }), testing::StartsWith("speed -2:"));
  EXPECT_THAT(error([](SimOptions& o) { o.rows = -2; }), testing::StartsWith("rows -2:"));
}

TEST(SimSource, MakesAsManyQuotesToATradeAsItIsTold) {
  SimOptions options = Paced(600, 7);
  options.quotes_per_trade = 5;
  const RowsByTable rows = AllRows(options);
  EXPECT_EQ(rows.at("quote").size(), 500u);
  EXPECT_EQ(rows.at("trade").size(), 100u);
}

TEST(SimSource, EndsEachTableWhereItIsTold) {
  const RowsByTable all = AllRows(Paced(5'000, 64));
  SimOptions options = Paced(0, 64);
  options.seconds = 0;
  options.quotes_max = 333;
  options.trades_max = 100;
  const RowsByTable rows = AllRows(options);
  ASSERT_EQ(rows.at("quote").size(), 333u);
  ASSERT_EQ(rows.at("trade").size(), 100u);
  EXPECT_EQ(rows.at("quote").back(), all.at("quote")[332]);
  EXPECT_EQ(rows.at("trade").back(), all.at("trade")[99]);
}

TEST(SimSource, KeepsTheRatesOfItsPhases) {
  SimOptions options = Paced(0, 64);
  options.phases = {{0.5, 1'000}, {0.5, 3'000}};
  options.seconds = 2;
  const std::unique_ptr<SimSource> source = Make(options);
  EXPECT_EQ(source->events_end(), 4'000);
  RowsByTable rows;
  ASSERT_TRUE(Drain(*source, kStartNs + kNsPerSecond / 2 - 1, rows).ok());
  EXPECT_EQ(rows["quote"].size() + rows["trade"].size(), 500u);
  ASSERT_TRUE(Drain(*source, kStartNs + kNsPerSecond - 1, rows).ok());
  EXPECT_EQ(rows["quote"].size() + rows["trade"].size(), 2'000u);
}

// Goal: a source that was started late goes back to before its first row. Method: with a rate, and
// with rates in phases, which have no time before the first phase.
TEST(SimSource, RowsBeforeTheFirstOneAreDueAtItsStart) {
  for (const bool phases : {false, true}) {
    SCOPED_TRACE(phases);
    SimOptions options;
    options.rate = 1'000;
    if (phases) options.phases = {{0.5, 500}, {0.5, 1'500}};
    const std::unique_ptr<SimSource> source = *SimSource::Create(options);
    ASSERT_TRUE(source->Rewind({{"quote", 5'000}, {"trade", 500}}).ok());
    source->Start(kStartNs);
    ASSERT_TRUE(source->Rewind({}).ok());
    EXPECT_EQ(source->next_due_ns(), kStartNs);
    const absl::StatusOr<const FeedBatch*> batch = source->Next(kStartNs);
    ASSERT_TRUE(batch.ok() && *batch != nullptr);
    EXPECT_EQ((*batch)->first_row, 0);
    EXPECT_EQ((*batch)->due_ns, kStartNs);
  }
}

}  // namespace
}  // namespace tickstack::feed
