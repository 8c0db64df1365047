#include "disk/segment_moves.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::disk {
namespace {

namespace fs = std::filesystem;

// Allows some steps and refuses all later ones, like a kill.
class Killer : public StorageObserver {
 public:
  explicit Killer(size_t steps) : left_(steps) {}
  absl::Status Before(StorageStep, const std::string&, size_t) override {
    if (left_ == 0) return absl::UnavailableError("killed");
    --left_;
    return absl::OkStatus();
  }

 private:
  size_t left_;
};

class SegmentMovesTest : public testing::Test {
 protected:
  SegmentMovesTest() : root_(fs::temp_directory_path() / "tickstack.XXXXXX") {
    TS_CHECK(::mkdtemp(root_.data()) != nullptr);
    Rebuild();
  }
  ~SegmentMovesTest() override { fs::remove_all(root_); }

  void Rebuild() {
    for (const std::string& segment : segments_) fs::remove_all(root_ + segment);
    std::ofstream(root_ + "/par.txt") << "a\nb\nc\n";
    for (const std::string& segment : segments_) fs::create_directories(root_ + segment);
    AddPartition("/a/2024.01.01", 6'000);
    AddPartition("/a/2024.01.02", 5'000);
    AddPartition("/a/2024.01.03", 4'000);
    AddPartition("/b/2024.01.04", 3'000);
  }
  void AddPartition(const std::string& place, size_t bytes) {
    fs::create_directories(root_ + place + "/trade");
    std::ofstream(root_ + place + "/trade/.d") << "d of " << place;
    std::ofstream(root_ + place + "/trade/price") << std::string(bytes, place.back());
  }
  // Returns the partitions by place, with the sizes of their prices.
  std::map<std::string, uintmax_t> Partitions() {
    std::map<std::string, uintmax_t> found;
    for (const std::string& segment : segments_) {
      for (const fs::directory_entry& entry : fs::directory_iterator(root_ + segment)) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with('$')) continue;
        TS_CHECK(found.emplace(name, fs::file_size(entry.path() / "trade/price")).second);
      }
    }
    return found;
  }
  std::vector<std::string> Segments() const { return {root_ + "/a", root_ + "/b", root_ + "/c"}; }
  std::vector<SegmentLoad> Measure() {
    const absl::StatusOr<std::shared_ptr<const Database>> database = Database::Open(root_);
    TS_CHECK(database.ok());
    return *MeasureSegments(**database);
  }

  const std::vector<std::string> segments_ = {"/a", "/b", "/c"};
  const std::map<std::string, uintmax_t> all_ = {
      {"2024.01.01", 6'000}, {"2024.01.02", 5'000}, {"2024.01.03", 4'000}, {"2024.01.04", 3'000}};
  std::string root_;
};

TEST_F(SegmentMovesTest, MovesMakeTheFullestSegmentSmaller) {
  const std::vector<SegmentLoad> before = Measure();
  EXPECT_GT(before[0].bytes, 15'000u);
  EXPECT_GT(Skew(before), 2.4);
  for (const PartitionMove& move : PlanMoves(before)) {
    ASSERT_TRUE(MovePartition(move, Storage()).ok());
  }
  EXPECT_EQ(Partitions(), all_);
  EXPECT_LT(Skew(Measure()), 1.4);
  EXPECT_TRUE(PlanMoves(Measure()).empty()) << "there is an end";
}

TEST_F(SegmentMovesTest, WhatIsEvenStaysWhereItIs) {
  const std::vector<SegmentLoad> even = {{"a", {{"2024.01.01", 10}, {"2024.01.03", 9}}, 19},
                                         {"b", {{"2024.01.02", 12}}, 12}};
  EXPECT_TRUE(PlanMoves(even).empty());
  EXPECT_TRUE(PlanMoves({}).empty());
}

TEST_F(SegmentMovesTest, MovesByAgePutOldPartitionsIntoOneSegmentAndNewOnesElsewhere) {
  AddPartition("/c/2024.01.05", 1'000);
  AddPartition("/c/2024.01.02", 500);  // A part of what `a` has, too.
  const auto steps = [this] {
    std::vector<std::string> moves;
    const int32_t first = *ParseDate("2024.01.04");
    for (const PartitionMove& move : PlanMovesByAge(Measure(), root_ + "/c", first)) {
      moves.push_back(move.from.substr(root_.size()) + move.to.substr(root_.size()) + " " +
                      move.name);
    }
    return moves;
  };
  EXPECT_EQ(steps(),
            (std::vector<std::string>{"/c/b 2024.01.05", "/a/c 2024.01.01", "/a/c 2024.01.03"}));
  for (const PartitionMove& move :
       PlanMovesByAge(Measure(), root_ + "/c", *ParseDate("2024.01.04"))) {
    ASSERT_TRUE(MovePartition(move, Storage()).ok());
  }
  EXPECT_EQ(steps(), std::vector<std::string>());
  EXPECT_TRUE(fs::exists(root_ + "/c/2024.01.03/trade/price"));
  EXPECT_TRUE(fs::exists(root_ + "/b/2024.01.04/trade/price"));
}

TEST_F(SegmentMovesTest, APartOfTheSamePartitionIsNotMergedInto) {
  const std::vector<SegmentLoad> loads = {{"a", {{"2024.01.01", 50}}, 50},
                                          {"b", {{"2024.01.01", 10}}, 10}};
  EXPECT_TRUE(PlanMoves(loads).empty());
  EXPECT_FALSE(MovePartition({"2024.01.04", root_ + "/a", root_ + "/b", 0}, Storage()).ok());
}

// Kept versions stay where they are: only a merge beside them could end its own leftovers.
TEST_F(SegmentMovesTest, AMoveFirstEndsAnInterruptedMerge) {
  fs::create_directories(root_ + "/a/revised.2024.01.02.1$/trade");  // Of version 0: exchanged.
  ASSERT_TRUE(MovePartition({"2024.01.02", root_ + "/a", root_ + "/c", 0}, Storage()).ok());
  EXPECT_TRUE(fs::exists(root_ + "/a/replaced.2024.01.02.0$/trade"));
  EXPECT_FALSE(fs::exists(root_ + "/a/revised.2024.01.02.1$"));
  EXPECT_EQ(Partitions(), all_);
}

// Goal: no partition is lost or doubled, whenever the mover dies. Method: the same move, ended
// before its n-th step for every n; then the recovery at the next start, and the move again.
TEST_F(SegmentMovesTest, AMoveThatDiedIsEndedOrForgotten) {
  const PartitionMove move{"2024.01.01", root_ + "/a", root_ + "/c", 6'000};
  for (size_t steps = 0;; ++steps) {
    SCOPED_TRACE(steps);
    Rebuild();
    Killer killer(steps);
    const absl::Status moved = MovePartition(move, Storage(&killer));
    EXPECT_LE(Partitions().size(), all_.size());
    ASSERT_TRUE(FinishMoves(Segments(), Storage()).ok());
    ASSERT_EQ(Partitions(), all_);
    for (const std::string& segment : Segments()) {
      for (const fs::directory_entry& entry : fs::directory_iterator(segment)) {
        EXPECT_FALSE(entry.path().string().ends_with('$')) << entry.path();
      }
    }
    if (moved.ok()) {
      EXPECT_GT(steps, 10u);
      break;
    }
    if (!fs::exists(root_ + "/c/2024.01.01")) {
      ASSERT_TRUE(MovePartition(move, Storage()).ok());
    }
    ASSERT_EQ(Partitions(), all_);
  }
}

TEST_F(SegmentMovesTest, PartsOfTheSamePartitionElsewhereAreNoCopies) {
  for (size_t steps = 0; steps < 25; ++steps) {
    Rebuild();
    AddPartition("/b/2024.01.01", 77);
    Killer killer(steps);
    (void)MovePartition({"2024.01.01", root_ + "/a", root_ + "/c", 0}, Storage(&killer));
    ASSERT_TRUE(FinishMoves(Segments(), Storage()).ok());
    uintmax_t bytes = 0;
    for (const std::string& segment : Segments()) {
      const fs::path price = segment + "/2024.01.01/trade/price";
      if (fs::exists(price)) bytes += fs::file_size(price);
    }
    ASSERT_EQ(bytes, 6'077u) << steps;
  }
}

// Between the two renames the day is in no segment; a writer that writes it again then creates a
// second one.
TEST_F(SegmentMovesTest, APartitionThatWasWrittenAgainIsNotReplaced) {
  const PartitionMove move{"2024.01.01", root_ + "/a", root_ + "/c", 6'000};
  const std::string moved = root_ + "/a/" + NameWhileMoved("2024.01.01");
  for (const std::string again : {"/a/2024.01.01", "/c/2024.01.01"}) {
    Rebuild();
    size_t steps = 0;
    for (; !fs::exists(moved); ++steps) {
      Rebuild();
      Killer killer(steps);
      ASSERT_FALSE(MovePartition(move, Storage(&killer)).ok());
    }
    EXPECT_EQ(UnfinishedMoves(Segments())->size(), 2u);
    AddPartition(again, 42);
    const absl::Status refused = FinishMoves(Segments(), Storage()).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(Message(refused).find(again + ": written again"), std::string::npos) << refused;
    EXPECT_EQ(Partitions().at("2024.01.01"), 42u);
    fs::remove_all(root_ + again);
    EXPECT_EQ(*FinishMoves(Segments(), Storage()), 1u);
    EXPECT_EQ(Partitions(), all_);
    EXPECT_TRUE(UnfinishedMoves(Segments())->empty());
  }
}

// The process that completes moves may die as well.
TEST_F(SegmentMovesTest, EndingMovesCanDieToo) {
  const PartitionMove move{"2024.01.01", root_ + "/a", root_ + "/c", 6'000};
  for (size_t steps = 0; steps < 25; ++steps) {
    for (size_t more = 0; more < 3; ++more) {
      Rebuild();
      Killer killer(steps), again(more);
      (void)MovePartition(move, Storage(&killer));
      (void)FinishMoves(Segments(), Storage(&again));
      ASSERT_TRUE(FinishMoves(Segments(), Storage()).ok());
      ASSERT_EQ(Partitions(), all_) << steps << " " << more;
    }
  }
}

}  // namespace
}  // namespace tickstack::disk
