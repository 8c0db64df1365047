#pragma once

// Reads pieces of the log for `.u.log`, which serves subscribers that cannot open its file.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "tickerplant/tickerplant.h"
#include "tplog/tplog_reader.h"

namespace tickstack::tickerplant {

// Keeps the log open from one piece to the next. Threads: one owner.
class LogRanges {
 public:
  static constexpr int64_t kBytesMax = int64_t{16} << 20;  // Limit of a piece.

  // Returns whole messages from number `from` on: at most `bytes` of them, but at least one message
  // if there is one. `path`, with or without a colon in front, is today's log or the one before it:
  // a subscriber that lacks rows of a day when it ends can still read them, also from a tickerplant
  // that was restarted since. kNotFound for another path; kInvalidArgument if `from` is not in the
  // log.
  absl::StatusOr<ByteBuffer> Read(const Tickerplant& tickerplant, std::string_view path,
                                  int64_t from, int64_t bytes);
  // Does the same with a log of which only complete messages are read.
  absl::StatusOr<ByteBuffer> Read(const Tickerplant::EndedLog& log, int64_t from, int64_t bytes);

 private:
  std::unique_ptr<tplog::TplogReader> reader_;
  std::string path_;
};

}  // namespace tickstack::tickerplant
