#include "hdb/hdb.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/logging.h"
#include "base/mapping.h"
#include "disk/decompressed_image.h"
#include "disk/partition_writer.h"
#include "hdb/hdb_environment.h"
#include "mem/tier.h"
#include "query/columns/errors.h"
#include "query/testing.h"
#include "security/user_rights.h"
#include "serve/query_runner.h"
#include "table/batch_testing.h"
#include "table/codec.h"
#include "wire/codec.h"
#include "wire/connection.h"
#include "wire/event_loop.h"
#include "wire/socket_network.h"
#include "wire/whole_message.h"

namespace tickstack::hdb {
namespace {

using testing::HasSubstr;

constexpr int32_t kFirstDay = 8766;  // 2024.01.01

class HdbTest : public testing::Test {
 protected:
  HdbTest() : root_(std::filesystem::temp_directory_path() / "tickstack.XXXXXX") {
    InitLogging("test", LogLevel::kOff);
    TS_CHECK(::mkdtemp(root_.data()) != nullptr);
    hdb_.emplace(root_);
    environment_.emplace(&*hdb_, &clock_);
  }
  ~HdbTest() override { std::filesystem::remove_all(root_); }

  // Writes a day that has `rows` trades of size 1, alternately of two symbols.
  void WriteDay(int day, size_t rows, bool compressed = false) {
    absl::StatusOr<std::shared_ptr<Table>> table = Table::Create(
        *ParseSchema("trade", "time p, sym s, size j"), &symbols_, {tier_.get(), {}, nullptr});
    TS_CHECK(table.ok());
    std::vector<int64_t> times(rows), sizes(rows, 1);
    std::vector<std::string> names(rows);
    for (size_t i = 0; i < rows; ++i) {
      times[i] = static_cast<int64_t>(i);
      names[i] = i % 2 == 0 ? "aig" : "bac";
    }
    Batch batch(rows);
    batch.Add(Type::kTimestamp, times).AddSymbols(names).Add(Type::kLong, sizes);
    if (rows > 0) TS_CHECK((*table)->Append(batch.view()).ok());
    const Snapshot snapshot = (*table)->TakeSnapshot();
    disk::PartitionWriterOptions options;
    options.database = root_;
    if (compressed) options.compression.Set("default", {disk::Compression::kLz4, 1, 12});
    const absl::StatusOr<disk::WrittenPartition> written =
        disk::WritePartition(options, kFirstDay + day, std::span(&snapshot, 1));
    TS_CHECK(written.ok());
  }
  absl::StatusOr<Value> Evaluate(std::string_view text) {
    return query::EvaluateRequest(Value::String(text), *environment_);
  }
  int64_t AskLong(std::string_view text) {
    const absl::StatusOr<Value> answer = Evaluate(text);
    EXPECT_TRUE(answer.ok()) << text << ": " << answer.status();
    if (!answer.ok() || !answer->is_atom_of(Type::kLong)) return -1;
    return answer->as<int64_t>();
  }
  std::string ErrorOf(std::string_view text) {
    const absl::StatusOr<Value> answer = Evaluate(text);
    return answer.ok() ? "" : query::QErrorText(answer.status());
  }

  std::string root_;
  ManualClock clock_{0};
  SymbolTable symbols_;
  std::unique_ptr<mem::Tier> tier_ = mem::MakeDramTier("t");
  std::optional<Hdb> hdb_;
  std::optional<HdbEnvironment> environment_;
};

// Goal: symbols that are not enumerated are as good as others in queries, and a stored column
// `date` does not show beside the partitions' one. Method: the files of a day are replaced.
TEST_F(HdbTest, ReadsPlainSymbolsAndHidesAStoredDate) {
  WriteDay(0, 4);
  WriteDay(1, 4);
  const std::string table = root_ + "/2024.01.02/trade/";
  const auto put = [&](const std::string& name, std::string_view bytes) {
    std::ofstream(table + name, std::ios::binary) << bytes;
  };
  using namespace std::string_view_literals;
  std::filesystem::remove(table + ".checksums");
  put("sym", "\xff\x01\x0b\0\x04\0\0\0new\0aig\0\0new\0"sv);
  put(".d", "\xff\x01\x0b\0\x04\0\0\0sym\0date\0time\0size\0"sv);
  put("date", "\xfe\x20\x0e\0\0\0\0\0\x04\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0"sv);
  ASSERT_TRUE(hdb_->Reload().ok());
  for (const auto& [query, expected] : std::vector<std::pair<std::string, int64_t>>{
           {"exec count i from trade where sym=`new", 2},
           {"exec count i from trade where date=2024.01.02,sym=`new", 2},
           {"exec count i from trade where sym=`aig", 3},
           {"exec count i from trade where date=2024.01.02,sym=`bac", 0},
           {"exec count i from trade where null sym", 1},
           {"exec sum size from trade where sym in `new`bac", 4},
           {"count select by sym from trade", 4},
           {"(select n:count i by sym from trade)[`new;`n]", 2},
           {"exec count distinct sym from trade where date=2024.01.02", 3},
           {"count select from trade where sym like \"n*\"", 2},
           {"count where `date=cols trade", 1},
           {"exec count i from trade where date=2024.01.02", 4}}) {
    EXPECT_EQ(AskLong(query), expected) << query;
  }
  const absl::StatusOr<Value> symbols = Evaluate("exec sym from trade where date=2024.01.02");
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  EXPECT_EQ(*symbols, Value::Symbols({"new", "aig", "", "new"}));
  const absl::StatusOr<Value> joined = Evaluate(
      "exec sym from aj[`sym`time;select sym,time from trade where date=2024.01.02;"
      "select sym,time,size from trade where date=2024.01.01]");
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(*joined, *symbols);
}

// Goal: a table that is left out of a day is an error for that day only; its columns are known, and
// what a gateway asks about all tables is answered.
TEST_F(HdbTest, ATableThatIsLeftOutOfADayIsAnErrorForThatDay) {
  WriteDay(0, 4);
  disk::PartitionWriterOptions options;
  options.database = root_;
  options.left_out.push_back({*ParseSchema("trade", "time p, sym s, size j"), "for a reason"});
  ASSERT_TRUE(disk::WritePartition(options, kFirstDay + 1, {}).ok());
  ASSERT_TRUE(hdb_->Reload().ok());
  EXPECT_EQ(AskLong("count date"), 2);
  EXPECT_EQ(AskLong("exec count i from trade where date=2024.01.01"), 4);
  for (const char* query :
       {"exec count i from trade where date=2024.01.02", "count trade",
        "select from trade where date>2024.01.01", "exec sum size from trade"}) {
    EXPECT_THAT(ErrorOf(query), HasSubstr("the table of this day is not written: for a reason"));
  }
  EXPECT_EQ(AskLong("count cols `trade"), 4);
  EXPECT_EQ(AskLong("count {[askedTables]askedTables!cols each askedTables}tables[]"), 1);
  EXPECT_EQ(AskLong("count {[askedTables]askedTables!{[askedTable]@[{[askedTable]askedNames:exec c "
                    "from meta askedTable where t=\"s\";$[`sym in askedNames;`sym;first "
                    "askedNames]};askedTable;`]}each askedTables}tables[]"),
            1);
}

TEST_F(HdbTest, ADirectoryThatIsNotThereYetHasNoTables) {
  EXPECT_EQ(AskLong("count tables[]"), 0);
  EXPECT_EQ(ErrorOf("count trade"), "trade");
  std::filesystem::remove_all(root_);
  EXPECT_EQ(ErrorOf(".hdb.reload[]"), root_ + ": there is no such directory");
  EXPECT_EQ(AskLong(".hdb.stats[][`reloads_failed]"), 1);
  WriteDay(0, 4);
  EXPECT_TRUE(Evaluate(".hdb.reload[]").ok());
  EXPECT_EQ(AskLong("count trade"), 4);
}

TEST_F(HdbTest, ADayIsSeenAfterTheReloadThatKdbsRdbSends) {
  WriteDay(0, 4);
  ASSERT_TRUE(hdb_->Reload().ok());
  WriteDay(1, 10);
  EXPECT_EQ(AskLong("count trade"), 4);
  const absl::StatusOr<Value> answer = Evaluate("\\l .");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->is_null());
  EXPECT_EQ(AskLong("count trade"), 14);
  EXPECT_EQ(AskLong(".hdb.stats[][`partitions]"), 2);
}

TEST_F(HdbTest, OtherSystemCommandsAreNotUnderstood) {
  WriteDay(0, 4);
  ASSERT_TRUE(hdb_->Reload().ok());
  EXPECT_EQ(ErrorOf("\\l /etc"), "nyi: \\l");
  EXPECT_EQ(ErrorOf("\\rm -r /"), "nyi: \\rm");
  EXPECT_EQ(ErrorOf("\\"), "nyi: \\");
}

TEST_F(HdbTest, KnowsEachNameThatItLists) {
  WriteDay(0, 4);
  ASSERT_TRUE(hdb_->Reload().ok());
  for (const std::string& name : environment_->FunctionNames()) {
    EXPECT_TRUE(environment_->Call(name, {}).has_value()) << name;
  }
  EXPECT_GE(environment_->ValueNames().size(), 6U);
  for (const std::string& name : environment_->ValueNames()) {
    EXPECT_TRUE(environment_->FindValue(name).has_value()) << name;
  }
  EXPECT_EQ(AskLong("sum .Q.cn trade"), 4);
  EXPECT_EQ(*Evaluate(".Q.qp trade"), Value::Boolean(true));
  EXPECT_EQ(AskLong(".Q.qp select from trade"), 0);
  EXPECT_EQ(*Evaluate("tables[]"), Value::Symbols({"trade"}));
  EXPECT_EQ(*Evaluate("`pv in key .Q"), Value::Boolean(true));
}

TEST_F(HdbTest, TheListOfPartitionsIsAVariable) {
  WriteDay(0, 4);
  WriteDay(1, 0);
  WriteDay(3, 2);
  ASSERT_TRUE(hdb_->Reload().ok());
  EXPECT_EQ(AskLong("count date"), 3);
  EXPECT_EQ(AskLong("`long$last date"), kFirstDay + 3);
  EXPECT_EQ(AskLong("`long$first .Q.pv"), kFirstDay);
  EXPECT_EQ(AskLong("count select from trade where date=last date"), 2);
  EXPECT_EQ(AskLong("count .Q.pt"), 1);
}

TEST_F(HdbTest, AFailedReloadLeavesWhatWasThere) {
  WriteDay(0, 4);
  ASSERT_TRUE(hdb_->Reload().ok());
  std::ofstream(root_ + "/par.txt") << "/nowhere/segment\n";
  EXPECT_THAT(ErrorOf("\\l ."), HasSubstr("/nowhere/segment"));
  EXPECT_EQ(AskLong("count trade"), 4);
}

TEST_F(HdbTest, WhyALoadFailedIsAProblemUntilOneSucceeds) {
  std::ofstream(root_ + "/par.txt") << "later\n";
  EXPECT_FALSE(hdb_->Reload().ok());
  EXPECT_EQ(AskLong("count tables[]"), 0);
  EXPECT_EQ(AskLong(".hdb.stats[][`problems]"), 1);
  const absl::StatusOr<Value> problem = Evaluate("first .hdb.problems[]");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_THAT(std::string(problem->text()), testing::AllOf(testing::StartsWith("not loaded: "),
                                                           HasSubstr("/later: no such directory")));
  std::filesystem::create_directory(root_ + "/later");
  WriteDay(0, 4);
  EXPECT_TRUE(Evaluate("\\l .").ok());
  EXPECT_EQ(AskLong("count trade"), 4);
  EXPECT_EQ(AskLong("count .hdb.problems[]"), 0);
}

TEST_F(HdbTest, SegmentsAreOneDatabase) {
  for (const char* segment : {"/a", "/b"}) std::filesystem::create_directories(root_ + segment);
  std::ofstream(root_ + "/par.txt") << "a\n" << root_ << "/b/\n";
  for (int day = 0; day < 4; ++day) WriteDay(day, 2 + static_cast<size_t>(day));
  ASSERT_TRUE(hdb_->Reload().ok());
  EXPECT_EQ(AskLong(".hdb.stats[][`segments]"), 2);
  EXPECT_EQ(AskLong("count trade"), 2 + 3 + 4 + 5);
  EXPECT_EQ(AskLong("exec first n from select n:count i by date from trade where date=date 2"), 4);
}

TEST_F(HdbTest, FlatFilesOfTheRootAreTablesAndVariables) {
  WriteDay(0, 4);
  const auto write = [&](const std::string& name, std::string_view expression) {
    const absl::StatusOr<Value> value = Evaluate(expression);
    TS_CHECK(value.ok());
    ByteBuffer bytes;
    Encode(*value, bytes);
    std::ofstream(root_ + "/" + name, std::ios::binary) << "\xff\x01" << AsText(bytes.span());
  };
  write("holidays", "([]day:2024.01.01 2024.12.25;name:`new`christmas)");
  write("lots", "([sym:`aig`bac]lot:100 200)");
  write("rate", "5.25");
  std::ofstream(root_ + "/broken", std::ios::binary) << "\xff\x01\x62";
  ASSERT_TRUE(hdb_->Reload().ok());
  EXPECT_EQ(AskLong("count tables[]"), 3);
  EXPECT_EQ(AskLong("count select from holidays where day>2024.06.01"), 1);
  EXPECT_EQ(AskLong("exec first lot from lots where sym=`bac"), 200);
  EXPECT_EQ(AskLong("`long$4*rate"), 21);
  EXPECT_EQ(AskLong("count .Q.pt"), 1);
  EXPECT_EQ(AskLong("count .hdb.problems[]"), 1);
  EXPECT_EQ(ErrorOf("broken"), "broken");
}

TEST_F(HdbTest, AForeignFileIsNamedAndHarmsNothing) {
  WriteDay(0, 4);
  std::ofstream(root_ + "/notes.txt") << "buy milk";
  ASSERT_TRUE(hdb_->Reload().ok());
  EXPECT_EQ(AskLong("count trade"), 4);
  EXPECT_EQ(AskLong("count .hdb.problems[]"), 1);
}

// Goal: a query sees the database before or after a reload, never between. Method: three threads
// ask without a pause while days come and are reloaded; every answer is the sum of the first n
// days, and n never goes down for a thread.
TEST_F(HdbTest, ReloadsSwapWhileQueriesRun) {
  constexpr int kDays = 12;
  WriteDay(0, 100);
  ASSERT_TRUE(hdb_->Reload().ok());
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0, answers = 0;
  const auto ask = [&] {
    int64_t last = 0;
    while (!done.load()) {
      const absl::StatusOr<Value> sum = Evaluate("exec sum size from trade where sym in `aig`bac");
      const int64_t found = sum.ok() ? sum->as<int64_t>() : -1;
      if (found % 100 != 0 || found < last) ++wrong;
      last = found;
      ++answers;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(ask);
  for (int day = 1; day < kDays; ++day) {
    WriteDay(day, 100);
    EXPECT_TRUE(hdb_->Reload().ok());
    const int before = answers.load();
    while (answers.load() < before + 3) std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(AskLong("exec sum size from trade"), kDays * 100);
}

// Goal: queries that together read more than the cache holds get right answers: each drops files
// that others have read.
TEST_F(HdbTest, QueriesReadMoreThanTheCacheHasRoomFor) {
  for (int day = 0; day < 4; ++day) WriteDay(day, 4'000, true);
  ASSERT_TRUE(hdb_->Reload().ok());
  disk::DecompressedCache& cache = disk::DecompressedCache::Instance();
  const uint64_t max_bytes = cache.max_bytes();
  cache.SetMaxBytes(40'000);  // A column of a day has 32,000 bytes.
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const absl::StatusOr<Value> sum =
            Evaluate("exec sum size from trade where sym=`aig,time<2000.01.01D00:00:00.000002");
        if (!sum.ok() || sum->as<int64_t>() != 4 * 1'000) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(AskLong(".hdb.stats[][`cache_evictions]"), 100);
  EXPECT_EQ(AskLong(".hdb.stats[][`cache_max_bytes]"), 40'000);
  EXPECT_LE(AskLong(".hdb.stats[][`decompressed_bytes]"), 40'000);
  cache.SetMaxBytes(max_bytes);
}

// Goal: files of past queries make room for new ones, and only a query that alone needs more
// mappings than there are is refused. Method: 12 days of three columns, and 14 mappings for all of
// them.
TEST_F(HdbTest, QueriesReadMoreFilesThanMayBeMapped) {
  for (int day = 0; day < 12; ++day) WriteDay(day, 4);
  ASSERT_TRUE(hdb_->Reload().ok());
  Mapping::SetProcessMax(16);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int day = 0; day < 24; ++day) {
        const absl::StatusOr<Value> sum = Evaluate(fmt::format(
            "exec sum size from trade where date=date {},sym=`aig,time<2000.01.01D00:00:01",
            day % 12));
        if (!sum.ok() || sum->as<int64_t>() != 2) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(AskLong("exec sum size from trade"), 12 * 4);
  EXPECT_EQ(AskLong(".hdb.stats[][`mappings_max]"), 14);
  EXPECT_LE(AskLong(".hdb.stats[][`mappings]"), 14);
  EXPECT_GT(AskLong(".hdb.stats[][`columns_let_go]"), 30);

  const absl::StatusOr<Value> both = Evaluate("exec sum size from trade where time>2000.01.01D00");
  EXPECT_EQ(query::QErrorText(both.status()), "limit");
  EXPECT_THAT(std::string(Message(both.status())),
              HasSubstr(" mappings are in use of at most 14, which vm.max_map_count=16 leaves"));
  EXPECT_EQ(AskLong("exec sum size from trade"), 12 * 4);
  EXPECT_EQ(AskLong("count trade"), 12 * 4);
  Mapping::SetProcessMax(0);
}

// Goal: a load that finds no mappings fails, and the loaded database stays. Method: others hold all
// mappings except those reserved for loads, then those too.
TEST_F(HdbTest, ALoadHasMappingsOfItsOwn) {
  WriteDay(0, 4);
  ASSERT_TRUE(hdb_->Reload().ok());
  WriteDay(1, 4);
  Mapping::SetProcessMax(64);
  std::vector<Mapping> others;
  const std::string file = root_ + "/sym";
  const auto take_all = [&] {
    absl::StatusOr<Mapping> mapping = Mapping::OfFile(file);
    for (; mapping.ok(); mapping = Mapping::OfFile(file)) others.push_back(*std::move(mapping));
  };
  take_all();
  EXPECT_EQ(ErrorOf("exec sum size from trade"), "limit");
  EXPECT_TRUE(Evaluate("\\l .").ok());
  WriteDay(2, 4);
  {
    const MappingReserve reserve;
    take_all();
  }
  EXPECT_THAT(ErrorOf("\\l ."), HasSubstr("not mapped"));
  EXPECT_EQ(AskLong("count tables[]"), 1);
  EXPECT_EQ(AskLong(".hdb.stats[][`reloads_failed]"), 1);
  EXPECT_EQ(AskLong("count date"), 2);
  others.clear();
  EXPECT_EQ(AskLong("exec sum size from trade"), 8);
  EXPECT_TRUE(Evaluate("\\l .").ok());
  EXPECT_EQ(AskLong("count trade"), 12);
  EXPECT_EQ(AskLong("count .hdb.problems[]"), 0);
  Mapping::SetProcessMax(0);
}

TEST_F(HdbTest, AQueryGoesOnWithWhatItBegan) {
  WriteDay(0, 4);
  ASSERT_TRUE(hdb_->Reload().ok());
  const std::shared_ptr<const query::StoredTable> before = environment_->FindStored("trade");
  std::filesystem::remove_all(root_ + "/2024.01.01");
  WriteDay(1, 6);
  ASSERT_TRUE(hdb_->Reload().ok());
  EXPECT_EQ(AskLong("count trade"), 6);
  EXPECT_EQ(before->partitions(), 1u);
  EXPECT_EQ(before->PartitionValue(0), kFirstDay);
}

// Goal: everything in one request is of one database, though another client loads a newer one in
// the middle. Method: asking for the time, as `.z.p` does, loads a day more. q evaluates the items
// of a list from the right, so the items beside `.z.p` are before and after that.
TEST_F(HdbTest, ARequestSeesOneDatabase) {
  class LoadingClock final : public Clock {
   public:
    explicit LoadingClock(std::function<void()> load) : load_(std::move(load)) {}
    int64_t NowNs() const override {
      load_();
      return 0;
    }
    int64_t MonotonicNs() const override { return 0; }

   private:
    const std::function<void()> load_;
  };
  int days = 0;
  const LoadingClock clock([&] {
    WriteDay(days++, 4);
    TS_CHECK(hdb_->Reload().ok());
  });
  clock.NowNs();
  HdbEnvironment environment(&*hdb_, &clock);
  serve::QueryCounters counters;
  serve::QueryRunnerOptions options;
  options.clock = &clock_;
  serve::QueryRunner runner(options, &environment, &counters);
  auto ends = wire::MakeSocketPair();
  wire::EventLoop loop;
  const auto connection =
      wire::Connection::Adopt(ends->first->Attach(loop), "10.0.0.5:42", 3, false, {}, nullptr);
  security::Grants grants = security::AllGrants();
  grants.publish = {};
  connection->set_rights(std::make_shared<security::UserRights>("bob", grants));
  for (const security::Access& access : {security::Access(), security::Access(*connection)}) {
    const auto show = [&](std::string_view text) {
      ByteBuffer body;
      wire::Encode(Value::String(text), body);
      serve::QueryRequest request{std::make_shared<serve::QueryClient>(), body.span(), nullptr};
      request.client->access = access;
      request.ticket = 1;
      const serve::Replies replies = runner.Run(request, nullptr);
      const absl::StatusOr<Value> answer = wire::DecodeMessage(replies.answer.encoded.span());
      return answer.ok() ? query::Show(*answer) : "'" + std::string(Message(answer.status()));
    };
    for (const char* item : {"count date", "count .Q.pv", "count trade", "exec max date from trade",
                             "count select from trade", "count value`date"}) {
      const std::string before = show(item);
      const int days_before = days;
      EXPECT_EQ(show(fmt::format("({0};null .z.p;{0})", item)), fmt::format("({0};0b;{0})", before))
          << item;
      EXPECT_EQ(days, days_before + 1) << item;
      EXPECT_NE(show(item), before) << item;
    }
    // What the request loads itself is visible from then on.
    const int days_before = days;
    WriteDay(days++, 4);
    EXPECT_EQ(show("(count date;.hdb.reload[];count date)"),
              fmt::format("({};::;{})", days, days_before));
    WriteDay(days++, 4);
    EXPECT_EQ(show("(count date;system\"l .\";count date)"),
              fmt::format("({};::;{})", days, days - 1));
  }
}

}  // namespace
}  // namespace tickstack::hdb
