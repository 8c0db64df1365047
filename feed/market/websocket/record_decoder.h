#pragma once

// Records of an exchange's messages as events, wherever they come from: a recording, or a
// connection that is live.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "feed/market/arbiter.h"
#include "feed/market/event_reader.h"
#include "feed/market/websocket/json_text.h"
#include "feed/market/websocket/venue_decoder.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: that of the decoder's books, and some 20 times the longest message.
class RecordDecoder {
 public:
  using Place = absl::FunctionRef<std::string()>;  // Returns where a record is, for errors.
  struct Outcome {
    std::string why{};            // Why the record does not fit, and gave no event.
    bool concerns_books = false;  // It may have been about a book, which is wrong without it.
  };

  // Errors of MakeVenueDecoder.
  static absl::StatusOr<std::unique_ptr<RecordDecoder>> Create(std::string_view venue);

  // Sends the events of a record to `sink`. What does not fit is counted by its type, and described
  // with `place`.
  Outcome Take(const Record& record, Place place, EventSink& sink);
  // Counts a line that is no record.
  void CountBadLine(Place place, std::string_view why) { Fail(place, "line", why); }
  // Closes the gaps at the end of a recording.
  void End(int64_t recv_ns, EventSink& sink) { decoder_->End(recv_ns, sink); }

  const MessageCounts& counts() const { return counts_; }
  MessageCounts& counts() { return counts_; }
  const VenueDecoder& venue() const { return *decoder_; }

  // Returns how far a connection was decoded: the number of its next message, and when the last one
  // was received after which nothing is missing that was not sent as a gap. No position: it had no
  // message.
  std::vector<StreamPosition> Positions(std::string_view connection) const;
  // Continues at an earlier decoder's position: a new connection is a gap from there on.
  void Continue(const StreamPosition& position);

 private:
  RecordDecoder() = default;
  std::string Fail(Place place, std::string_view type, std::string_view why);

  MessageCounts counts_;
  std::unique_ptr<VenueDecoder> decoder_;
  JsonText json_;
  int64_t messages_ = 0;
};

}  // namespace tickstack::feed::market
