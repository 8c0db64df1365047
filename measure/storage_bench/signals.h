#pragma once

#include <signal.h>
#include <sys/types.h>

#include "absl/status/status.h"
#include "base/owned_fd.h"

namespace tickstack::measure::storage_bench {

// While it exists, SIGINT, SIGTERM and SIGHUP do not end this process but can be read, and SIGPIPE
// and SIGXFSZ are ignored: writes then fail with an error. So the process can remove its files.
// Children inherit all of this. Threads: the main one, before others start.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // A descriptor that becomes readable when one of the signals arrives.
  int fd() const { return fd_.get(); }
  // Returns kCancelled with the signal's name if one has arrived, else OK. Does not block.
  absl::Status Check() const;

 private:
  sigset_t before_{};
  void (*pipe_before_)(int);
  void (*size_before_)(int);
  OwnedFd fd_;
};

}  // namespace tickstack::measure::storage_bench
