// Tests what a tier guarantees on real hardware: a DAX mount and a far NUMA node. run.py runs this
// program in virtual machines that have them; the tests of mem/ run on any machine.
//
//   TICKSTACK_DAX_DIR   a folder on a DAX mount with 400 MiB free: DaxMount.*, *DaxTier*
//   TICKSTACK_FAR_NODE  a NUMA node other than 0, on which the test runs: FarNode.*
//
// Without its variable a test fails, so a passing run has really run.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <libpmem.h>
#include <numaif.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "mem/tier.h"
#include "table/table.h"

namespace tickstack {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kHugePageBytes = 2 * kMiB;

std::string Need(const char* variable) {
  const char* const value = std::getenv(variable);
  EXPECT_NE(value, nullptr) << variable << " is not set";
  return value == nullptr ? "" : value;
}

long Faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

void Touch(std::byte* memory, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) {
    *static_cast<volatile std::byte*>(memory + at) = std::byte{1};
  }
}

// Returns MemAvailable of /proc/meminfo.
size_t AvailableBytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    size_t kilobytes = 0;
    if (key == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
    file.ignore(256, '\n');
  }
  ADD_FAILURE() << "/proc/meminfo has no MemAvailable";
  return 0;
}

// Writes a million rows in batches that cross chunks, and reads them back.
void ExpectTableKeepsItsRows(mem::Tier* tier) {
  constexpr size_t kBatchRows = 10'000, kRows = 1'000'000;
  SymbolTable symbols;
  TablePlacement placement;
  placement.columns = tier;
  const std::shared_ptr<Table> table =
      *Table::Create(*ParseSchema("quote", "time p, sym s, bsize j"), &symbols, placement);
  for (size_t begin = 0; begin < kRows; begin += kBatchRows) {
    ByteBuffer times, names, sizes;
    for (size_t row = begin; row < begin + kBatchRows; ++row) {
      times.AppendLittle(static_cast<int64_t>(row));
      names.Append(std::string_view(row % 3 == 0 ? "IBM\0" : "AIG\0", 4));
      sizes.AppendLittle(static_cast<int64_t>(row * 7));
    }
    const std::vector<ColumnView> columns = {
        {Type::kTimestamp, Attribute::kNone, kBatchRows, times.span()},
        {Type::kSymbol, Attribute::kNone, kBatchRows, names.span()},
        {Type::kLong, Attribute::kNone, kBatchRows, sizes.span()}};
    const absl::Status status = table->Append({columns, kBatchRows});
    ASSERT_TRUE(status.ok()) << status;
  }
  const Snapshot snapshot = table->TakeSnapshot();
  ASSERT_EQ(snapshot.rows(), kRows);
  size_t wrong = 0, row = 0;
  for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
    const auto times = snapshot.Chunk<int64_t>(0, chunk);
    const auto sizes = snapshot.Chunk<int64_t>(2, chunk);
    for (size_t i = 0; i < times.size(); ++i, ++row) {
      if (times[i] != static_cast<int64_t>(row) || sizes[i] != static_cast<int64_t>(row * 7)) {
        ++wrong;
      }
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(snapshot.RowsOf(*symbols.Find("IBM"))->rows, (kRows + 2) / 3);
}

// --- The mount itself: if it is not as expected, the tests below are meaningless.

// An unnamed file of `bytes`, completely allocated, mapped at an address where a 2 MiB page can
// start.
class MappedFile {
 public:
  MappedFile(const std::string& folder, size_t bytes, int flags) : bytes_(bytes) {
    fd_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    EXPECT_GE(fd_, 0) << folder << ": " << std::strerror(errno);
    EXPECT_EQ(posix_fallocate(fd_, 0, static_cast<off_t>(bytes)), 0);
    reserved_ =
        mmap(nullptr, bytes + kHugePageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto begin = reinterpret_cast<uintptr_t>(reserved_);
    const uintptr_t aligned = (begin + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
    void* const mapped = mmap(reinterpret_cast<void*>(aligned), bytes, PROT_READ | PROT_WRITE,
                              flags | MAP_FIXED, fd_, 0);
    if (mapped != MAP_FAILED) memory_ = static_cast<std::byte*>(mapped);
  }
  ~MappedFile() {
    munmap(reserved_, bytes_ + kHugePageBytes);
    close(fd_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* memory() const { return memory_; }  // nullptr if the kernel refused the mapping.

 private:
  const size_t bytes_;
  int fd_ = -1;
  void* reserved_ = nullptr;
  std::byte* memory_ = nullptr;
};

TEST(DaxMount, AcceptsASynchronousMapping) {
  const MappedFile file(Need("TICKSTACK_DAX_DIR"), 4 * kMiB, MAP_SHARED_VALIDATE | MAP_SYNC);
  EXPECT_NE(file.memory(), nullptr) << "MAP_SYNC: " << std::strerror(errno);
}

TEST(DaxMount, IsPersistentMemoryToLibpmem) {
  const std::string path = Need("TICKSTACK_DAX_DIR") + "/libpmem";
  size_t bytes = 0;
  int is_pmem = 0;
  void* const memory =
      pmem_map_file(path.c_str(), 4 * kMiB, PMEM_FILE_CREATE, 0600, &bytes, &is_pmem);
  ASSERT_NE(memory, nullptr) << pmem_errormsg();
  EXPECT_EQ(is_pmem, 1);
  EXPECT_EQ(pmem_is_pmem(memory, bytes), 1);
  pmem_unmap(memory, bytes);
  unlink(path.c_str());
}

// 4 KiB pages would be 16,384 faults.
TEST(DaxMount, MapsTwoMiBByAFault) {
  const MappedFile file(Need("TICKSTACK_DAX_DIR"), 64 * kMiB, MAP_SHARED_VALIDATE | MAP_SYNC);
  ASSERT_NE(file.memory(), nullptr);
  const long before = Faults();
  Touch(file.memory(), 64 * kMiB);
  EXPECT_LE(Faults() - before, 40);
}

// --- Tiers on that mount.

size_t FreeBytes(const std::string& folder) {
  struct statvfs stats{};
  EXPECT_EQ(statvfs(folder.c_str(), &stats), 0);
  return stats.f_bavail * stats.f_frsize;
}

mem::TierOptions OnDax(size_t capacity_bytes) {
  mem::TierOptions options;
  options.name = "pmem";
  options.kind = mem::TierKind::kFilesystem;
  options.path = Need("TICKSTACK_DAX_DIR");
  options.capacity_bytes = capacity_bytes;
  return options;
}

std::unique_ptr<mem::Tier> Open(const mem::TierOptions& options) {
  absl::StatusOr<std::unique_ptr<mem::Tier>> tier = mem::OpenTier(options);
  EXPECT_TRUE(tier.ok()) << tier.status();
  return tier.ok() ? *std::move(tier) : nullptr;
}

TEST(DaxTier, SaysThatItIsOne) {
  const auto tier = Open(OnDax(64 * kMiB));
  ASSERT_NE(tier, nullptr);
  const mem::TierStats stats = tier->Stats();
  EXPECT_TRUE(stats.dax);
  EXPECT_EQ(stats.kind, "filesystem");
  EXPECT_EQ(stats.path, Need("TICKSTACK_DAX_DIR"));
  EXPECT_TRUE(stats.filesystem == "ext4" || stats.filesystem == "xfs") << stats.filesystem;
  // Only printed: whether streaming pays is measured, and an emulated processor may give either
  // result.
  std::printf("%s on %s: streaming %s\n", stats.kind.c_str(), stats.filesystem.c_str(),
              stats.streaming ? "on" : "off");
}

class DaxTierAllocator : public testing::TestWithParam<mem::FileAllocator> {
 protected:
  static mem::TierOptions Options(size_t capacity_bytes) {
    mem::TierOptions options = OnDax(capacity_bytes);
    options.allocator = GetParam();
    return options;
  }
  // Returns the least number of chunks of a tier of whole slabs: memkind's slabs of 64 MiB are not
  // aligned, and aligning our pages loses one chunk from each.
  static size_t ChunksAtLeast(size_t capacity_bytes) {
    const size_t slabs = capacity_bytes / (64 * kMiB);
    return capacity_bytes / kHugePageBytes - (GetParam() == mem::FileAllocator::kMemkind) * slabs;
  }
};
INSTANTIATE_TEST_SUITE_P(DaxTier, DaxTierAllocator,
                         testing::Values(mem::FileAllocator::kArena, mem::FileAllocator::kMemkind),
                         [](const auto& named) {
                           return named.param == mem::FileAllocator::kArena ? "Arena" : "Memkind";
                         });

TEST_P(DaxTierAllocator, MapsChunksInPagesOfTwoMiB) {
  const auto tier = Open(Options(128 * kMiB));
  ASSERT_NE(tier, nullptr);
  std::vector<std::byte*> chunks;
  const long before = Faults();
  for (int i = 0; i < 32; ++i) {
    chunks.push_back(*tier->Allocate(kHugePageBytes));
    Touch(chunks.back(), kHugePageBytes);
  }
  EXPECT_LE(Faults() - before, 100);  // 4 KiB pages would be 16,384.
  for (std::byte* chunk : chunks) tier->Free(chunk, kHugePageBytes);
}

// Goal: a tier of rows uses no DRAM. Method: write 192 MiB, a third of the guest's memory, and
// compare the kernel's available memory.
TEST_P(DaxTierAllocator, TakesNoDram) {
  constexpr size_t kBytes = 192 * kMiB;
  const auto tier = Open(Options(kBytes + 64 * kMiB));
  ASSERT_NE(tier, nullptr);
  const size_t before = AvailableBytes();
  std::vector<std::byte*> chunks;
  for (size_t taken = 0; taken < kBytes; taken += kHugePageBytes) {
    chunks.push_back(*tier->Allocate(kHugePageBytes));
    std::memset(chunks.back(), 1, kHugePageBytes);
  }
  const size_t after = AvailableBytes();
  EXPECT_LT(before - std::min(before, after), 16 * kMiB) << before << " then " << after;
  EXPECT_EQ(tier->ResidentBytes(), 0u);
  for (std::byte* chunk : chunks) tier->Free(chunk, kHugePageBytes);
}

TEST_P(DaxTierAllocator, RefusesWhenItIsFullAndEveryByteOfItCanBeWritten) {
  const auto tier = Open(Options(128 * kMiB));
  ASSERT_NE(tier, nullptr);
  std::vector<std::byte*> chunks;
  absl::Status refused;
  while (refused.ok()) {
    const absl::StatusOr<std::byte*> chunk = tier->Allocate(kHugePageBytes);
    if (!chunk.ok()) {
      refused = chunk.status();
      break;
    }
    chunks.push_back(*chunk);
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_GE(chunks.size(), ChunksAtLeast(128 * kMiB));
  EXPECT_LE(chunks.size(), 64u);
  EXPECT_EQ(tier->Stats().refused, 1u);
  for (std::byte* chunk : chunks) std::memset(chunk, 1, kHugePageBytes);
  for (std::byte* chunk : chunks) tier->Free(chunk, kHugePageBytes);
}

// Goal: filling the file system later cannot turn a store into SIGBUS. Method: open the tier, fill
// the rest with another file, then write every page of the tier for the first time.
TEST_P(DaxTierAllocator, KeepsItsRoomWhenOthersFillTheFileSystem) {
  const std::string folder = Need("TICKSTACK_DAX_DIR");
  const auto tier = Open(Options(64 * kMiB));
  ASSERT_NE(tier, nullptr);
  const int other = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(other, 0);
  off_t end = 0;
  for (off_t step = 64 * kMiB; step >= 4096; step /= 2) {
    while (fallocate(other, 0, end, step) == 0) end += step;
  }
  EXPECT_LT(FreeBytes(folder), kMiB);
  std::vector<std::byte*> chunks;
  for (size_t i = 0; i < ChunksAtLeast(64 * kMiB); ++i) {
    const absl::StatusOr<std::byte*> chunk = tier->Allocate(kHugePageBytes);
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    chunks.push_back(*chunk);
    std::memset(chunks.back(), 1, kHugePageBytes);
  }
  for (std::byte* chunk : chunks) tier->Free(chunk, kHugePageBytes);
  close(other);
}

// On ext4, a refused fallocate leaves blocks behind, and the file system would stay full for
// everyone.
TEST_P(DaxTierAllocator, RefusesToOpenWithMoreThanThereIsAndLeavesNothingBehind) {
  const std::string folder = Need("TICKSTACK_DAX_DIR");
  sync();  // xfs frees the blocks of the tests above later.
  const size_t before = FreeBytes(folder);
  const auto tier = mem::OpenTier(Options(size_t{1} << 40));
  ASSERT_FALSE(tier.ok());
  EXPECT_EQ(tier.status().code(), absl::StatusCode::kResourceExhausted) << tier.status();
  EXPECT_NE(Message(tier.status()).find("pmem"), std::string_view::npos) << tier.status();
  EXPECT_GE(FreeBytes(folder) + kMiB, before);
}

TEST(DaxTier, HoldsATableWrittenPastTheCaches) {
  mem::TierOptions options = OnDax(192 * kMiB);
  options.streaming = mem::Streaming::kOn;
  const auto tier = Open(options);
  ASSERT_NE(tier, nullptr);
  EXPECT_TRUE(tier->Stats().streaming);
  ExpectTableKeepsItsRows(tier.get());
}

// --- The far node itself.

// Returns how many of the pages of [memory, memory + bytes) are not on `node`.
size_t PagesElsewhere(std::byte* memory, size_t bytes, int node) {
  std::vector<void*> pages;
  for (size_t at = 0; at < bytes; at += 4096) pages.push_back(memory + at);
  std::vector<int> found(pages.size(), -1);
  // Without a list of targets, move_pages moves nothing and reports where each page is.
  EXPECT_EQ(move_pages(0, pages.size(), pages.data(), nullptr, found.data(), 0), 0)
      << std::strerror(errno);
  return pages.size() - static_cast<size_t>(std::ranges::count(found, node));
}

int FarNode() { return std::atoi(Need("TICKSTACK_FAR_NODE").c_str()); }

TEST(FarNode, IsNotWhereMemoryComesFromUnasked) {
  std::vector<std::byte> memory(8 * kMiB, std::byte{1});
  EXPECT_EQ(PagesElsewhere(memory.data(), memory.size(), 0), 0u);
  EXPECT_NE(FarNode(), 0);
}

std::unique_ptr<mem::Tier> OpenOnNode(int node, mem::HugePages huge_pages) {
  mem::TierOptions options;
  options.name = "cxl";
  options.kind = mem::TierKind::kNuma;
  options.nodes = {node};
  options.capacity_bytes = 256 * kMiB;
  options.huge_pages = huge_pages;
  return Open(options);
}

TEST(FarNode, HasThePagesOfANumaTier) {
  for (const mem::HugePages huge_pages : {mem::HugePages::kTransparent, mem::HugePages::kNone}) {
    const auto tier = OpenOnNode(FarNode(), huge_pages);
    ASSERT_NE(tier, nullptr);
    EXPECT_EQ(tier->Stats().kind, "numa");
    EXPECT_EQ(tier->Stats().nodes, std::to_string(FarNode()));
    std::byte* const large = *tier->Allocate(64 * kMiB);
    std::byte* const small = *tier->Allocate(4096);
    std::memset(large, 1, 64 * kMiB);
    std::memset(small, 1, 4096);
    EXPECT_EQ(PagesElsewhere(large, 64 * kMiB, FarNode()), 0u);
    EXPECT_EQ(PagesElsewhere(small, 4096, FarNode()), 0u);
    EXPECT_EQ(tier->ResidentBytes(), 0u);  // Bytes of the DRAM near the processors.
    tier->Free(large, 64 * kMiB);
    tier->Free(small, 4096);
  }
}

TEST(FarNode, HoldsATable) {
  const auto tier = OpenOnNode(FarNode(), mem::HugePages::kTransparent);
  ASSERT_NE(tier, nullptr);
  ExpectTableKeepsItsRows(tier.get());
}

TEST(FarNode, HasNoPagesOfADramTierBoundToTheNearNode) {
  mem::TierOptions options;
  options.nodes = {0};
  const auto tier = Open(options);
  ASSERT_NE(tier, nullptr);
  std::byte* const memory = *tier->Allocate(16 * kMiB);
  std::memset(memory, 1, 16 * kMiB);
  EXPECT_EQ(PagesElsewhere(memory, 16 * kMiB, 0), 0u);
  tier->Free(memory, 16 * kMiB);
}

TEST(FarNode, IsNamedWhenItDoesNotExist) {
  mem::TierOptions options;
  options.name = "cxl";
  options.kind = mem::TierKind::kNuma;
  options.nodes = {7};
  options.capacity_bytes = 64 * kMiB;
  const auto tier = mem::OpenTier(options);
  ASSERT_FALSE(tier.ok());
  EXPECT_EQ(tier.status().code(), absl::StatusCode::kNotFound) << tier.status();
  EXPECT_NE(Message(tier.status()).find("cxl"), std::string_view::npos) << tier.status();
  EXPECT_NE(Message(tier.status()).find('7'), std::string_view::npos) << tier.status();
}

}  // namespace
}  // namespace tickstack
