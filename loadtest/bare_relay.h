#pragma once

// What the machine itself adds to a latency while a test runs: a relay of nothing but system calls
// beside the stacks. A thread sends a message at its due time, a second one receives it, writes it
// to a file and sends it on, a third one receives it. So a message takes what a tick takes at
// least: two ways through loopback, one through the page cache, three threads that must be woken.
// What the slowest message took beyond its usual time is the scheduler's and the kernel's.

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

// Threads: one owner; three of its own, which take 600 turns a second together, some 10 ms of CPU.
class BareRelay {
 public:
  static constexpr int64_t kIntervalNs = 5'000'000;  // Between two messages.

  // Begins at once. The file at `path` is made, and removed in the end; it stays below 1 MiB.
  static absl::StatusOr<std::unique_ptr<BareRelay>> Start(const std::string& path);
  // As Stop().
  ~BareRelay();
  BareRelay(const BareRelay&) = delete;
  BareRelay& operator=(const BareRelay&) = delete;

  // Ends it and returns how long each message took from when it was due, in ns. Once.
  Histogram Stop();

 private:
  BareRelay() = default;
  void Send();
  void Relay();
  void Receive();

  File file_;
  // Loopback connections: sender to relay, relay to receiver. Each thread closes the ends that it
  // alone uses, which ends the thread behind it.
  OwnedFd send_, relay_in_, relay_out_, receive_;
  int64_t first_due_ns_ = 0;
  std::atomic<int64_t> end_ns_ = INT64_MAX;  // Nothing is due after it: set by the owner.
  Histogram latency_;                        // The receiver's until it has ended.
  std::thread sender_, relay_, receiver_;
};

}  // namespace tickstack::loadtest
