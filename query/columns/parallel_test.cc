#include "query/columns/parallel.h"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "base/status.h"
#include "query/columns/errors.h"
#include "query/query.h"

namespace tickstack::query {
namespace {

// A scratch memory without room.
class FullMemory : public ScratchMemory {
 public:
  absl::StatusOr<std::byte*> Allocate(size_t) override {
    return ResourceExhausted("tier pmem: full");
  }
  void Free(std::byte*, size_t) override {}
  const std::string& name() const override { return name_; }
  size_t capacity_bytes() const override { return 0; }

 private:
  const std::string name_ = "pmem";
};

TEST(Parallel, RangesCoverEverythingOnceWhateverTheThreads) {
  WorkerPool pool(2);
  for (WorkerPool* const workers : {static_cast<WorkerPool*>(nullptr), &pool}) {
    Limits limits;
    limits.workers = workers;
    const Budget budget(limits);
    EXPECT_EQ(ParallelThreads(budget), workers == nullptr ? 1u : 3u);
    for (const size_t n : {0u, 1u, 99u, 100u, 101u, 1000u}) {
      std::mutex mutex;
      std::vector<std::pair<size_t, size_t>> ranges;
      ASSERT_TRUE(ParallelRanges(budget, n, 100, [&](size_t begin, size_t end) {
                    const std::lock_guard lock(mutex);
                    ranges.emplace_back(begin, end);
                    return absl::OkStatus();
                  }).ok());
      std::ranges::sort(ranges);
      size_t at = 0;
      for (const auto& [begin, end] : ranges) {
        EXPECT_EQ(begin, at);
        EXPECT_EQ(end, std::min(n, begin + 100));
        at = end;
      }
      EXPECT_EQ(at, n);
    }
  }
}

// Goal: a full memory is an error of the step, not an exception, on whichever thread the task runs.
TEST(Parallel, AFullScratchMemoryIsTheQuerysError) {
  WorkerPool pool(2);
  FullMemory memory;
  Limits limits;
  limits.workers = &pool;
  limits.scratch = &memory;
  const Budget budget(limits);
  const absl::Status status = ParallelTasks(budget, 20, [](size_t) {
    const ScratchVector<std::byte> block(kLargeBlockBytes);
    return absl::OkStatus();
  });
  EXPECT_EQ(QErrorText(status), "limit: scratch memory pmem is full");
  EXPECT_EQ(Message(status), "limit: scratch memory pmem is full: tier pmem: full");
}

TEST(Parallel, ACancelledQueryBeginsNoMoreTasks) {
  WorkerPool pool(1);
  for (WorkerPool* const workers : {static_cast<WorkerPool*>(nullptr), &pool}) {
    std::atomic<bool> cancelled = false;
    std::atomic<int> calls = 0;
    Limits limits;
    limits.workers = workers;
    limits.cancelled = &cancelled;
    const Budget budget(limits);
    const absl::Status status = ParallelTasks(budget, 1000, [&](size_t) {
      ++calls;
      cancelled = true;
      return absl::OkStatus();
    });
    EXPECT_EQ(QErrorText(status), "stop");
    EXPECT_LE(calls, 2);
  }
}

}  // namespace
}  // namespace tickstack::query
