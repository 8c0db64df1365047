#include "feed/market/line_reader.h"

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
using testing::ElementsAre;
using testing::HasSubstr;

// Writes files, and reads their lines as `NUMBER:BYTE:TEXT`; `!` follows a text without an end.
class LineReaderTest : public testing::Test {
 protected:
  LineReaderTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_lines_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~LineReaderTest() override { fs::remove(path_); }

  std::vector<std::string> Read(const std::string& bytes,
                                size_t line_bytes_max = LineReader::kLineBytesMax) {
    std::ofstream(path_, std::ios::binary) << bytes;
    std::vector<std::string> lines;
    absl::StatusOr<std::unique_ptr<LineReader>> reader = LineReader::Open(path_, line_bytes_max);
    status_ = reader.status();
    while (status_.ok()) {
      const absl::StatusOr<std::optional<TextLine>> line = (*reader)->Next();
      status_ = line.status();
      if (!line.ok() || !*line) break;
      lines.push_back(fmt::format("{}:{}:{}{}", (*line)->number, (*line)->offset, (*line)->text,
                                  (*line)->has_end ? "" : "!"));
    }
    return lines;
  }

  fs::path path_;
  absl::Status status_;
};

TEST_F(LineReaderTest, LinesEndWithLfOrCrLf) {
  EXPECT_THAT(Read("a\nb\r\n\n\r\nc\rd\n"),
              ElementsAre("1:0:a", "2:2:b", "3:5:", "4:6:", "5:8:c\rd"));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_THAT(Read(""), ElementsAre());
  EXPECT_TRUE(status_.ok()) << status_;
}

// They are longer than what the reader looks at in one piece.
TEST_F(LineReaderTest, LongLinesAreReadIfTheirLengthIsAllowed) {
  constexpr size_t kLongBytes = size_t{3} << 20;
  const std::string first(kLongBytes, 'a'), second(kLongBytes - 1, 'b');
  const std::string one = fmt::format("1:0:{}", first);
  const std::string two = fmt::format("2:{}:{}", kLongBytes + 1, second);
  EXPECT_THAT(Read(first + "\n" + second + "\r\nc\n", kLongBytes),
              ElementsAre(one, two, fmt::format("3:{}:c", 2 * kLongBytes + 2)));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_THAT(Read(first + "\n" + second, kLongBytes), ElementsAre(one, two + "!"));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_THAT(Read(first + "\n" + second + "bb\n", kLongBytes), ElementsAre(one));
  EXPECT_THAT(Message(status_),
              HasSubstr(fmt::format("line 2 has more than {} bytes", kLongBytes)));
}

TEST_F(LineReaderTest, TheLastLineMayLackItsEnd) {
  EXPECT_THAT(Read("a\nb"), ElementsAre("1:0:a", "2:2:b!"));
  EXPECT_THAT(Read("a\nb\r"), ElementsAre("1:0:a", "2:2:b!"));
  EXPECT_TRUE(status_.ok()) << status_;
}

// The stream delivers blocks of 256 KiB, so lines lie across their ends.
TEST_F(LineReaderTest, ReadsLinesOfAllLengths) {
  std::mt19937_64 rng(5);
  std::string bytes;
  std::vector<std::string> expected;
  for (size_t number = 1; bytes.size() < 3'000'000; ++number) {
    const std::string text(rng() % LineReader::kLineBytesMax, 'x');
    expected.push_back(fmt::format("{}:{}:{}", number, bytes.size(), text));
    bytes += text + "\n";
  }
  EXPECT_EQ(Read(bytes), expected);
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(LineReaderTest, ALineThatIsTooLongIsAnError) {
  const std::string longest(LineReader::kLineBytesMax, 'x');
  EXPECT_THAT(Read("a\n" + longest + "\nb\n"), testing::SizeIs(3));
  EXPECT_THAT(Read("a\n" + longest), testing::SizeIs(2));
  EXPECT_TRUE(status_.ok()) << status_;
  for (const char* end : {"\n", "", "xxxxxxx"}) {
    EXPECT_THAT(Read("a\n" + longest + "x" + end), ElementsAre("1:0:a"));
    EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(Message(status_)),
                HasSubstr(path_.string() + ": byte 2: line 2 has more than 65536 bytes"));
  }
}

TEST_F(LineReaderTest, WholeLinesPrecedeTheErrorOfTheStream) {
  std::string text;
  for (uint32_t i = 0; i < 100'000; ++i) text += fmt::format("{}\n", i * 2'654'435'761u);
  const auto compress = [this](const std::string& bytes) {
    gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return fs::file_size(path_);
  };
  compress(text);
  std::ifstream in(path_, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(Read(whole), testing::SizeIs(100'000));
  EXPECT_TRUE(status_.ok()) << status_;
  const std::vector<std::string> lines = Read(whole.substr(0, whole.size() / 2));
  EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status_)), HasSubstr("the gzip file is cut off"));
  EXPECT_GT(lines.size(), 10'000u);
}

}  // namespace
}  // namespace tickstack::feed::market
