// An Rdb whose tables are in a persistent tier: what it finds after a restart, and what it takes
// from the log.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "mem/power_cut.h"
#include "mem/tier.h"
#include "rdb/rdb.h"
#include "table/value.h"
#include "wire/codec.h"

namespace tickstack::rdb {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr int64_t kNow = 9000 * kNsPerDay;
const std::vector<std::string> kTables = {"trade", "quote"};

struct Row {
  int64_t time;
  std::string sym;
  double price;
  friend bool operator==(const Row&, const Row&) = default;
};
using Rows = std::map<std::string, std::vector<Row>>;  // By table.

struct Message {
  std::string table;
  std::vector<Row> rows;
};

ByteBuffer Body(const Message& message, std::optional<uint64_t> seq = std::nullopt) {
  ByteBuffer times, prices;
  SymbolVector names;
  for (const Row& row : message.rows) {
    times.AppendLittle(row.time);
    names.push_back(row.sym);
    prices.AppendLittle(row.price);
  }
  std::vector<Value> items = {
      Value::Symbol("upd"), Value::Symbol(message.table),
      Value::List({Value::Vector(Type::kTimestamp, std::move(times)), Value::Symbols(names),
                   Value::Vector(Type::kFloat, std::move(prices))})};
  if (seq) items.push_back(Value::Long(static_cast<int64_t>(*seq)));
  ByteBuffer body;
  wire::Encode(Value::List(std::move(items)), body);
  return body;
}

Rows RowsIn(const std::vector<Message>& log) {
  Rows rows;
  for (const std::string& table : kTables) rows[table];
  for (const Message& message : log) {
    std::vector<Row>& of = rows[message.table];
    of.insert(of.end(), message.rows.begin(), message.rows.end());
  }
  return rows;
}

Rows RowsOf(const Rdb& rdb) {
  Rows rows;
  for (const std::string& name : rdb.TableNames()) {
    std::vector<Row>& of = rows[name];
    const Snapshot snapshot = *rdb.FindTable(name);
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      const auto time = snapshot.Chunk<int64_t>(0, chunk);
      const auto sym = snapshot.Chunk<SymbolId>(1, chunk);
      const auto price = snapshot.Chunk<double>(2, chunk);
      for (size_t i = 0; i < time.size(); ++i) {
        of.push_back({time[i], std::string(rdb.symbols().NameOf(sym[i])), price[i]});
      }
    }
  }
  return rows;
}

class DurableRdbTest : public testing::Test {
 protected:
  DurableRdbTest() {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
    tier_options_.name = "pmem";
    tier_options_.kind = mem::TierKind::kPersistent;
    tier_options_.path = path_;
    tier_options_.file = "rdb.tier";
    tier_options_.capacity_bytes = 16 * kMiB;
    options_.table.rows_per_chunk = 64;
  }
  ~DurableRdbTest() override { std::filesystem::remove_all(path_); }

  struct Process {
    // The tables end before their tier.
    void End() {
      rdb = nullptr;
      tier = nullptr;
    }
    std::unique_ptr<mem::PersistentTier> tier;
    std::unique_ptr<Rdb> rdb;
  };
  Process Start(const mem::TierOptions& options,
                std::unique_ptr<mem::Persistence> persistence = nullptr) {
    Process process;
    auto tier = mem::PersistentTier::Open(options, std::move(persistence));
    EXPECT_TRUE(tier.ok()) << tier.status();
    process.tier = *std::move(tier);
    process.rdb = std::make_unique<Rdb>(options_, PlacementIn(process.tier.get()), &clock_);
    process.rdb->Reopen();
    return process;
  }
  // Puts everything into the persistent tier, or all but the tables of `elsewhere_`.
  Placement PlacementIn(mem::PersistentTier* tier) {
    if (elsewhere_.empty()) return Placement(tier);
    PlacementRules rules;
    rules.Set("default", "pmem");
    for (const std::string& table : elsewhere_) rules.Set(table, "dram");
    return Placement(std::move(rules), {tier, dram_.get()});
  }
  static void Announce(Rdb& rdb) {
    std::vector<Schema> schemas;
    for (const std::string& table : kTables) {
      schemas.push_back(*ParseSchema(table, "time p, sym s, price f"));
    }
    rdb.OnSchemas(schemas);
  }
  // Replays from where the rdb stands, and expects everything of the log in the tables.
  static void ExpectCatchesUp(Rdb& rdb, const std::vector<Message>& log) {
    ASSERT_LE(rdb.position().seq(), log.size());
    while (rdb.position().seq() < log.size()) rdb.OnLogged(Body(log[rdb.position().seq()]));
    EXPECT_TRUE(rdb.position().OnCaughtUp(log.size()));
    EXPECT_EQ(RowsOf(rdb), RowsIn(log));
  }
  static Message RandomMessage(std::mt19937_64& rng) {
    Message message{kTables[rng() % 2], {}};
    for (size_t i = 0; i < 1 + rng() % 20; ++i) {
      message.rows.push_back({kNow + static_cast<int64_t>(rng() % 1000),
                              "s" + std::to_string(rng() % 30), static_cast<double>(rng() % 100)});
    }
    return message;
  }
  // Returns what a tickerplant publishes after it logged `messages`: one message per table, as far
  // as it fits.
  static std::vector<Message> Publication(std::span<const Message> messages) {
    std::vector<Message> published;
    for (const std::string& table : kTables) {
      Message merged{table, {}};
      for (const Message& message : messages) {
        if (message.table != table) continue;
        merged.rows.insert(merged.rows.end(), message.rows.begin(), message.rows.end());
      }
      if (!merged.rows.empty()) published.push_back(std::move(merged));
    }
    return published;
  }

  // Cuts the power at each point; goal and method stand at the tests that call it.
  void CutThePowerAnywhere(int steps, int opened_min);

  std::unique_ptr<mem::Tier> dram_ = mem::MakeDramTier("dram");
  std::vector<std::string> elsewhere_;
  std::string path_ = "/dev/shm/tickstack-durable-rdb-test-XXXXXX";
  mem::TierOptions tier_options_;
  RdbOptions options_;
  ManualClock clock_{kNow};
};

TEST_F(DurableRdbTest, ReplaysOnlyWhatTheLastProcessDidNotCommit) {
  std::mt19937_64 rng(2);
  std::vector<Message> log;
  for (int i = 0; i < 100; ++i) log.push_back(RandomMessage(rng));
  {
    Process process = Start(tier_options_);
    Announce(*process.rdb);
    for (size_t i = 0; i < 60; ++i) process.rdb->OnLogged(Body(log[i]));
    process.rdb->SetLog({"sym2020.03.09", 77});
    process.rdb->MakeDurable();
  }
  Process process = Start(tier_options_);
  EXPECT_EQ(process.rdb->position().seq(), 60u);
  EXPECT_EQ(process.rdb->log(), (LogIdentity{"sym2020.03.09", 77}));
  EXPECT_EQ(RowsOf(*process.rdb), RowsIn({log.begin(), log.begin() + 60}));
  ExpectCatchesUp(*process.rdb, log);
  EXPECT_EQ(process.rdb->counters().messages_replayed, 40u);
}

// Goal: a table that is not in the persistent tier is whole again after a restart, and the others
// are neither replayed nor doubled. Method: restarts in the middle of a publication and of a
// refill.
TEST_F(DurableRdbTest, FillsTablesOfAnotherTierFromTheLog) {
  elsewhere_ = {"quote"};
  std::mt19937_64 rng(2);
  std::vector<Message> log;
  for (int i = 0; i < 100; ++i) log.push_back(RandomMessage(rng));
  const auto rows_of = [](const std::vector<Message>& messages, const std::string& table) {
    return RowsIn(messages)[table];
  };
  {
    Process process = Start(tier_options_);
    Announce(*process.rdb);
    for (size_t i = 0; i < 60; ++i) process.rdb->OnLogged(Body(log[i]));
    process.rdb->SetLog({"sym2020.03.09", 77});
    ASSERT_TRUE(process.rdb->position().OnCaughtUp(60));
    // Both tables of the next publication have arrived, but the publication has not ended.
    for (const Message& message : Publication(std::span(log).subspan(60, 10))) {
      ASSERT_EQ(process.rdb->OnLive(Body(message, 70)), LiveOutcome::kTaken);
    }
    process.rdb->MakeDurable();
  }
  for (const size_t replayed : {0u, 30u, 75u}) {
    SCOPED_TRACE(replayed);
    Process process = Start(tier_options_);
    Rdb& rdb = *process.rdb;
    EXPECT_EQ(rdb.position().seq(), 0u);
    EXPECT_GE(rdb.LeastLogSeq(), 60u);  // A shorter log would be another one.
    EXPECT_EQ(rdb.log(), (LogIdentity{"sym2020.03.09", 77}));
    Announce(rdb);
    EXPECT_EQ(RowsOf(rdb)["quote"].size(), 0u);
    EXPECT_GE(RowsOf(rdb)["trade"].size(),
              rows_of({log.begin(), log.begin() + 70}, "trade").size());
    for (size_t i = 0; i < replayed; ++i) rdb.OnLogged(Body(log[i]));
    process.rdb->MakeDurable();
  }
  Process process = Start(tier_options_);
  Announce(*process.rdb);
  ExpectCatchesUp(*process.rdb, log);
  // Another log: the table that was filled begins anew with the others.
  process.rdb->StartOver();
  EXPECT_EQ(process.rdb->LeastLogSeq(), 0u);
  EXPECT_EQ(RowsOf(*process.rdb), RowsIn({}));
}

// Goal: an rdb goes on if the log cannot be read up to where the reopened tables stand: published
// rows count from there.
TEST_F(DurableRdbTest, GoesOnWhenALogCannotBeHadForATableOfAnotherTier) {
  elsewhere_ = {"quote"};
  const Message trade{"trade", {{kNow, "A", 1}}}, quote{"quote", {{kNow, "A", 2}}};
  {
    Process process = Start(tier_options_);
    Announce(*process.rdb);
    for (int i = 0; i < 10; ++i) process.rdb->OnLogged(Body(i % 2 == 0 ? trade : quote));
    process.rdb->MakeDurable();
  }
  {
    Process process = Start(tier_options_);
    Announce(*process.rdb);
    for (int i = 0; i < 4; ++i) process.rdb->OnLogged(Body(i % 2 == 0 ? trade : quote));
    process.rdb->position().OnCaughtUp(12);
    ASSERT_EQ(process.rdb->OnLive(Body(trade, 13)), LiveOutcome::kTaken);
    ASSERT_EQ(process.rdb->OnLive(Body(quote, 13)), LiveOutcome::kTaken);
    EXPECT_EQ(RowsOf(*process.rdb)["trade"].size(), 6u);
    EXPECT_EQ(RowsOf(*process.rdb)["quote"].size(), 3u);
    EXPECT_EQ(process.rdb->LeastLogSeq(), 12u);
  }
  EXPECT_EQ(RowsOf(*Start(tier_options_).rdb)["trade"].size(), 6u);
}

// Goal: a table that a persistent tier does not take leaves the others alone.
TEST_F(DurableRdbTest, GoesOnBesideATableThatItCannotHave) {
  const Schema schemas[] = {*ParseSchema("trade", "time p, sym s, price f"),
                            *ParseSchema("bars", "sym s | high f")};
  for (size_t life = 0; life < 3; ++life) {
    SCOPED_TRACE(life);
    Process process = Start(tier_options_);
    process.rdb->OnSchemas(schemas);
    EXPECT_THAT(process.rdb->TableNames(), testing::ElementsAre("trade"));
    EXPECT_EQ(RowsOf(*process.rdb)["trade"].size(), life);
    process.rdb->OnLogged(Body({"trade", {{kNow, "B", 2}}}));
    process.rdb->MakeDurable();
  }
}

// Expects that the index has the same rows as the column, for every symbol.
void ExpectIndexed(const Rdb& rdb) {
  for (const std::string& name : rdb.TableNames()) {
    const Snapshot snapshot = *rdb.FindTable(name);
    std::map<SymbolId, std::vector<uint32_t>> expected, found;
    uint32_t row = 0;
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      for (const SymbolId sym : snapshot.Chunk<SymbolId>(1, chunk)) expected[sym].push_back(row++);
    }
    for (const auto& [sym, rows] : expected) {
      const Postings postings = *snapshot.RowsOf(sym);
      for (const PostingRun& run : postings.runs) {
        found[sym].insert(found[sym].end(), run.rows.begin(), run.rows.end());
      }
    }
    EXPECT_EQ(found, expected) << name;
  }
}

// Goal: while another process has its tier and adds to it, an rdb reads what it had. Method: the
// other one replays, commits after each message, and begins anew twice, as at the end of a day.
TEST_F(DurableRdbTest, ReadsItsTablesWhileAnotherProcessHasItsTier) {
  std::mt19937_64 rng(5);
  std::vector<Message> log;
  for (int i = 0; i < 400; ++i) log.push_back(RandomMessage(rng));
  const Rows before = RowsIn({log.begin(), log.begin() + 60});
  Process first = Start(tier_options_);
  Announce(*first.rdb);
  for (size_t i = 0; i < 60; ++i) first.rdb->OnLogged(Body(log[i]));
  first.rdb->SetLog({"sym2020.03.09", 77});
  EXPECT_FALSE(mem::PersistentTier::Open(tier_options_).ok()) << "it is locked";
  ASSERT_TRUE(first.rdb->GiveTier().ok());
  EXPECT_TRUE(first.rdb->gave_tier());
  EXPECT_FALSE(first.tier->Allocate(4096).ok());

  mem::TierOptions other = tier_options_;
  other.read_by_another = true;
  Process second = Start(other);
  EXPECT_EQ(RowsOf(*second.rdb), before);
  Announce(*second.rdb);
  for (int day = 0; day < 3; ++day) {
    ExpectCatchesUp(*second.rdb, log);
    second.rdb->MakeDurable();
    ExpectIndexed(*second.rdb);
    EXPECT_EQ(RowsOf(*first.rdb), before);
    ExpectIndexed(*first.rdb);
    second.rdb->StartOver();
  }
  ExpectCatchesUp(*second.rdb, log);
  first.rdb->MakeDurable();  // No effect: another rdb has the tier.
  first.End();
  second.tier->ReuseFreed();
  second.rdb->MakeDurable();
  second.End();
  Process third = Start(tier_options_);
  EXPECT_EQ(RowsOf(*third.rdb), RowsIn(log));
  ExpectIndexed(*third.rdb);
}

// Goal: an rdb whose successor died goes on as if nothing had been done to its tier, and so does
// the next process. Method: the successor gets to several points; then the rdb takes other messages
// than it did.
TEST_F(DurableRdbTest, TakesItsTierBackWithoutWhatTheOtherAdded) {
  std::mt19937_64 rng(6);
  std::vector<Message> log, others;
  for (int i = 0; i < 300; ++i) log.push_back(RandomMessage(rng));
  others.assign(log.begin(), log.begin() + 60);
  for (int i = 0; i < 300; ++i) others.push_back(RandomMessage(rng));
  for (const bool starts_over : {false, true}) {
    for (const size_t taken : {60u, 61u, 62u, 100u, 300u}) {
      for (const bool goes_on : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", starts_over, taken, goes_on));
        std::filesystem::remove(path_ + "/rdb.tier");
        Process first = Start(tier_options_);
        Announce(*first.rdb);
        for (size_t i = 0; i < 60; ++i) first.rdb->OnLogged(Body(log[i]));
        ASSERT_TRUE(first.rdb->GiveTier().ok());
        {
          mem::TierOptions other = tier_options_;
          other.read_by_another = true;
          Process second = Start(other);
          Announce(*second.rdb);
          if (starts_over) second.rdb->StartOver();
          while (second.rdb->position().seq() < taken) {
            second.rdb->OnLogged(Body(others[second.rdb->position().seq()]));
            if (rng() % 2 == 0) second.rdb->MakeDurable();
          }
          EXPECT_TRUE(absl::IsUnavailable(first.rdb->ReclaimTier({}))) << "the other has it";
        }
        const absl::Status back = first.rdb->ReclaimTier({});
        ASSERT_TRUE(back.ok()) << back;
        size_t expected = 60;
        if (goes_on) {
          ExpectCatchesUp(*first.rdb, log);
          ExpectIndexed(*first.rdb);
          first.rdb->MakeDurable();
          expected = log.size();
        }
        first.End();
        Process third = Start(tier_options_);
        EXPECT_EQ(third.rdb->durable()->counters().reopens_damaged, 0u);
        EXPECT_EQ(third.rdb->position().seq(), expected);
        EXPECT_EQ(RowsOf(*third.rdb),
                  RowsIn({log.begin(), log.begin() + static_cast<std::ptrdiff_t>(expected)}));
        ExpectIndexed(*third.rdb);
      }
    }
  }
}

// Goal: a file that another process reads is never made anew.
TEST_F(DurableRdbTest, DoesNotMakeATierAnewThatAnotherProcessReads) {
  const auto code_of = [](const mem::TierOptions& options) {
    return mem::PersistentTier::Open(options).status().code();
  };
  mem::TierOptions other = tier_options_;
  other.read_by_another = true;
  EXPECT_EQ(code_of(other), absl::StatusCode::kFailedPrecondition);  // There is no file.
  {
    Process process = Start(tier_options_);
    Announce(*process.rdb);
    process.rdb->MakeDurable();
  }
  EXPECT_EQ(code_of(other), absl::StatusCode::kOk);
  other.capacity_bytes = 32 * kMiB;
  EXPECT_EQ(code_of(other), absl::StatusCode::kFailedPrecondition);
  other.capacity_bytes = tier_options_.capacity_bytes;
  {
    std::fstream file(path_ + "/rdb.tier", std::ios::in | std::ios::out | std::ios::binary);
    file.write("x", 1);
  }
  EXPECT_EQ(code_of(other), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DurableRdbTest, BeginsAnewWithTheNextDay) {
  tier_options_.capacity_bytes = 48 * kMiB;
  options_.table.rows_per_chunk = 1024;
  std::mt19937_64 rng(2);
  {
    Process process = Start(tier_options_);
    Announce(*process.rdb);
    for (uint64_t day = 0; day < 20; ++day) {
      // More than the tier holds, if a day's end gave nothing back.
      Message large{"quote", {}};
      for (int i = 0; i < 150'000; ++i) large.rows.push_back({kNow, "A", 1});
      process.rdb->OnLive(Body(large, 1));
      ASSERT_EQ(process.rdb->counters().rows_refused, 0u) << day;
      ByteBuffer end;
      wire::Encode(Value::List({Value::Symbol(".u.end"), Value::Date(7000)}), end);
      process.rdb->OnLive(end);
    }
    process.rdb->OnLive(Body({"trade", {{kNow, "B", 2}}}, 1));
  }
  Process process = Start(tier_options_);
  EXPECT_EQ(RowsOf(*process.rdb)["quote"].size(), 0u);
  EXPECT_EQ(RowsOf(*process.rdb)["trade"], (std::vector<Row>{{kNow, "B", 2}}));
}

TEST_F(DurableRdbTest, WaitsForTheCommitIntervalAndCommitsWhenIdle) {
  options_.commit_ns = INT64_MAX / 4;
  const auto seq_after = [&](bool durable) {
    std::filesystem::remove(path_ + "/rdb.tier");
    {
      Process process = Start(tier_options_);
      Announce(*process.rdb);
      process.rdb->OnLive(
          Body({"trade", {{kNow, "A", 1}}}, 1));  // The first commit is due at once.
      process.rdb->OnLive(Body({"trade", {{kNow, "A", 1}}}, 2));
      process.rdb->OnIdle();
      if (durable) process.rdb->MakeDurable();
    }
    return RowsOf(*Start(tier_options_).rdb)["trade"].size();
  };
  EXPECT_EQ(seq_after(false), 1u);
  EXPECT_EQ(seq_after(true), 2u);
}

TEST_F(DurableRdbTest, BeginsAnewAfterAFullTierRefusedRows) {
  tier_options_.capacity_bytes = 48 * kMiB;
  {
    Process process = Start(tier_options_);
    Announce(*process.rdb);
    Message message{"trade", {}};
    for (int row = 0; row < 20'000; ++row) message.rows.push_back({kNow, "A", 1});
    for (uint64_t i = 1; process.rdb->counters().rows_refused == 0; ++i) {
      process.rdb->OnLive(Body(message, i));
    }
    // Rows that fit are taken and committed, but they are not a prefix of the log any more.
    process.rdb->OnLive(Body({"quote", {{kNow, "A", 1}}}, 1'000'000));
    EXPECT_GT(RowsOf(*process.rdb)["trade"].size(), 100'000u);
  }
  {
    Process process = Start(tier_options_);
    EXPECT_EQ(process.rdb->position().seq(), 0u);
    EXPECT_THAT(process.rdb->TableNames(), testing::IsEmpty());
    Announce(*process.rdb);
    process.rdb->OnLive(Body({"trade", {{kNow, "B", 2}}}, 1));
  }
  Process process = Start(tier_options_);
  EXPECT_EQ(RowsOf(*process.rdb)["trade"], (std::vector<Row>{{kNow, "B", 2}}));
}

TEST_F(DurableRdbTest, BeginsAnewWhenASchemaChangedAndDropsWhatIsNotAnnounced) {
  std::mt19937_64 rng(2);
  std::vector<Message> log;
  for (int i = 0; i < 20; ++i) log.push_back(RandomMessage(rng));
  {
    Process process = Start(tier_options_);
    Announce(*process.rdb);
    ExpectCatchesUp(*process.rdb, log);
    process.rdb->SetLog({"sym2020.03.09", 77});
    process.rdb->MakeDurable();
  }
  {
    Process process = Start(tier_options_);
    const Schema trade = *ParseSchema("trade", "time p, sym s, price f");
    process.rdb->OnSchemas({&trade, 1});
    EXPECT_THAT(process.rdb->TableNames(), testing::ElementsAre("trade"));
    EXPECT_EQ(RowsOf(*process.rdb)["trade"], RowsIn(log)["trade"]);
  }
  {
    Process process = Start(tier_options_);
    const Schema wider = *ParseSchema("quote", "time p, sym s, price f, extra j");
    process.rdb->OnSchemas({&wider, 1});
    EXPECT_EQ(process.rdb->position().seq(), 0u);
    EXPECT_EQ(process.rdb->log(), LogIdentity());
  }
  Process process = Start(tier_options_);
  Announce(*process.rdb);
  EXPECT_EQ(process.rdb->position().seq(), 0u);
  ExpectCatchesUp(*process.rdb, log);
}

// Goal: wherever it is killed or loses power, a restart has exactly a prefix of the log, knows
// which, and has everything once the rest was replayed. Method: random log messages, published in
// groups as a tickerplant does, with losses of the connection that replay from the log. At flushes
// and fences a second Rdb is started on what the medium would hold, and catches up.
TEST_F(DurableRdbTest, HasAPrefixOfTheLogWhereverThePowerGoes) { CutThePowerAnywhere(60, 40); }

// Goal: as above, with a table that ends with the process and is filled from the log's beginning.
TEST_F(DurableRdbTest, HasAPrefixAndFillsTheTableOfAnotherTier) {
  elsewhere_ = {"quote"};
  CutThePowerAnywhere(45, 10);
}

void DurableRdbTest::CutThePowerAnywhere(int steps, int opened_min) {
  mem::TierOptions copy = tier_options_;
  copy.file = "copy";
  std::mt19937_64 rng(23);
  std::vector<Message> log;
  int opened = 0;
  bool announced = false;
  const auto on_point = [&](mem::PowerCut& cut) {
    if (!announced || rng() % 40 != 0) return;
    for (const double arrived : {0.0, 0.5, 1.0}) {
      const std::vector<std::byte> image = cut.Image(arrived, rng);
      std::ofstream(path_ + "/copy", std::ios::binary)
          .write(reinterpret_cast<const char*>(image.data()),
                 static_cast<std::streamsize>(image.size()));
      Process process = Start(copy);
      ++opened;
      Announce(*process.rdb);
      ASSERT_NO_FATAL_FAILURE(ExpectCatchesUp(*process.rdb, log)) << "opened " << opened;
    }
  };
  Process process = Start(tier_options_, std::make_unique<mem::PowerCut>(on_point));
  Rdb& rdb = *process.rdb;
  Announce(rdb);
  announced = true;
  for (int step = 0; step < steps && !HasFailure(); ++step) {
    const size_t begin = log.size();
    for (size_t i = 0; i < 1 + rng() % 4; ++i) log.push_back(RandomMessage(rng));
    const std::vector<Message> published = Publication(std::span(log).subspan(begin));
    // Breaks the connection now and then in the middle of a publication.
    const bool lost = rng() % 6 == 0;
    for (size_t i = 0; i < published.size(); ++i) {
      if (lost && i + 1 == published.size()) break;
      ASSERT_EQ(rdb.OnLive(Body(published[i], log.size())), LiveOutcome::kTaken);
    }
    if (lost) {
      ASSERT_NO_FATAL_FAILURE(ExpectCatchesUp(rdb, log));
    }
  }
  EXPECT_EQ(RowsOf(rdb), RowsIn(log));
  EXPECT_GT(opened, opened_min);
}

}  // namespace
}  // namespace tickstack::rdb
