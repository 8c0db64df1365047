#pragma once

// An orderbook file of LOBSTER: line n has the best levels after message n of the message file, as
// many on each side in every line:
//
//   5859400,200,5853300,18,5859800,200,5853000,150
//   |       |   |       |  second levels of both sides
//   |       |   |       size of the best bid
//   |       |   best bid; -9999999999 if there is none
//   |       size of the best ask, in shares; 0 if there is none
//   best ask in 1/10000 dollar; 9999999999 if there is none
//
// If the last line has no end, its last number may have been cut off, which nothing shows: then the
// level of that number stays what it was.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "feed/market/book_view.h"
#include "feed/market/line_reader.h"

namespace tickstack::feed::market {

// Threads: one owner. Memory: that of LineReader, and of the levels of a line.
class LobsterBook {
 public:
  // Errors of ByteStream::Open.
  static absl::StatusOr<std::unique_ptr<LobsterBook>> Open(const std::string& path);

  // Moves to the line of the next message. kDataLoss, with the file and the place, if there is no
  // such line, or if the file was cut off within it; errors of ByteStream.
  absl::Status Advance();
  // Why the line does not fit; empty if it does.
  std::string_view why() const { return why_; }
  // Sends what has changed since the last line that was sent. Only for a line that fits.
  void Send(const EventHead& head, EventSink& sink) { view_.Replace(bids_, asks_, head, sink); }
  // kDataLoss if there are lines behind that of the last message.
  absl::Status CheckEnd();

 private:
  explicit LobsterBook(std::unique_ptr<LineReader> lines) : lines_(std::move(lines)) {}
  absl::StatusOr<bool> ReadLine();
  std::string_view Parse();
  std::string_view ParseLevel(size_t field, char side, std::vector<PriceLevel>& levels) const;
  void KeepLastBid(std::vector<PriceLevel>& bids) const;

  const std::unique_ptr<LineReader> lines_;
  TextLine line_;
  std::vector<std::string_view> fields_;
  size_t field_count_ = 0;               // What each line has; 0 before the first one that fits.
  std::vector<PriceLevel> bids_, asks_;  // The last line that fits has these.
  std::vector<PriceLevel> new_bids_, new_asks_;  // The line that is parsed has these.
  std::string_view why_;
  BookView view_;
};

}  // namespace tickstack::feed::market
