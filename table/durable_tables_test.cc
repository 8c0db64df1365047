#include "table/durable_tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "base/status.h"
#include "mem/power_cut.h"

namespace tickstack {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// A row in comparable form, for what was appended and for what a table answers.
struct Row {
  int64_t time;
  std::string sym;
  double price;
  std::string text;
  friend bool operator==(const Row&, const Row&) = default;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.time << " " << row.sym << " " << row.price << " " << row.text;
}

// Columns of rows as they are on the wire.
class RowBatch {
 public:
  explicit RowBatch(std::span<const Row> rows) {
    for (const Row& row : rows) {
      bytes_[0].AppendLittle(row.time);
      bytes_[1].Append(row.sym);
      bytes_[1].AppendLittle(uint8_t{0});
      bytes_[2].AppendLittle(row.price);
      // A char vector: type, attribute, count, characters.
      bytes_[3].AppendLittle(uint8_t{10});
      bytes_[3].AppendLittle(uint8_t{0});
      bytes_[3].AppendLittle(static_cast<int32_t>(row.text.size()));
      bytes_[3].Append(row.text);
    }
    const Type types[] = {Type::kTimestamp, Type::kSymbol, Type::kFloat, Type::kList};
    for (size_t i = 0; i < 4; ++i) {
      columns_.push_back({types[i], Attribute::kNone, rows.size(), bytes_[i]});
    }
  }
  BatchView view() const { return {columns_, columns_[0].rows}; }

 private:
  ByteBuffer bytes_[4];
  std::vector<ColumnView> columns_;
};

std::vector<Row> RowsOf(const Table& table) {
  const Snapshot snapshot = table.TakeSnapshot();
  std::vector<Row> rows;
  for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
    const auto time = snapshot.Chunk<int64_t>(0, chunk);
    const auto sym = snapshot.Chunk<SymbolId>(1, chunk);
    const auto price = snapshot.Chunk<double>(2, chunk);
    for (size_t i = 0; i < time.size(); ++i) {
      const std::span<const std::byte> item = snapshot.Item(3, rows.size());
      rows.push_back({time[i], std::string(table.symbols().NameOf(sym[i])), price[i],
                      std::string(AsText(item.subspan(6)))});
    }
  }
  return rows;
}

// Expects that the index of each symbol agrees with the rows.
void ExpectIndexOf(const Table& table, const std::vector<Row>& rows) {
  std::map<std::string, std::vector<uint32_t>> expected;
  std::map<std::string, bool> sorted;
  std::map<std::string, int64_t> last;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const std::string& sym = rows[row].sym;
    expected[sym].push_back(row);
    sorted.emplace(sym, true);
    if (last.contains(sym) && rows[row].time < last[sym]) sorted[sym] = false;
    last[sym] = rows[row].time;
  }
  const Snapshot snapshot = table.TakeSnapshot();
  for (const auto& [sym, numbers] : expected) {
    const Postings postings = *snapshot.RowsOf(*table.symbols().Find(sym));
    std::vector<uint32_t> found;
    for (const PostingRun& run : postings.runs) {
      found.insert(found.end(), run.rows.begin(), run.rows.end());
      for (size_t i = 0; i < run.rows.size(); ++i) {
        ASSERT_EQ(run.coarse[i], postings.times->CoarseOf(rows[run.rows[i]].time));
      }
    }
    ASSERT_EQ(found, numbers) << sym;
    ASSERT_EQ(postings.time_sorted, sorted[sym]) << sym;
  }
}

class DurableTablesTest : public testing::Test {
 protected:
  DurableTablesTest() {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
    options_.name = "pmem";
    options_.kind = mem::TierKind::kPersistent;
    options_.path = path_;
    options_.file = "rdb.tier";
    options_.capacity_bytes = 32 * kMiB;
    table_options_.rows_per_chunk = 64;
  }
  ~DurableTablesTest() override { std::filesystem::remove_all(path_); }

  // A process's life: its tier, names and tables.
  struct Process {
    std::unique_ptr<mem::PersistentTier> tier;
    std::unique_ptr<SymbolTable> symbols = std::make_unique<SymbolTable>();
    std::unique_ptr<DurableTables> store;
    std::vector<std::shared_ptr<Table>> tables;
    std::string mark;
    absl::Status loaded;

    ~Process() {
      tables.clear();  // The tables and the store return their memory to the tier.
      store = nullptr;
    }
    Process() = default;
    Process(Process&&) = default;

    Table& MakeTable(const std::string& name, const TableOptions& options) {
      const Schema schema = *ParseSchema(name, "time p, sym s, price f, text *");
      tables.push_back(*Table::Create(schema, symbols.get(), {tier.get(), {}, nullptr}, options));
      return *tables.back();
    }
    absl::Status Commit(std::string_view with_mark,
                        DurableTables::Index index = DurableTables::Index::kWhenDue) {
      std::vector<Table*> all;
      for (const auto& table : tables) all.push_back(table.get());
      return store->Commit(*symbols, all, AsBytes(with_mark), index);
    }
  };

  Process Start(const mem::TierOptions& options,
                std::unique_ptr<mem::Persistence> persistence = nullptr) {
    Process process;
    auto tier = mem::PersistentTier::Open(options, std::move(persistence));
    EXPECT_TRUE(tier.ok()) << tier.status();
    process.tier = *std::move(tier);
    process.store = std::make_unique<DurableTables>(process.tier.get());
    auto found = process.store->Load(*process.symbols, table_options_);
    process.loaded = found.status();
    if (found.ok()) {
      process.tables = std::move(found->tables);
      process.mark.assign(AsText(found->mark));
    }
    return process;
  }

  static std::vector<Row> RandomRows(std::mt19937_64& rng, size_t rows, int64_t& time) {
    std::vector<Row> made;
    for (size_t i = 0; i < rows; ++i) {
      time += static_cast<int64_t>(rng() % 1'000'000);
      const int64_t late = rng() % 50 == 0 ? 5'000'000 : 0;
      const std::string sym = rng() % 40 == 0 ? "" : "s" + std::to_string(rng() % (1 + rng() % 40));
      made.push_back({800'000'000'000'000'000 + time - late, sym, static_cast<double>(rng() % 100),
                      std::string(rng() % 30, static_cast<char>('a' + rng() % 26))});
    }
    return made;
  }

  std::string path_ = "/dev/shm/tickstack-durable-test-XXXXXX";
  mem::TierOptions options_;
  TableOptions table_options_;
};

// Goal: over many restarts, committed rows are restored with their index, and rows can be added.
// Method: random batches into two tables; each run ends with or without a commit of the last ones.
TEST_F(DurableTablesTest, GoesOnWhereTheLastProcessCommitted) {
  std::mt19937_64 rng(11);
  std::map<std::string, std::vector<Row>> committed;
  int64_t time = 0;
  for (int life = 0; life < 12; ++life) {
    SCOPED_TRACE(life);
    Process process = Start(options_);
    ASSERT_TRUE(process.loaded.ok()) << process.loaded;
    if (life == 0) {
      process.MakeTable("trade", table_options_);
      process.MakeTable("quote", table_options_);
    }
    ASSERT_EQ(process.tables.size(), 2u);
    EXPECT_EQ(process.mark, life == 0 ? "" : "life " + std::to_string(life - 1));
    std::map<std::string, std::vector<Row>> rows;
    for (const auto& table : process.tables) {
      const std::string& name = table->schema().table;
      ASSERT_EQ(RowsOf(*table), committed[name]);
      ExpectIndexOf(*table, committed[name]);
      rows[name] = committed[name];
    }
    for (int batch = 0; batch < 20; ++batch) {
      Table& table = *process.tables[rng() % 2];
      const std::vector<Row> fresh = RandomRows(rng, 1 + rng() % 60, time);
      ASSERT_TRUE(table.Append(RowBatch(fresh).view()).ok());
      std::vector<Row>& all = rows[table.schema().table];
      all.insert(all.end(), fresh.begin(), fresh.end());
      const bool last = batch == 15;  // Later batches are lost.
      if (!last && rng() % 3 != 0) continue;
      const auto index =
          rng() % 3 == 0 ? DurableTables::Index::kWhole : DurableTables::Index::kWhenDue;
      ASSERT_TRUE(process.Commit("life " + std::to_string(life), index).ok());
      committed = rows;
    }
  }
}

TEST_F(DurableTablesTest, GivesBackWhatATableThatIsGoneHeld) {
  Process process = Start(options_);
  ASSERT_TRUE(process.Commit("empty").ok());
  const size_t before = process.tier->Stats().used_bytes;
  std::mt19937_64 rng(1);
  int64_t time = 0;
  for (int day = 0; day < 3; ++day) {
    Table& table = process.MakeTable("trade", table_options_);
    for (int batch = 0; batch < 30; ++batch) {
      ASSERT_TRUE(table.Append(RowBatch(RandomRows(rng, 100, time)).view()).ok());
    }
    ASSERT_TRUE(process.Commit("day", DurableTables::Index::kWhole).ok());
    EXPECT_GT(process.tier->Stats().used_bytes, before + 100'000);
    process.tables.clear();
    ASSERT_TRUE(process.Commit("over").ok());
  }
  // The names stay: a block of 64 KiB, and its place.
  EXPECT_LE(process.tier->Stats().used_bytes, before + (64 << 10) + 4096);
}

// Goal: restarts cost no memory, however many there are, though the index is saved rarely.
TEST_F(DurableTablesTest, TakesNoMoreMemoryWithEachProcess) {
  std::mt19937_64 rng(1);
  std::vector<Row> rows;
  int64_t time = 0;
  size_t used = 0;
  for (int life = 0; life < 20; ++life) {
    Process process = Start(options_);
    ASSERT_TRUE(process.loaded.ok()) << process.loaded;
    ASSERT_TRUE(life == 0 || process.tier->Stats().used_bytes == used) << life;
    if (life == 0) process.MakeTable("trade", table_options_);
    Table& table = *process.tables[0];
    ASSERT_EQ(RowsOf(table), rows);
    ExpectIndexOf(table, rows);
    if (life % 3 == 0) {
      const std::vector<Row> fresh = RandomRows(rng, 500, time);
      ASSERT_TRUE(table.Append(RowBatch(fresh).view()).ok());
      rows.insert(rows.end(), fresh.begin(), fresh.end());
    }
    const auto index = life == 9 ? DurableTables::Index::kWhole : DurableTables::Index::kWhenDue;
    ASSERT_TRUE(process.Commit("life", index).ok());
    used = process.tier->Stats().used_bytes;
  }
}

// Goal: a flipped bit anywhere in the pages is found, or changes nothing. Method: changes bits of
// all pages one at a time, and reads what loads.
TEST_F(DurableTablesTest, SurvivesDamagedPages) {
  std::mt19937_64 rng(9);
  std::vector<Row> rows;
  {
    Process process = Start(options_);
    Table& table = process.MakeTable("trade", table_options_);
    int64_t time = 0;
    rows = RandomRows(rng, 3000, time);
    ASSERT_TRUE(table.Append(RowBatch(rows).view()).ok());
    ASSERT_TRUE(process.Commit("mark", DurableTables::Index::kWhole).ok());
  }
  const std::string good = path_ + "/good";
  std::filesystem::copy_file(path_ + "/rdb.tier", good);
  std::string bytes(std::filesystem::file_size(good), 0);
  std::ifstream(good, std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::vector<size_t> places;  // Bytes of the pages that are in use.
  for (size_t at = 2 * kMiB; at < bytes.size(); ++at) {
    if (bytes[at] != 0) places.push_back(at);
  }
  for (int i = 0; i < 150; ++i) {
    const size_t at = places[rng() % places.size()];
    const auto flip = static_cast<char>(1 << rng() % 8);
    SCOPED_TRACE(testing::Message() << "byte " << at << " xor " << int{flip});
    std::filesystem::copy_file(good, path_ + "/rdb.tier",
                               std::filesystem::copy_options::overwrite_existing);
    std::fstream file(path_ + "/rdb.tier", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(bytes[at] ^ flip));
    file.close();
    Process process = Start(options_);
    if (!process.loaded.ok()) {
      EXPECT_EQ(process.loaded.code(), absl::StatusCode::kDataLoss) << process.loaded;
      continue;
    }
    ASSERT_EQ(process.tables.size(), 1u);
    ASSERT_EQ(RowsOf(*process.tables[0]), rows);
    ExpectIndexOf(*process.tables[0], rows);
  }
}

// Goal: a changed link between two blocks of a list is found. Method: more chunks than one block of
// a list has words. Changes each word of the file that may be such a link: it is at the start of a
// block and holds the place of one.
TEST_F(DurableTablesTest, FindsADamagedLinkOfAList) {
  std::mt19937_64 rng(9);
  std::vector<Row> rows;
  {
    Process process = Start(options_);
    Table& table = process.MakeTable("trade", table_options_);
    int64_t time = 0;
    rows = RandomRows(rng, 33'000, time);  // 516 chunks, and 511 words in a block.
    ASSERT_TRUE(table.Append(RowBatch(rows).view()).ok());
    ASSERT_TRUE(process.Commit("mark", DurableTables::Index::kWhole).ok());
  }
  const std::string file = path_ + "/rdb.tier";
  std::string good(std::filesystem::file_size(file), 0);
  std::ifstream(file, std::ios::binary)
      .read(good.data(), static_cast<std::streamsize>(good.size()));
  int found = 0;
  for (size_t at = 2 * kMiB; at < good.size(); at += 4096) {
    const uint64_t word = LoadLittle<uint64_t>(AsBytes(good).data() + at);
    if (word < 4097 || (word - 1) % 4096 != 0 || word > good.size()) continue;
    SCOPED_TRACE(at);
    std::string damaged = good;
    damaged[at + 1] = static_cast<char>(damaged[at + 1] ^ 0x10);  // The block before or after.
    std::ofstream(file, std::ios::binary) << damaged;
    const Process process = Start(options_);
    if (process.loaded.ok()) {
      ASSERT_EQ(RowsOf(*process.tables[0]), rows);
      continue;
    }
    ++found;
    EXPECT_THAT(std::string(Message(process.loaded)), testing::HasSubstr(" of a list disagrees: "));
  }
  EXPECT_GE(found, 8);  // Chunks and checksums of four columns.
}

// Goal: a changed value is found, and the error says where it is. Method: stores a price and a text
// of known bytes, and changes them in the file.
TEST_F(DurableTablesTest, NamesADamagedValue) {
  {
    Process process = Start(options_);
    Table& table = process.MakeTable("trade", table_options_);
    std::vector<Row> rows;
    for (int64_t i = 0; i < 100; ++i) rows.push_back({i, "A", 1, "text"});
    rows[70].price = 8.0625;
    rows[71].text = "needle";
    ASSERT_TRUE(table.Append(RowBatch(rows).view()).ok());
    ASSERT_TRUE(process.Commit("mark").ok());
  }
  const std::string file = path_ + "/rdb.tier";
  std::string good(std::filesystem::file_size(file), 0);
  std::ifstream(file, std::ios::binary)
      .read(good.data(), static_cast<std::streamsize>(good.size()));
  const auto error_after = [&](size_t at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(file, std::ios::binary) << damaged;
    return std::string(Message(Start(options_).loaded));
  };
  const double price = 8.0625;
  const size_t price_at = good.find(std::string_view(reinterpret_cast<const char*>(&price), 8));
  ASSERT_NE(price_at, std::string::npos);
  // Rows 64 to 99 are in the table's second chunk, and price_at is row 70.
  EXPECT_EQ(error_after(price_at + 7),
            fmt::format("table trade: price: rows 64 to 99: {}: 288 bytes at byte {}: the checksum "
                        "of the rows disagrees",
                        file, price_at - 6 * 8));
  EXPECT_THAT(error_after(good.find("needle") + 2),
              testing::MatchesRegex(
                  "table trade: text: rows 64 to 99: .*/rdb.tier: .* bytes at byte .*: the "
                  "checksum of the values from there on disagrees"));
}

// Goal: a changed row number or coarse time of the index is found. Method: changes every fifth word
// of the postings of one symbol.
TEST_F(DurableTablesTest, FindsADamagedPosting) {
  std::mt19937_64 rng(4);
  std::vector<Row> rows;
  std::vector<size_t> places;
  {
    Process process = Start(options_);
    Table& table = process.MakeTable("trade", table_options_);
    int64_t time = 0;
    rows = RandomRows(rng, 500, time);
    ASSERT_TRUE(table.Append(RowBatch(rows).view()).ok());
    ASSERT_TRUE(process.Commit("mark", DurableTables::Index::kWhole).ok());
    const Postings postings = *table.TakeSnapshot().RowsOf(*process.symbols->Find("s1"));
    ASSERT_GT(postings.rows, 20u);
    for (const PostingRun& run : postings.runs) {
      for (const std::span<const uint32_t> part : {run.rows, run.coarse}) {
        for (const uint32_t& word : part) {
          places.push_back(2 * kMiB +
                           process.tier->OffsetOf(reinterpret_cast<const std::byte*>(&word)));
        }
      }
    }
  }
  const std::string good = path_ + "/good";
  std::filesystem::copy_file(path_ + "/rdb.tier", good);
  for (size_t i = 0; i < places.size(); i += 5) {
    SCOPED_TRACE(places[i]);
    std::filesystem::copy_file(good, path_ + "/rdb.tier",
                               std::filesystem::copy_options::overwrite_existing);
    std::fstream file(path_ + "/rdb.tier", std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(places[i]));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(places[i]));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    EXPECT_THAT(std::string(Message(Start(options_).loaded)),
                testing::MatchesRegex("table trade: index: symbol [0-9]+: the checksum of [0-9]+ "
                                      "postings in [0-9]+ blocks disagrees, the first is "
                                      ".*/rdb.tier: 512 bytes at byte [0-9]+"));
  }
}

TEST_F(DurableTablesTest, CommitsOnAfterATierRefusedABatch) {
  options_.capacity_bytes = 16 * kMiB;
  std::vector<Row> kept;
  {
    Process process = Start(options_);
    Table& table = process.MakeTable("trade", table_options_);
    std::mt19937_64 rng(1);
    int64_t time = 0;
    absl::Status refused;
    while (refused.ok()) {
      const std::vector<Row> rows = RandomRows(rng, 2000, time);
      refused = table.Append(RowBatch(rows).view());
      if (refused.ok()) kept.insert(kept.end(), rows.begin(), rows.end());
    }
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(RowsOf(table).size(), kept.size());
    ASSERT_TRUE(process.Commit("full").ok());
  }
  Process process = Start(options_);
  EXPECT_EQ(process.mark, "full");
  EXPECT_EQ(RowsOf(*process.tables.at(0)), kept);
  ExpectIndexOf(*process.tables.at(0), kept);
}

TEST_F(DurableTablesTest, RefusesATableThatIsHalfInIt) {
  Process process = Start(options_);
  const auto dram = mem::MakeDramTier("dram");
  const Schema schema = *ParseSchema("trade", "time p, sym s");
  for (const TablePlacement& placement :
       {TablePlacement{process.tier.get(), {nullptr, dram.get()}, nullptr},
        TablePlacement{process.tier.get(), {}, dram.get()},
        TablePlacement{dram.get(), {}, process.tier.get()}}) {
    const absl::Status status =
        Table::Create(schema, process.symbols.get(), placement, table_options_).status();
    EXPECT_EQ(Message(status),
              "table trade: a part of it is in a persistent tier, expected all columns and the "
              "index in the same one");
  }
}

TEST_F(DurableTablesTest, RefusesATableWithAKey) {
  Process process = Start(options_);
  const auto dram = mem::MakeDramTier("dram");
  const Schema schema = *ParseSchema("bars", "sym s, minute p | high f");
  for (const TablePlacement& placement :
       {TablePlacement{process.tier.get(), {}, nullptr},
        TablePlacement{dram.get(), {nullptr, nullptr, process.tier.get()}, nullptr},
        TablePlacement{dram.get(), {}, process.tier.get()}}) {
    const absl::Status status =
        Table::Create(schema, process.symbols.get(), placement, table_options_).status();
    EXPECT_EQ(Message(status),
              "table bars: it has a key, and tier pmem is persistent: expected a tier of another "
              "kind, rows that are replaced in place do not outlive the process yet");
  }
}

// Goal: a damaged root that passes its checksum ends in an error or in readable tables, never in a
// crash. Method: changes single bytes of a root and commits it again.
TEST_F(DurableTablesTest, SurvivesEveryDamagedRoot) {
  std::vector<std::byte> root;
  std::mt19937_64 rng(5);
  {
    Process process = Start(options_);
    Table& table = process.MakeTable("trade", table_options_);
    int64_t time = 0;
    ASSERT_TRUE(table.Append(RowBatch(RandomRows(rng, 500, time)).view()).ok());
    ASSERT_TRUE(process.Commit("mark", DurableTables::Index::kWhole).ok());
    root.assign(process.tier->root().begin(), process.tier->root().end());
  }
  const std::string good = path_ + "/good";
  std::filesystem::copy_file(path_ + "/rdb.tier", good);
  int errors = 0, tried = 0;
  for (size_t at = 0; at < root.size(); at += 1 + rng() % 3) {
    SCOPED_TRACE(at);
    std::filesystem::copy_file(good, path_ + "/rdb.tier",
                               std::filesystem::copy_options::overwrite_existing);
    {
      std::vector<std::byte> damaged = root;
      damaged[at] ^= static_cast<std::byte>(1 << rng() % 8);
      const auto tier = *mem::PersistentTier::Open(options_);
      ASSERT_TRUE(tier->Commit(damaged).ok());
    }
    Process process = Start(options_);
    ++tried;
    if (process.loaded.ok()) {
      for (const auto& table : process.tables) EXPECT_LE(RowsOf(*table).size(), 500u);
      continue;
    }
    ++errors;
    EXPECT_EQ(process.loaded.code(), absl::StatusCode::kDataLoss) << process.loaded;
    EXPECT_EQ(process.tier->Stats().used_bytes, 0u);
    // The process starts anew from nothing.
    Table& table = process.MakeTable("trade", table_options_);
    int64_t time = 0;
    ASSERT_TRUE(table.Append(RowBatch(RandomRows(rng, 5, time)).view()).ok());
    ASSERT_TRUE(process.Commit("anew").ok());
  }
  EXPECT_GT(errors, tried / 2);
}

// Goal: wherever the power goes, the next process has the rows, names and index of the last commit
// or of the one in progress, and the mark that belongs to them. Method: batches into two tables,
// each committed. At every flush and fence of two batches, and at some of the others, the medium is
// opened with nothing, half, or all of what was stored but not yet certain.
TEST_F(DurableTablesTest, HasAWholeCommitWhereverThePowerGoes) {
  mem::TierOptions copy = options_;
  copy.file = "copy";
  std::mt19937_64 rng(17);
  // The committed state, and the one being committed.
  std::map<std::string, std::vector<Row>> states[2];
  std::string marks[2];
  int points = 0, opened = 0;
  bool every_point = false;
  const auto on_point = [&](mem::PowerCut& cut) {
    ++points;
    if (!every_point && rng() % 40 != 0) return;
    for (const double arrived : {0.0, 0.5, 1.0}) {
      SCOPED_TRACE(testing::Message() << "point " << points << " arrived " << arrived);
      const std::vector<std::byte> image = cut.Image(arrived, rng);
      std::ofstream(path_ + "/copy", std::ios::binary)
          .write(reinterpret_cast<const char*>(image.data()),
                 static_cast<std::streamsize>(image.size()));
      Process process = Start(copy);
      ++opened;
      ASSERT_TRUE(process.loaded.ok()) << process.loaded;
      const int which = process.mark == marks[0] ? 0 : 1;
      ASSERT_EQ(process.mark, marks[which]);
      for (const auto& table : process.tables) {
        std::vector<Row> rows = states[which][table->schema().table];
        ASSERT_EQ(RowsOf(*table), rows);
        ExpectIndexOf(*table, rows);
        int64_t time = 1'000'000'000;
        const std::vector<Row> more = RandomRows(rng, 90, time);
        ASSERT_TRUE(table->Append(RowBatch(more).view()).ok());
        rows.insert(rows.end(), more.begin(), more.end());
        ExpectIndexOf(*table, rows);
      }
      ASSERT_TRUE(process.Commit("after", DurableTables::Index::kWhole).ok());
    }
  };
  Process process = Start(options_, std::make_unique<mem::PowerCut>(on_point));
  process.MakeTable("trade", table_options_);
  process.MakeTable("quote", table_options_);
  int64_t time = 0;
  for (int batch = 0; batch < 40 && !HasFatalFailure(); ++batch) {
    every_point = batch == 11 || batch == 12;  // The second of them saves the index.
    Table& table = *process.tables[rng() % 2];
    const std::vector<Row> fresh = RandomRows(rng, 1 + rng() % 50, time);
    // At points in Append, the table's old state counts as committed.
    states[1] = states[0];
    std::vector<Row>& all = states[1][table.schema().table];
    all.insert(all.end(), fresh.begin(), fresh.end());
    marks[1] = std::to_string(batch);
    ASSERT_TRUE(table.Append(RowBatch(fresh).view()).ok());
    const auto index =
        batch % 4 == 0 ? DurableTables::Index::kWhole : DurableTables::Index::kWhenDue;
    ASSERT_TRUE(process.Commit(marks[1], index).ok());
    states[0] = states[1];
    marks[0] = marks[1];
  }
  EXPECT_GT(opened, 60);
}

}  // namespace
}  // namespace tickstack
