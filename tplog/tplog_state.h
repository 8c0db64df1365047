#pragma once

// The history of a log besides its messages, in a small text file beside it, LOG.state: whether a
// writer has it open and since which boot of the machine, whether its day has ended, whether a sync
// of it failed, and where power cuts have shortened it. docs/formats.md has the format.
//
// The boot decides what it means if the log's tail disagrees with its index. Until the machine
// reboots, the page cache holds everything that was written, so such a tail is damage. After a
// reboot, pages that had not reached the disk are missing, or read as zeros. The same holds if the
// file system was unmounted and mounted again meanwhile: it may have lost its disk before.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::tplog {

inline constexpr uint32_t kTplogStateVersion = 2;  // Version 1, without a checksum, is read, too.

struct TplogState {
  // A power cut after which the log continued with message number `messages`. Messages that had
  // been logged from that number on are lost.
  struct Cut {
    uint64_t messages = 0;
    int64_t time_ns = 0;  // When it was found, ns since 2000 UTC.

    friend bool operator==(const Cut&, const Cut&) = default;
  };

  // Bytes of the log and of its index, from the beginning.
  struct Bytes {
    uint64_t log = 0;
    uint64_t index = 0;

    friend bool operator==(const Bytes&, const Bytes&) = default;
  };

  bool open = false;   // True if a writer opened it and has not closed it after a sync.
  std::string boot;    // The boot of the machine when it was opened: BootId.
  std::string mount;   // The mount of its file system then: MountId. Empty: not known.
  bool ended = false;  // True if the day is over: new rows belong to a later log.
  // Set after a failed sync: how much is known to be on the disk. Later bytes may be lost although
  // they can still be read, because the kernel drops the pages that it could not write.
  std::optional<Bytes> synced;
  std::vector<Cut> cuts;

  // True if a writer had it open in another boot, or with another mount, than the given ones: then
  // the page cache was lost with whatever had not been synced. An unknown mount is no other one.
  bool MayHaveLostPages(std::string_view boot_now, std::string_view mount_now) const;

  friend bool operator==(const TplogState&, const TplogState&) = default;
};

std::string TplogStatePath(std::string_view log_path);

// Returns the state of the log at this path; the default state if it has no state file. kDataLoss
// if the file is invalid.
absl::StatusOr<TplogState> ReadTplogState(const std::string& log_path);

// Replaces the state file by a rename; durable when it returns.
absl::Status WriteTplogState(const std::string& log_path, const TplogState& state);

// Records in `state` and in its file that a sync failed, and that only `synced` is known to be on
// the disk. The record need not be durable, as the disk may fail again: after a reboot, the next
// writer compares the log anyway. Errors are logged.
void NoteFailedSync(const std::string& log_path, TplogState::Bytes synced, TplogState& state);

}  // namespace tickstack::tplog
