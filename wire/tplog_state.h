#pragma once

// The history of a log besides its messages, in a small text file beside it, LOG.state: whether a
// writer has it open and since which boot of the machine, whether its day has ended, and where
// power cuts have shortened it. docs/formats.md has the format.
//
// The boot decides what it means if the log's tail disagrees with its index. Until the machine
// reboots, the page cache holds everything that was written, so such a tail is damage. After a
// reboot, pages that had not reached the disk are missing, or read as zeros.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::wire {

struct TplogState {
  // A power cut after which the log continued with message number `messages`. Messages that had
  // been logged from that number on are lost.
  struct Cut {
    uint64_t messages = 0;
    int64_t time_ns = 0;  // When it was found, ns since 2000 UTC.

    friend bool operator==(const Cut&, const Cut&) = default;
  };

  bool open = false;   // True if a writer opened it and has not closed it after a sync.
  std::string boot;    // The boot of the machine when it was opened: BootId.
  bool ended = false;  // True if the day is over: new rows belong to a later log.
  std::vector<Cut> cuts;

  friend bool operator==(const TplogState&, const TplogState&) = default;
};

std::string TplogStatePath(std::string_view log_path);

// Returns the state of the log at this path; the default state if it has no state file. kDataLoss
// if the file is invalid.
absl::StatusOr<TplogState> ReadTplogState(const std::string& log_path);

// Replaces the state file by a rename; durable when it returns.
absl::Status WriteTplogState(const std::string& log_path, const TplogState& state);

}  // namespace tickstack::wire
