#pragma once

// Simulates a medium that is slower than this machine's memory. Code that accesses a tier of kind
// `simulate` reports the bytes or elements that it accessed, and waits until the simulated medium
// would have completed that access.
//
//   mem::MediumAccess access(column.medium());   // nullptr for real memory: nothing waits
//   ... a block of the column is read as usual ...
//   access.ReadInOrder(block, bytes);                   // waits
//
//   begin            end of the real access        end by the model
//   |================|- - - - - - waits - - - - - -|
//
// The wait ends when the access has taken as long as the model says, from its beginning. This
// machine's own latency and bandwidth are therefore part of the simulated ones, not added to them,
// and computation overlaps with the simulated access as it would with a prefetcher. A medium that
// is faster than this machine cannot be simulated.
//
// By the model, an access ends at the later of two times:
//   - the time at which the thread would be done if it were alone: latencies, and the bandwidth of
//     one thread;
//   - the time at which the medium would have served all threads and processes, which share its
//     bandwidth (medium_timeline.h).
//
// The wait spins, because a thread that waits for real memory also keeps its core busy.
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

// The clock of a medium, which tests replace.
class MediumClock {
 public:
  virtual ~MediumClock() = default;
  virtual int64_t NowNs() const = 0;  // CLOCK_MONOTONIC.
  virtual void WaitUntil(int64_t ns) = 0;
  virtual int64_t CallNs() const { return 0; }  // Duration of a call of NowNs.
  static MediumClock& System();
};

struct MediumStats {
  uint64_t read_bytes = 0;  // A multiple of the model's unit_bytes.
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

  // Block until an access to these units, which began at `begin_ns`, ends by the model. Return the
  // time of that end.
  int64_t Read(int64_t begin_ns, const TouchedUnits& touched);
  int64_t Write(int64_t begin_ns, uint64_t units);

 private:
  int64_t WaitFor(int64_t begin_ns, double thread_ns, double medium_ns, MediumTimeline::Lane lane);

  const MediumModel model_;
  const std::unique_ptr<MediumTimeline> timeline_;
  MediumClock& clock_;
  const int64_t asking_ns_;  // Time that an access spends on reading the clock.
  std::atomic<uint64_t> read_bytes_ = 0;
  std::atomic<uint64_t> written_bytes_ = 0;
  std::atomic<int64_t> waited_ns_ = 0;
};

// An access to a medium, which begins at construction. Each call reports a part of it, and waits
// until the medium would have completed that part after all earlier ones. Cost on real memory
// (nullptr): one branch per call.
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
  // Reports a read of a column's elements at rows that are known in advance.
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
  // Reports a read of a chain: the address of each element depends on the element before it.
  void ReadChained(size_t elements) {
    if (medium_ == nullptr) [[likely]]
      return;
    begin_ns_ = medium_->Read(begin_ns_, {.chained = elements});
  }
  // Reports `searches` binary searches, each among `bytes` bytes.
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
  // Reports a write of scattered bytes that fill up their cache lines over time: each full line is
  // written to the medium and costs one unit.
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
