#pragma once

// Recorded websocket messages of one exchange, from one or several files, which are merged by the
// times of receipt. Of equal times, the message of the first file comes first.
//
// A message that does not fit is counted by its type and gives no event. If a file ends within a
// line that does not fit, it was cut off there: that is an error.

#include <memory>
#include <string>
#include <vector>

#include "feed/market/event_reader.h"
#include "feed/market/websocket/record_decoder.h"
#include "feed/market/websocket/recording_file.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: that of the decoder's books, and some 20 times the longest line.
class WebsocketRecording final : public EventReader {
 public:
  static constexpr size_t kFilesMax = 64;

  // `venue`: as for MakeVenueDecoder. kInvalidArgument for another venue, or too many files. Errors
  // of ByteStream::Open.
  static absl::StatusOr<std::unique_ptr<WebsocketRecording>> Open(std::vector<std::string> paths,
                                                                  std::string venue);

  absl::StatusOr<bool> Advance() override;
  int64_t time_ns() const override { return recv_ns_; }
  absl::Status Decode(EventSink& sink) override;
  absl::Status Rewind() override;
  const MessageCounts& counts() const override { return decoder_->counts(); }

 private:
  WebsocketRecording(std::vector<std::string> paths, std::string venue)
      : paths_(std::move(paths)), venue_(std::move(venue)) {}
  absl::Status AdvanceFile(size_t file);
  void ChooseFile();
  static absl::Status CutOff(const RecordingFile& file, std::string_view why);

  const std::vector<std::string> paths_;
  const std::string venue_;
  std::vector<std::unique_ptr<RecordingFile>> files_;  // nullptr: read to its end.
  std::unique_ptr<RecordDecoder> decoder_;
  size_t chosen_ = 0;       // The file whose record is the current one.
  bool has_begun_ = false;  // All files are at their first record, or behind it.
  bool ended_ = false;      // The last step closes the gaps.
  int64_t recv_ns_ = kNullLong;
};

}  // namespace tickstack::feed::market
