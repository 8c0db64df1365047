#include "mem/persistent_tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "base/status.h"
#include "mem/power_cut.h"

namespace tickstack::mem {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class PersistentTierTest : public testing::TestWithParam<const char*> {
 protected:
  PersistentTierTest() : path_(std::string(GetParam()) + "/tickstack-persistent-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
    options_.name = "pmem";
    options_.kind = TierKind::kPersistent;
    options_.path = path_;
    options_.file = "rdb.tier";
    options_.capacity_bytes = 16 * kMiB;
  }
  ~PersistentTierTest() override { std::filesystem::remove_all(path_); }

  std::unique_ptr<PersistentTier> Open() {
    absl::StatusOr<std::unique_ptr<PersistentTier>> tier = PersistentTier::Open(options_);
    EXPECT_TRUE(tier.ok()) << tier.status();
    return *std::move(tier);
  }
  static std::string Root(const PersistentTier& tier) { return std::string(AsText(tier.root())); }
  static absl::Status Commit(PersistentTier& tier, std::string_view root) {
    return tier.Commit(AsBytes(root));
  }
  std::string FilePath() const { return path_ + "/rdb.tier"; }
  void Damage(size_t offset) {
    std::fstream file(FilePath(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 0x40));
  }

  std::string path_;
  TierOptions options_;
};

INSTANTIATE_TEST_SUITE_P(Directories, PersistentTierTest, testing::Values("/dev/shm", "."),
                         [](const auto& of) {
                           return std::string(of.param[0] == '.' ? "disk" : "tmpfs");
                         });

TEST_P(PersistentTierTest, FindsWhatWasCommittedAtItsOffset) {
  uint64_t chunk = 0, block = 0;
  {
    const auto tier = Open();
    EXPECT_EQ(tier->root().size(), 0u);
    std::byte* const large = *tier->Allocate(2 * kMiB);
    std::byte* const small = *tier->Allocate(512);
    std::memset(large, 7, 2 * kMiB);
    std::memset(small, 9, 512);
    tier->Flush(large, 2 * kMiB);
    tier->Flush(small, 512);
    chunk = tier->OffsetOf(large);
    block = tier->OffsetOf(small);
    ASSERT_TRUE(Commit(*tier, "first").ok());
    EXPECT_EQ(tier->CommitStats().commits, 1u);
  }
  const auto tier = Open();
  EXPECT_EQ(Root(*tier), "first");
  EXPECT_EQ(tier->Stats().used_bytes, 2 * kMiB + 512);
  std::byte* const large = *tier->Find(chunk, 2 * kMiB);
  EXPECT_EQ(large[0], std::byte{7});
  EXPECT_EQ(large[2 * kMiB - 1], std::byte{7});
  EXPECT_EQ((*tier->Find(block, 512))[511], std::byte{9});
  // The rest of the page continues at its old place, and new pages are different ones.
  EXPECT_EQ(tier->OffsetOf(*tier->Allocate(512)), block + 512);
  EXPECT_NE(tier->OffsetOf(*tier->Allocate(2 * kMiB)), chunk);
}

TEST_P(PersistentTierTest, ForgetsWhatWasNotCommitted) {
  {
    const auto tier = Open();
    ASSERT_TRUE(Commit(*tier, "a").ok());
    ASSERT_TRUE(tier->Allocate(4 * kMiB).ok());
  }
  const auto tier = Open();
  EXPECT_EQ(Root(*tier), "a");
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
  EXPECT_EQ(tier->Find(0, 64).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(tier->Find(1 << 30, 64).status())),
              testing::HasSubstr("rdb.tier: 64 bytes at offset 1073741824 are not an allocation"));
  EXPECT_FALSE(tier->Find(UINT64_MAX - 63, 64).ok());
}

TEST_P(PersistentTierTest, GivesFreedMemoryOutAfterTheCommitThatDoesNotNeedIt) {
  const auto tier = Open();
  std::byte* const first = *tier->Allocate(2 * kMiB);
  ASSERT_TRUE(Commit(*tier, "a").ok());
  tier->Free(first, 2 * kMiB);
  std::byte* const second = *tier->Allocate(2 * kMiB);
  EXPECT_NE(second, first);
  ASSERT_TRUE(Commit(*tier, "b").ok());
  EXPECT_EQ(*tier->Allocate(2 * kMiB), first);
}

TEST_P(PersistentTierTest, TakesTheCommitBeforeADamagedOne) {
  for (const size_t damaged : {size_t{4096 + 8}, size_t{4096 + 4096}, size_t{8192 + (256 << 10)}}) {
    std::filesystem::remove(FilePath());
    {
      const auto tier = Open();
      ASSERT_TRUE(Commit(*tier, "one").ok());  // Slot 1.
      ASSERT_TRUE(tier->Allocate(2 * kMiB).ok());
      ASSERT_TRUE(Commit(*tier, "two").ok());  // Slot 0: header at 4096, root, words.
    }
    Damage(damaged);
    EXPECT_EQ(Root(*Open()), "one") << damaged;
  }
}

TEST_P(PersistentTierTest, MakesAnewWhatItCannotUse) {
  {
    const auto tier = Open();
    ASSERT_TRUE(Commit(*tier, "one").ok());
  }
  Damage(0);  // The superblock.
  EXPECT_EQ(Root(*Open()), "");
  {
    const auto tier = Open();
    ASSERT_TRUE(Commit(*tier, "one").ok());
  }
  options_.capacity_bytes = 32 * kMiB;
  EXPECT_EQ(Root(*Open()), "");
  EXPECT_EQ(std::filesystem::file_size(FilePath()), 32 * kMiB);
  {
    const auto tier = Open();
    std::byte* const memory = *tier->Allocate(2 * kMiB);
    ASSERT_TRUE(Commit(*tier, "one").ok());
    ASSERT_NE(memory, nullptr);
  }
  {
    const auto tier = Open();
    ASSERT_TRUE(tier->Forget().ok());
    EXPECT_EQ(tier->Stats().used_bytes, 0u);
    EXPECT_EQ(tier->OffsetOf(*tier->Allocate(2 * kMiB)), 0u);
  }
  EXPECT_EQ(Root(*Open()), "");
}

// Goal: discarding the content of a tier while its thread touches pages neither fails nor loses a
// page. Method: all free pages of a tier that was just opened are untouched, so its thread begins
// to touch them when it starts; the content is discarded at various times after that.
TEST_P(PersistentTierTest, DiscardsItsContentWhilePagesAreTouchedAhead) {
  options_.capacity_bytes = options_.touch_ahead_bytes = 32 * kMiB;
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    const auto tier = Open();
    std::this_thread::sleep_for(std::chrono::microseconds(50 * i));
    ASSERT_TRUE(tier->Forget().ok());
    ASSERT_NE(tier->TryAllocate(2 * kMiB), nullptr);
    ASSERT_TRUE(Commit(*tier, "a page").ok());
    size_t pages = 1;
    while (tier->TryAllocate(2 * kMiB) != nullptr) ++pages;
    EXPECT_EQ(pages, 15u) << i;  // One of sixteen is metadata.
  }
}

TEST_P(PersistentTierTest, IsOpenOnce) {
  const auto tier = Open();
  const absl::Status second = PersistentTier::Open(options_).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(second)), testing::StartsWith("tier pmem: "));
}

TEST_P(PersistentTierTest, RefusesWhatItCannotHold) {
  const auto tier = Open();
  const std::string root(PersistentTier::kRootBytesMax + 1, 'x');
  EXPECT_EQ(Commit(*tier, root).code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(Commit(*tier, root.substr(1)).ok());
  int pages = 0;
  while (tier->Allocate(2 * kMiB).ok()) ++pages;
  EXPECT_EQ(pages, 7);  // One of eight is metadata.
  EXPECT_EQ(tier->Stats().refused, 1u);
}

TEST(PersistentTier, SaysWhatTheDirectoryLacks) {
  TierOptions options;
  options.name = "pmem";
  options.kind = TierKind::kPersistent;
  options.path = "/dev/shm";
  options.file = "tickstack-persistent-test-large";
  options.capacity_bytes = size_t{1} << 44;
  const absl::Status status = PersistentTier::Open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(status)),
              testing::MatchesRegex("tier pmem: /dev/shm \\(tmpfs\\) has [0-9]+ bytes free, "
                                    "expected 17592186044416 for the tier's size"));
  std::filesystem::remove("/dev/shm/tickstack-persistent-test-large");
}

class FailingPersistence final : public Persistence {
 public:
  explicit FailingPersistence(const bool* fail) : fail_(fail) {}
  void Flush(const std::byte*, size_t) override {}
  absl::Status Fence() override { return *fail_ ? Internal("no medium") : absl::OkStatus(); }

 private:
  const bool* const fail_;
};

TEST_P(PersistentTierTest, RefusesEverythingOnceTheDeviceDid) {
  bool fail = false;
  {
    const auto tier = *PersistentTier::Open(options_, std::make_unique<FailingPersistence>(&fail));
    ASSERT_TRUE(Commit(*tier, "kept").ok());
    fail = true;
    EXPECT_THAT(std::string(Message(Commit(*tier, "lost"))), testing::HasSubstr("no medium"));
    fail = false;
    EXPECT_FALSE(Commit(*tier, "lost too").ok());
    EXPECT_EQ(tier->Allocate(64).status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(Root(*Open()), "kept");
}

// Goal: wherever the power fails, opening finds the last commit or the one in progress, with all of
// its data, and grants nothing that it holds. Method: random allocations, frees and stores. At
// every flush and fence, three images of the medium are opened: only what is certain arrived, half
// of the rest, everything.
TEST(PersistentTier, FindsAWholeCommitWhereverThePowerGoes) {
  std::string path = "/dev/shm/tickstack-powercut-test-XXXXXX";
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  TierOptions options;
  options.name = "t";
  options.kind = TierKind::kPersistent;
  options.path = path;
  options.file = "live";
  options.capacity_bytes = 16 * kMiB;
  TierOptions copy = options;
  copy.file = "copy";

  // What a commit guarantees: `bytes` bytes of the value `stamp` at `offset`.
  struct Block {
    uint64_t offset;
    uint32_t bytes;
    uint8_t stamp;
    uint8_t pad[3];
  };
  std::vector<Block> committed, committing;
  std::mt19937_64 rng(3);
  int points = 0;
  const auto check = [&](PowerCut& cut) {
    ++points;
    // Each takes some 20 ms: a random sample, which depends on the seed.
    if (rng() % 5 != 0) return;
    for (const double arrived : {0.0, 0.5, 1.0}) {
      const std::vector<std::byte> image = cut.Image(arrived, rng);
      std::ofstream(path + "/copy", std::ios::binary)
          .write(reinterpret_cast<const char*>(image.data()),
                 static_cast<std::streamsize>(image.size()));
      const auto tier = *PersistentTier::Open(copy);
      std::vector<Block> found(tier->root().size() / sizeof(Block));
      if (!found.empty()) std::memcpy(found.data(), tier->root().data(), tier->root().size());
      const auto same = [&](const std::vector<Block>& blocks) {
        return blocks.size() == found.size() &&
               (found.empty() ||
                std::memcmp(blocks.data(), found.data(), tier->root().size()) == 0);
      };
      ASSERT_TRUE(same(committed) || same(committing)) << points << " " << arrived;
      std::map<uint64_t, uint64_t> held;
      for (const Block& block : found) {
        const auto memory = tier->Find(block.offset, block.bytes);
        ASSERT_TRUE(memory.ok()) << memory.status();
        for (uint32_t i = 0; i < block.bytes; ++i) {
          ASSERT_EQ((*memory)[i], std::byte{block.stamp}) << points << " " << arrived;
        }
        held[block.offset] = block.offset + Tier::RoundedBytes(block.bytes);
      }
      for (int i = 0; i < 20; ++i) {
        const auto fresh = tier->Allocate(i % 5 == 0 ? kMiB + 1 : size_t{256} << (i % 4));
        if (!fresh.ok()) continue;
        const uint64_t offset = tier->OffsetOf(*fresh);
        const auto after = held.upper_bound(offset);
        ASSERT_TRUE(after == held.begin() || std::prev(after)->second <= offset);
      }
    }
  };
  {
    const auto tier = *PersistentTier::Open(options, std::make_unique<PowerCut>(check));
    std::vector<Block> live;
    std::map<uint64_t, std::byte*> memory_at;
    for (int commit = 0; commit < 25; ++commit) {
      for (int step = 0; step < 4; ++step) {
        if (!live.empty() && rng() % 3 == 0) {
          std::swap(live[rng() % live.size()], live.back());
          tier->Free(memory_at[live.back().offset], live.back().bytes);
          live.pop_back();
          continue;
        }
        const auto bytes =
            static_cast<uint32_t>(rng() % 9 == 0 ? kMiB + rng() % kMiB : 100 + rng() % 3000);
        const auto memory = tier->Allocate(bytes);
        if (!memory.ok()) continue;
        const auto stamp = static_cast<uint8_t>(rng());
        std::memset(*memory, stamp, bytes);
        tier->Flush(*memory, bytes);
        live.push_back({tier->OffsetOf(*memory), bytes, stamp, {}});
        memory_at[live.back().offset] = *memory;
      }
      committing = live;
      ASSERT_TRUE(tier->Commit(std::as_bytes(std::span(live))).ok());
      committed = live;
      if (testing::Test::HasFatalFailure()) break;
    }
  }
  EXPECT_GT(points, 200);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace tickstack::mem
