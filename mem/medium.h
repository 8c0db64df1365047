#pragma once

// Simulates a medium that is slower than this machine's memory. Code that touches a tier of kind
// `simulate` reports what it touched, and waits until the simulated medium would have been done.
//
//   mem::MediumAccess access(column.medium());   // nullptr for real memory: a branch
//   ... a block of the column is read as usual ...
//   access.ReadInOrder(block, bytes);                   // waits
//
//   begin            end of the real access        end by the model
//   |================|- - - - - - waits - - - - - -|
//
// The wait ends when the model's time, counted from the begin of the access, is over. This
// machine's own latency and bandwidth are therefore part of the simulated ones, not added to them,
// and computation overlaps with the simulated access as it would with a prefetcher. A medium that
// is faster than this machine cannot be simulated.
//
// The model's time is the later of two:
//   - the time for the thread alone: latencies, and the bandwidth of one thread;
//   - the time at which the medium is free, whose bandwidth all threads and processes share
//     (medium_timeline.h).
//
// The wait spins, because a thread that waits for memory keeps its core busy, too.
//
// Accesses are charged in batches, such as a block, a gather or a column of an update, never by
// element. Caches are not simulated: each read of a query is charged as a read of the medium.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mem/medium_model.h"
#include "mem/medium_timeline.h"

namespace tickstack::mem {

// The clock of a medium. Tests replace it.
class MediumClock {
 public:
  virtual ~MediumClock() = default;
  virtual int64_t NowNs() const = 0;  // CLOCK_MONOTONIC.
  virtual void WaitUntil(int64_t ns) = 0;
  virtual int64_t CallNs() const { return 0; }  // Duration of a call of NowNs.
  static MediumClock& System();
};

struct MediumStats {
  uint64_t read_bytes = 0;  // In whole units.
  uint64_t written_bytes = 0;
  int64_t waited_ns = 0;  // Sum over all threads.
};

// Threads: any.
class Medium {
 public:
  Medium(MediumModel model, std::unique_ptr<MediumTimeline> timeline,
         MediumClock& clock = MediumClock::System());

  const MediumModel& model() const { return model_; }
  int64_t NowNs() const { return clock_.NowNs(); }
  MediumStats Stats() const;

  // Blocks until an access of these units that began at `begin_ns` would have ended, and returns
  // that time.
  int64_t Read(int64_t begin_ns, const TouchedUnits& touched);
  int64_t Write(int64_t begin_ns, uint64_t units);

 private:
  int64_t WaitFor(int64_t begin_ns, double thread_ns, double medium_ns, MediumTimeline::Lane lane);

  const MediumModel model_;
  const std::unique_ptr<MediumTimeline> timeline_;
  MediumClock& clock_;
  const int64_t asking_ns_;  // Time that reading the clock takes of an access.
  std::atomic<uint64_t> read_bytes_ = 0;
  std::atomic<uint64_t> written_bytes_ = 0;
  std::atomic<int64_t> waited_ns_ = 0;
};

// An access, which begins at construction. Each call waits until what it reports would have been
// touched, after what earlier calls reported. Cost on real memory (nullptr): one branch a call.
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
  // Elements of a column at rows that are known in advance.
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
  // Elements whose addresses each depend on the value of the one before.
  void ReadChained(size_t elements) {
    if (medium_ == nullptr) [[likely]]
      return;
    begin_ns_ = medium_->Read(begin_ns_, {.chained = elements});
  }
  // `searches` binary searches, each among `bytes` bytes.
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
  // Scattered bytes that fill up their cache lines over time: a full line is written to the medium
  // and costs one unit.
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
