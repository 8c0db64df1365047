#pragma once

// A file of TCP PITCH: a line for each message, plain or compressed.
//
//   S28800011AAK27GA0000DTS000100SH    0000619200Y
//   |   |    |    |       |  |     |        '- price, 6 digits and 4 decimals; displayed
//   |   |    |    |       |  |     '- symbol
//   |   |    |    |       |  '- shares
//   |   |    |    |       '- side
//   |   |    |    '- order, in base 36
//   |   |    '- type
//   |   '- ms since midnight
//   '- a sequenced message; may be absent
//
// Lines end in LF or CR LF. Other lines of a recorded session, such as heartbeats, are passed over
// and counted by their first character.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "feed/market/event_reader.h"
#include "feed/market/line_reader.h"
#include "feed/market/pitch/pitch_book.h"

namespace tickstack::feed::market {

// Threads: one owner.
class PitchFile final : public EventReader {
 public:
  // `midnight_ns`: as for PitchDecoder. Errors of LineReader::Open.
  static absl::StatusOr<std::unique_ptr<PitchFile>> Open(const std::string& path,
                                                         int64_t midnight_ns);

  // Errors of LineReader.
  absl::StatusOr<bool> Advance() override;
  int64_t time_ns() const override { return time_ns_; }
  // kDataLoss, with the file and the byte, if the file is cut off within its last line.
  absl::Status Decode(EventSink& sink) override;
  absl::Status Rewind() override;
  const MessageCounts& counts() const override { return counts_; }

 private:
  struct Line {
    std::string_view fields;  // Behind the type.
    EventHead head;
    EventSink& sink;
  };
  using DecodeFunction = std::string_view (PitchFile::*)(const Line&);
  // A row of the table of messages.
  struct LineType {
    char type;
    uint8_t bytes;  // Length of the fields.
    DecodeFunction decode;
  };
  static const LineType kTypes[];

  PitchFile(std::string path, int64_t midnight_ns)
      : path_(std::move(path)), midnight_ns_(midnight_ns) {}
  void ReadHead();
  std::string_view DecodeFields(EventSink& sink);

  template <size_t kNameBytes, size_t kPriceBytes>
  std::string_view AddLine(const Line& line);
  template <size_t kNameBytes, size_t kPriceBytes>
  std::string_view TradeLine(const Line& line);
  template <size_t kPriceBytes>
  std::string_view AuctionLine(const Line& line);
  template <size_t kPriceBytes>
  std::string_view SummaryLine(const Line& line);
  std::string_view ExecutedLine(const Line& line);
  std::string_view CancelLine(const Line& line);
  std::string_view BreakLine(const Line& line);
  std::string_view StatusLine(const Line& line);
  std::string_view RetailLine(const Line& line);
  std::string_view ClearLine(const Line& line);

  const std::string path_;
  const int64_t midnight_ns_;
  std::unique_ptr<LineReader> lines_;
  PitchBook book_;
  TextLine line_;
  char type_ = ' ';       // If the line has a message.
  size_t fields_at_ = 0;  // Where its fields begin; 0: it has no message.
  int64_t seq_ = 0;       // Number of the message, from 1.
  int64_t time_ns_ = kNullLong;
  MessageCounts counts_;
};

}  // namespace tickstack::feed::market
