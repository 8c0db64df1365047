#pragma once

// One value that several processes share, in a service that keeps it when some of its machines are
// lost. Writes name the revision that they replace, so of two writers at most one succeeds.
//
// Threads: the loop's. Callbacks come from the loop, never from within the call.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace tickstack::tickerplant {

class ElectionStore {
 public:
  struct Record {
    uint64_t revision = 0;  // 0: there is no value yet.
    std::string value;
  };
  struct Written {
    bool replaced = false;  // True if the value is the caller's now.
    Record now;             // The value after the write.
  };

  virtual ~ElectionStore() = default;
  // Returns the newest value, as of a moment during the call. kUnavailable if the service cannot be
  // reached in time or has no quorum.
  virtual void Read(std::function<void(absl::StatusOr<Record>)> done) = 0;
  // Replaces the value if its revision is `revision`. After an error it may have been replaced.
  virtual void Write(uint64_t revision, std::string value,
                     std::function<void(absl::StatusOr<Written>)> done) = 0;
};

}  // namespace tickstack::tickerplant
