#pragma once

// What has happened to a log besides messages, in a small text file beside it, LOG.state: whether a
// writer has it open and under which boot of the machine, whether its day has ended, and where
// power cuts have shortened it. docs/formats.md has the format.
//
// The boot decides what a tail that does not agree with its index means. As long as the machine has
// not been started anew, the page cache holds everything that was written, and such a tail is
// damage. After a start, pages that had not reached the disk are missing, or read as zeros.

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

  bool open = false;   // A writer opened it and has not closed it after a sync.
  std::string boot;    // The machine's boot under which it did: BootId.
  bool ended = false;  // The day is over: rows that come belong to a later log.
  std::vector<Cut> cuts;

  friend bool operator==(const TplogState&, const TplogState&) = default;
};

std::string TplogStatePath(std::string_view log_path);

// The state of the log at this path; of a log without a state file, the default. kDataLoss: the
// file is not one.
absl::StatusOr<TplogState> ReadTplogState(const std::string& log_path);

// Replaces the state file by one rename; durable when it returns.
absl::Status WriteTplogState(const std::string& log_path, const TplogState& state);

}  // namespace tickstack::wire
