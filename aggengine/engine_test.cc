#include "aggengine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "aggengine/bar_functions.h"
#include "aggengine/bars_by_definition.h"
#include "base/status.h"
#include "base/time.h"
#include "table/keyed_table.h"
#include "wire/codec.h"

namespace tickstack::aggengine {
namespace {

constexpr double kNull = std::numeric_limits<double>::quiet_NaN();

BarSpec Bar(std::string_view name, std::string_view table, int64_t width_ns,
            std::initializer_list<std::pair<std::string_view, std::string_view>> columns) {
  BarSpec spec{std::string(name), std::string(table), width_ns, {}};
  for (const auto& [column, text] : columns)
    spec.aggregates.push_back(*ParseAggregate(column, text));
  return spec;
}

// Returns the default bars, tables of other widths, and one with each function.
std::vector<BarSpec> AllBars() {
  std::vector<BarSpec> bars = DefaultBars(DefaultSchemas());
  bars.push_back(Bar("trade_7s", "trade", 7 * kNsPerSecond,
                     {{"first_size", "first size"},
                      {"min_size", "min size"},
                      {"max_size", "max size"},
                      {"mean", "avg price"},
                      {"mean_size", "avg size"},
                      {"sum_price", "sum price"},
                      {"cond", "last cond"},
                      {"held", "twavg price"},
                      {"n", "count"}}));
  bars.push_back(Bar("quote_90s", "quote", 90 * kNsPerSecond,
                     {{"depth", "sum bsize-asize"},
                      {"skew", "avg bsize-asize"},
                      {"bid", "first bid"},
                      {"held", "twavg bid"},
                      {"spread", "twavg ask-bid"},
                      {"weighed", "bsize wavg ask-bid"}}));
  bars.push_back(Bar("trade_11s", "trade", 11 * kNsPerSecond, {}));
  for (const BarFunction& function : BarFunctions()) {
    const bool weighted = function.operands == BarFunction::Operands::kWeighted;
    const bool none = function.operands == BarFunction::Operands::kNone;
    const std::string text =
        fmt::format("{}{}{}", weighted ? "size " : "", function.word, none ? "" : " price");
    bars.back().aggregates.push_back(*ParseAggregate(fmt::format("by_{}", function.word), text));
  }
  return bars;
}

std::vector<Schema> AllSchemas(const std::vector<BarSpec>& bars, std::vector<Schema> schemas) {
  const size_t sources = schemas.size();
  for (const BarSpec& spec : bars) {
    for (size_t i = 0; i < sources; ++i) {
      if (schemas[i].table == spec.table) schemas.push_back(*SchemaOf(spec, schemas[i]));
    }
  }
  return schemas;
}

ByteBuffer TradeUpd(std::span<const Tick> ticks, Type time_type = Type::kTimestamp) {
  std::vector<int64_t> time;
  SymbolVector sym;
  std::vector<double> price;
  std::vector<int32_t> size;
  ByteBuffer stop, cond, ex;
  for (const Tick& tick : ticks) {
    time.push_back(tick.time_ns);
    sym.push_back(tick.sym);
    price.push_back(tick.a);
    size.push_back(tick.n == kNullLong ? kNullInt : static_cast<int32_t>(tick.n));
    stop.AppendLittle(uint8_t{0});
    cond.AppendLittle(static_cast<uint8_t>(tick.letter));
    ex.AppendLittle(uint8_t{'N'});
  }
  ByteBuffer body;
  wire::Encode(
      Value::List({Value::Symbol("upd"), Value::Symbol("trade"),
                   Value::List({Value::Vector(time_type, std::span<const int64_t>(time)),
                                Value::Symbols(std::move(sym)),
                                Value::Vector(Type::kFloat, std::span<const double>(price)),
                                Value::Vector(Type::kInt, std::span<const int32_t>(size)),
                                Value::Vector(Type::kBoolean, std::move(stop)),
                                Value::Vector(Type::kChar, std::move(cond)),
                                Value::Vector(Type::kChar, std::move(ex))})}),
      body);
  return body;
}

ByteBuffer QuoteUpd(std::span<const Tick> ticks, Type time_type = Type::kTimestamp) {
  std::vector<int64_t> time, bsize, asize;
  SymbolVector sym;
  std::vector<double> bid, ask;
  ByteBuffer mode, ex;
  for (const Tick& tick : ticks) {
    time.push_back(tick.time_ns);
    sym.push_back(tick.sym);
    bid.push_back(tick.a);
    ask.push_back(tick.b);
    bsize.push_back(tick.n);
    asize.push_back(tick.m);
    mode.AppendLittle(uint8_t{'R'});
    ex.AppendLittle(uint8_t{'N'});
  }
  ByteBuffer body;
  wire::Encode(
      Value::List({Value::Symbol("upd"), Value::Symbol("quote"),
                   Value::List({Value::Vector(time_type, std::span<const int64_t>(time)),
                                Value::Symbols(std::move(sym)),
                                Value::Vector(Type::kFloat, std::span<const double>(bid)),
                                Value::Vector(Type::kFloat, std::span<const double>(ask)),
                                Value::Vector(Type::kLong, std::span<const int64_t>(bsize)),
                                Value::Vector(Type::kLong, std::span<const int64_t>(asize)),
                                Value::Vector(Type::kChar, std::move(mode)),
                                Value::Vector(Type::kChar, std::move(ex))})}),
      body);
  return body;
}

// A random day with all oddities: nulls, zeros, ties, late rows, quiet minutes, rows without a
// time, times before 2000, a symbol without a name.
struct Day {
  // The rows with their table, in the order of arrival.
  std::vector<std::pair<std::string, Tick>> ticks;
};

Day RandomDay(std::mt19937_64& rng, size_t ticks, uint64_t late_one_in = 4) {
  const auto below = [&rng](uint64_t n) { return static_cast<int64_t>(rng() % n); };
  constexpr std::string_view kNames[] = {"A", "BB", "CCC", ""};
  const int64_t begin_ns = (below(4) == 0 ? -1 : 1) * (1 + below(5000)) * kNsPerDay;
  const int64_t grain_ns = below(2) == 0 ? kNsPerSecond : 1'000'003;  // Many ties, or few.
  const int64_t late_ns = below(3) == 0 ? 3600 * kNsPerSecond : 5 * kNsPerSecond;
  int64_t now_ns = begin_ns + below(kNsPerDay);
  Day day;
  for (size_t i = 0; i < ticks; ++i) {
    now_ns += below(20) == 0 ? below(400) * kNsPerSecond : below(2) * grain_ns;
    Tick tick;
    tick.time_ns = below(late_one_in) == 0
                       ? now_ns - below(static_cast<uint64_t>(late_ns)) / grain_ns * grain_ns
                       : now_ns;
    if (below(200) == 0) tick.time_ns = below(2) == 0 ? kNullLong : kInfinityLong;
    tick.sym = kNames[below(4)];
    tick.a = below(10) == 0 ? kNull : static_cast<double>(below(300)) / 100;
    tick.b = below(10) == 0 ? kNull : static_cast<double>(below(300)) / 100;
    if (below(100) == 0) tick.a = std::numeric_limits<double>::infinity();
    if (below(50) == 0) tick.a = -0.0;
    tick.n = below(10) == 0 ? kNullLong : below(4) == 0 ? 0 : below(1000);
    tick.m = below(10) == 0 ? kNullLong : below(1000);
    tick.letter = static_cast<char>('a' + below(26));
    day.ticks.emplace_back(below(2) == 0 ? "trade" : "quote", tick);
  }
  return day;
}

// Stands for the rest of a stack: a tickerplant's log, and the bars that an RDB has.
class Plant {
 public:
  explicit Plant(const std::vector<BarSpec>& specs, std::vector<Schema> sources = DefaultSchemas())
      : schemas_(AllSchemas(specs, std::move(sources))) {}
  const std::vector<Schema>& schemas() const { return schemas_; }

  void Log(ByteBuffer body) { log_.push_back(std::move(body)); }
  size_t logged() const { return log_.size(); }
  const ByteBuffer& message(size_t seq) const { return log_[seq]; }
  // Logs and upserts a message of an engine.
  void Take(std::span<const std::byte> message) {
    ByteBuffer body(message.subspan(8));
    const Value upd = *wire::Decode(body);
    const std::string table(upd.items()[1].symbol());
    const std::vector<Value>& columns = upd.items()[2].items();
    const auto schema = std::find_if(schemas_.begin(), schemas_.end(),
                                     [&](const Schema& s) { return s.table == table; });
    ASSERT_NE(schema, schemas_.end());
    ASSERT_EQ(columns.size(), schema->columns.size());
    for (size_t i = 0; i < columns.size(); ++i)
      ASSERT_EQ(columns[i].type(), schema->columns[i].type);
    for (size_t row = 0; row < columns[0].count(); ++row) {
      const int64_t key = columns[1].type() == Type::kDate ? columns[1].span<int32_t>()[row]
                                                           : columns[1].span<int64_t>()[row];
      std::vector<std::string>& cells = bars[{table, std::string(columns[0].symbols()[row]), key}];
      cells.clear();
      for (size_t i = 2; i < columns.size(); ++i) cells.push_back(CellOf(columns[i], row));
      ++rows_taken;
    }
    Log(std::move(body));
  }

  BarRows bars;
  size_t rows_taken = 0;

 private:
  std::vector<Schema> schemas_;
  std::vector<ByteBuffer> log_;
};

class EngineTest : public testing::Test {
 protected:
  std::unique_ptr<Engine> Make(const std::vector<BarSpec>& bars, const Plant& plant) {
    auto engine = std::make_unique<Engine>(EngineOptions{bars}, tier_.get(), &clock_);
    engine->OnSchemas(plant.schemas());
    return engine;
  }
  // Publishes until everything that changed has arrived and is answered.
  static void PublishAll(Engine& engine, Plant& plant) {
    while (const std::optional<ByteBuffer> message = engine.NextMessage()) {
      plant.Take(*message);
      engine.OnAnswer(absl::OkStatus());
    }
    EXPECT_FALSE(engine.has_changes());
  }
  static void Live(Engine& engine, Plant& plant, ByteBuffer body) {
    EXPECT_EQ(engine.OnLive(body), tplog::LiveOutcome::kTaken);
    plant.Log(std::move(body));
  }
  static ByteBuffer Upd(std::string_view table, std::span<const Tick> ticks,
                        Type time_type = Type::kTimestamp) {
    return table == "trade" ? TradeUpd(ticks, time_type) : QuoteUpd(ticks, time_type);
  }

  ManualClock clock_{0};
  std::unique_ptr<mem::Tier> tier_ = mem::MakeDramTier("dram");
};

// Returns the rows as they travel: runs of ticks of one table, at most `rows_max` long.
std::vector<std::pair<std::string, std::vector<Tick>>> Batches(const Day& day, size_t rows_max,
                                                               std::mt19937_64& rng) {
  std::vector<std::pair<std::string, std::vector<Tick>>> batches;
  size_t left = 0;
  for (const auto& [table, tick] : day.ticks) {
    if (batches.empty() || batches.back().first != table || left == 0) {
      batches.push_back({table, {}});
      left = 1 + rng() % rows_max;
    }
    batches.back().second.push_back(tick);
    --left;
  }
  return batches;
}

// Goal: the bars are those of one pass over the day, whatever order rows come in, however they are
// cut into upds, and whenever the engine is killed or its connection lost. Method: random days
// against a slow definition that shares no code; restarts replay the log with the engine's own rows
// in it.
TEST_F(EngineTest, BarsAreThoseOfOnePassOverTheDay) {
  const std::vector<BarSpec> specs = AllBars();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const Day day = RandomDay(rng, 1 + rng() % 400);
    Plant plant(specs);
    std::unique_ptr<Engine> engine = Make(specs, plant);
    for (const auto& [table, ticks] : Batches(day, 1 + rng() % 40, rng)) {
      Live(*engine, plant, Upd(table, ticks));
      if (rng() % 3 == 0) PublishAll(*engine, plant);
      if (rng() % 10 == 0) {
        // Some messages arrive, some of these are answered, and then the connection breaks.
        for (uint64_t i = rng() % 4; i > 0; --i) {
          const std::optional<ByteBuffer> message = engine->NextMessage();
          if (!message) break;
          if (rng() % 2 == 0) plant.Take(*message);
        }
        engine->OnLinkLost();
      }
      if (rng() % 20 == 0) {
        for (uint64_t i = rng() % 3; i > 0; --i) {
          if (const std::optional<ByteBuffer> message = engine->NextMessage()) plant.Take(*message);
        }
        engine = Make(specs, plant);
        for (size_t i = 0; i < plant.logged(); ++i) engine->OnLogged(plant.message(i));
      }
    }
    PublishAll(*engine, plant);
    const BarRows expected = BarsByDefinition(specs, day.ticks);
    ASSERT_EQ(plant.bars.size(), expected.size());
    for (const auto& [key, cells] : expected) {
      ASSERT_EQ(plant.bars[key], cells)
          << std::get<0>(key) << " " << std::get<1>(key) << " " << std::get<2>(key);
    }
    EXPECT_EQ(engine->counters().rows_refused, 0u);
    EXPECT_EQ(engine->counters().rows_forgotten, 0u);
  }
}

// Goal: long runs of a symbol's rows make the same bars, also across ends of intervals and with
// ties and a few late rows. Method: as above, in batches that have hundreds of rows of one table.
TEST_F(EngineTest, LongRunsMakeTheSameBars) {
  const std::vector<BarSpec> specs = AllBars();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Day day = RandomDay(rng, 3000, 40 + seed * 20);
    for (auto& [table, tick] : day.ticks) table = seed % 2 == 0 ? "trade" : "quote";
    Plant plant(specs);
    std::unique_ptr<Engine> engine = Make(specs, plant);
    for (const auto& [table, ticks] : Batches(day, 1000, rng)) {
      Live(*engine, plant, Upd(table, ticks));
      if (rng() % 2 == 0) PublishAll(*engine, plant);
    }
    PublishAll(*engine, plant);
    ASSERT_EQ(plant.bars, BarsByDefinition(specs, day.ticks));
  }
}

// Goal: batches of many symbols whose runs stay in the current intervals make the same bars.
// Method: as above, with 200 symbols of which one has a third of the rows, 0.1 ms apart, few of
// them late.
TEST_F(EngineTest, ManySymbolsMakeTheSameBars) {
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i) names.push_back("S" + std::to_string(i));
  const std::vector<BarSpec> specs = AllBars();
  for (uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Day day = RandomDay(rng, 12'000);
    int64_t now_ns = 1000 * kNsPerDay + static_cast<int64_t>(seed) * 3600 * kNsPerSecond;
    for (auto& [table, tick] : day.ticks) {
      table = seed % 2 == 0 ? "trade" : "quote";
      now_ns += 100'000;
      tick.time_ns = rng() % 1000 == 0 ? now_ns - 3'000'000 : now_ns;
      tick.sym = rng() % 3 == 0 ? names[0] : names[rng() % names.size()];
    }
    Plant plant(specs);
    std::unique_ptr<Engine> engine = Make(specs, plant);
    for (size_t begin = 0; begin < day.ticks.size(); begin += 2000) {
      std::vector<Tick> ticks;
      for (size_t i = begin; i < begin + 2000; ++i) ticks.push_back(day.ticks[i].second);
      Live(*engine, plant, Upd(day.ticks[begin].first, ticks));
      PublishAll(*engine, plant);
    }
    ASSERT_EQ(plant.bars, BarsByDefinition(specs, day.ticks));
  }
}

// Goal: times of day, as kdb+tick's classic tables have them, make the same bars. Method: a random
// day without its date; only the bars' names of their day differ.
TEST_F(EngineTest, TimesOfDayMakeTheSameBars) {
  std::vector<Schema> sources = DefaultSchemas();
  for (Schema& source : sources) source.columns.front().type = Type::kTimespan;
  const std::vector<BarSpec> specs = DefaultBars(sources);
  ASSERT_EQ(specs.size(), 4u);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Day day = RandomDay(rng, 400);
    for (auto& [table, tick] : day.ticks) {
      const bool has_time = tick.time_ns != kNullLong && tick.time_ns != kInfinityLong;
      if (has_time) tick.time_ns = ((tick.time_ns % kNsPerDay) + kNsPerDay) % kNsPerDay;
    }
    Plant plant(specs, sources);
    std::unique_ptr<Engine> engine = Make(specs, plant);
    for (const auto& [table, ticks] : Batches(day, 40, rng)) {
      Live(*engine, plant, Upd(table, ticks, Type::kTimespan));
      if (rng() % 3 == 0) PublishAll(*engine, plant);
    }
    PublishAll(*engine, plant);
    const BarRows expected = BarsByDefinition(specs, day.ticks);
    ASSERT_EQ(plant.bars.size(), expected.size());
    for (const auto& [key, cells] : expected) {
      const auto& [table, sym, begin] = key;
      const bool is_day = table.ends_with("_daily");
      ASSERT_EQ(plant.bars[std::tuple(table, sym, is_day ? begin * kNsPerDay : begin)], cells)
          << table << " " << sym << " " << begin;
    }
    engine = Make(specs, plant);
    for (size_t i = 0; i < plant.logged(); ++i) engine->OnLogged(plant.message(i));
    EXPECT_EQ(engine->NextMessage(), std::nullopt);
  }
}

TEST_F(EngineTest, AfterARestartOnlyWhatTheLogDoesNotHaveIsPublished) {
  const std::vector<BarSpec> specs = DefaultBars(DefaultSchemas());
  std::mt19937_64 rng(1);
  const Day day = RandomDay(rng, 3000);
  Plant plant(specs);
  std::unique_ptr<Engine> engine = Make(specs, plant);
  for (const auto& [table, ticks] : Batches(day, 20, rng)) Live(*engine, plant, Upd(table, ticks));
  PublishAll(*engine, plant);
  engine = Make(specs, plant);
  for (size_t i = 0; i < plant.logged(); ++i) engine->OnLogged(plant.message(i));
  EXPECT_EQ(engine->NextMessage(), std::nullopt);
  EXPECT_EQ(engine->counters().rows_replayed, 3000u);
  const Tick tick{day.ticks.front().second.time_ns, "A", 1, 2, 3, 4, 'x'};
  Live(*engine, plant, Upd("trade", {&tick, 1}));
  const size_t before = plant.rows_taken;
  PublishAll(*engine, plant);
  EXPECT_EQ(plant.rows_taken - before, 2u) << "of its minute and its day";
}

TEST_F(EngineTest, WaitsForAnswersAndGathersChangesMeanwhile) {
  const std::vector<BarSpec> specs = DefaultBars(DefaultSchemas());
  Plant plant(specs);
  const std::unique_ptr<Engine> engine = Make(specs, plant);
  size_t sent = 0;
  for (int64_t i = 0; i < 100; ++i) {
    const Tick tick{i, "A", 1, 2, 3, 4, 'x'};
    Live(*engine, plant, Upd("trade", {&tick, 1}));
    while (const std::optional<ByteBuffer> message = engine->NextMessage()) {
      plant.Take(*message);
      ++sent;
    }
  }
  EXPECT_EQ(sent, Engine::kUnansweredMax);
  EXPECT_TRUE(engine->has_changes());
  while (engine->unanswered() > 0) engine->OnAnswer(absl::OkStatus());
  const size_t before = plant.rows_taken;
  PublishAll(*engine, plant);
  EXPECT_EQ(plant.rows_taken - before, 2u) << "84 changes of two rows, once each";
  const std::vector<std::string>& minute = plant.bars[{"trade_minute", "A", 0}];
  EXPECT_EQ(minute.back(), "100");
}

TEST_F(EngineTest, ARefusedMessageIsCountedAndNotRepeated) {
  const std::vector<BarSpec> specs = DefaultBars(DefaultSchemas());
  Plant plant(specs);
  const std::unique_ptr<Engine> engine = Make(specs, plant);
  const Tick tick{0, "A", 1, 2, 3, 4, 'x'};
  Live(*engine, plant, Upd("trade", {&tick, 1}));
  while (engine->NextMessage()) engine->OnAnswer(absl::UnknownError("type"));
  EXPECT_EQ(engine->counters().messages_out_refused, 2u);
  EXPECT_FALSE(engine->has_changes());
}

TEST_F(EngineTest, ADayThatEndedIsForgotten) {
  const std::vector<BarSpec> specs = AllBars();
  Plant plant(specs);
  const std::unique_ptr<Engine> engine = Make(specs, plant);
  const size_t empty_bytes = tier_->Stats().used_bytes;
  std::mt19937_64 rng(3);
  const Day day = RandomDay(rng, 1000);
  const auto batches = Batches(day, 20, rng);
  for (size_t i = 0; i < batches.size(); ++i) {
    Live(*engine, plant, Upd(batches[i].first, batches[i].second));
    if (i == batches.size() / 2) PublishAll(*engine, plant);  // The rest of the rows still waits.
  }
  EXPECT_GT(tier_->Stats().used_bytes, empty_bytes);
  ByteBuffer end;
  wire::Encode(Value::List({Value::Symbol(".u.end"), Value::Date(5028)}), end);
  EXPECT_EQ(engine->OnLive(end), tplog::LiveOutcome::kDayEnded);
  EXPECT_EQ(tier_->Stats().used_bytes, empty_bytes);
  EXPECT_EQ(engine->position().seq(), 0u);
  EXPECT_FALSE(engine->has_changes());
  // Yesterday's late tick is in today's log: it makes a bar of yesterday from the rows in today's
  // log.
  plant.bars.clear();
  const Tick late{day.ticks.front().second.time_ns, "A", 1, 2, 3, 4, 'x'};
  Live(*engine, plant, Upd("trade", {&late, 1}));
  PublishAll(*engine, plant);
  EXPECT_EQ(plant.bars, BarsByDefinition(specs, {{{"trade", late}}}));
}

// A log that is damaged lacks rows in a replay. The bars of the rest would replace right ones.
TEST_F(EngineTest, BarsOfALogThatCouldNotBeReadAreNotPublished) {
  const std::vector<BarSpec> specs = AllBars();
  Plant plant(specs);
  const std::unique_ptr<Engine> engine = Make(specs, plant);
  const Tick tick{5028 * kNsPerDay, "A", 1, 2, 3, 4, 'x'};
  engine->OnLogged(Upd("trade", {&tick, 1}));
  engine->subscription().messages_missing = 1;  // As the subscriber counts the rest.
  engine->OnReplayDone();
  Live(*engine, plant, Upd("trade", {&tick, 1}));
  EXPECT_TRUE(engine->lacks_rows());
  EXPECT_FALSE(engine->has_changes());
  EXPECT_FALSE(engine->NextMessage().has_value());
  ByteBuffer end;
  wire::Encode(Value::List({Value::Symbol(".u.end"), Value::Date(5028)}), end);
  EXPECT_EQ(engine->OnLive(end), tplog::LiveOutcome::kDayEnded);
  Live(*engine, plant, Upd("trade", {&tick, 1}));  // The next day has all of its rows.
  PublishAll(*engine, plant);
  EXPECT_EQ(plant.bars, BarsByDefinition(specs, {{{"trade", tick}}}));
}

TEST_F(EngineTest, BarsThatTheTickerplantDoesNotHaveAreNotMade) {
  const std::vector<BarSpec> specs = AllBars();
  Plant plant(specs);
  std::vector<Schema> schemas = plant.schemas();
  std::erase_if(schemas, [](const Schema& schema) { return schema.table == "trade_minute"; });
  for (Schema& schema : schemas) {
    if (schema.table == "quote_daily") schema.columns.pop_back();
  }
  Engine engine({specs}, tier_.get(), &clock_);
  engine.OnSchemas(schemas);
  const Tick tick{0, "A", 1, 2, 3, 4, 'x'};
  Live(engine, plant, Upd("trade", {&tick, 1}));
  Live(engine, plant, Upd("quote", {&tick, 1}));
  PublishAll(engine, plant);
  std::vector<std::string> tables;
  for (const auto& [key, cells] : plant.bars) tables.push_back(std::get<0>(key));
  EXPECT_THAT(tables, testing::UnorderedElementsAre("trade_daily", "trade_7s", "trade_11s",
                                                    "quote_minute", "quote_90s"));
  // The engine replays the log, so the new bars have the earlier rows too.
  engine.OnSchemas(plant.schemas());
  EXPECT_EQ(engine.position().seq(), 0u);
}

// Goal: a full tier loses bars but not the process, and the loss is counted.
TEST_F(EngineTest, AFullTierIsCounted) {
  const std::vector<BarSpec> specs = AllBars();
  Plant plant(specs);
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("small", size_t{4} << 20);
  Engine engine({specs}, tier.get(), &clock_);
  engine.OnSchemas(plant.schemas());
  for (int64_t minute = 0; minute < 1000; ++minute) {
    std::vector<Tick> ticks;
    for (int i = 0; i < 100; ++i) {
      ticks.push_back({minute * 60 * kNsPerSecond, "S" + std::to_string(i), 1, 2, 3, 4, 'x'});
    }
    Live(engine, plant, Upd("trade", ticks));
    Live(engine, plant, Upd("quote", ticks));
  }
  EXPECT_GT(engine.counters().rows_refused, 0u);
  EXPECT_LE(tier->Stats().used_bytes, size_t{4} << 20);
  PublishAll(engine, plant);
  for (const auto& [key, cells] : plant.bars) {
    if (std::get<0>(key) == "trade_minute") {
      ASSERT_EQ(cells.back(), "1");
    }
  }
}

TEST_F(EngineTest, WhatIsTooLateForABoundedHistoryIsCounted) {
  const std::vector<BarSpec> specs = DefaultBars(DefaultSchemas());
  Plant plant(specs);
  Engine engine({specs, 8192}, tier_.get(), &clock_);
  engine.OnSchemas(plant.schemas());
  std::vector<std::pair<std::string, Tick>> all;
  const auto quote = [&](int64_t time_ns, double bid) {
    const Tick tick{time_ns, "A", bid, 2, 3, 4, 'x'};
    all.emplace_back("quote", tick);
    Live(engine, plant, Upd("quote", {&tick, 1}));
  };
  for (int64_t i = 0; i < 2000; ++i) quote(i * kNsPerSecond, 1);
  quote(1990 * kNsPerSecond + 1, 1.5);  // Late but still kept, so the bars stay exact.
  PublishAll(engine, plant);
  EXPECT_EQ(engine.counters().rows_forgotten, 0u);
  EXPECT_EQ(plant.bars, BarsByDefinition(specs, all));
  quote(1, 1.5);
  PublishAll(engine, plant);
  EXPECT_EQ(engine.counters().rows_forgotten, 1u);
  BarRows expected = BarsByDefinition(specs, all);
  for (auto& [key, cells] : expected) {
    EXPECT_EQ(plant.bars[key].back(), cells.back())
        << "everything but the mean over time counts it";
  }
}

TEST_F(EngineTest, DamagedUpdsAreRefusedWhole) {
  const std::vector<BarSpec> specs = DefaultBars(DefaultSchemas());
  Plant plant(specs);
  const std::unique_ptr<Engine> engine = Make(specs, plant);
  const Tick tick{0, "A", 1, 2, 3, 4, 'x'};
  const ByteBuffer whole = TradeUpd({&tick, 1});
  for (size_t cut = 20; cut < whole.size(); ++cut) {
    engine->OnLive(whole.span().first(cut));
    engine->OnLogged(whole.span().first(cut));
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    ByteBuffer flipped = whole.Clone();
    flipped.data()[at] ^= std::byte{0x41};
    engine->OnLive(flipped);
    engine->OnLogged(flipped);
  }
  EXPECT_GT(engine->counters().upds_refused, whole.size() - 20);
  PublishAll(*engine, plant);
}

// Goal: rows that wait to be taken together are taken before anybody asks for bars or counters.
TEST_F(EngineTest, UpdsThatWaitTogetherAreInTheNextMessageAndInWhatIsSaid) {
  const std::vector<BarSpec> specs = DefaultBars(DefaultSchemas());
  Plant plant(specs);
  const std::unique_ptr<Engine> engine = Make(specs, plant);
  const auto stat = [&](std::string_view name) {
    const Value stats = engine->Stats();
    for (size_t i = 0; i < stats.keys().count(); ++i) {
      if (stats.keys().symbols()[i] == name) return stats.values().span<int64_t>()[i];
    }
    return int64_t{-1};
  };
  std::vector<std::pair<std::string, Tick>> all;
  const auto quote = [&](int64_t time_ns, double bid) {
    const Tick tick{time_ns, "A", bid, 2, 3, 4, 'x'};
    all.emplace_back("quote", tick);
    Live(*engine, plant, Upd("quote", {&tick, 1}));
  };
  quote(2 * kNsPerSecond, 1);
  const Tick bad{0, "A", 1, 2, 3, 4, 'x'};
  const ByteBuffer whole = QuoteUpd({&bad, 1});
  EXPECT_EQ(engine->OnLive(whole.span().first(whole.size() - 1)), tplog::LiveOutcome::kTaken);
  quote(kNsPerSecond, 3);  // This row is late.
  quote(3 * kNsPerSecond, 2);
  EXPECT_EQ(tier_->Stats().used_bytes, 0u) << "they wait";
  EXPECT_TRUE(engine->has_changes());
  PublishAll(*engine, plant);
  EXPECT_EQ(plant.bars, BarsByDefinition(specs, all));
  EXPECT_EQ(engine->counters().upds_refused, 1u);
  quote(kNsPerSecond + 1, 1);
  EXPECT_EQ(stat("rows_late"), 1);
  engine->TakeAdded();
  EXPECT_EQ(stat("rows_late"), 2);
  EXPECT_EQ(stat("rows_in"), 4);
  // Takes this many rows at once.
  const std::vector<Tick> many(Engine::kRowsTogether, {4 * kNsPerSecond, "B", 1, 2, 3, 4, 'x'});
  const size_t bytes = tier_->Stats().used_bytes;
  Live(*engine, plant, Upd("trade", many));
  EXPECT_GT(tier_->Stats().used_bytes, bytes);
}

TEST_F(EngineTest, SaysHowLateItsBarsAre) {
  const std::vector<BarSpec> specs = DefaultBars(DefaultSchemas());
  Plant plant(specs);
  const std::unique_ptr<Engine> engine = Make(specs, plant);
  const auto lag = [&] {
    const Value stats = engine->Stats();
    for (size_t i = 0; i < stats.keys().count(); ++i) {
      if (stats.keys().symbols()[i] == "lag_ns") return stats.values().span<int64_t>()[i];
    }
    return int64_t{-1};
  };
  EXPECT_EQ(lag(), kNullLong);
  clock_.Set(9 * kNsPerSecond);
  const Tick tick{7 * kNsPerSecond, "A", 1, 2, 3, 4, 'x'};
  Live(*engine, plant, Upd("trade", {&tick, 1}));
  PublishAll(*engine, plant);
  EXPECT_EQ(lag(), 2 * kNsPerSecond);
  clock_.Set(2 * kNsPerDay);
  Live(*engine, plant, Upd("trade", {&tick, 1}));
  PublishAll(*engine, plant);
  EXPECT_EQ(lag(), kNullLong) << "a day that is replayed";
}

}  // namespace
}  // namespace tickstack::aggengine
