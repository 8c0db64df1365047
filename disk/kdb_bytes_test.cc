// Compares the writers with files that kdb+ wrote: data that is decoded and written again has the
// same bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "disk/anymap_writer.h"
#include "disk/file_image.h"
#include "disk/parted_index_writer.h"
#include "disk/partition_testing.h"
#include "disk/row_order.h"
#include "mem/tier.h"
#include "table/batch_testing.h"
#include "table/lz_stream.h"
#include "tests/support/fixtures.h"

namespace tickstack::disk {
namespace {

constexpr size_t kPage = 4096;

std::string Bytes(const ByteBuffer& buffer) { return std::string(AsText(buffer)); }

// The index that a worked example has behind its rows.
TEST(PartedIndex, IsThatOfTheWorkedExample) {
  const int64_t keys[] = {1}, starts[] = {0};
  const std::string expected(
      "\0\0\0\0\0\0\0\0"
      "\2\0\x14\2\0\0\0\0\1\0\0\0\0\0\0\0"
      "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
      "\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0"
      "\1\0\7\0\0\0\0\0\2\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0",
      88);
  EXPECT_EQ(Bytes(PartedIndexBytes(keys, starts, 1)), expected);
}

TEST(PartedIndex, OfNoRowsIsThatOfAnEmptyColumn) {
  EXPECT_EQ(PartedIndexBytes({}, {}, 0).size(), 4176 - kPage);
}

// Goal: every parted column of the fixtures gets the same index as from kdb+. Method: from its rows
// alone; undefined bytes that old builds left in unused slots count as the zeros of newer ones.
TEST(PartedIndex, IsWhatKdbWroteBehindTheRowsOfEachFixture) {
  TS_REQUIRE_FIXTURE(root, "kdb");
  int columns = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::string file = FileBytes(entry.path());
    if (file.size() < kPage || file.substr(0, 2) != "\xfd\x20" || file[4082] != 20 ||
        file[4083] != 3) {
      continue;
    }
    SCOPED_TRACE(entry.path());
    const auto rows = static_cast<size_t>(ElementsAt<int64_t>(file, 4088, 1)[0]);
    const std::vector<int64_t> positions = ElementsAt<int64_t>(file, kPage, rows);
    std::vector<int64_t> keys, starts;
    for (size_t i = 0; i < rows; ++i) {
      if (i > 0 && positions[i] == positions[i - 1]) continue;
      keys.push_back(positions[i]);
      starts.push_back(static_cast<int64_t>(i));
    }
    std::string index = file.substr(kPage + 8 * rows);
    const size_t capacity = std::bit_ceil(std::max<size_t>(keys.size(), 1));
    ASSERT_GE(index.size(), 24 + 8 * (capacity + 1));
    std::fill_n(index.begin(), 8, '\0');
    index[9] = '\0';
    std::fill_n(index.begin() + 24 + 8 * static_cast<ptrdiff_t>(keys.size()),
                8 * (capacity + 1 - keys.size()), '\0');
    const size_t starts_header = 24 + 8 * (capacity + 1) + 16 * capacity;
    index[starts_header + 1] = '\0';
    EXPECT_EQ(index, Bytes(PartedIndexBytes(keys, starts, static_cast<int64_t>(rows))));
    ++columns;
  }
  EXPECT_GE(columns, 10);
}

struct UnpackedFile {
  CompressionOptions options;
  std::string image;
};

// Returns the content of one block of a file that kdb+ compressed.
std::string UnpackBlock(Compression algorithm, const std::string& block, size_t bytes_max) {
  if (algorithm == Compression::kNone) return block;
  if (algorithm == Compression::kIpc) {
    ByteBuffer message;
    message.AppendLittle(uint64_t{0});
    const size_t bytes = ElementsAt<uint32_t>(block, 8, 1)[0];
    EXPECT_TRUE(ExpandLzStream(AsBytes(block).subspan(12), bytes, message).ok());
    return std::string(AsText(message.span().subspan(8)));
  }
  std::string plain(bytes_max, '\0');
  uLongf bytes = plain.size();
  EXPECT_EQ(Z_OK, ::uncompress(reinterpret_cast<Bytef*>(plain.data()), &bytes,
                               reinterpret_cast<const Bytef*>(block.data()), block.size()));
  return plain.substr(0, bytes);
}

size_t BlocksOf(const std::string& file) {
  return static_cast<size_t>(ElementsAt<int64_t>(file, file.size() - 8, 1)[0]);
}
size_t TrailerOf(const std::string& file) { return file.size() - 8 - 8 * BlocksOf(file) - 32; }

// Returns the content of a file that kdb+ compressed with gzip or its own algorithm.
UnpackedFile Unpack(const std::string& file) {
  const size_t blocks = BlocksOf(file);
  const size_t trailer = TrailerOf(file);
  UnpackedFile unpacked;
  unpacked.options.algorithm = static_cast<Compression>(file[trailer + 4]);
  unpacked.options.level = file[trailer + 5];
  const auto block_bytes = static_cast<size_t>(ElementsAt<int64_t>(file, trailer + 24, 1)[0]);
  unpacked.options.block_shift = std::countr_zero(block_bytes);
  const std::vector<uint32_t> entries = ElementsAt<uint32_t>(file, trailer + 32, 2 * blocks);
  size_t at = 8;
  for (size_t i = 0; i < blocks; ++i) {
    const std::string block = file.substr(at, entries[2 * i]);
    at += block.size();
    unpacked.image += UnpackBlock(static_cast<Compression>(entries[2 * i + 1]), block, block_bytes);
  }
  return unpacked;
}

// Goal: compressing again what kdb+ compressed gives the same bytes. Method: every fixture of the
// two deterministic algorithms.
TEST(FileImage, GivesTheBytesOfEachFixtureThatKdbCompressed) {
  TS_REQUIRE_FIXTURE(root, "kdb");
  std::map<Compression, int> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const std::string file = FileBytes(entry.path());
    if (!file.starts_with("kxzipped")) continue;
    SCOPED_TRACE(entry.path());
    const UnpackedFile unpacked = Unpack(file);
    const TemporaryFolder folder(TemporaryFolder::InMemory());
    const Storage storage;
    absl::StatusOr<FileImage> image =
        FileImage::Create(folder / "again", unpacked.options, nullptr, &storage);
    ASSERT_TRUE(image.ok());
    ASSERT_TRUE(image->Append(AsBytes(unpacked.image)).ok());
    ASSERT_EQ(*image->Finish(), file.size());
    // Those of its own algorithm are of version 2 of the trailer, which has the same fields.
    std::string again = FileBytes(folder / "again");
    const size_t version = TrailerOf(file);
    again[version] = file[version];
    EXPECT_TRUE(again == file);
    ++files[unpacked.options.algorithm];
  }
  EXPECT_GE(files[Compression::kGzip], 3);
  EXPECT_GE(files[Compression::kIpc], 10);
}

std::string Encoded(int type, std::string_view payload, size_t count) {
  std::string out{static_cast<char>(type), '\0'};
  const auto n = static_cast<int32_t>(count);
  out.append(reinterpret_cast<const char*>(&n), sizeof(n));
  return out.append(payload);
}

// Returns an anymap's items in the form of the wire, for the forms in fixtures that have a table of
// their own.
std::string ItemAt(const std::string& payload, const std::vector<std::string>& names,
                   uint64_t reference) {
  const size_t at = kPage + (reference & ((uint64_t{1} << 56) - 1));
  const auto form = static_cast<uint8_t>(payload[at]);
  if (form == 0xfb) {
    EXPECT_EQ(payload[at + 2], 0x63);
    const std::vector<uint64_t> parts = ElementsAt<uint64_t>(payload, at + 16, 2);
    return "\x63" + ItemAt(payload, names, parts[0]) + ItemAt(payload, names, parts[1]);
  }
  const auto count = static_cast<uint8_t>(payload[at + 1]);
  if (form == 0x8a) {
    std::string text;
    for (const int32_t name : ElementsAt<int32_t>(payload, at + 2, count)) {
      text += names[static_cast<size_t>(name)] + '\0';
    }
    return Encoded(11, text, count);
  }
  const size_t width = WidthOf(static_cast<Type>(form - 0x7f));
  return Encoded(form - 0x7f, std::string_view(payload).substr(at + 2, count * width), count);
}

TEST(AnymapWriter, GivesTheBytesOfTheFixturesThatKdbWrote) {
  TS_REQUIRE_FIXTURE(root, "kdb");
  for (const std::string_view name : {"AquaQAnalytics-TorQ-Air/hdb/2020.11.14/flights/registration",
                                      "BimanGunarathne-SplayedTableKDBQ/exSplay/orderID",
                                      "BimanGunarathne-SplayedTableKDBQ/simpleAnyMap",
                                      "BimanGunarathne-SplayedTableKDBQ/symbolAnyMap"}) {
    TS_REQUIRE_FIXTURE(path, std::string("kdb/") + std::string(name));
    SCOPED_TRACE(path);
    const std::string references = FileBytes(path), payload = FileBytes(path.string() + "#");
    const bool has_names = std::filesystem::exists(path.string() + "##");
    const std::vector<std::string> names =
        has_names ? Names(path.string() + "##") : std::vector<std::string>();
    const size_t rows = (references.size() - kPage) / 8;
    std::vector<std::string> items;
    for (const uint64_t each : ElementsAt<uint64_t>(references, kPage, rows)) {
      items.push_back(ItemAt(payload, names, each));
    }

    SymbolTable symbols;
    const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
    const std::shared_ptr<Table> table =
        *Table::Create(*ParseSchema("t", "x *"), &symbols, {tier.get(), {}, nullptr});
    ASSERT_TRUE(table->Append(Batch(rows).AddItems(items).view()).ok());
    const Snapshot snapshot = table->TakeSnapshot();
    const TemporaryFolder folder;
    const Storage storage;
    ASSERT_TRUE(WriteAnymap(snapshot, 0, RowOrder(snapshot, RowsOfDate(snapshot, 0), nullptr),
                            folder / "x",
                            {.compression = {}, .workers = nullptr, .storage = &storage})
                    .ok());
    // The counts in our headers are correct; in kdb+'s they are 0 or outdated.
    EXPECT_TRUE(FileBytes(folder / "x").substr(kPage) == references.substr(kPage));
    EXPECT_TRUE(FileBytes(folder / "x#") == payload);
    ASSERT_EQ(std::filesystem::exists(folder / "x##"), has_names);
    if (!has_names) continue;
    EXPECT_EQ(Names(folder / "x##"), names);
  }
}

}  // namespace
}  // namespace tickstack::disk
