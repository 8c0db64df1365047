#pragma once

// Measures what the machine itself adds to a latency while a test runs: a relay that makes nothing
// but system calls runs beside the stacks. One thread sends a message at its due time, a second
// thread receives it, writes it to a file and sends it on, and a third thread receives it. That is
// the least that a tick needs: two trips through loopback, one through the page cache, and three
// threads that must be woken. Whatever the slowest message took beyond the usual time was spent in
// the scheduler and the kernel.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/histogram.h"
#include "base/owned_fd.h"

namespace tickstack::loadtest {

// Threads: one owner. It has three threads of its own, which wake 600 times a second together and
// use some 10 ms of CPU time.
class BareRelay {
 public:
  static constexpr int64_t kIntervalNs = 5'000'000;  // Between two messages.

  // Starts the relay. The file at `path` is created, stays below 1 MiB and is removed in the end.
  static absl::StatusOr<std::unique_ptr<BareRelay>> Start(const std::string& path);
  // Stops the relay, as Stop does.
  ~BareRelay();
  BareRelay(const BareRelay&) = delete;
  BareRelay& operator=(const BareRelay&) = delete;

  // Stops the relay and returns how long each message took from its due time, in ns. Call it once.
  Histogram Stop();

 private:
  BareRelay() = default;
  void Send();
  void Relay();
  void Receive();

  File file_;
  // Loopback connections: sender to relay, and relay to receiver. Each thread closes the ends that
  // only it uses, which also ends the next thread.
  OwnedFd send_, relay_in_, relay_out_, receive_;
  int64_t first_due_ns_ = 0;
  std::atomic<int64_t> end_ns_ = INT64_MAX;  // Set by the owner; no message is due after it.
  Histogram latency_;                        // Owned by the receiver until it has ended.
  std::thread sender_, relay_, receiver_;
};

}  // namespace tickstack::loadtest
