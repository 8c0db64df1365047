#include "disk/partition_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "disk/column_file.h"
#include "disk/database_check.h"
#include "disk/partition_testing.h"
#include "mem/tier.h"
#include "table/batch_testing.h"
#include "table/bytes_for_test.h"
#include "table/codec.h"
#include "table/storable.h"
#include "table/symbols.h"

namespace tickstack::disk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t kDate = 8794;  // 2024.01.29

struct Tick {
  int64_t time;
  std::string sym;
  int64_t size;
  std::string venue;
};

// The tables of a process.
struct Process {
  std::shared_ptr<Table> Make(std::string_view name, std::string_view columns,
                              TableOptions options = {.rows_per_chunk = 64}) {
    tables.push_back(
        *Table::Create(*ParseSchema(name, columns), &symbols, {tier.get(), {}, nullptr}, options));
    return tables.back();
  }
  std::vector<Snapshot> Snapshots() const {
    std::vector<Snapshot> snapshots;
    for (const std::shared_ptr<Table>& table : tables) snapshots.push_back(table->TakeSnapshot());
    return snapshots;
  }
  absl::StatusOr<WrittenPartition> Write(const TemporaryFolder& folder, int32_t date = kDate,
                                         WorkerPool* workers = nullptr) const {
    const std::vector<Snapshot> snapshots = Snapshots();
    return WritePartition({.database = folder / "db", .compression = {}, .workers = workers}, date,
                          snapshots);
  }

  SymbolTable symbols;
  std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
  std::vector<std::shared_ptr<Table>> tables;  // Destroyed before their tier.
};

void AppendTicks(const std::vector<Tick>& ticks, Table& table) {
  std::vector<int64_t> times, sizes;
  std::vector<std::string> syms, venues;
  for (const Tick& tick : ticks) {
    times.push_back(tick.time);
    syms.push_back(tick.sym);
    sizes.push_back(tick.size);
    venues.push_back(tick.venue);
  }
  ASSERT_TRUE(table
                  .Append(Batch(ticks.size())
                              .Add(Type::kTimestamp, times)
                              .AddSymbols(syms)
                              .Add(Type::kLong, sizes)
                              .AddSymbols(venues)
                              .view())
                  .ok());
}
constexpr std::string_view kTicks = "time p, sym s, size j, venue s";

std::vector<Tick> RandomTicks(std::mt19937_64& rng, size_t count) {
  const std::vector<std::string> names = {"IBM", "AAPL", "", "MSFT", "a", "Z", "ABC.N"};
  std::vector<Tick> ticks;
  int64_t time = 1000;
  for (size_t i = 0; i < count; ++i) {
    time += static_cast<int64_t>(rng() % 3);
    // One in ten is late, by a little or by a lot; some have no time.
    const bool late = rng() % 10 == 0;
    const int64_t stamp = rng() % 50 == 0 ? kNullLong
                          : late          ? time - static_cast<int64_t>(rng() % 100)
                                          : time;
    ticks.push_back(
        {stamp, names[rng() % names.size()], static_cast<int64_t>(i), names[rng() % 2]});
  }
  return ticks;
}

std::vector<Tick> ReadTicks(const TemporaryFolder& folder, const std::string& table) {
  const std::string path = table + "/";
  const std::string sym = folder / "db/sym";
  const auto times = FixedColumn<int64_t>(path + "time");
  const auto syms = SymbolColumn(path + "sym", sym);
  const auto sizes = FixedColumn<int64_t>(path + "size");
  const auto venues = SymbolColumn(path + "venue", sym);
  std::vector<Tick> ticks;
  for (size_t i = 0; i < times.size(); ++i) {
    ticks.push_back({times[i], syms[i], sizes[i], venues[i]});
  }
  return ticks;
}

// Goal: a partition is the stable sort of the table by symbol and time. Method: random tables with
// late rows and null times and symbols, with and without an index, compared with std::stable_sort.
TEST(PartitionWriter, WritesEachRowOnceBySymbolThenTimeThenArrival) {
  WorkerPool workers(2);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Process process;
    const std::shared_ptr<Table> table =
        process.Make("trade", kTicks, {.rows_per_chunk = 64, .index = seed % 3 != 0});
    std::vector<Tick> ticks;
    for (int batch = 0; batch < 4; ++batch) {
      const std::vector<Tick> more = RandomTicks(rng, rng() % 400);
      AppendTicks(more, *table);
      ticks.insert(ticks.end(), more.begin(), more.end());
    }
    const TemporaryFolder folder;
    const absl::StatusOr<WrittenPartition> written =
        process.Write(folder, kDate, seed % 2 == 0 ? &workers : nullptr);
    ASSERT_TRUE(written.ok()) << written.status();
    std::ranges::stable_sort(ticks, [](const Tick& a, const Tick& b) {
      return std::tie(a.sym, a.time) < std::tie(b.sym, b.time);
    });
    const std::vector<Tick> read = ReadTicks(folder, written->path + "/trade");
    ASSERT_EQ(read.size(), ticks.size());
    for (size_t i = 0; i < ticks.size(); ++i) {
      // `size` is the row's number, unless batches repeat it; together with the rest it identifies
      // the row.
      ASSERT_EQ(std::tie(read[i].time, read[i].sym, read[i].size, read[i].venue),
                std::tie(ticks[i].time, ticks[i].sym, ticks[i].size, ticks[i].venue))
          << "row " << i;
    }
  }
}

// Goal: the amount of memory for windows does not change the files. Method: columns of some MiB
// through windows of 64 KiB, which are copied; of 4 MiB, two for a column, which are written in
// place; and of the size of the column.
TEST(PartitionWriter, WritesTheSameFilesWithAnyMemory) {
  Process process;
  const std::shared_ptr<Table> table = process.Make("trade", kTicks, {});
  std::mt19937_64 rng(3);
  const std::vector<Tick> ticks = RandomTicks(rng, 100'000);
  for (int batch = 0; batch < 6; ++batch) AppendTicks(ticks, *table);
  const std::vector<Snapshot> snapshots = process.Snapshots();
  const TemporaryFolder folder;
  const auto bytes_of = [](const std::string& path) {
    return *ReadWholeFile(path, size_t{64} << 20);  // FileBytes is slow for MiBs.
  };
  std::vector<std::string> paths;
  for (const size_t memory_bytes : {size_t{1}, size_t{4} << 20, size_t{160} << 20}) {
    PartitionWriterOptions options;
    options.database = folder / fmt::format("db{}", memory_bytes);
    options.memory_bytes = memory_bytes;
    const absl::StatusOr<WrittenPartition> written = WritePartition(options, kDate, snapshots);
    ASSERT_TRUE(written.ok()) << written.status();
    paths.push_back(written->path + "/trade/");
    for (const std::string column : {"time", "sym", "size", "venue"}) {
      EXPECT_EQ(Crc32c(bytes_of(paths.back() + column)), Crc32c(bytes_of(paths.front() + column)))
          << column << " with " << memory_bytes;
    }
  }
  const ByteBuffer written = bytes_of(paths.front() + "size");
  const std::vector<int64_t> sizes = ElementsAt<int64_t>(AsText(written), 16, 600'000);
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), 6 * int64_t{99'999} * 50'000);
}

TEST(PartitionWriter, PutsTheSymbolFirstAndLeavesADateToThePartition) {
  Process process;
  process.Make("trade", kTicks);
  process.Make("daily", "sym s, date d | open f");
  const TemporaryFolder folder;
  const absl::StatusOr<WrittenPartition> written = process.Write(folder);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->path, folder / "db/2024.01.29");
  EXPECT_THAT(Names(written->path + "/trade/.d"), ElementsAre("sym", "time", "size", "venue"));
  EXPECT_THAT(Names(written->path + "/daily/.d"), ElementsAre("sym", "open"));
}

// A bar with another day's date would be taken for this day's.
TEST(PartitionWriter, LeavesBarsOfOtherDatesOut) {
  Process process;
  const std::vector<std::string> syms = {"IBM", "IBM", "AIG", "AIG", "A"};
  const std::vector<int32_t> dates = {kDate - 1, kDate, kDate + 3, kNullInt, kDate - 2};
  const std::vector<double> opens = {1, 2, 3, 4, 5};
  for (const std::string columns :
       {"sym s, date d | open f", "sym s, date d, open f", "name s, date d | open f"}) {
    const std::shared_ptr<Table> table =
        process.Make(fmt::format("t{}", process.tables.size()), columns, {});
    ASSERT_TRUE(
        table
            ->Append(
                Batch(5).AddSymbols(syms).Add(Type::kDate, dates).Add(Type::kFloat, opens).view())
            .ok());
  }
  const TemporaryFolder folder;
  const absl::StatusOr<WrittenPartition> written = process.Write(folder);
  ASSERT_TRUE(written.ok()) << written.status();
  const std::string sym = folder / "db/sym";
  for (const WrittenTable& table : written->tables) {
    EXPECT_EQ(table.other_date_rows, 3u);
    EXPECT_EQ(table.first_other_date, kDate - 2);
    EXPECT_EQ(table.last_other_date, kDate + 3);
    EXPECT_EQ(table.left_out, table.table != "t1");
    EXPECT_EQ(table.rows, table.left_out ? 2u : 5u);
  }
  const std::string path = written->path;
  EXPECT_THAT(SymbolColumn(path + "/t0/sym", sym), ElementsAre("AIG", "IBM"));
  EXPECT_THAT(FixedColumn<double>(path + "/t0/open"), ElementsAre(4, 2));
  EXPECT_THAT(FixedColumn<double>(path + "/t1/open"), ElementsAre(5, 3, 4, 1, 2));
  EXPECT_THAT(SymbolColumn(path + "/t2/name", sym), ElementsAre("IBM", "AIG"));
  EXPECT_THAT(FixedColumn<double>(path + "/t2/open"), ElementsAre(2, 4));
}

TEST(PartitionWriter, WritesWhatKdbWantsOfEmptyTables) {
  Process process;
  process.Make("trade", "time p, sym s, price f, ex c, note *");
  const TemporaryFolder folder;
  const absl::StatusOr<WrittenPartition> written = process.Write(folder);
  ASSERT_TRUE(written.ok()) << written.status();
  const std::string table = written->path + "/trade/";
  EXPECT_EQ(FileBytes(table + "sym").size(), 4176u);
  EXPECT_EQ(FileBytes(table + "price").size(), 16u);
  EXPECT_EQ(FileBytes(table + "note"), std::string("\xff\x01\0\0\0\0\0\0", 8));
  EXPECT_FALSE(*FileExists(folder / "db/sym"));
  WorkerPool none(0);
  const absl::StatusOr<DatabaseCheck> check = CheckDatabase(folder / "db", none);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_TRUE(check->is_sound()) << check->findings.front().what;
}

// The rows of a table without `sym` are in order of time, and have its attribute.
TEST(PartitionWriter, SortsByTimeWhereThereIsNoSymbol) {
  Process process;
  const std::shared_ptr<Table> table = process.Make("log", "time n, x j");
  ASSERT_TRUE(table
                  ->Append(Batch(3)
                               .Add<int64_t>(Type::kTimespan, {5, 3, 5})
                               .Add<int64_t>(Type::kLong, {1, 2, 3})
                               .view())
                  .ok());
  const std::shared_ptr<Table> plain = process.Make("plain", "x j");
  ASSERT_TRUE(plain->Append(Batch(2).Add<int64_t>(Type::kLong, {9, 8}).view()).ok());
  const TemporaryFolder folder;
  const std::string path = process.Write(folder)->path;
  EXPECT_THAT(FixedColumn<int64_t>(path + "/log/time"), ElementsAre(3, 5, 5));
  EXPECT_THAT(FixedColumn<int64_t>(path + "/log/x"), ElementsAre(2, 1, 3));
  EXPECT_EQ(FileBytes(path + "/log/time")[3], 1);
  EXPECT_EQ(FileBytes(path + "/log/x")[3], 0);
  EXPECT_THAT(FixedColumn<int64_t>(path + "/plain/x"), ElementsAre(9, 8));
}

TEST(PartitionWriter, WritesTheRowsThatAKeyedTableHasNow) {
  Process process;
  const std::shared_ptr<Table> bars = process.Make("bars", "sym s, minute u | high f");
  for (const double high : {1.0, 2.0}) {
    ASSERT_TRUE(bars->Append(Batch(3)
                                 .AddSymbols({"b", "a", "b"})
                                 .Add<int32_t>(Type::kMinute, {571, 570, 570})
                                 .Add<double>(Type::kFloat, {high, high + 1, high + 2})
                                 .view())
                    .ok());
  }
  const TemporaryFolder folder;
  const std::string path = process.Write(folder)->path + "/bars/";
  EXPECT_THAT(SymbolColumn(path + "sym", folder / "db/sym"), ElementsAre("a", "b", "b"));
  EXPECT_THAT(FixedColumn<int32_t>(path + "minute"), ElementsAre(570, 571, 570));
  EXPECT_THAT(FixedColumn<double>(path + "high"), ElementsAre(3, 2, 4));
}

// Every type of a fixed width, with its nulls, by its bytes.
TEST(PartitionWriter, WritesEveryTypeAsItsBytes) {
  for (int code = 1; code <= 19; ++code) {
    const auto type = static_cast<Type>(code);
    if (!IsFixedWidth(type)) continue;
    SCOPED_TRACE(NameOf(type));
    const size_t width = WidthOf(type), rows = 200'000 / width;
    std::string bytes(rows * width, '\0');
    std::iota(bytes.begin(), bytes.end(), '\0');
    Process process;
    const std::shared_ptr<Table> table =
        process.Make("t", fmt::format("x {}", LetterOf(type)), {.rows_per_chunk = 1024});
    ASSERT_TRUE(table->Append(Batch(rows).AddBytes(type, bytes).view()).ok());
    const TemporaryFolder folder;
    const std::string file = FileBytes(process.Write(folder)->path + "/t/x");
    EXPECT_EQ(file[2], code);
    EXPECT_TRUE(file.substr(16) == bytes);
  }
}

// Returns the value with what the writer puts in the place of functions, and without the attributes
// that files do not have.
Value AsStored(const Value& value) {
  if (value.is_function()) {
    ByteBuffer bytes;
    Encode(value, bytes);
    return Value::String("not stored: " + EncodedFunctionText(bytes.span()));
  }
  if (value.is_table()) {
    return Value::Pair(Type::kTable, Attribute::kNone, AsStored(value.keys()),
                       AsStored(value.values()));
  }
  if (value.is_dict()) return Value::Dict(AsStored(value.keys()), AsStored(value.values()));
  if (value.is_list()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(AsStored(item));
    return Value::List(std::move(items));
  }
  if (value.is(Type::kSymbol) && value.is_vector()) return Value::Symbols(value.symbols());
  if (!value.is_vector()) return value;
  return Value::Vector(value.type(), ByteBuffer(value.elements()));
}

// Goal: whatever values a nested column has, its table is written, and each row is read as it was,
// with a string in the place of each function. Method: random values, compared with the definition.
TEST(PartitionWriter, WritesAStringInThePlaceOfWhatNoFileHolds) {
  const auto encoded = [](const Value& value) {
    ByteBuffer bytes;
    Encode(value, bytes);
    return std::string(AsText(bytes));
  };
  std::vector<std::string> items;
  std::vector<Value> expected;
  uint64_t functions = 0;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    RandomEncoder random(seed);
    random.Value();
    const absl::StatusOr<Value> value = Decode(random.little());
    if (!value.ok() || value->is(Type::kError)) continue;
    items.emplace_back(AsText(random.little()));
    expected.push_back(AsStored(*value));
  }
  Value deep = Value::Long(1);
  for (int i = 0; i < kDepthMax; ++i) deep = Value::List({deep});
  items.push_back(encoded(deep));
  expected.push_back(Value::String("not stored: lists nested deeper than 64"));
  for (const Value& value : expected) {
    const std::string text = encoded(value);
    for (size_t at = 0; (at = text.find("not stored: ", at)) != std::string::npos; ++at)
      ++functions;
  }
  ASSERT_GT(functions, 100u);

  Process process;
  const std::shared_ptr<Table> table = process.Make("t", "x *");
  process.Make("other", "n j");
  ASSERT_TRUE(table->Append(Batch(items.size()).AddItems(items).view()).ok());
  const TemporaryFolder folder;
  const absl::StatusOr<WrittenPartition> written = process.Write(folder);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->tables[0].stand_ins, functions);
  EXPECT_EQ(written->tables[1].stand_ins, 0u);
  const auto stored = ColumnFile::Open(written->path + "/t/x");
  ASSERT_TRUE(stored.ok()) << stored.status();
  ASSERT_EQ((*stored)->rows(), items.size());
  for (size_t row = 0; row < items.size(); ++row) {
    const absl::StatusOr<Value> value = (*stored)->ItemAt(row);
    ASSERT_TRUE(value.ok()) << value.status();
    ASSERT_EQ(encoded(*value), encoded(expected[row])) << row;
  }
}

TEST(PartitionWriter, GivesEachSegmentOfParTxtItsDates) {
  Process process;
  process.Make("t", "x j");
  const TemporaryFolder folder;
  ASSERT_TRUE(CreateDirectories(folder / "db").ok());
  ASSERT_TRUE(CreateDirectories(folder / "db/one").ok());
  PutFile(folder / "db/par.txt", "one/\n" + (folder / "two") + "\n");
  EXPECT_EQ(process.Write(folder, kDate)->path, folder / "db/one/2024.01.29");
  EXPECT_THAT(std::string(process.Write(folder, kDate + 1).status().message()),
              HasSubstr("/two: a segment of"));
  ASSERT_TRUE(CreateDirectories(folder / "two").ok());
  EXPECT_EQ(process.Write(folder, kDate + 1)->path, folder / "two/2024.01.30");
  EXPECT_EQ(*FindPartition(folder / "db", kDate + 1), folder / "two/2024.01.30");
  // A move of it that died: the day is not written again.
  std::filesystem::rename(folder / "two/2024.01.30", folder / "two/moved.2024.01.30$");
  EXPECT_EQ(*FindPartition(folder / "db", kDate + 1), folder / "two/moved.2024.01.30$");
  // Wherever a day is, it is not written again.
  std::filesystem::rename(folder / "two/moved.2024.01.30$", folder / "db/one/2024.01.30");
  EXPECT_TRUE(absl::IsFailedPrecondition(process.Write(folder, kDate + 1).status()));
  // Nothing is added to a database that no hdb could load.
  std::filesystem::create_symlink("one", folder / "db/again");
  PutFile(folder / "db/par.txt", "one/\n" + (folder / "two") + "\nagain\n");
  const absl::Status twice = process.Write(folder, kDate + 2).status();
  EXPECT_TRUE(absl::IsInvalidArgument(twice)) << twice;
  EXPECT_THAT(std::string(Message(twice)),
              HasSubstr("par.txt: line 1 (one) and line 3 (again) are the same directory"));
}

// Goal: a day is not written a second time, or beside its segments, because a file system cannot
// say whether a path exists. Method: links that lead to themselves, which cannot be looked up.
TEST(PartitionWriter, WritesNothingWhereItCannotLook) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "db");
  std::filesystem::create_symlink("2020.03.09", folder / "db/2020.03.09");
  EXPECT_THAT(Message(FindPartition(folder / "db", *ParseDate("2020.03.09")).status()),
              HasSubstr("/db/2020.03.09: stat: Too many"));
  std::filesystem::create_symlink("segment", folder / "segment");
  PutFile(folder / "db/par.txt", folder / "segment\n");
  EXPECT_THAT(Message(SegmentOf(folder / "db", 0).status()), HasSubstr("/segment: stat: Too many"));
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_THAT(Message(SegmentOf(folder / "loop", 0).status()),
              HasSubstr("/par.txt: lstat: Too many"));
}

TEST(PartitionWriter, NumbersNamesThatTheDatabaseHasAsItDoes) {
  Process process;
  const std::shared_ptr<Table> table = process.Make("trade", kTicks);
  AppendTicks({{1, "x", 1, "new"}, {2, "IBM", 2, ""}}, *table);
  (void)process.symbols.Intern("a name that no row has");
  const TemporaryFolder folder;
  ASSERT_TRUE(CreateDirectories(folder / "db").ok());
  PutFile(folder / "db/sym", std::string("\xff\x01\x0b\0\0\0\0\0old\0IBM\0", 16));
  const absl::StatusOr<WrittenPartition> written = process.Write(folder);
  EXPECT_EQ(written->new_names, 2);
  EXPECT_THAT(Names(folder / "db/sym"), ElementsAre("old", "IBM", "x", "new"));
  EXPECT_THAT(SymbolColumn(written->path + "/trade/sym", folder / "db/sym"),
              ElementsAre("IBM", "x"));
}

TEST(PartitionWriter, RefusesNamesThatWouldLeaveItsFolder) {
  for (const std::string_view name : {"../x", "a/b", ".d", "x#", "x$"}) {
    Process process;
    process.tables.push_back(*Table::Create({std::string(name), {{"x", Type::kLong}}, 0},
                                            &process.symbols, {process.tier.get(), {}, nullptr}));
    const TemporaryFolder folder;
    const absl::Status status = process.Write(folder).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
}

// A compressed partition has the bytes of a plain one.
TEST(PartitionWriter, CompressesByRuleAndStoresWhatDoesNotShrink) {
  Process process;
  const std::shared_ptr<Table> table = process.Make("trade", kTicks);
  std::mt19937_64 rng(7);
  AppendTicks(RandomTicks(rng, 60'000), *table);
  const std::vector<Snapshot> snapshots = process.Snapshots();
  const TemporaryFolder folder;
  for (const std::string name : {"ipc", "gzip", "zstd-1", "lz4", "snappy"}) {
    SCOPED_TRACE(name);
    PartitionWriterOptions options;
    options.database = folder / name;
    options.compression.Set("default", *ParseCompression(name));
    options.compression.Set("trade.venue", *ParseCompression("none"));
    const absl::StatusOr<WrittenPartition> written = WritePartition(options, kDate, snapshots);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(FileBytes(written->path + "/trade/size").substr(0, 8), "kxzipped");
    EXPECT_EQ(FileBytes(written->path + "/trade/venue").substr(0, 2), "\xfd\x20");
    EXPECT_LT(FileBytes(written->path + "/trade/sym").size(), 60'000u);
  }
}

TEST(Compression, IsReadFromItsNameAndLevel) {
  EXPECT_EQ(ParseCompression("none")->algorithm, Compression::kNone);
  EXPECT_EQ(ParseCompression("gzip")->level, 6);
  EXPECT_EQ(ParseCompression("zstd-19")->level, 19);
  for (const std::string_view text :
       {"", "gzip-0", "gzip-10", "snappy-1", "ipc-1", "brotli", "gzip-6x"}) {
    EXPECT_THAT(std::string(ParseCompression(text).status().message()), HasSubstr("expected"))
        << text;
  }
}

}  // namespace
}  // namespace tickstack::disk
