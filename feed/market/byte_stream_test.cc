#include "feed/market/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/status.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string Gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

// A skippable frame, as tools put checksums into.
std::string Skippable() { return std::string("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11); }

std::string RandomText(size_t bytes) {
  std::mt19937_64 rng(bytes);
  std::string text;
  while (text.size() < bytes) text += fmt::format("{},", rng() % 100'000);
  text.resize(bytes);
  return text;
}

class ByteStreamTest : public testing::Test {
 protected:
  ByteStreamTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_bytes_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~ByteStreamTest() override { fs::remove(path_); }

  // Reads a file of these bytes in pieces of `piece` bytes.
  std::string Read(const std::string& file, size_t piece = 1000) {
    std::ofstream(path_, std::ios::binary) << file;
    status_ = absl::OkStatus();
    std::string all;
    absl::StatusOr<std::unique_ptr<ByteStream>> stream = ByteStream::Open(path_);
    if (!stream.ok()) {
      status_ = stream.status();
      return all;
    }
    while (true) {
      const absl::StatusOr<std::span<const std::byte>> next = (*stream)->Peek(piece);
      if (!next.ok()) {
        status_ = next.status();
        return all;
      }
      EXPECT_EQ((*stream)->offset(), all.size());
      if (next->empty()) return all;
      const size_t bytes = std::min(piece, next->size());
      all += AsText(next->first(bytes));
      (*stream)->Skip(bytes);
    }
  }

  fs::path path_;
  absl::Status status_;
};

TEST_F(ByteStreamTest, ReadsPlainGzipAndZstd) {
  for (const size_t bytes : {size_t{1}, size_t{5'000}, size_t{3'000'000}}) {
    const std::string text = RandomText(bytes);
    for (const std::string& file : {text, Gzip(text), Zstd(text)}) {
      EXPECT_TRUE(Read(file, 70'000) == text) << bytes;
      EXPECT_TRUE(status_.ok()) << status_;
    }
  }
}

TEST_F(ByteStreamTest, AnEmptyFileHasNoBytes) {
  EXPECT_EQ(Read(""), "");
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(ByteStreamTest, ReadsAllMembersAndFrames) {
  EXPECT_EQ(Read(Gzip("one ") + Gzip("two ") + std::string(600, '\0')), "one two ");
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(Read(Zstd("one ") + Skippable() + Zstd("two ") + Zstd("")), "one two ");
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(ByteStreamTest, ACompressedFileThatIsCutOffAnywhereIsAnErrorAfterItsBytes) {
  const std::string text = RandomText(5'000);
  for (const std::string& whole : {Gzip(text), Zstd(text)}) {
    for (const size_t bytes : {whole.size() - 1, whole.size() / 2, size_t{20}, size_t{5}}) {
      const std::string read = Read(whole.substr(0, bytes));
      EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss) << bytes;
      EXPECT_THAT(std::string(Message(status_)), HasSubstr("cut off"));
      EXPECT_TRUE(text.starts_with(read));
    }
  }
}

TEST_F(ByteStreamTest, DamageAndForeignBytesAreErrorsWithThePath) {
  const std::string text = RandomText(5'000);
  for (std::string whole : {Gzip(text), Zstd(text), Gzip(text) + "x", Zstd(text) + "xxxx"}) {
    whole[whole.size() / 2] = static_cast<char>(whole[whole.size() / 2] ^ 0x55);
    Read(whole);
    EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(Message(status_)), HasSubstr(path_.string()));
  }
}

TEST_F(ByteStreamTest, AMissingFileIsNotFound) {
  EXPECT_EQ(ByteStream::Open("/nothing/here").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tickstack::feed::market
