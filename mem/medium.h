#pragma once

// A medium that is slower than this machine's memory, simulated: who touches a tier of kind
// `simulate` says what he touched, and waits for as long as that medium would have taken.
//
//   mem::MediumAccess access(column.medium());   // nullptr for real memory: a branch
//   ... a block of the column is read, as ever ...
//   access.ReadInOrder(block, bytes);                   // waits
//
//   begin            end of the real access        end by the model
//   |================|- - - - - - waits - - - - - -|
//
// What is charged is the difference to what the access took in fact: the wait ends when the model's
// time is over, counted from where the access began. So this machine's own latency and bandwidth,
// whatever they are, are part of the simulated ones and not added to them, and what a thread
// computes while a prefetcher would fetch overlaps, as it would. The charge is never negative: a
// medium that is faster than this machine cannot be simulated.
//
// The model's time is the later of two:
//   - what the thread takes alone: latencies, and the bytes a second that one thread gets;
//   - when the medium is done, which has one bandwidth for all threads and processes
//     (medium_timeline.h).
//
// A thread that waits for memory keeps its core busy and so does this wait: it spins, and processor
// time and what others get of the cores are as they would be.
//
// It is charged in batches, a block, a gather, a column of an update, never element by element.
// Caches are not simulated: what a query reads is charged as if it came from the medium each time.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mem/medium_model.h"
#include "mem/medium_timeline.h"

namespace tickstack::mem {

// Where a medium's time comes from, so that a test can have its own.
class MediumClock {
 public:
  virtual ~MediumClock() = default;
  virtual int64_t NowNs() const = 0;  // CLOCK_MONOTONIC.
  virtual void WaitUntil(int64_t ns) = 0;
  virtual int64_t CallNs() const { return 0; }  // What NowNs takes.
  static MediumClock& System();
};

struct MediumStats {
  uint64_t read_bytes = 0;  // Whole units.
  uint64_t written_bytes = 0;
  int64_t waited_ns = 0;  // Of all threads.
};

// Threads: any.
class Medium {
 public:
  Medium(MediumModel model, std::unique_ptr<MediumTimeline> timeline,
         MediumClock& clock = MediumClock::System());

  const MediumModel& model() const { return model_; }
  int64_t NowNs() const { return clock_.NowNs(); }
  MediumStats Stats() const;

  // An access that began then has touched these units: waits for what is left of its time, and
  // returns when it ended by the model.
  int64_t Read(int64_t begin_ns, const TouchedUnits& touched);
  int64_t Write(int64_t begin_ns, uint64_t units);

 private:
  int64_t WaitFor(int64_t begin_ns, double thread_ns, double medium_ns, MediumTimeline::Lane lane);

  const MediumModel model_;
  const std::unique_ptr<MediumTimeline> timeline_;
  MediumClock& clock_;
  const int64_t asking_ns_;  // The part of an access that is the clock's.
  std::atomic<uint64_t> read_bytes_ = 0;
  std::atomic<uint64_t> written_bytes_ = 0;
  std::atomic<int64_t> waited_ns_ = 0;
};

// An access, which begins with its construction. Each call waits for what it names, behind what the
// calls before it named. Cost on real memory (nullptr): a branch a call.
class MediumAccess {
 public:
  explicit MediumAccess(Medium* medium) : medium_(medium) {
    if (medium_ != nullptr) [[unlikely]]
      begin_ns_ = medium_->NowNs();
  }

  void ReadInOrder(const void* begin, size_t bytes) {
    if (medium_ == nullptr) [[likely]]
      return;
    begin_ns_ = medium_->Read(begin_ns_, {.in_order = UnitsOf(medium_->model(), begin, bytes)});
  }
  // The elements of a column at rows that were known ahead.
  void ReadRows(std::span<const uint32_t> rows, size_t width) {
    if (medium_ == nullptr) [[likely]]
      return;
    begin_ns_ = medium_->Read(begin_ns_, UnitsOfRows(medium_->model(), rows, width));
  }
  void ReadScattered(size_t elements) {
    if (medium_ == nullptr) [[likely]]
      return;
    begin_ns_ = medium_->Read(begin_ns_, {.scattered = elements});
  }
  // Elements each of which was known only when the one before it was there.
  void ReadChained(size_t elements) {
    if (medium_ == nullptr) [[likely]]
      return;
    begin_ns_ = medium_->Read(begin_ns_, {.chained = elements});
  }
  // Binary searches, each among so many bytes.
  void Searched(size_t bytes, size_t searches = 1) {
    if (medium_ == nullptr) [[likely]]
      return;
    const uint64_t units = UnitsOfSearch(medium_->model(), bytes);
    begin_ns_ = medium_->Read(begin_ns_, {.chained = searches * units});
  }
  void Wrote(const void* begin, size_t bytes) {
    if (medium_ == nullptr) [[likely]]
      return;
    begin_ns_ = medium_->Write(begin_ns_, UnitsOf(medium_->model(), begin, bytes));
  }
  // Bytes here and there, which fill their lines up in the course of time: a line leaves the caches
  // when it is full, and takes a unit.
  void WroteScattered(size_t bytes) {
    if (medium_ == nullptr) [[likely]]
      return;
    constexpr size_t kLineBytes = 64;
    begin_ns_ = medium_->Write(begin_ns_, (bytes + kLineBytes - 1) / kLineBytes);
  }

 private:
  Medium* const medium_;
  int64_t begin_ns_ = 0;
};

}  // namespace tickstack::mem
