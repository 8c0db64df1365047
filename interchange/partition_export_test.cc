#include "interchange/partition_export.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/worker_pool.h"
#include "disk/checksum_writer.h"
#include "disk/compression.h"
#include "disk/file_image.h"
#include "disk/kdb_file_testing.h"
#include "disk/late_rows_testing.h"
#include "disk/partition_testing.h"

// tests/e2e/export_test.py checks what readers make of such files, among them the golden ones.

namespace tickstack::interchange {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kDay = "2024.01.29";
constexpr std::string_view kFirstFile = "/trade/date=2024-01-29/part-0.parquet";

// Returns a column of texts and other lists, in the form of small lists.
std::string ListFile(const std::vector<std::string>& items) {
  std::string file("\xff\x01\0\0", 4);
  file += disk::LittleBytes(static_cast<int32_t>(items.size()));
  for (const std::string& item : items) file += item;
  return file;
}
std::string TextItem(std::string_view text) {
  return std::string("\x0a\0", 2) + disk::LittleBytes(static_cast<int32_t>(text.size())) +
         std::string(text);
}
std::string LongsItem(int64_t value) {
  return std::string("\x07\0", 2) + disk::LittleBytes(int32_t{1}) + disk::LittleBytes(value);
}

// Returns a Parquet file without its footer, which depends on times of source files.
std::string PagesOf(const std::string& path) {
  const std::string file = disk::FileBytes(path);
  uint32_t footer = 0;
  if (file.size() < 12 || !file.ends_with("PAR1")) {
    ADD_FAILURE() << path << ": " << file.size() << " bytes, no Parquet file";
    return "";
  }
  std::memcpy(&footer, file.data() + file.size() - 8, sizeof footer);
  return file.substr(0, file.size() - 8 - footer);
}

// Refuses all steps from number `first` on, as if the process had been killed.
class KilledAt : public disk::StorageObserver {
 public:
  explicit KilledAt(int first) : left_(first) {}
  absl::Status Before(disk::StorageStep /*step*/, const std::string& path,
                      size_t /*bytes*/) override {
    if (left_ > 0) return --left_, absl::OkStatus();
    refused_ = true;
    return Internal("{}: killed", path);
  }
  bool refused() const { return refused_; }

 private:
  int left_;
  bool refused_ = false;
};

class PartitionExportTest : public testing::Test {
 protected:
  struct Column {
    std::string name;
    std::string file;
  };

  PartitionExportTest() { files_.Write("db/sym", disk::NamesFile({"AAPL", "MSFT", "", "\xff"})); }

  void WriteTable(std::string_view partition, const std::vector<Column>& columns,
                  std::string_view name = "trade", std::string_view root = "db") {
    const std::string table = fmt::format("{}/{}/{}/", root, partition, name);
    std::string names = disk::NamesFile({});
    for (const Column& column : columns) {
      names += column.name + '\0';
      files_.Write(table + column.name, column.file);
    }
    files_.Write(table + ".d", names);
  }
  void WriteSizes(std::string_view partition, const std::vector<int64_t>& sizes) {
    WriteTable(partition, {{"sym", disk::Enum64File("sym", std::vector<int64_t>(sizes.size(), 1))},
                           {"size", disk::VectorFile<int64_t>(7, sizes)}});
  }
  // Sets the times that a remark contains.
  void SetTimes() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(files_.PathOf("db"))) {
      const timespec times[2] = {{1'700'000'000, 5}, {1'700'000'000, 5}};
      ASSERT_EQ(::utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0);
    }
  }

  ExportOptions Options() const {
    ExportOptions options;
    options.destination = Dest();
    options.zstd_level = 0;
    return options;
  }
  absl::StatusOr<ExportReport> Export(const ExportOptions& options,
                                      disk::StorageObserver* observer = nullptr) const {
    const auto database = disk::Database::Open(files_.PathOf("db"));
    if (!database.ok()) return database.status();
    return ExportPartitions(**database, options, disk::Storage(observer));
  }
  absl::StatusOr<ExportReport> Export() const { return Export(Options()); }
  std::string ErrorOf(const ExportOptions& options) const {
    const absl::StatusOr<ExportReport> report = Export(options);
    return report.ok() ? "" : std::string(Message(report.status()));
  }
  std::string ErrorOf() const { return ErrorOf(Options()); }
  std::string Dest() const { return files_.PathOf("dest"); }
  std::vector<std::string> Exported() const {
    std::vector<std::string> found;
    if (!std::filesystem::exists(Dest())) return found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Dest())) {
      const std::string path = entry.path().string();
      if (path.ends_with(".parquet")) found.push_back(path.substr(Dest().size()));
    }
    std::ranges::sort(found);
    return found;
  }

  disk::KdbFiles files_;
};

// Goal: the bytes of a file change only on purpose, and then kExportVersion changes, too. Method:
// compares with files that other programs have read. TICKSTACK_WRITE_GOLDEN=1 writes them.
TEST_F(PartitionExportTest, EveryTypeIsWrittenAsInTheGoldenFiles) {
  constexpr auto kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr auto kInfinite = std::numeric_limits<double>::infinity();
  const std::vector<int32_t> ints = {1, kNullInt, -3, kInfinityInt};
  std::string guids;
  for (int i = 0; i < 64; ++i) guids += static_cast<char>(i < 16 ? i + 1 : i < 32 ? 0 : 255);
  WriteTable(
      kDay,
      {{"b", disk::VectorFile<uint8_t>(1, {1, 0, 0, 1})},
       {"g", disk::VectorHeader(2, 0, 4) + guids},
       {"x", disk::VectorFile<uint8_t>(4, {0, 1, 127, 255})},
       {"h", disk::VectorFile<int16_t>(5, {1, kNullShort, -3, kInfinityShort})},
       {"i", disk::VectorFile<int32_t>(6, ints)},
       {"j", disk::VectorFile<int64_t>(7, {1, kNullLong, -3, kInfinityLong})},
       {"e", disk::VectorFile<float>(8, {1.5F, static_cast<float>(kNan), -0.0F, 2})},
       {"f", disk::VectorFile<double>(9, {0.1, kNan, -kInfinite, 1e300})},
       {"c", disk::VectorFile<char>(10, {'a', ' ', '\xff', '"'})},
       {"s", disk::Enum64File("sym", {1, kNullLong, 3, 2})},
       {"s32", disk::Enum32File("sym", {0, kNullInt, 1, 0})},
       {"p",
        disk::VectorFile<int64_t>(12, {434'367'000'000'000'001, kNullLong, -1, kInfinityLong})},
       {"m", disk::VectorFile<int32_t>(13, {165, kNullInt, -1, kInfinityInt})},
       {"d", disk::VectorFile<int32_t>(14, {5028, kNullInt, -36524, kInfinityInt})},
       {"z", disk::VectorFile<double>(15, {5028.5, kNan, -1.25, kInfinite})},
       {"n", disk::VectorFile<int64_t>(16, {34'200'000'000'000, kNullLong, -5, kInfinityLong})},
       {"u", disk::VectorFile<int32_t>(17, {570, kNullInt, 1439, kInfinityInt})},
       {"v", disk::VectorFile<int32_t>(18, {34'201, kNullInt, 86'399, kInfinityInt})},
       {"t", disk::VectorFile<int32_t>(19, {34'200'001, kNullInt, 86'399'999, -kInfinityInt})},
       {"text", ListFile({TextItem("abc"), TextItem(""), TextItem("\xc3\xa9"), TextItem("\xff")})},
       {"plain", std::string("\xff\x01\x0b\0\4\0\0\0one\0\0three\0four\0", 24)}});
  SetTimes();
  for (const auto& [dialect, golden] :
       {std::pair(parquet::Dialect::kExact, "tests/data/export/exact.parquet"),
        std::pair(parquet::Dialect::kSpark, "tests/data/export/spark.parquet")}) {
    ExportOptions options = Options();
    options.dialect = dialect;
    options.rows_per_group = 3;
    const auto report = Export(options);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->written.size(), 1u);
    EXPECT_EQ(report->written[0].rows, 4u);
    const std::string file = disk::FileBytes(Dest() + std::string(kFirstFile));
    if (std::getenv("TICKSTACK_WRITE_GOLDEN") != nullptr) disk::PutFile(golden, file);
    EXPECT_EQ(file == disk::FileBytes(golden), true) << golden;  // Without a dump of the bytes.
  }
}

TEST_F(PartitionExportTest, AFileIsWrittenAgainOnlyIfItsSourceOrAnOptionChanged) {
  WriteSizes(kDay, {1, 2, 3});
  WriteSizes("2024.01.30", {4});
  const auto counts = [](const absl::StatusOr<ExportReport>& report) {
    return report.ok() ? std::pair(report->written.size(), report->unchanged)
                       : std::pair(size_t{99}, uint64_t{99});
  };
  EXPECT_EQ(counts(Export()), std::pair(size_t{2}, uint64_t{0}));
  EXPECT_EQ(counts(Export()), std::pair(size_t{0}, uint64_t{2}));
  WriteSizes(kDay, {1, 2, 4});
  SetTimes();
  EXPECT_EQ(counts(Export()), std::pair(size_t{2}, uint64_t{0}));
  EXPECT_EQ(counts(Export()), std::pair(size_t{0}, uint64_t{2}));
  const std::string path = Dest() + std::string(kFirstFile);
  const std::string file = disk::FileBytes(path);
  disk::PutFile(path, file.substr(0, file.size() - 1));
  EXPECT_EQ(counts(Export()), std::pair(size_t{1}, uint64_t{1}));
  EXPECT_EQ(disk::FileBytes(path) == file, true);
  ExportOptions options = Options();
  options.rows_per_group = 2;
  EXPECT_EQ(counts(Export(options)), std::pair(size_t{2}, uint64_t{0}));
  options.skip_columns = {"trade.size"};
  EXPECT_EQ(counts(Export(options)), std::pair(size_t{2}, uint64_t{0}));
  options.force = true;
  options.from = options.to = "2024.01.30";
  EXPECT_EQ(counts(Export(options)), std::pair(size_t{1}, uint64_t{0}));
}

TEST_F(PartitionExportTest, FilesAreWrittenAgainIfTheNamesOfSymbolsWereReplaced) {
  WriteSizes(kDay, {1, 2, 3});
  const auto is_written = [&](std::initializer_list<std::string_view> names) {
    files_.Write("db/sym", disk::NamesFile(names));
    const absl::StatusOr<ExportReport> report = Export();
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() && report->written.size() == 1 && report->unchanged == 0;
  };
  EXPECT_TRUE(is_written({"AAPL", "MSFT"}));
  const std::string file = disk::FileBytes(Dest() + std::string(kFirstFile));
  EXPECT_FALSE(is_written({"AAPL", "MSFT"}));
  EXPECT_FALSE(is_written({"AAPL", "MSFT", "IBM"})) << "a name that was added";
  EXPECT_TRUE(is_written({"MSFT", "AAPL", "IBM"}));
  EXPECT_EQ(disk::FileBytes(Dest() + std::string(kFirstFile)) == file, false);
  EXPECT_TRUE(is_written({"MSFT", "AAPL", "IBN"})) << "the last name";
  EXPECT_TRUE(is_written({"MSFT", "AAPL"})) << "fewer names";
  files_.Write("db/exch", disk::NamesFile({"N"}));
  EXPECT_TRUE(is_written({"MSFT", "AAPL"})) << "another domain";
  EXPECT_FALSE(is_written({"MSFT", "AAPL"}));
}

// Goal: a file under its name is always complete. Method: an export is killed before each of its
// steps, and repeated.
TEST_F(PartitionExportTest, AKilledExportLeavesCompleteFilesAndContinues) {
  WriteSizes(kDay, {1, 2, 3});
  WriteSizes("2024.01.30", {4});
  ASSERT_TRUE(Export().ok());
  const std::vector<std::string> all = Exported();
  ASSERT_EQ(all.size(), 2u);
  std::vector<std::string> expected;
  for (const std::string& path : all) expected.push_back(disk::FileBytes(Dest() + path));
  for (int steps = 0;; ++steps) {
    SCOPED_TRACE(steps);
    std::filesystem::remove_all(Dest());
    KilledAt killed(steps);
    const auto first = Export(Options(), &killed);
    EXPECT_NE(first.ok(), killed.refused());
    for (const std::string& path : Exported()) {
      const auto place = std::ranges::find(all, path);
      ASSERT_NE(place, all.end()) << path;
      EXPECT_EQ(
          disk::FileBytes(Dest() + path) == expected[static_cast<size_t>(place - all.begin())],
          true);
    }
    const auto second = Export();
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_EQ(Exported(), all);
    EXPECT_FALSE(std::filesystem::exists(Dest() + "/.tickstack-export.writing"));
    if (!killed.refused()) break;
    ASSERT_LT(steps, 100);
  }
}

TEST_F(PartitionExportTest, APartitionWithoutAColumnHasNullsAndOneWithoutTheTableNoFile) {
  WriteTable("2024.01.27", {{"size", disk::VectorFile<int64_t>(7, {1})}}, "other");
  WriteTable("2024.01.28", {{"size", disk::VectorFile<int64_t>(7, {1, 2})}});
  WriteTable(kDay, {{"size", disk::VectorFile<int64_t>(7, {1, 2})},
                    {"price", disk::VectorFile<int64_t>(7, {kNullLong, kNullLong})}});
  WriteTable(kDay, {{"size", disk::VectorFile<int64_t>(7, {})}}, "other");
  ASSERT_TRUE(Export().ok());
  EXPECT_THAT(Exported(),
              testing::ElementsAre("/other/date=2024-01-27/part-0.parquet",
                                   "/other/date=2024-01-29/part-0.parquet",
                                   "/trade/date=2024-01-28/part-0.parquet", kFirstFile));
  EXPECT_EQ(PagesOf(Dest() + "/trade/date=2024-01-28/part-0.parquet"),
            PagesOf(Dest() + std::string(kFirstFile)));
}

// Goal: a file whose remark names changed sources has the changed rows. Otherwise it would keep the
// earlier ones, since later exports leave it alone. Method: a column is added to a partition, and
// one of another partition is replaced, after the database was opened and before the export.
TEST_F(PartitionExportTest, AFileHasWhatItsRemarkSaysThoughPartitionsChangeInPlace) {
  WriteTable("2024.01.28", {{"size", disk::VectorFile<int64_t>(7, {1, 2})}});
  WriteTable(kDay, {{"size", disk::VectorFile<int64_t>(7, {1, 2})},
                    {"price", disk::VectorFile<int64_t>(7, {3, 4})}});
  const auto database = disk::Database::Open(files_.PathOf("db"));
  ASSERT_TRUE(database.ok()) << database.status();
  for (size_t i = 0; i < 2; ++i) {
    const auto part = (*database)->FindPartitioned("trade")->In(i);
    ASSERT_TRUE(part.ok() && (*part)->Column(0).ok()) << i;
  }
  WriteTable("2024.01.28", {{"size", disk::VectorFile<int64_t>(7, {1, 2})},
                            {"price", disk::VectorFile<int64_t>(7, {5, 6})}});
  const std::string table = fmt::format("db/{}/trade/", kDay);
  files_.Write(table + "price$", disk::VectorFile<int64_t>(7, {7, 8}));
  std::filesystem::rename(files_.PathOf(table + "price$"), files_.PathOf(table + "price"));
  ASSERT_TRUE(ExportPartitions(**database, Options(), disk::Storage()).ok());

  const auto pages = [this] {
    std::vector<std::string> of_files;
    for (const std::string& file : Exported()) of_files.push_back(PagesOf(Dest() + file));
    return of_files;
  };
  ASSERT_TRUE(Export().ok());
  const std::vector<std::string> exported = pages();
  ExportOptions anew = Options();
  anew.force = true;
  ASSERT_TRUE(Export(anew).ok());
  EXPECT_EQ(exported.size(), 2u);
  EXPECT_EQ(exported, pages());
}

// Writes a compressed file of kdb+.
void Compress(const std::string& path) {
  const std::string plain = disk::FileBytes(path);
  std::filesystem::remove(path);
  const disk::Storage storage;
  disk::CompressionOptions compression = *disk::ParseCompression("gzip-6");
  compression.block_shift = 12;
  auto image = disk::FileImage::Create(path, compression, nullptr, &storage);
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_TRUE(image->Append(std::as_bytes(std::span(plain))).ok());
  ASSERT_TRUE(image->Finish().ok());
}

TEST_F(PartitionExportTest, ACompressedPartitionBecomesTheSameFile) {
  std::vector<int64_t> sizes(5000), positions(5000);
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = static_cast<int64_t>(i * i % 977);
    positions[i] = static_cast<int64_t>(i / 1500 % 2);
  }
  WriteTable(kDay, {{"sym", disk::Enum64File("sym", positions)},
                    {"size", disk::VectorFile<int64_t>(7, sizes)}});
  ExportOptions options = Options();
  options.rows_per_group = 700;
  ASSERT_TRUE(Export(options).ok());
  const std::string pages = PagesOf(Dest() + std::string(kFirstFile));
  for (const char* column : {"sym", "size"}) {
    Compress(files_.PathOf(fmt::format("db/{}/trade/{}", kDay, column)));
  }
  const auto report = Export(options);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->written.size(), 1u);
  EXPECT_EQ(PagesOf(Dest() + std::string(kFirstFile)) == pages, true);
}

TEST_F(PartitionExportTest, DamageIsAnErrorAndLeavesNoFile) {
  WriteSizes(kDay, std::vector<int64_t>(20'000, 7));
  WorkerPool workers(0);
  ASSERT_TRUE(
      disk::WriteChecksums(files_.PathOf("db"), {.workers = &workers}, disk::Storage()).ok());
  const std::string path = files_.PathOf(fmt::format("db/{}/trade/size", kDay));
  std::string bytes = disk::FileBytes(path);
  bytes[bytes.size() - 1] ^= 1;
  disk::PutFile(path, bytes);
  const auto report = Export();
  EXPECT_EQ(report.status().code(), absl::StatusCode::kDataLoss) << report.status();
  EXPECT_THAT(Message(report.status()), HasSubstr("trade/size"));
  EXPECT_THAT(Exported(), IsEmpty());
}

TEST_F(PartitionExportTest, AValueThatTheFileCannotHoldIsNamed) {
  const auto error = [this](int type, auto value) {
    WriteTable(kDay, {{"a", disk::VectorFile<decltype(value)>(type, {0, 0, value})}});
    return ErrorOf();
  };
  EXPECT_THAT(error(12, int64_t{9'000'000'000'000'000'000}), HasSubstr("trade/a: row 2: 2285."));
  EXPECT_THAT(error(15, double{1e12}), HasSubstr("row 2: "));
  EXPECT_THAT(error(13, int32_t{120'000}), HasSubstr("not a date"));
  EXPECT_THAT(error(14, int32_t{kInfinityInt - 1}), HasSubstr("not a date"));
  EXPECT_THAT(error(17, int32_t{1440}), HasSubstr("24:00 is not a time of day; --spark writes"));
  EXPECT_THAT(error(18, int32_t{-1}), HasSubstr("not a time of day"));
  EXPECT_THAT(error(19, int32_t{86'400'000}), HasSubstr("not a time of day"));
  ExportOptions options = Options();
  options.dialect = parquet::Dialect::kSpark;
  EXPECT_EQ(ErrorOf(options), "");
  WriteTable(kDay, {{"a", ListFile({TextItem("x"), LongsItem(1)})}});
  EXPECT_THAT(ErrorOf(), HasSubstr("trade/a: row 1: a value of type long"));
  WriteTable(kDay, {{"a", disk::Enum64File("sym", {0, 4})}});
  EXPECT_THAT(ErrorOf(), HasSubstr("row 1 has position 4, domain sym has 4 names"));
  WriteTable(kDay, {{"a", disk::Enum64File("lost", {0})}});
  EXPECT_THAT(ErrorOf(), HasSubstr("its domain lost is not in the database"));
}

TEST_F(PartitionExportTest, WhatCannotBeOneTableIsRefused) {
  WriteTable("2024.01.28", {{"size", disk::VectorFile<int32_t>(6, {1})}});
  WriteSizes(kDay, {1});
  EXPECT_THAT(ErrorOf(), HasSubstr("2024.01.28/trade/size: a column of ints, but the newest "
                                   "partition has longs"));
  ExportOptions options = Options();
  options.from = "2024.01.29";
  EXPECT_EQ(ErrorOf(options), "");
  WriteTable("2024.01.30", {{"date", disk::VectorFile<int32_t>(14, {1})},
                            {"size", disk::VectorFile<int64_t>(7, {1})}});
  EXPECT_THAT(ErrorOf(options), HasSubstr("trade.date: readers have a column date"));
  options.skip_columns = {"trade.date"};
  EXPECT_EQ(ErrorOf(options), "");
  files_.Write("dest/trade/date=2024-01-29/more.parquet", "PAR1");
  EXPECT_THAT(ErrorOf(options), HasSubstr("more.parquet: not a file of this export"));
}

TEST_F(PartitionExportTest, AnOptionThatNamesNothingIsRefused) {
  WriteSizes(kDay, {1});
  ExportOptions options = Options();
  options.tables = {"trade", "quotes"};
  EXPECT_THAT(ErrorOf(options), HasSubstr("no partitioned table quotes"));
  options = Options();
  for (const char* name : {"trade", "trade.price", "quote.size"}) {
    options.skip_columns = {name};
    EXPECT_THAT(ErrorOf(options), HasSubstr(fmt::format("no column {}", name)));
  }
  options.skip_columns = {"trade.size", "trade.sym"};
  EXPECT_THAT(ErrorOf(options), HasSubstr("no column is left"));
  options = Options();
  for (const char* bound : {"x", "2024.01"}) {
    options.from = bound;
    EXPECT_THAT(ErrorOf(options), HasSubstr("expected a partition's date, such as 2024.01.29"));
  }
  EXPECT_THAT(Exported(), IsEmpty());
}

TEST_F(PartitionExportTest, BoundsAreIncluded) {
  for (const char* day : {"2024.01.01", "2024.01.02", "2024.01.03", "2024.01.04"}) {
    WriteSizes(day, {1});
  }
  ExportOptions options = Options();
  options.from = "2024.01.02";
  options.to = "2024.01.03";
  ASSERT_EQ(ErrorOf(options), "");
  EXPECT_THAT(Exported(), testing::ElementsAre("/trade/date=2024-01-02/part-0.parquet",
                                               "/trade/date=2024-01-03/part-0.parquet"));
  options.from = "2024.01.04";
  EXPECT_EQ(Export(options)->written.size(), 0u);
}

TEST_F(PartitionExportTest, EachSegmentOfADayIsAFile) {
  files_.Write("db/par.txt", files_.PathOf("one") + "\n" + files_.PathOf("two") + "\n");
  for (const char* segment : {"one", "two"}) {
    WriteTable(kDay, {{"size", disk::VectorFile<int64_t>(7, {1})}}, "trade", segment);
  }
  ASSERT_EQ(ErrorOf(), "");
  EXPECT_THAT(Exported(),
              testing::ElementsAre(kFirstFile, "/trade/date=2024-01-29/part-1.parquet"));
}

TEST(HiveNameTest, FollowsThePartitionsKind) {
  EXPECT_EQ(HiveName(disk::PartitionKind::kDate, -1), "date=1999-12-31");
  EXPECT_EQ(HiveName(disk::PartitionKind::kMonth, -1), "month=1999-12");
  EXPECT_EQ(HiveName(disk::PartitionKind::kMonth, 288), "month=2024-01");
  EXPECT_EQ(HiveName(disk::PartitionKind::kYear, 2024), "year=2024");
  EXPECT_EQ(HiveName(disk::PartitionKind::kInt, 7), "int=7");
}

class ExportOfReplacedPartitionTest : public disk::DayWithLateRows {};

TEST_F(ExportOfReplacedPartitionTest, AnExportOfTheOldVersionIsNotTakenForTheNewOne) {
  ExportOptions options;
  options.destination = folder_ / "exported";
  options.tables = {"trade"};
  const auto before = *disk::Database::Open(db());
  ASSERT_TRUE(before->FindPartitioned("trade")->In(0).ok());
  ASSERT_TRUE(Merge().ok());
  const auto old = ExportPartitions(*before, options, disk::Storage());
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->written.at(0).rows, 4u);
  const auto now = ExportPartitions(**disk::Database::Open(db()), options, disk::Storage());
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(now->unchanged, 1u);  // The other day.
  EXPECT_EQ(now->written.at(0).rows, 6u);
}

}  // namespace
}  // namespace tickstack::interchange
