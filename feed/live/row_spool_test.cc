#include "feed/live/row_spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/status.h"

namespace tickstack::feed::live {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RowSpoolTest : public testing::Test {
 protected:
  RowSpoolTest()
      : folder_(fs::temp_directory_path() /
                fmt::format("tickstack_row_spool_{}_{}", getpid(),
                            testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~RowSpoolTest() override {
    spool_.reset();
    fs::remove_all(folder_);
  }

  // Opens it anew, as the next process does.
  absl::Status Open() {
    spool_.reset();
    absl::StatusOr<std::unique_ptr<RowSpool>> spool = RowSpool::Open(folder_ / "feed");
    if (!spool.ok()) return spool.status();
    spool_ = *std::move(spool);
    return absl::OkStatus();
  }
  static SpoolBatch Batch(const std::string& table, int64_t first_row, int64_t rows,
                          const std::string& data) {
    return {table, first_row, rows, 7, ByteBuffer(AsBytes(data)), 0};
  }
  static market::StreamPosition Position(const std::string& session, uint64_t next_seq) {
    return {"c", session, next_seq, 1, 2, 3};
  }
  absl::Status Append(SpoolBatch batch, const market::StreamPosition& position) {
    return spool_->Append({&position, 1}, {&batch, 1});
  }
  // `trade 3+2 data` of each batch that it had when it was opened.
  std::vector<std::string> Batches() {
    std::vector<std::string> texts;
    for (const SpoolBatch& batch : spool_->TakeBatches()) {
      texts.push_back(
          fmt::format("{} {}+{} {}", batch.table, batch.first_row, batch.rows, AsText(batch.data)));
    }
    return texts;
  }
  std::vector<std::string> Sessions() const {
    std::vector<std::string> texts;
    for (const market::StreamPosition& position : spool_->Positions()) {
      texts.push_back(fmt::format("{} {}", position.session, position.next_seq));
    }
    return texts;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "feed")) {
      const std::string name = entry.path().filename();
      if (name.starts_with("rows.")) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }

  fs::path folder_;
  std::unique_ptr<RowSpool> spool_;
};

TEST_F(RowSpoolTest, TheNextProcessFindsRowsAndPositions) {
  ASSERT_TRUE(Open().ok());
  const std::string id = spool_->id();
  EXPECT_EQ(id.size(), 16);
  EXPECT_THAT(Batches(), IsEmpty());
  ASSERT_TRUE(Append(Batch("trade", 0, 3, "abc"), Position("s", 4)).ok());
  ASSERT_TRUE(Append(Batch("order", 0, 1, "o"), Position("t", 9)).ok());
  ASSERT_TRUE(Append(Batch("trade", 3, 2, "de"), Position("s", 6)).ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(spool_->id(), id);
    EXPECT_THAT(Batches(), ElementsAre("trade 0+3 abc", "order 0+1 o", "trade 3+2 de"));
    EXPECT_THAT(Sessions(), ElementsAre("s 6", "t 9"));
    EXPECT_THAT(spool_->next_rows(), ElementsAre(std::pair("order", 1), std::pair("trade", 5)));
  }
  const market::StreamPosition position = spool_->Positions()[0];
  EXPECT_EQ(position.channel, "c");
  EXPECT_EQ(position.first_recv_ns, 1);
  EXPECT_EQ(position.last_sent_ns, 2);
  EXPECT_EQ(position.delivered_ns, 3);
}

TEST_F(RowSpoolTest, KeepsNumbersAndPositionsWhenAllRowsAreLogged) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Append(Batch("trade", 0, 3, "abc"), Position("s", 4)).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Files(), ElementsAre("rows.000001", "rows.000002"));
  ASSERT_TRUE(spool_->RemoveBefore(spool_->file()).ok());
  EXPECT_THAT(Files(), ElementsAre("rows.000002"));
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Batches(), IsEmpty());
  EXPECT_THAT(Sessions(), ElementsAre("s 4"));
  EXPECT_THAT(spool_->next_rows(), ElementsAre(std::pair("trade", 3)));
  ASSERT_TRUE(Append(Batch("trade", 3, 1, "d"), Position("s", 5)).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Batches(), ElementsAre("trade 3+1 d"));
}

TEST_F(RowSpoolTest, BeginsANewFileFromASizeOn) {
  ASSERT_TRUE(Open().ok());
  const std::string large(RowSpool::kFileBytes / 2, 'x');
  for (int64_t row = 0; row < 5; ++row) {
    ASSERT_TRUE(Append(Batch("trade", row, 1, large), Position("s", 1)).ok());
  }
  EXPECT_EQ(spool_->file(), 3u);
  SpoolBatch next = Batch("trade", 5, 1, "x");
  ASSERT_TRUE(spool_->Append({}, {&next, 1}).ok());
  EXPECT_EQ(next.file, 3u);
  ASSERT_TRUE(spool_->RemoveBefore(2).ok());
  EXPECT_THAT(Files(), ElementsAre("rows.000002", "rows.000003"));
  ASSERT_TRUE(Open().ok());
  const std::deque<SpoolBatch> batches = spool_->TakeBatches();
  ASSERT_EQ(batches.size(), 4);
  EXPECT_EQ(batches[0].first_row, 2);
  EXPECT_EQ(batches[0].file, 2u);
  EXPECT_EQ(batches[3].file, 3u);
}

TEST_F(RowSpoolTest, AProcessThatIsKilledAtAnyByteLeavesWholeRecords) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Append(Batch("trade", 0, 3, "abc"), Position("s", 4)).ok());
  const auto whole = fs::file_size(folder_ / "feed/rows.000001");
  ASSERT_TRUE(Append(Batch("trade", 3, 2, "de"), Position("s", 6)).ok());
  spool_.reset();
  fs::copy(folder_ / "feed", folder_ / "all");
  const auto size = fs::file_size(folder_ / "all/rows.000001");
  for (auto bytes = whole; bytes <= size; ++bytes) {
    fs::remove_all(folder_ / "feed");
    fs::copy(folder_ / "all", folder_ / "feed");
    fs::resize_file(folder_ / "feed/rows.000001", bytes);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(Open().ok()) << bytes;
      EXPECT_EQ(Batches().size(), bytes == size ? 2 : 1);
      EXPECT_THAT(Sessions(), ElementsAre(bytes == size ? "s 6" : "s 4"));
    }
    ASSERT_TRUE(Append(Batch("trade", bytes == size ? 5 : 3, 1, "x"), Position("s", 7)).ok());
  }
}

TEST_F(RowSpoolTest, NamesTheBytesThatAreDamaged) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Append(Batch("trade", 0, 3, "abc"), Position("s", 4)).ok());
  spool_.reset();
  const std::string path = folder_ / "feed/rows.000001";
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (size_t at = 8; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(path, std::ios::binary) << damaged;
    const absl::Status opened = Open();
    // A length that goes beyond the end is that of an incomplete record.
    const bool is_length = at >= 20 && at < 24;
    if (is_length) continue;
    EXPECT_EQ(opened.code(), absl::StatusCode::kDataLoss) << at;
    EXPECT_THAT(std::string(Message(opened)), HasSubstr("rows.000001: byte ")) << at;
  }
  std::ofstream(path, std::ios::binary) << bytes;
  std::ofstream(folder_ / "feed/id", std::ios::binary) << "something else";
  EXPECT_THAT(std::string(Message(Open())), HasSubstr("id: expected \"tickstack feed spool 1 \""));
}

TEST_F(RowSpoolTest, MissesAFileThatWasRemoved) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Open().ok());
  spool_.reset();
  fs::remove(folder_ / "feed/rows.000002");
  EXPECT_THAT(std::string(Message(Open())), HasSubstr("rows.000002 is missing"));
}

// A write that fails may leave a part of its record. If another record began there, the file would
// be damaged.
TEST_F(RowSpoolTest, NothingIsWrittenAfterAnError) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Append(Batch("trade", 0, 1, "a"), Position("s", 2)).ok());
  rlimit unlimited{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {fs::file_size(folder_ / "feed/rows.000001") + 30, unlimited.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status failed = Append(Batch("trade", 1, 9, std::string(500, 'b')), Position("s", 3));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, ignored);
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(Append(Batch("trade", 1, 1, "c"), Position("s", 4)), failed);
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Batches(), ElementsAre("trade 0+1 a"));
  EXPECT_THAT(Sessions(), ElementsAre("s 2"));
}

}  // namespace
}  // namespace tickstack::feed::live
