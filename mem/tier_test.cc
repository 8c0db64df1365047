#include "mem/tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/status.h"
#include "mem/arena.h"
#include "mem/numa.h"
#include "mem/touch_pause.h"

namespace tickstack::mem {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

bool AllOf(const std::byte* memory, size_t bytes, std::byte value) {
  return std::all_of(memory, memory + bytes, [value](std::byte b) { return b == value; });
}

// A temporary directory.
class Directory {
 public:
  explicit Directory(const std::string& in) : path_(in + "/tickstack-tier-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

struct Kind {
  const char* name;
  TierKind kind;
  const char* directory;  // For a file kind.
  FileAllocator allocator;
};

// Every kind, the file kinds on tmpfs and on a disk. Node 0 exists on any machine.
class AnyTier : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Tier> Open(size_t capacity_bytes, size_t touch_ahead_bytes = 0) {
    TierOptions options;
    options.name = "t";
    options.kind = GetParam().kind;
    options.allocator = GetParam().allocator;
    options.capacity_bytes = capacity_bytes;
    options.touch_ahead_bytes = touch_ahead_bytes;
    if (options.kind == TierKind::kNuma) options.nodes = {0};
    if (GetParam().directory != nullptr) {
      directory_ = std::make_unique<Directory>(GetParam().directory);
      options.path = directory_->path();
    }
    absl::StatusOr<std::unique_ptr<Tier>> tier = OpenTier(options);
    EXPECT_TRUE(tier.ok()) << tier.status();
    return *std::move(tier);
  }
  std::unique_ptr<Directory> directory_;  // The directory of the last opened tier.
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, AnyTier,
    testing::Values(Kind{"dram", TierKind::kDram, nullptr, FileAllocator::kArena},
                    Kind{"numa", TierKind::kNuma, nullptr, FileAllocator::kArena},
                    Kind{"tmpfs", TierKind::kFilesystem, "/dev/shm", FileAllocator::kArena},
                    Kind{"disk", TierKind::kFilesystem, ".", FileAllocator::kArena},
                    Kind{"memkind_tmpfs", TierKind::kFilesystem, "/dev/shm",
                         FileAllocator::kMemkind},
                    Kind{"memkind_disk", TierKind::kFilesystem, ".", FileAllocator::kMemkind}),
    [](const auto& of) { return std::string(of.param.name); });

TEST_P(AnyTier, HandsOutAlignedWritableMemoryOfEverySize) {
  const auto tier = Open(256 * kMiB);
  for (const size_t bytes : {size_t{1}, size_t{255}, size_t{256}, size_t{257}, size_t{4096}, kMiB,
                             kMiB + 1, 2 * kMiB, 2 * kMiB + 1, 30 * kMiB}) {
    SCOPED_TRACE(bytes);
    absl::StatusOr<std::byte*> memory = tier->Allocate(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    const auto address = reinterpret_cast<uintptr_t>(*memory);
    EXPECT_EQ(address % (bytes >= 2 * kMiB ? Tier::kHugePageBytes : Tier::kAlignment), 0u);
    std::memset(*memory, 0xab, bytes);
    tier->Free(*memory, bytes);
  }
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
}

TEST(DramTier, RoundsToPowersOfTwoAndThenToHugePages) {
  EXPECT_EQ(Tier::RoundedBytes(1), 256u);
  EXPECT_EQ(Tier::RoundedBytes(257), 512u);
  EXPECT_EQ(Tier::RoundedBytes(kMiB + 1), 2 * kMiB);
  EXPECT_EQ(Tier::RoundedBytes(5 * kMiB), 6 * kMiB);
}

TEST_P(AnyTier, ReusesWhatIsWarm) {
  const auto tier = Open(64 * kMiB);
  for (const size_t bytes : {size_t{256}, 2 * kMiB, 6 * kMiB}) {
    SCOPED_TRACE(bytes);
    std::byte* const first = *tier->Allocate(bytes);
    tier->Free(first, bytes);
    std::byte* const second = *tier->Allocate(bytes);
    EXPECT_EQ(second, first);
    tier->Free(second, bytes);
  }
}

TEST(DramTier, TouchesFirstWhatItIsToldToWithinItsCapacity) {
  for (const size_t capacity : {SIZE_MAX, 64 * kMiB, 8 * kMiB}) {
    SCOPED_TRACE(capacity);
    const size_t expected = std::min(16 * kMiB, capacity);
    const auto tier = *OpenTier({.capacity_bytes = capacity,
                                 .touch_ahead_bytes = 4 * kMiB,
                                 .touch_first_bytes = 16 * kMiB});
    const auto touches = [&tier](size_t bytes) {
      for (int i = 0; i < 2000 && tier->ResidentBytes() < bytes; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      return tier->ResidentBytes() == bytes;
    };
    EXPECT_TRUE(touches(expected));
    // What is allocated of it is touched already, and is not replaced.
    std::byte* const memory = *tier->Allocate(4 * kMiB);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(tier->ResidentBytes(), expected);
    if (capacity == SIZE_MAX) {
      // Less is left of it than is to be pre-touched.
      std::byte* const more = *tier->Allocate(12 * kMiB);
      EXPECT_TRUE(touches(expected + 4 * kMiB));
      tier->Free(more, 12 * kMiB);
    }
    tier->Free(memory, 4 * kMiB);
  }
}

// Goal: threads that must not wait for the kernel's work on the map do not. Method: a tier opens
// and allocates in a pause.
TEST(DramTier, TouchesNothingAheadInAPause) {
  std::optional<TouchPause> pause(std::in_place);
  const auto tier = *OpenTier({.touch_first_bytes = 16 * kMiB});
  std::byte* const memory = *tier->Allocate(4 * kMiB);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(tier->ResidentBytes(), 4 * kMiB);
  pause.reset();
  for (int i = 0; i < 2000 && tier->ResidentBytes() < 16 * kMiB; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(tier->ResidentBytes(), 16 * kMiB);
  tier->Free(memory, 4 * kMiB);
}

TEST(DramTier, RefusesByNameWhatItsCapacityDoesNotHold) {
  const auto tier = MakeDramTier("small", 4 * kMiB);
  std::byte* const first = *tier->Allocate(2 * kMiB);
  std::byte* const second = *tier->Allocate(kMiB);
  const absl::Status refused = tier->Allocate(2 * kMiB).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(refused),
            "tier small: 2097152 bytes refused: its capacity is reached: 3145728 of 4194304 bytes "
            "used");
  EXPECT_EQ(tier->Stats().refused, 1u);
  std::byte* const third = *tier->Allocate(kMiB);
  EXPECT_EQ(tier->Stats().used_bytes, 4 * kMiB);
  tier->Free(first, 2 * kMiB);
  tier->Free(second, kMiB);
  tier->Free(third, kMiB);
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
  EXPECT_EQ(tier->Stats().high_water_bytes, 4 * kMiB);
}

TEST(DramTier, RefusesASizeThatNoAddressSpaceHolds) {
  const auto tier = MakeDramTier("t");
  EXPECT_EQ(tier->Allocate(SIZE_MAX).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(tier->Allocate(SIZE_MAX / 2).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
}

// Goal: live allocations never overlap, and the stats are the sum of live allocations. Method:
// random allocations and frees of mixed sizes, each block marked with its number at both ends.
TEST_P(AnyTier, NeverHandsOutTheSameByteTwice) {
  struct Live {
    std::byte* memory;
    size_t bytes;
    uint64_t stamp;
  };
  for (const size_t ahead : {size_t{0}, 8 * kMiB}) {
    const auto tier = Open(256 * kMiB, ahead);
    std::mt19937_64 rng(7);
    std::vector<Live> live;
    size_t used = 0;
    for (uint64_t step = 1; step <= 3000; ++step) {
      if (live.empty() || rng() % 3 != 0) {
        const size_t bytes = rng() % 8 == 0 ? 1 + rng() % (9 * kMiB) : 16 + rng() % 100'000;
        absl::StatusOr<std::byte*> memory = tier->Allocate(bytes);
        if (!memory.ok()) {
          // Anonymous memory has spare addresses. In a file, runs of pages leave gaps.
          const bool exact = GetParam().directory == nullptr;
          ASSERT_GT(used + Tier::RoundedBytes(bytes), exact ? 256 * kMiB : 128 * kMiB);
          continue;
        }
        std::memcpy(*memory, &step, 8);
        std::memcpy(*memory + bytes - 8, &step, 8);
        live.push_back({*memory, bytes, step});
        used += Tier::RoundedBytes(bytes);
      } else {
        std::swap(live[rng() % live.size()], live.back());
        const Live gone = live.back();
        live.pop_back();
        ASSERT_EQ(std::memcmp(gone.memory, &gone.stamp, 8), 0);
        ASSERT_EQ(std::memcmp(gone.memory + gone.bytes - 8, &gone.stamp, 8), 0);
        tier->Free(gone.memory, gone.bytes);
        used -= Tier::RoundedBytes(gone.bytes);
      }
      ASSERT_EQ(tier->Stats().used_bytes, used);
    }
    for (const Live& l : live) tier->Free(l.memory, l.bytes);
    EXPECT_EQ(tier->Stats().used_bytes, 0u);
  }
}

TEST_P(AnyTier, ServesSeveralThreadsAtOnce) {
  const auto tier = Open(64 * kMiB, 4 * kMiB);
  std::atomic<int> torn = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&tier, &torn, t] {
      for (int i = 0; i < 50; ++i) {
        const size_t bytes = i % 5 == 0 ? 2 * kMiB : size_t{256} << (i % 4);
        std::byte* const memory = *tier->Allocate(bytes);
        std::memset(memory, t + 1, bytes);
        std::this_thread::yield();
        if (!AllOf(memory, bytes, static_cast<std::byte>(t + 1))) ++torn;
        tier->Free(memory, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
}

TEST_P(AnyTier, RefusesWhenItIsFullAndServesOnAfterAFree) {
  const auto tier = Open(64 * kMiB);
  std::vector<std::byte*> taken;
  absl::Status refused;
  while (refused.ok() && taken.size() < 100) {
    const absl::StatusOr<std::byte*> memory = tier->Allocate(2 * kMiB);
    refused = memory.status();
    if (!memory.ok()) break;
    std::memset(*memory, 1, 2 * kMiB);
    taken.push_back(*memory);
  }
  EXPECT_GE(taken.size(), 31u);
  EXPECT_LE(taken.size(), 32u);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(refused)), testing::HasSubstr("tier t: 2097152 bytes refused"));
  EXPECT_EQ(tier->Stats().refused, 1u);
  tier->Free(taken.back(), 2 * kMiB);
  taken.back() = *tier->Allocate(2 * kMiB);
  for (std::byte* const memory : taken) tier->Free(memory, 2 * kMiB);
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
}

TEST_P(AnyTier, LeavesNothingInItsDirectory) {
  const auto tier = Open(16 * kMiB);
  std::memset(*tier->Allocate(4 * kMiB), 1, 4 * kMiB);
  EXPECT_TRUE(directory_ == nullptr || directory_->empty());
}

TEST(FilesystemTier, SaysWhatItIsAndWhatItHolds) {
  const Directory directory("/dev/shm");
  TierOptions options{.name = "shm", .kind = TierKind::kFilesystem, .path = directory.path()};
  options.capacity_bytes = 33 * kMiB;
  const auto tier = *OpenTier(options);
  std::memset(*tier->Allocate(4 * kMiB), 1, 4 * kMiB);
  const TierStats stats = tier->Stats();
  EXPECT_EQ(stats.name, "shm");
  EXPECT_EQ(stats.kind, "filesystem");
  EXPECT_EQ(stats.path, directory.path());
  EXPECT_EQ(stats.filesystem, "tmpfs");
  EXPECT_FALSE(stats.dax);
  EXPECT_EQ(stats.capacity_bytes, 32 * kMiB);
  EXPECT_EQ(stats.used_bytes, 4 * kMiB);
  EXPECT_EQ(tier->ResidentBytes(), 32 * kMiB);  // All of it was allocated when the tier opened.
}

TEST(FilesystemTier, TakesItsWholeSizeWhenItOpens) {
  const Directory directory(".");
  const size_t before = FactsOfFilesystem(directory.path())->free_bytes;
  TierOptions options{.name = "t", .kind = TierKind::kFilesystem, .path = directory.path()};
  options.capacity_bytes = 256 * kMiB;
  const auto tier = *OpenTier(options);
  const size_t after = FactsOfFilesystem(directory.path())->free_bytes;
  EXPECT_GE(before + 64 * kMiB, after + 256 * kMiB) << before << " " << after;
}

TEST(FilesystemTier, SaysWhatIsMissing) {
  const auto error = [](const TierOptions& options) {
    return std::string(Message(OpenTier(options).status()));
  };
  TierOptions options{.name = "pmem", .kind = TierKind::kFilesystem, .capacity_bytes = 16 * kMiB};
  EXPECT_EQ(error(options), "tier pmem: kind filesystem: expected the path of a directory");
  options.path = "/dev/shm/no/such/directory";
  EXPECT_EQ(error(options), "tier pmem: /dev/shm/no/such/directory: No such file or directory");
  options.path = "/proc";
  EXPECT_THAT(error(options), testing::StartsWith("tier pmem: /proc"));
  options.path = "/dev/shm";
  options.capacity_bytes = SIZE_MAX;
  EXPECT_EQ(error(options),
            "tier pmem: kind filesystem: expected a size from 16 MiB on, found none");
  options.capacity_bytes = kMiB;
  EXPECT_EQ(error(options),
            "tier pmem: kind filesystem: expected a size from 16 MiB on, found 1048576 bytes");
  options.capacity_bytes = size_t{1} << 44;
  const absl::Status status = OpenTier(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(status)),
              testing::MatchesRegex("tier pmem: /dev/shm \\(tmpfs\\) has [0-9]+ bytes free, "
                                    "expected 17592186044416 for the tier's size"));
}

TEST(NumaTier, NamesTheNodesThatThereAre) {
  TierOptions options{.name = "cxl", .kind = TierKind::kNuma};
  EXPECT_EQ(Message(OpenTier(options).status()), "tier cxl: kind numa: expected one node or more");
  options.nodes = {77};
  const absl::Status status = OpenTier(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(
      std::string(Message(status)),
      testing::StartsWith("tier cxl: NUMA node 77 has no memory here, expected one of 0 ("));
  options.nodes = {0};
  options.capacity_bytes = size_t{1} << 50;
  EXPECT_EQ(OpenTier(options).status().code(), absl::StatusCode::kResourceExhausted);
  options.capacity_bytes = 16 * kMiB;
  EXPECT_EQ((*OpenTier(options))->Stats().nodes, "0");
  EXPECT_EQ(BindProcessToNode(77).code(), absl::StatusCode::kNotFound);
}

TEST(DramTier, WantsReservedPagesForExplicitOnes) {
  std::ifstream reserved("/proc/sys/vm/nr_hugepages");
  int pages = 0;
  reserved >> pages;
  TierOptions options{.name = "huge", .capacity_bytes = 32 * kMiB};
  options.huge_pages = HugePages::kExplicit;
  const auto tier = OpenTier(options);
  if (pages < 16) {
    EXPECT_EQ(Message(tier.status()),
              "tier huge: 16 pages of 2 MiB are not reserved (vm.nr_hugepages): mmap: Cannot "
              "allocate memory");
  } else {
    ASSERT_TRUE(tier.ok()) << tier.status();
    std::memset(*(*tier)->Allocate(4 * kMiB), 1, 4 * kMiB);
  }
}

TEST(Tier, StreamsWhatTheOptionSays) {
  TierOptions options{.name = "t", .capacity_bytes = 32 * kMiB};
  EXPECT_FALSE((*OpenTier(options))->Streams(SIZE_MAX - 1));
  options.streaming = Streaming::kOn;
  const auto tier = *OpenTier(options);
  EXPECT_TRUE(tier->Streams(4096));
  EXPECT_FALSE(tier->Streams(4095));
  EXPECT_TRUE(tier->Stats().streaming);
}

}  // namespace
}  // namespace tickstack::mem
