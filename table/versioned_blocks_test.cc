#include "table/versioned_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "mem/tier.h"

namespace tickstack {
namespace {

constexpr size_t kBlockRows = 64;

// Has two columns of longs, of which one keeps its values and one changes.
struct BlocksFixture {
  explicit BlocksFixture(size_t capacity_bytes = SIZE_MAX)
      : tier(mem::MakeDramTier("t", capacity_bytes)),
        blocks(std::make_unique<VersionedBlocks>(ChunkLayout(kBlockRows), Places(tier.get()))) {}

  static std::vector<VersionedBlocks::ColumnPlace> Places(mem::Tier* tier) {
    return {{sizeof(int64_t), tier, false}, {sizeof(int64_t), tier, true}};
  }
  int64_t& At(size_t column, size_t row) {
    return reinterpret_cast<int64_t*>(blocks->Piece(column, row / kBlockRows))[row % kBlockRows];
  }
  // Appends rows and sets column 1 of published ones.
  absl::Status Set(const std::map<size_t, int64_t>& values, const std::vector<int64_t>& appended) {
    std::vector<uint32_t> changed;
    for (const auto& [row, value] : values) {
      const auto block = static_cast<uint32_t>(row / kBlockRows);
      if (changed.empty() || changed.back() != block) changed.push_back(block);
    }
    TS_RETURN_IF_ERROR(blocks->Reserve(changed, rows + appended.size()));
    blocks->Install();
    for (const auto& [row, value] : values) At(1, row) = value;
    for (const int64_t value : appended) {
      At(0, rows) = static_cast<int64_t>(rows);
      At(1, rows++) = value;
    }
    blocks->Publish(rows);
    return absl::OkStatus();
  }
  std::shared_ptr<const BlockView> Pin() const { return blocks->Pin(nullptr); }

  std::unique_ptr<mem::Tier> tier;
  std::unique_ptr<VersionedBlocks> blocks;  // Destroyed before its tier.
  size_t rows = 0;
};

std::vector<int64_t> Column(const BlockView& view, size_t column) {
  std::vector<int64_t> all;
  for (size_t begin = 0; begin < view.rows(); begin += kBlockRows) {
    const std::span<const std::byte> bytes = view.Elements(column, begin / kBlockRows);
    const auto* const longs = reinterpret_cast<const int64_t*>(bytes.data());
    all.insert(all.end(), longs, longs + bytes.size() / sizeof(int64_t));
  }
  return all;
}

TEST(VersionedBlocks, KeepsAViewAsItWasWhileRowsChangeAndCome) {
  BlocksFixture f;
  const auto none = f.Pin();
  ASSERT_TRUE(f.Set({}, {1, 2, 3}).ok());
  const auto three = f.Pin();
  ASSERT_TRUE(f.Set({{1, 20}}, {4}).ok());
  EXPECT_THAT(Column(*none, 1), testing::IsEmpty());
  EXPECT_THAT(Column(*three, 1), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(Column(*f.Pin(), 1), testing::ElementsAre(1, 20, 3, 4));
  EXPECT_THAT(Column(*f.Pin(), 0), testing::ElementsAre(0, 1, 2, 3));
}

TEST(VersionedBlocks, SharesWhatDidNotChange) {
  BlocksFixture f;
  ASSERT_TRUE(f.Set({}, std::vector<int64_t>(3 * kBlockRows, 7)).ok());
  const auto before = f.Pin();
  ASSERT_TRUE(f.Set({{kBlockRows, 8}}, {}).ok());
  const auto after = f.Pin();
  const auto same = [&](size_t column, size_t block) {
    return before->Elements(column, block).data() == after->Elements(column, block).data();
  };
  EXPECT_TRUE(same(1, 0));
  EXPECT_FALSE(same(1, 1));
  EXPECT_TRUE(same(1, 2));
  EXPECT_TRUE(same(0, 1)) << "a column that does not change is not copied";
}

TEST(VersionedBlocks, GivesBackAPieceWhenTheLastViewWithItGoes) {
  BlocksFixture f;
  constexpr size_t kPieceBytes = kBlockRows * sizeof(int64_t);
  ASSERT_TRUE(f.Set({}, {1}).ok());
  const size_t alone = f.blocks->bytes(1);
  EXPECT_EQ(alone, kPieceBytes);
  for (int64_t i = 0; i < 100; ++i) ASSERT_TRUE(f.Set({{0, i}}, {}).ok());
  EXPECT_EQ(f.blocks->bytes(1), alone) << "memory does not grow with updates";
  auto first = f.Pin();
  ASSERT_TRUE(f.Set({{0, 200}}, {}).ok());
  auto second = f.Pin();
  auto second_again = f.Pin();
  for (int64_t i = 0; i < 100; ++i) ASSERT_TRUE(f.Set({{0, i}}, {}).ok());
  EXPECT_EQ(f.blocks->bytes(1), 3 * kPieceBytes) << "only what the two views have";
  first = nullptr;
  f.blocks->Reclaim();
  EXPECT_EQ(f.blocks->bytes(1), 2 * kPieceBytes);
  second = nullptr;
  f.blocks->Reclaim();
  EXPECT_EQ(f.blocks->bytes(1), 2 * kPieceBytes);
  EXPECT_THAT(Column(*second_again, 1), testing::ElementsAre(200));
  second_again = nullptr;
  f.blocks->Reclaim();
  EXPECT_EQ(f.blocks->bytes(1), alone);
}

TEST(VersionedBlocks, RefusesABatchWhenTheTierIsFullAndStaysAsItWas) {
  BlocksFixture f(size_t{8} << 10);
  ASSERT_TRUE(f.Set({}, std::vector<int64_t>(5 * kBlockRows, 7)).ok());
  const size_t before = f.tier->Stats().used_bytes;
  std::map<size_t, int64_t> everywhere;
  for (size_t block = 0; block < 5; ++block) everywhere[block * kBlockRows] = 8;
  auto held = f.Pin();
  ASSERT_TRUE(f.Set(everywhere, {}).ok());
  const absl::Status status = f.Set(everywhere, {});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Column(*f.Pin(), 1), testing::Contains(8).Times(5));
  held = nullptr;
  EXPECT_TRUE(f.Set(everywhere, {}).ok()) << "what a query held is used again";
  EXPECT_EQ(f.tier->Stats().used_bytes, before);
}

TEST(VersionedBlocks, RefusesABatchWhileEveryViewIsHeld) {
  BlocksFixture f;
  ASSERT_TRUE(f.Set({}, {1}).ok());
  std::vector<std::shared_ptr<const BlockView>> held;
  absl::Status status;
  while (status.ok()) {
    held.push_back(f.Pin());
    status = f.Set({{0, 2}}, {});
  }
  EXPECT_EQ(held.size(), VersionedBlocks::kViewsMax);
  EXPECT_EQ(Message(status), "8192 versions of its rows are held by queries, expected less");
  held[1000] = nullptr;
  EXPECT_TRUE(f.Set({{0, 3}}, {}).ok());
}

// Goal: every held view stays as it was, and the memory of all others comes back. Method: random
// batches over many blocks and leaves; views are pinned and dropped at random.
TEST(VersionedBlocks, AgreesWithCopiesOfEverything) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    BlocksFixture f;
    std::vector<int64_t> model;
    struct Held {
      std::shared_ptr<const BlockView> view;
      std::vector<int64_t> rows;
    };
    std::vector<Held> held;
    for (int batch = 0; batch < 300; ++batch) {
      std::map<size_t, int64_t> changed;
      for (size_t i = model.empty() ? 5 : rng() % 5; i < 5; ++i) {
        changed[rng() % model.size()] = static_cast<int64_t>(rng());
      }
      std::vector<int64_t> appended(rng() % 4 == 0 ? rng() % 100 : 0);
      for (int64_t& value : appended) value = static_cast<int64_t>(rng());
      ASSERT_TRUE(f.Set(changed, appended).ok());
      for (const auto& [row, value] : changed) model[row] = value;
      model.insert(model.end(), appended.begin(), appended.end());
      if (rng() % 3 == 0) held.push_back({f.Pin(), model});
      if (!held.empty() && rng() % 3 == 0) {
        const auto gone = held.begin() + static_cast<ptrdiff_t>(rng() % held.size());
        ASSERT_EQ(Column(*gone->view, 1), gone->rows);
        held.erase(gone);
      }
    }
    for (const Held& each : held) ASSERT_EQ(Column(*each.view, 1), each.rows);
    held.clear();
    f.blocks->Reclaim();
    const size_t blocks = (model.size() + kBlockRows - 1) / kBlockRows;
    EXPECT_EQ(f.blocks->bytes(1), blocks * kBlockRows * sizeof(int64_t));
    EXPECT_EQ(f.tier->Stats().used_bytes, f.blocks->bytes(0) + f.blocks->bytes(1));
  }
}

}  // namespace
}  // namespace tickstack
