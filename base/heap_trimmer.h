#pragma once

// Gives back to the system what queries leave behind. The C library keeps memory that was freed: an
// arena for each thread returns its end only, so that an rdb with 28 MB of columns stayed at 7.3 GB
// after large queries; and blocks of up to 512 MiB are kept for the next query (kept_blocks.h).
//
// A thread looks at the process's resident memory twice a second, which takes 10 us and no lock of
// the heap. When it is 128 MiB above the lowest since the last trim, or as much more is free in the
// heap (asked every 2 s), and no query of some size has run for half a second, the kept blocks are
// freed and malloc_trim is called. Where there is always such a query it is done after 3 s, once in
// 30 s.
//
// What that costs others: malloc_trim holds the lock of one arena after the other while it gives
// back the arena's pages. A thread that captures allocates from the main arena and queries do not,
// so it waits for no lock: beside 4 GiB that were given back from another arena in 0.75 to 0.97 s,
// the longest allocation in the main arena took 8 to 10 ms (0.1 to 4 ms before), on two cores that
// were busy with other work.
//
// What is free in the main arena itself does hold it up, once: 104 to 107 ms a GiB in blocks of 256
// KiB (three runs). That is a tickerplant after it dropped a slow subscriber: 52 ms with the
// default `max_queue_bytes`. To avoid it the pages would have to be given back in steps.
//
// The first 64 MiB at the end of the main arena stay as TouchHeap left them. The thread has the
// process's own priority: with less it could be kept from running while it holds such a lock.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tickstack {

struct HeapTrimmerOptions {
  std::chrono::milliseconds period{500};
  std::chrono::milliseconds patience{3'000};        // For queries that do not end.
  std::chrono::milliseconds pause_if_busy{30'000};  // Then, between two trims.
  size_t slack_bytes = size_t{128} << 20;           // What may stay.
};

// Without the GNU C library it does nothing.
class HeapTrimmer {
 public:
  using Options = HeapTrimmerOptions;

  explicit HeapTrimmer(const Options& options = {});
  ~HeapTrimmer();
  HeapTrimmer(const HeapTrimmer&) = delete;
  HeapTrimmer& operator=(const HeapTrimmer&) = delete;

 private:
  void Run();
  void Look();
  bool IsBusy(size_t resident_bytes);
  bool IsAbove(size_t resident_bytes, std::chrono::steady_clock::time_point now);
  size_t HeapFree();

  const Options options_;

  // The thread's.
  size_t low_bytes_;                                      // Lowest resident since the last trim.
  size_t last_bytes_;                                     // Resident at the last look.
  uint64_t last_heavy_blocks_;                            // HeavyBlocks() at the last look.
  std::chrono::steady_clock::time_point above_since_;     // When it began to be above the slack.
  std::chrono::steady_clock::time_point next_busy_trim_;  // Not before, while queries run.
  size_t free_after_trim_ = 0;  // In the heap, of what was given back too.
  std::chrono::steady_clock::time_point next_heap_look_;
  bool is_above_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

// Resident memory of this process; 0 where the system does not say.
size_t ResidentBytes();

}  // namespace tickstack
