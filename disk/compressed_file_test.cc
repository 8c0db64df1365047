#include "disk/compressed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/column_file.h"
#include "disk/decompressed_image.h"
#include "disk/kdb_file_testing.h"
#include "table/lz_stream.h"

namespace tickstack::disk {
namespace {

using testing::HasSubstr;

std::string Compressed(Compression algorithm, const std::string& block) {
  std::string out(2 * block.size() + 1000, '\0');
  const auto* const from = reinterpret_cast<const Bytef*>(block.data());
  const auto bytes = static_cast<int>(block.size());
  switch (algorithm) {
    case Compression::kGzip: {
      uLongf written = out.size();
      EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(out.data()), &written, from, block.size(), 6),
                Z_OK);
      return out.substr(0, written);
    }
    case Compression::kSnappy: {
      size_t written = out.size();
      EXPECT_EQ(snappy_compress(block.data(), block.size(), out.data(), &written), SNAPPY_OK);
      return out.substr(0, written);
    }
    case Compression::kLz4:
      return out.substr(0, static_cast<size_t>(LZ4_compress_default(block.data(), out.data(), bytes,
                                                                    static_cast<int>(out.size()))));
    case Compression::kZstd:
      return out.substr(0, ZSTD_compress(out.data(), out.size(), block.data(), block.size(), 3));
    case Compression::kIpc: {
      const std::string message = std::string("\1\0\1\0", 4) + std::string(4, '\0') + block;
      ByteBuffer stream;
      stream.Append(message.substr(0, 8));
      stream.AppendLittle(static_cast<uint32_t>(message.size()));
      EXPECT_TRUE(AppendLzStream(AsBytes(message), SIZE_MAX, stream));
      std::string whole(AsText(stream.span()));
      return whole.replace(4, 4, LittleBytes(static_cast<uint32_t>(whole.size())));
    }
    case Compression::kNone:
      break;
  }
  return block;
}

constexpr uint64_t kBlockBytes = 4096;

// Returns a file in which every third block is uncompressed.
std::string CompressedFileOf(Compression algorithm, const std::string& image) {
  std::string file = "kxzipped", entries;
  int64_t blocks = 0;
  for (size_t at = 0; at < image.size(); at += kBlockBytes, ++blocks) {
    const Compression of_block = blocks % 3 == 2 ? Compression::kNone : algorithm;
    const std::string block = Compressed(of_block, image.substr(at, kBlockBytes));
    file += block;
    entries += LittleBytes(static_cast<uint32_t>(block.size())) +
               LittleBytes(static_cast<uint32_t>(of_block));
  }
  const auto trailer_at = static_cast<int64_t>(file.size());
  file += LittleBytes(uint32_t{3});
  file += static_cast<char>(algorithm);
  file += std::string("\6\0\0", 3) + LittleBytes(static_cast<int64_t>(image.size())) +
          LittleBytes(trailer_at) + LittleBytes(kBlockBytes);
  return file + entries + LittleBytes(blocks);
}

// Returns a column of longs that every algorithm compresses, with some 10 blocks.
std::vector<int64_t> SomeLongs() {
  std::vector<int64_t> longs(5000);
  for (size_t i = 0; i < longs.size(); ++i) longs[i] = static_cast<int64_t>(i / 7 % 100);
  return longs;
}

class CompressedFileTest : public testing::TestWithParam<Compression> {
 protected:
  absl::StatusOr<std::unique_ptr<const StoredFile>> Open(const std::string& bytes) {
    return StoredFile::Open(files_.Write("file", bytes));
  }

  KdbFiles files_;
};

TEST_P(CompressedFileTest, HasTheBytesOfTheUncompressedOne) {
  const std::string image = VectorFile<int64_t>(7, SomeLongs());
  const auto file = Open(CompressedFileOf(GetParam(), image));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->is_compressed());
  EXPECT_EQ((*file)->bytes(), image.size());
  EXPECT_LT((*file)->disk_bytes(), image.size());
  EXPECT_EQ(AsText(*(*file)->Head()), image.substr(0, 4096));
  EXPECT_EQ(AsText((*file)->All()->span()), image);
  EXPECT_EQ(AsText(*(*file)->Head()), image.substr(0, 4096));
  // Parts of blocks, whole blocks, all bytes.
  for (const auto& [begin, end] : std::vector<std::pair<size_t, size_t>>{
           {0, 0}, {5, 6}, {4000, 4100}, {4096, 8192}, {5, image.size()}, {0, image.size()}}) {
    std::string part(end - begin, '?');
    ASSERT_TRUE((*file)->Read(begin, std::as_writable_bytes(std::span(part))).ok());
    EXPECT_EQ(part, image.substr(begin, end - begin));
  }

  std::string visited;
  ASSERT_TRUE((*file)
                  ->Visit([&visited](uint64_t offset, std::span<const std::byte> piece) {
                    EXPECT_EQ(offset, visited.size());
                    visited += AsText(piece);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(visited, image);
}

TEST_P(CompressedFileTest, IsAColumn) {
  const auto column =
      ColumnFile::Open(files_.Write("c", CompressedFileOf(GetParam(), VectorFile(7, SomeLongs()))));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->rows(), 5000u);
  EXPECT_EQ(*(*column)->ItemAt(4999), Value::Long(4999 / 7 % 100));
}

TEST_P(CompressedFileTest, NamesADamagedBlockAndReadsTheOthersHead) {
  const std::string image = VectorFile<int64_t>(7, SomeLongs());
  const std::string whole = CompressedFileOf(GetParam(), image);
  const auto layout = ParseCompressedLayout(AsBytes(whole));
  ASSERT_TRUE(layout.ok()) << layout.status();
  // Every algorithm detects a truncated block; only checksums detect a flipped bit.
  const CompressedBlock& block = layout->blocks[4];
  std::string damaged = whole;
  damaged.replace(block.offset, block.bytes, std::string(block.bytes, '\xff'));
  const auto file = Open(damaged);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->Head().ok());
  for (int i = 0; i < 2; ++i) {  // The error stays.
    const absl::Status status = (*file)->All().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(Message(status)),
                HasSubstr(fmt::format("file: byte {}: block 4: ", block.offset)));
  }
}

// Goal: no wrong byte is written outside of the allocation, and no cut file passes for a whole one.
// Method: cut everywhere, flip random bits.
TEST_P(CompressedFileTest, SurvivesEveryCutAndAnyFlip) {
  const std::string image = VectorFile<int64_t>(7, SomeLongs());
  const std::string whole = CompressedFileOf(GetParam(), image);
  for (size_t bytes = 0; bytes < whole.size(); bytes += bytes < 64 ? 1 : 37) {
    ASSERT_FALSE(ParseCompressedLayout(AsBytes(whole.substr(0, bytes))).ok()) << bytes;
  }
  std::mt19937_64 rng(1);
  for (int i = 0; i < 300; ++i) {
    std::string flipped = whole;
    flipped[rng() % flipped.size()] ^= static_cast<char>(1 << rng() % 8);
    const auto file = Open(flipped);
    if (!file.ok()) continue;
    const absl::StatusOr<PinnedBytes> all = (*file)->All();
    if (all.ok()) {
      EXPECT_EQ(all->size(), (*file)->bytes());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, CompressedFileTest,
                         testing::Values(Compression::kIpc, Compression::kGzip,
                                         Compression::kSnappy, Compression::kLz4,
                                         Compression::kZstd),
                         [](const testing::TestParamInfo<Compression>& tested) {
                           return "Algorithm" + std::to_string(static_cast<int>(tested.param));
                         });

class CompressedLayoutTest : public CompressedFileTest {
 protected:
  // Returns the error of a file with `bytes` at `from_end` before its end.
  std::string ErrorWith(size_t from_end, const std::string& bytes) {
    std::string file = CompressedFileOf(Compression::kGzip, std::string(6000, 'x'));
    file.replace(file.size() - from_end, bytes.size(), bytes);
    return std::string(Message(Open(file).status()));
  }
};

// Two blocks: 32 bytes of trailer, 16 of entries, 8 of count.
TEST_F(CompressedLayoutTest, NamesWhatIsWrong) {
  EXPECT_THAT(ErrorWith(8, LittleBytes<int64_t>(1 << 20)), HasSubstr("1048576 blocks, but"));
  EXPECT_THAT(ErrorWith(8, LittleBytes<int64_t>(-1)), HasSubstr("blocks, but the file has room"));
  EXPECT_THAT(ErrorWith(56, LittleBytes(uint32_t{4})), HasSubstr("version 4, expected 2 or 3"));
  EXPECT_THAT(ErrorWith(48, LittleBytes<int64_t>(9000)), HasSubstr("9000 bytes in 2 blocks of"));
  EXPECT_THAT(ErrorWith(48, LittleBytes<int64_t>(4096)), HasSubstr("4096 bytes in 2 blocks of"));
  EXPECT_THAT(ErrorWith(48, LittleBytes<int64_t>(-1)), HasSubstr("in 2 blocks of 4096"));
  EXPECT_THAT(ErrorWith(40, LittleBytes<int64_t>(7)), HasSubstr("says that it is at byte 7"));
  EXPECT_THAT(ErrorWith(32, LittleBytes<int64_t>(4097)), HasSubstr("blocks of 4097 bytes"));
  EXPECT_THAT(ErrorWith(32, LittleBytes<int64_t>(1 << 21)), HasSubstr("blocks of 2097152 bytes"));
  EXPECT_THAT(ErrorWith(24, LittleBytes<int32_t>(-1)), HasSubstr("block 0 ends at byte"));
  EXPECT_THAT(ErrorWith(24, LittleBytes<int32_t>(1)),
              HasSubstr("the blocks end here, the trailer begins at 57"));
  EXPECT_THAT(ErrorWith(20, LittleBytes<int32_t>(18)), HasSubstr("algorithm 18, expected 0 to 5"));
}

TEST_F(CompressedLayoutTest, AFileOfNothingIsEmpty) {
  const auto file = Open(CompressedFileOf(Compression::kGzip, ""));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->Head()->empty());
  EXPECT_TRUE((*file)->All()->empty());
}

TEST_F(CompressedLayoutTest, ThreadsShareTheWorkAndSeeOneResult) {
  const std::string image = VectorFile<int64_t>(7, std::vector<int64_t>(200'000, 5));
  const auto file = Open(CompressedFileOf(Compression::kZstd, image));
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<const std::byte*> seen(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] {
      const absl::StatusOr<PinnedBytes> all = (*file)->All();
      ASSERT_TRUE(all.ok());
      EXPECT_EQ(AsText(all->span()), image);
      seen[i] = all->data();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::byte* data : seen) EXPECT_EQ(data, seen[0]);
}

TEST_F(CompressedLayoutTest, MemoryIsBoundedAndCounted) {
  const std::string image = VectorFile<int64_t>(7, SomeLongs());
  const uint64_t before = DecompressedBytes(), limit = DecompressedBytesMax();
  SetDecompressedBytesMax(before + image.size() * 3 / 2);
  {
    const auto first = Open(CompressedFileOf(Compression::kGzip, image));
    const absl::StatusOr<PinnedBytes> held = (*first)->All();
    EXPECT_TRUE(held.ok());
    EXPECT_EQ(DecompressedBytes(), before + image.size());
    const auto second =
        StoredFile::Open(files_.Write("second", CompressedFileOf(Compression::kGzip, image)));
    EXPECT_TRUE((*second)->Head().ok());
    EXPECT_EQ((*second)->All().status().code(), absl::StatusCode::kResourceExhausted);
    SetDecompressedBytesMax(limit);
    EXPECT_TRUE((*second)->All().ok());  // It was refused, not damaged.
  }
  EXPECT_EQ(DecompressedBytes(), before);
}

// Files of one size, in a cache with room for `room` of them.
class CacheTest : public CompressedLayoutTest {
 protected:
  explicit CacheTest(size_t room = 3) : before_(DecompressedBytes()) {
    DecompressedCache::Instance().SetMaxBytes(room * image_.size());
    for (int i = 0; i < 6; ++i) {
      const std::string path =
          files_.Write(std::to_string(i), CompressedFileOf(Compression::kLz4, image_));
      all_.push_back(*StoredFile::Open(path));
    }
  }
  ~CacheTest() override {
    all_.clear();
    EXPECT_EQ(DecompressedBytes(), before_);
    DecompressedCache::Instance().SetMaxBytes(max_bytes_);
    SetDecompressedBytesMax(limit_);
  }
  PinnedBytes Read(size_t i) {
    const absl::StatusOr<PinnedBytes> bytes = all_[i]->All();
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(AsText(bytes->span()), image_);
    return *bytes;
  }
  uint64_t Images() const { return (DecompressedBytes() - before_) / image_.size(); }
  uint64_t Evictions() const { return DecompressedCache::Instance().evictions() - evictions_; }

  const std::string image_ = VectorFile<int64_t>(7, SomeLongs());
  const uint64_t before_, limit_ = DecompressedBytesMax();
  const uint64_t max_bytes_ = DecompressedCache::Instance().max_bytes();
  const uint64_t evictions_ = DecompressedCache::Instance().evictions();
  std::vector<std::unique_ptr<const StoredFile>> all_;
};

TEST_F(CacheTest, KeepsWhatItHasRoomFor) {
  for (size_t i = 0; i < 3; ++i) Read(i);
  const std::byte* const first = Read(0).data();
  EXPECT_EQ(Images(), 3u);
  EXPECT_EQ(Evictions(), 0u);
  EXPECT_EQ(Read(0).data(), first) << "it was made once";
  for (size_t i = 0; i < all_.size(); ++i) Read(i);
  EXPECT_EQ(Images(), 3u);
  EXPECT_EQ(Evictions(), 3u);
}

TEST_F(CacheTest, WhatWasUsedStaysLongerThanWhatWasNot) {
  for (size_t i = 0; i < 3; ++i) Read(i);
  Read(3);  // The hand goes round once, and evicts the first.
  const std::byte* const kept = Read(1).data();
  Read(4);
  EXPECT_EQ(Evictions(), 2u);
  const PinnedBytes others[] = {Read(3), Read(4)};
  EXPECT_EQ(Read(1).data(), kept) << "2 went";
  EXPECT_EQ(Evictions(), 2u);
}

TEST_F(CacheTest, NeverFreesWhatSomebodyReads) {
  std::vector<PinnedBytes> held;
  for (size_t i = 0; i < all_.size(); ++i) held.push_back(Read(i));
  EXPECT_EQ(Images(), 6u) << "more than there is room for, as long as it is read";
  for (const PinnedBytes& bytes : held) EXPECT_EQ(AsText(bytes.span()), image_);
  EXPECT_EQ(Read(0).data(), held[0].data()) << "shared, not made again";
  held.clear();
  EXPECT_EQ(Images(), 3u);
}

TEST_F(CacheTest, MakesRoomUnderTheLimitOutOfWhatNobodyReads) {
  const PinnedBytes held = Read(0);
  Read(1);
  Read(2);
  SetDecompressedBytesMax(before_ + 3 * image_.size());
  const PinnedBytes third = Read(3), fourth = Read(4);
  EXPECT_EQ(Images(), 3u);
  EXPECT_EQ(all_[5]->All().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(AsText(held.span()), image_);
}

TEST_F(CacheTest, AFileThatIsGoneKeepsNoMemory) {
  const PinnedBytes held = Read(0);
  Read(1);
  all_.clear();
  EXPECT_EQ(Images(), 1u);
  EXPECT_EQ(AsText(held.span()), image_) << "who reads it may go on";
}

TEST_F(CacheTest, WithoutRoomEachReadIsANewOne) {
  DecompressedCache::Instance().SetMaxBytes(0);
  Read(0);
  EXPECT_EQ(Images(), 0u);
  Read(0);
  EXPECT_EQ(Evictions(), 2u);
}

// ThreadSanitizer and AddressSanitizer detect memory that is freed while another thread reads it.
TEST_F(CacheTest, ThreadsReadMoreThanThereIsRoomFor) {
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (size_t i = 0; i < 60; ++i) Read((i * (thread + 1) + thread) % all_.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(Images(), 3u);
}

}  // namespace
}  // namespace tickstack::disk
