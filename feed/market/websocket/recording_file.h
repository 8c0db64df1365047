#pragma once

// A file of recorded websocket messages, plain or compressed, read record by record. Each line says
// by itself in which of three forms it is:
//
//   cryptofeed 1 and 2
//     1618678142.592855: TEXT                      received
//     https://host/depth?symbol=X -> 1618677372.5: TEXT   answer to a request by HTTP
//     wss://host <-> 1618678132.3                  connected
//     wss://host <- 1618678132.8: TEXT             sent, passed over
//   cryptofeed 3
//     {"t":"recv","conn":"KRAKEN.ws.48","ts":1618678132.8,"data":"TEXT"}   also http, connect, send
//   hftbacktest
//     1723161254024619568 TEXT                     received, or an answer
//
// Only the second form names connections. In the others, the file is one, called by its name.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "feed/market/events.h"
#include "feed/market/line_reader.h"
#include "feed/market/websocket/json_text.h"

namespace tickstack::feed::market {

struct Record {
  enum class Kind { kReceived, kAnswer, kConnected };
  Kind kind = Kind::kReceived;
  int64_t recv_ns = kNullLong;  // In ns since 2000.
  std::string_view connection{};
  std::string_view address{};  // That of the request or connection, if the line has it.
  std::string_view text{};     // Empty for kConnected.
};

// Threads: one owner. Memory: that of JsonText for the longest line.
class RecordingFile {
 public:
  static constexpr size_t kRecordBytesMax = size_t{32} << 20;

  // Errors of ByteStream::Open.
  static absl::StatusOr<std::unique_ptr<RecordingFile>> Open(const std::string& path);

  // Moves to the next record, or line that is none; false at the end. kDataLoss for a line that is
  // too long, and for errors of ByteStream.
  absl::StatusOr<bool> Advance();

  // The record, valid until the next call. If the line is none, it has the time of the one before.
  const Record& record() const { return record_; }
  // Says why the line is no record; empty if it is one.
  const std::string& why() const { return why_; }
  // False: the file ends within the line, so that it may have been cut off.
  bool has_end() const { return line_.has_end; }
  // Returns `path: byte 123: line 5`.
  std::string Place() const;
  const std::string& path() const { return lines_->path(); }

 private:
  explicit RecordingFile(std::unique_ptr<LineReader> lines);

  // Set record_ or why_, and return false if the line is to be passed over.
  bool ParseLine(std::string_view line);
  bool ParseStamped(std::string_view line);
  bool ParseAddressed(std::string_view line);
  bool ParseJsonLine(std::string_view line);
  bool NoRecord(std::string why);
  bool TakeTime(std::string_view seconds);

  std::unique_ptr<LineReader> lines_;
  const std::string name_;  // That of the file.
  JsonText json_;
  TextLine line_;
  Record record_;
  std::string why_;
};

}  // namespace tickstack::feed::market
