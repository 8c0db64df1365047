#include "tickerplant/chained/upstream_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/status.h"

namespace tickstack::tickerplant {
namespace {

using testing::HasSubstr;

class UpstreamMarkTest : public testing::Test {
 protected:
  UpstreamMarkTest() { std::filesystem::create_directories(directory_); }
  ~UpstreamMarkTest() override { std::filesystem::remove_all(directory_); }

  std::string Text() const {
    std::ifstream file(UpstreamMarkPath(log_));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  const std::string directory_ = std::filesystem::temp_directory_path() /
                                 ("upstream_mark_test." + std::to_string(::getpid()) + "." +
                                  testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string log_ = directory_ + "/chained2020.03.09";
  const UpstreamMark mark_{
      ".upstream@2020.03.09", 42, 0xfe01, 2, {{"quote", 7}, {"trade", uint64_t{1} << 40}}, 0xa1};
};

TEST_F(UpstreamMarkTest, ReadsWhatWasWritten) {
  ASSERT_TRUE(WriteUpstreamMark(log_, {}).ok());
  ASSERT_TRUE(WriteUpstreamMark(log_, mark_).ok());
  const auto read = ReadUpstreamMark(log_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, mark_);
}

TEST_F(UpstreamMarkTest, IsNothingWithoutAFile) {
  const auto read = ReadUpstreamMark(log_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
}

TEST_F(UpstreamMarkTest, NoticesEachDamagedOrMissingByte) {
  ASSERT_TRUE(WriteUpstreamMark(log_, mark_).ok());
  const std::string text = Text();
  for (size_t i = 0; i < text.size(); ++i) {
    SCOPED_TRACE(i);
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    std::ofstream(UpstreamMarkPath(log_)) << damaged;
    EXPECT_EQ(ReadUpstreamMark(log_).status().code(), absl::StatusCode::kDataLoss);
    std::ofstream(UpstreamMarkPath(log_)) << text.substr(0, i);
    EXPECT_EQ(ReadUpstreamMark(log_).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST_F(UpstreamMarkTest, SaysWhichFileCannotBeWritten) {
  const absl::Status written = WriteUpstreamMark(directory_ + "/none/log", mark_);
  EXPECT_THAT(Message(written), HasSubstr("/none/log.upstream.next"));
}

}  // namespace
}  // namespace tickstack::tickerplant
