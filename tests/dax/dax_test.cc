// What a tier promises where the hardware is there, on a DAX mount and on a far NUMA node. run.py
// runs this program in virtual machines that have them; the tests of mem/ are for any machine.
//
//   TICKSTACK_DAX_DIR   a folder of a DAX mount with 400 MiB free: DaxMount.*, DaxTier.*
//   TICKSTACK_FAR_NODE  a NUMA node that is not where we run, node 0 being there too: FarNode.*
//
// Without its variable a test fails: a run that looks green has run.

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
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

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

// --- The mount itself: if it is not what the guest was made for, nothing below means anything.

// A nameless file of `bytes`, all of them allocated, mapped where a 2 MiB page can begin.
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

  std::byte* memory() const { return memory_; }  // nullptr: the kernel refused the mapping.

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

// --- The far node itself.

// Of the pages that hold [memory, memory + bytes): how many are not on `node`.
size_t PagesElsewhere(std::byte* memory, size_t bytes, int node) {
  std::vector<void*> pages;
  for (size_t at = 0; at < bytes; at += 4096) pages.push_back(memory + at);
  std::vector<int> found(pages.size(), -1);
  // Without a list of targets move_pages moves nothing and says where each page is.
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

}  // namespace
}  // namespace tickstack
