#include "disk/checksum_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/crc32c.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/checksum_writer.h"
#include "disk/column_file.h"
#include "disk/kdb_file_testing.h"
#include "disk/partition_testing.h"
#include "disk/splayed_table.h"
#include "disk/verified_blocks.h"

namespace tickstack::disk {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string MessageOf(const absl::Status& status) { return std::string(Message(status)); }

TEST(BlockChecksums, AreThoseOfTheBlocksHoweverTheBytesCome) {
  std::string text(3 * kChecksumBlockBytes + 5, 'x');
  std::iota(text.begin(), text.end(), '\0');
  const std::span<const std::byte> bytes = AsBytes(text);
  for (const size_t step : {size_t{1000}, size_t{65536}, size_t{65537}, text.size()}) {
    BlockChecksums checksums;
    for (size_t at = 0; at < bytes.size(); at += step) {
      checksums.Append(bytes.subspan(at, std::min(step, bytes.size() - at)));
    }
    EXPECT_EQ(checksums.bytes(), text.size());
    const std::vector<uint32_t> blocks = std::move(checksums).Finish();
    ASSERT_EQ(blocks.size(), 4U);
    for (size_t i = 0; i < 4; ++i) {
      const size_t begin = i * kChecksumBlockBytes;
      EXPECT_EQ(blocks[i], Crc32c(bytes.subspan(
                               begin, std::min<size_t>(kChecksumBlockBytes, text.size() - begin))));
    }
  }
  EXPECT_TRUE(BlockChecksums().Finish().empty());
}

// The example of docs/formats.md.
TEST(ChecksumFile, HasTheBytesOfTheDescription) {
  const KdbFiles files;
  std::vector<FileChecksums> sums;
  for (const auto& [name, bytes] :
       {std::pair<std::string, std::string>{".d", NamesFile({"x"}, 1)},
        std::pair<std::string, std::string>{"x", VectorFile<int64_t>(7, {1, 2, 3})}}) {
    BlockChecksums blocks;
    blocks.Append(AsBytes(bytes));
    sums.push_back({name, bytes.size(), std::move(blocks).Finish()});
  }
  const ByteBuffer encoded = EncodeChecksums(sums);
  std::string hex;
  for (const char byte : AsText(encoded.span())) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  EXPECT_EQ(hex,
            "747373756d73310a000001000200000023000000368321a7"
            "0a00000000000000b69e5658020000002e64"
            "28000000000000004c96f6a00100000078"
            "426f62aa671552d1");
}

class ChecksumTest : public testing::Test {
 protected:
  // A table of one column of longs 0, 1, .., of 2.x blocks, and a column of strings.
  void WriteTable() {
    std::vector<int64_t> numbers(20'000);
    std::iota(numbers.begin(), numbers.end(), 0);
    files_.Write("t/.d", NamesFile({"x", "note"}, 2));
    files_.Write("t/x", VectorFile(7, numbers));
    std::vector<int64_t> ends(20'000);
    std::iota(ends.begin(), ends.end(), 1);
    files_.Write("t/note", VectorFile(77 + 10, ends));
    files_.Write("t/note#", std::string(20'000, 'n'));
  }
  absl::StatusOr<ChecksumsWritten> Checksum(bool accept = false) {
    return WriteChecksums(files_.PathOf("t"), {.accept_damage = accept, .workers = &workers_},
                          Storage());
  }
  void Flip(std::string_view name, size_t byte, int bit, bool keep_time = true) {
    const std::string path = files_.PathOf(name);
    const int64_t modified_ns = *ModifiedNs(path) + (keep_time ? 0 : kNsPerSecond);
    std::string bytes = FileBytes(path);
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
    PutFile(path, bytes);
    ASSERT_TRUE(SetModifiedNs(path, modified_ns).ok());
  }
  absl::StatusOr<std::shared_ptr<const ColumnFile>> Column(size_t i) {
    const auto table = SplayedTable::Open(files_.PathOf("t"));
    if (!table.ok()) return table.status();
    return (*table)->Column(i);
  }

  const KdbFiles files_;
  WorkerPool workers_{1};
};

TEST_F(ChecksumTest, AreReadAsTheyWereWritten) {
  WriteTable();
  const absl::StatusOr<ChecksumsWritten> written = Checksum();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->written, 1U);
  EXPECT_THAT(written->errors, testing::IsEmpty());
  const auto checksums = ChecksumFile::Open(files_.PathOf("t/.checksums"));
  ASSERT_TRUE(checksums.ok()) << checksums.status();
  std::vector<std::string> names;
  for (const ChecksumFile::Entry& entry : (*checksums)->entries()) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre(".d", "note", "note#", "x"));
  const ChecksumFile::Entry& x = *(*checksums)->Find("x");
  EXPECT_EQ(x.bytes, 16 + 20'000 * 8);
  EXPECT_EQ((*checksums)->Load(x)->size(), 3U);
  EXPECT_EQ(Checksum()->unchanged, 1U);
}

TEST_F(ChecksumTest, ATableWithoutThemIsNotVerified) {
  WriteTable();
  EXPECT_EQ(*ChecksumFile::Open(files_.PathOf("t/.checksums")), nullptr);
  Flip("t/x", 16, 0);
  EXPECT_EQ((*Column(0))->ItemAt(0)->as<int64_t>(), 1);
}

// Goal: a damaged checksum file never lets a byte pass. Method: each bit of a small one, in turn.
TEST_F(ChecksumTest, EveryFlippedBitOfTheirFileIsNamed) {
  files_.Write("t/.d", NamesFile({"x"}, 1));
  files_.Write("t/x", VectorFile<int64_t>(7, {1, 2, 3}));
  ASSERT_TRUE(Checksum().ok());
  const size_t bits = FileBytes(files_.PathOf("t/.checksums")).size() * 8;
  for (size_t bit = 0; bit < bits; ++bit) {
    Flip("t/.checksums", bit / 8, static_cast<int>(bit % 8));
    const absl::Status status = Column(0).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << bit << status;
    EXPECT_THAT(MessageOf(status),
                AllOf(HasSubstr("t/.checksums: byte "), HasSubstr("`tickstack hdb checksum ")));
    Flip("t/.checksums", bit / 8, static_cast<int>(bit % 8));
  }
  EXPECT_TRUE(Column(0).ok());
}

TEST_F(ChecksumTest, ADamagedBlockIsNamedWithItsRowsAndOthersAreRead) {
  WriteTable();
  ASSERT_TRUE(Checksum().ok());
  Flip("t/x", 16 + 15'000 * 8, 5);  // In block 1.
  const auto column = Column(0);
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->ItemAt(0)->as<int64_t>(), 0);
  EXPECT_EQ((*column)->ItemAt(19'999)->as<int64_t>(), 19'999);
  EXPECT_TRUE((*column)->VerifyRows({0, 8'190}).ok());
  EXPECT_TRUE((*column)->VerifyRows({16'382, 20'000}).ok());
  for (int again = 0; again < 2; ++again) {
    for (const absl::Status& status :
         {(*column)->ItemAt(9'000).status(), (*column)->VerifyRows({0, 20'000}),
          (*column)->Elements().status()}) {
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(
          MessageOf(status),
          AllOf(HasSubstr("t/x: byte 65536: block 1 (rows 8190 to 16381, up to byte 131072"),
                HasSubstr("nobody has written the file")));
    }
  }
}

TEST_F(ChecksumTest, DamageInACompanionAndInTheListOfColumnsIsNamed) {
  WriteTable();
  ASSERT_TRUE(Checksum().ok());
  EXPECT_EQ(*(*Column(1))->ItemAt(19'999), Value::String("n"));
  Flip("t/note#", 19'999, 0);
  EXPECT_THAT(MessageOf(Column(1).status()), HasSubstr("t/note#: byte 0: block 0"));
  Flip("t/note#", 19'999, 0);
  Flip("t/.d", 8, 0);
  EXPECT_THAT(MessageOf(Column(0).status()), HasSubstr("t/.d: byte 0: block 0"));
}

TEST_F(ChecksumTest, AFileThatWasRewrittenSaysHowToGoOn) {
  WriteTable();
  ASSERT_TRUE(Checksum().ok());
  Flip("t/x", 16, 1, false);  // As a person's edit, of the same size.
  EXPECT_THAT(MessageOf(Column(0).status()),
              AllOf(HasSubstr("the file was changed or copied at "),
                    HasSubstr("`tickstack hdb checksum " + files_.PathOf("t") + "` writes them")));
  files_.Write("t/x", VectorFile<int64_t>(7, {1, 2, 3}));
  Flip("t/x", 16, 0, false);
  EXPECT_THAT(MessageOf(Column(0).status()),
              AllOf(HasSubstr("t/x: 40 bytes, its checksums are of 160016"),
                    HasSubstr("`tickstack hdb checksum ")));
  files_.Write("t/.d", NamesFile({"x", "y", "note"}, 3));
  EXPECT_THAT(MessageOf(Column(0).status()), HasSubstr("t/.d: "));
  WriteTable();
  Flip("t/x", 16, 1, false);
  ASSERT_EQ(Checksum()->written, 1U);
  EXPECT_TRUE((*Column(0))->Elements().ok());
}

TEST_F(ChecksumTest, DamageGetsNewChecksumsOnlyIfItIsAccepted) {
  WriteTable();
  ASSERT_TRUE(Checksum().ok());
  Flip("t/x", 100'000, 7);
  const absl::StatusOr<ChecksumsWritten> refused = Checksum();
  EXPECT_EQ(refused->written, 0U);
  EXPECT_THAT(refused->errors, ElementsAre(AllOf(HasSubstr("t/x: byte 65536: block 1 has CRC32C"),
                                                 HasSubstr("--accept-damage"))));
  EXPECT_EQ(Checksum(true)->written, 1U);
  EXPECT_TRUE((*Column(0))->Elements().ok());
}

TEST_F(ChecksumTest, BytesThatADomainGotLaterAreNotVerified) {
  files_.Write("sym", NamesFile({"a", "b"}, 2));
  ASSERT_EQ(WriteChecksums(files_.root(), {.workers = &workers_}, Storage())->written, 1U);
  const std::string longer = NamesFile({"a", "b", "c"}, 2);
  files_.Write("sym", longer);
  EXPECT_EQ(*SymbolDomains().Add(files_.PathOf("sym")), 0U);
  std::string damaged = longer;
  damaged[8] = 'A';
  files_.Write("sym", damaged);
  EXPECT_THAT(MessageOf(SymbolDomains().Add(files_.PathOf("sym")).status()),
              HasSubstr("/sym: byte 0: block 0"));
  files_.Write("sym", NamesFile({"a"}, 0));
  EXPECT_THAT(MessageOf(SymbolDomains().Add(files_.PathOf("sym")).status()),
              HasSubstr("/sym: 10 bytes, its checksums are of 12"));
}

}  // namespace
}  // namespace tickstack::disk
