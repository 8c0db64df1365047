#pragma once

// A place in a log from which a reader can start without reading what is before it.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "tplog/tplog_index.h"

namespace tickstack::tplog {

// The beginning of a message, in the log and in its index. TplogWriter::End returns the place after
// the last message.
struct TplogPlace {
  uint64_t offset = 0;
  uint64_t seq = 0;
  uint64_t index_offset = 0;
  IndexDictionary names;  // Those of the index's records before the place.
};

// A log and its index, opened once for any number of readers.
struct TplogFiles {
  std::shared_ptr<const File> log;
  std::shared_ptr<const File> index;

  // kNotFound if one of them does not exist.
  static absl::StatusOr<TplogFiles> Open(const std::string& log_path);
};

}  // namespace tickstack::tplog
