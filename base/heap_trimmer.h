#pragma once

// Returns memory that queries freed to the system. The C library keeps freed memory: each thread's
// arena returns only its end, so an rdb with 28 MB of columns stayed at 7.3 GB after large queries;
// and blocks of up to 512 MiB are kept for the next query (kept_blocks.h).
//
// A thread checks the process's resident memory twice per second, which takes 10 us and no lock of
// the heap. It trims when no large query has run for half a second, and either the resident memory
// is 128 MiB above its minimum since the last trim, or the free memory in the heap (checked every 2
// s) has grown by 128 MiB. Trimming frees the kept blocks and calls malloc_trim. While large
// queries run all the time, it trims after 3 s, and then every 30 s.
//
// Cost for other threads: malloc_trim holds the lock of one arena after the other while it gives
// back the arena's pages. A thread that captures ticks allocates from the main arena, and queries
// do not, so it does not wait for the locks of their arenas: while 4 GiB were returned from another
// arena in 0.75 to 0.97 s, the longest allocation in the main arena took 8 to 10 ms (0.1 to 4 ms
// before), on two cores that were busy with other work.
//
// Returning free memory of the main arena itself delays the capturing thread once, by 104 to 107 ms
// per GiB in blocks of 256 KiB (three runs). A tickerplant has such memory after it disconnects a
// slow subscriber: with the default `max_queue_bytes`, the delay is 52 ms. Avoiding it would
// require returning the pages in steps.
//
// The first 64 MiB at the end of the main arena stay as TouchHeap left them. The thread has the
// process's own priority: with a lower one, it could be preempted while it holds an arena's lock.

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
  size_t low_bytes_;            // Lowest resident memory since the last trim.
  size_t last_bytes_;           // Resident memory at the last check.
  uint64_t last_heavy_blocks_;  // HeavyBlocks() at the last check.
  std::chrono::steady_clock::time_point above_since_;     // When memory began to exceed the slack.
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
