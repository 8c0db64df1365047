#include "feed/sources/shard_source.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <utility>

#include "base/status.h"
#include "feed/sources/sim_source.h"
#include "feed/sources/source_testing.h"
#include "wire/codec.h"

namespace tickstack::feed {
namespace {

constexpr int64_t kLater = int64_t{1} << 50;
constexpr int64_t kRows = 5'500;

SimOptions OptionsOf(double rate, int64_t batch_rows) {
  SimOptions options;
  options.rows = kRows;
  options.rate = rate;
  options.symbols = 50;
  options.batch_rows = batch_rows;
  return options;
}

std::shared_ptr<const ShardMap> Map() {
  static const auto map =
      std::make_shared<const ShardMap>(*ShardMap::Create({"a", "b", "c"}, {{"SPY", "b"}}));
  return map;
}

// A source that makes all rows, also those of other shards.
class Whole final : public Source {
 public:
  explicit Whole(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  void Start(int64_t now_ns) override { source_->Start(now_ns); }
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override { return source_->Next(now_ns); }
  int64_t next_due_ns() const override { return source_->next_due_ns(); }
  absl::Status Rewind(const NameMap<int64_t>& rows_done) override {
    return source_->Rewind(rows_done);
  }
  const std::vector<std::string>& tables() const override { return source_->tables(); }
  std::string Describe() const override { return source_->Describe(); }

 private:
  const std::unique_ptr<Source> source_;
};

// `selects`: the source makes only the rows of the shard.
std::unique_ptr<ShardSource> OpenShard(const SimOptions& options, size_t shard,
                                       ShardSourceLimits limits = {}, bool selects = true) {
  std::unique_ptr<Source> of_all = *options.Open();
  if (!selects) of_all = std::make_unique<Whole>(std::move(of_all));
  auto source = ShardSource::Create(std::move(of_all), Map(), shard, DefaultSchemas(), limits);
  EXPECT_TRUE(source.ok()) << source.status();
  return *std::move(source);
}

void StartAt(Source& source, const NameMap<int64_t>& rows_done) {
  EXPECT_TRUE(source.Rewind(rows_done).ok());
  source.Start(0);
}

RowsByTable AllRows(Source& source) {
  RowsByTable rows;
  while (source.next_due_ns() != kNeverDue) EXPECT_TRUE(Drain(source, kLater, rows).ok());
  return rows;
}

// The rows of `all` that belong to a shard, in order.
RowsByTable ByDefinition(const RowsByTable& all, size_t shard) {
  RowsByTable chosen;
  for (const auto& [table, rows] : all) {
    chosen[table];
    for (const std::string& row : rows) {
      const size_t begin = row.find(',') + 1;
      const std::string symbol = row.substr(begin, row.find(',', begin) - begin);
      if (Map()->ShardOf(symbol) == shard) chosen[table].push_back(row);
    }
  }
  return chosen;
}

// Goal: each row is in exactly one shard, and the rows of a shard are in the source's order.
// Method: compares with the definition, for several paces and sizes of batches.
TEST(ShardSource, HasExactlyTheRowsOfItsShard) {
  for (const double rate : {0.0, 100'000.0}) {
    const std::unique_ptr<Source> plain = *OptionsOf(rate, 2'400).Open();
    StartAt(*plain, {});
    const RowsByTable all = AllRows(*plain);
    for (const int64_t batch_rows : {1, 7, 2'400}) {
      for (size_t shard = 0; shard < Map()->size(); ++shard) {
        for (const bool selects : {true, false}) {
          const std::unique_ptr<ShardSource> source =
              OpenShard(OptionsOf(rate, batch_rows), shard, {}, selects);
          StartAt(*source, {});
          ExpectSameRows(AllRows(*source), ByDefinition(all, shard), /*times=*/rate != 0);
        }
      }
    }
  }
}

// Goal: a rewind continues exactly, before the start, on the way, and after a new start.
// Method: random positions of both tables, from which all further rows must follow; for sources
// that make all rows, and for those that make the shard's.
TEST(ShardSource, ContinuesExactlyAfterARewind) {
  const std::unique_ptr<ShardSource> whole = OpenShard(OptionsOf(0, 100), 1, {}, false);
  StartAt(*whole, {});
  const RowsByTable all = AllRows(*whole);
  std::mt19937_64 random(1);
  for (const bool selects : {true, false}) {
    SCOPED_TRACE(selects);
    // Remembers many places, and needs several calls to find one.
    const std::unique_ptr<ShardSource> again =
        OpenShard(OptionsOf(100'000, 70), 1, {.place_rows = 100, .read_rows = 60}, selects);
    StartAt(*again, {});
    for (int i = 0; i < 50; ++i) {
      SCOPED_TRACE(i);
      RowsByTable rows;
      for (const auto& [table, texts] : all) {
        const size_t done = i == 0 ? texts.size() : random() % (texts.size() + 1);
        rows[table].assign(texts.begin(), texts.begin() + static_cast<int64_t>(done));
      }
      RowsByTable fresh_rows = rows;
      const std::unique_ptr<ShardSource> fresh = OpenShard(OptionsOf(100'000, 70), 1, {}, selects);
      StartAt(*fresh, Counts(rows));
      ASSERT_TRUE(again->Rewind(Counts(rows)).ok());
      for (auto& [source, found] : {std::pair<Source*, RowsByTable*>{fresh.get(), &fresh_rows},
                                    std::pair<Source*, RowsByTable*>{again.get(), &rows}}) {
        while (source->next_due_ns() != kNeverDue) {
          ASSERT_TRUE(Drain(*source, kLater, *found).ok());
        }
        ExpectSameRows(*found, all, /*times=*/false);
      }
    }
  }
}

// Goal: a source that was started late in its rows can go back to before them, and continues.
// Method: starts far behind the first row, at a rate at which that is seconds; then rewinds to rows
// between. A tickerplant that restarts after the feed did asks for this.
TEST(ShardSource, ContinuesExactlyAfterItWasStartedLate) {
  constexpr int64_t kStartNs = int64_t{1} << 40;
  for (const bool phases : {false, true}) {
    SCOPED_TRACE(phases);
    SimOptions options = OptionsOf(1'000, 70);
    if (phases) options.phases = {{0.5, 500}, {0.5, 1'500}};
    const std::unique_ptr<ShardSource> whole = OpenShard(options, 1);
    StartAt(*whole, {});
    const RowsByTable all = AllRows(*whole);
    RowsByTable rows;
    for (const auto& [table, texts] : all) {
      rows[table].assign(texts.begin(), texts.begin() + static_cast<int64_t>(texts.size() * 3 / 4));
    }
    const std::unique_ptr<ShardSource> late = OpenShard(options, 1);
    ASSERT_TRUE(late->Rewind(Counts(rows)).ok());
    late->Start(kStartNs);
    ASSERT_TRUE(Drain(*late, kStartNs + 50'000'000, rows).ok());
    ASSERT_TRUE(late->Rewind(Counts(rows)).ok());
    while (late->next_due_ns() != kNeverDue) ASSERT_TRUE(Drain(*late, kLater, rows).ok());
    ExpectSameRows(rows, all, /*times=*/false);
  }
}

// Goal: finding the place does not keep the loop, and the pace begins when the place is found.
// Method: counts the calls that return nothing although the source is due.
TEST(ShardSource, FindsItsPlaceInSlices) {
  constexpr int64_t kStartNs = int64_t{1} << 40;
  const std::unique_ptr<ShardSource> whole = OpenShard(OptionsOf(1'000, 50), 1);
  StartAt(*whole, {});
  const RowsByTable all = AllRows(*whole);
  RowsByTable rows;
  for (const auto& [table, texts] : all) {
    rows[table].assign(texts.begin(), texts.begin() + static_cast<int64_t>(texts.size() / 2));
  }
  const NameMap<int64_t> half = Counts(rows);
  const std::unique_ptr<ShardSource> late = OpenShard(OptionsOf(1'000, 50), 1, {.read_rows = 200});
  ASSERT_TRUE(late->Rewind(half).ok());
  late->Start(kStartNs);
  int64_t now_ns = kStartNs, calls = 0;
  for (; late->next_due_ns() <= now_ns && Counts(rows) == half; ++calls, ++now_ns) {
    ASSERT_TRUE(Drain(*late, now_ns, rows, /*batches=*/1).ok());
  }
  EXPECT_GT(calls, 5);
  EXPECT_LT(calls, 30);
  EXPECT_GT(late->next_due_ns(), kStartNs);
  EXPECT_LT(late->next_due_ns(), kStartNs + 10'000'000);
  while (late->next_due_ns() != kNeverDue) ASSERT_TRUE(Drain(*late, kLater, rows).ok());
  ExpectSameRows(rows, all, /*times=*/false);
}

// A source of one batch, which is due at once.
class OneBatch final : public Source {
 public:
  explicit OneBatch(const Value& x, int64_t rows) : rows_(rows) { wire::Encode(x, data_); }
  void Start(int64_t) override {}
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override {
    if (std::exchange(is_over_, true)) return nullptr;
    batch_ = {"note", 0, rows_, now_ns, data_.span()};
    return &batch_;
  }
  int64_t next_due_ns() const override { return is_over_ ? kNeverDue : kAlwaysDue; }
  absl::Status Rewind(const NameMap<int64_t>&) override {
    is_over_ = false;
    return absl::OkStatus();
  }
  const std::vector<std::string>& tables() const override { return tables_; }
  std::string Describe() const override { return "one batch"; }

 private:
  const std::vector<std::string> tables_{"note"};
  const int64_t rows_;
  ByteBuffer data_;
  bool is_over_ = false;
  FeedBatch batch_;
};

// An atom has no form for a column of strings: one row of several is a list of columns, too.
TEST(ShardSource, ChoosesOneRowWithAString) {
  const Value x = Value::List({Value::Longs({1, 2}), Value::Symbols({"SPY", "AAPL"}),
                               Value::List({Value::String("first"), Value::String("second")})});
  const size_t shard = Map()->ShardOf("SPY");
  ASSERT_NE(shard, Map()->ShardOf("AAPL"));
  const auto source = ShardSource::Create(std::make_unique<OneBatch>(x, 2), Map(), shard,
                                          {*ParseSchema("note", "id j, sym s, text C")});
  ASSERT_TRUE(source.ok()) << source.status();
  StartAt(**source, {});
  const absl::StatusOr<const FeedBatch*> batch = (*source)->Next(0);
  ASSERT_TRUE(batch.ok() && *batch != nullptr);
  const absl::StatusOr<Value> found = wire::Decode((*batch)->data);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, Value::List({Value::Longs({1}), Value::Symbols({"SPY"}),
                                 Value::List({Value::String("first")})}));
}

// A source that makes only some of its ten rows, and returns them as a whole after each rewind.
class SomeRows final : public Source {
 public:
  SomeRows() {
    wire::Encode(Value::List({Value::Longs({1, 4, 6, 9}), Value::Symbols({"A", "B", "C", "D"})}),
                 data_);
  }
  void Start(int64_t) override {}
  absl::StatusOr<const FeedBatch*> Next(int64_t now_ns) override {
    if (std::exchange(is_over_, true)) return nullptr;
    batch_ = {"note", 0, 10, now_ns, data_.span(), chosen_};
    return &batch_;
  }
  int64_t next_due_ns() const override { return is_over_ ? kNeverDue : kAlwaysDue; }
  absl::Status Rewind(const NameMap<int64_t>&) override {
    is_over_ = false;
    return absl::OkStatus();
  }
  bool Select(size_t column, const std::function<bool(std::string_view)>&) override {
    return column == 1;
  }
  const std::vector<std::string>& tables() const override { return tables_; }
  std::string Describe() const override { return "some rows"; }

 private:
  const std::vector<std::string> tables_{"note"};
  const std::vector<uint32_t> chosen_{1, 4, 6, 9};
  ByteBuffer data_;
  bool is_over_ = false;
  FeedBatch batch_;
};

TEST(ShardSource, LeavesOutRowsOfABatchThatBeginsBeforeThePlace) {
  for (int64_t done = 0; done <= 4; ++done) {
    const auto source = ShardSource::Create(std::make_unique<SomeRows>(), Map(), 0,
                                            {*ParseSchema("note", "id j, sym s")});
    ASSERT_TRUE(source.ok()) << source.status();
    StartAt(**source, {{"note", done}});
    const absl::StatusOr<const FeedBatch*> batch = (*source)->Next(0);
    ASSERT_TRUE(batch.ok());
    if (done == 4) {
      EXPECT_EQ(*batch, nullptr);
      continue;
    }
    ASSERT_NE(*batch, nullptr);
    EXPECT_EQ((*batch)->first_row, done);
    EXPECT_EQ((*batch)->rows, 4 - done);
    const std::vector<std::string> all = {"1,A", "4,B", "6,C", "9,D"};
    EXPECT_EQ(RowTexts((*batch)->data), std::vector<std::string>(all.begin() + done, all.end()));
  }
}

TEST(ShardSource, NothingFollowsTheLastRow) {
  const std::unique_ptr<ShardSource> source = OpenShard(OptionsOf(0, 100), 0);
  StartAt(*source, {{"trade", kRows}, {"quote", kRows}});
  EXPECT_EQ(source->next_due_ns(), kNeverDue);
}

TEST(ShardSource, NeedsTheSchemasOfItsTables) {
  const auto source =
      ShardSource::Create(*OptionsOf(0, 100).Open(), Map(), 0, {DefaultSchemas().front()});
  EXPECT_EQ(source.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tickstack::feed
