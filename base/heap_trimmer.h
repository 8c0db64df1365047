#pragma once

// Returns memory that queries freed to the system. The C library keeps freed memory: each thread's
// arena returns only its end, so an rdb with 28 MB of columns stayed at 7.3 GB after large queries;
// and blocks of up to 512 MiB are kept for the next query (kept_blocks.h).
//
// A thread checks the process's resident memory twice per second, which takes 10 us and no lock of
// the heap. If it is 128 MiB above the minimum since the last trim, or if as much more is free in
// the heap (checked every 2 s), and no large query has run for half a second, the kept blocks are
// freed and malloc_trim is called. If large queries run all the time, that happens after 3 s, and
// then every 30 s.
//
// What that costs others: malloc_trim holds the lock of one arena after the other while it gives
// back the arena's pages. A thread that captures allocates from the main arena and queries do not,
// so it waits for no lock: beside 4 GiB that were given back from another arena in 0.75 to 0.97 s,
// the longest allocation in the main arena took 8 to 10 ms (0.1 to 4 ms before), on two cores that
// were busy with other work.
//
// Free memory in the main arena itself does delay it, once: 104 to 107 ms per GiB in blocks of 256
// KiB (three runs). A tickerplant that disconnected a slow subscriber is such a case: 52 ms with
// the default `max_queue_bytes`. Avoiding it would require returning the pages in steps.
//
// The first 64 MiB at the end of the main arena stay as TouchHeap left them. The thread has the
// process's own priority: with a lower one, it could be preempted while it holds such a lock.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tickstack {

struct HeapTrimmerOptions {
  std::chrono::milliseconds period{500};
  std::chrono::milliseconds patience{3'000};        // Bound on waiting for queries to end.
  std::chrono::milliseconds pause_if_busy{30'000};  // Pause between trims while large queries run.
  size_t slack_bytes = size_t{128} << 20;           // Growth that is not trimmed.
};

// Has no effect without the GNU C library.
class HeapTrimmer {
 public:
  using Options = HeapTrimmerOptions;

  explicit HeapTrimmer(const Options& options = {});
  ~HeapTrimmer();
  HeapTrimmer(const HeapTrimmer&) = delete;
  HeapTrimmer& operator=(const HeapTrimmer&) = delete;

 private:
  void Run();
  void Check();
  bool IsBusy(size_t resident_bytes);
  bool IsAbove(size_t resident_bytes, std::chrono::steady_clock::time_point now);
  size_t HeapFree();

  const Options options_;

  // Used by the thread only.
  size_t low_bytes_;                                      // Lowest resident since the last trim.
  size_t last_bytes_;                                     // Resident at the last look.
  uint64_t last_heavy_blocks_;                            // HeavyBlocks() at the last look.
  std::chrono::steady_clock::time_point above_since_;     // When it began to exceed the slack.
  std::chrono::steady_clock::time_point next_busy_trim_;  // Earliest trim while queries run.
  // Free bytes in the heap after the last trim, including trimmed ones.
  size_t free_after_trim_ = 0;
  std::chrono::steady_clock::time_point next_heap_check_;
  bool is_above_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

// Returns the resident memory of this process; 0 if the system does not report it.
size_t ResidentBytes();

}  // namespace tickstack
