#pragma once

// A file of NYSE Daily TAQ: the trades, quotes or NBBO of all US exchanges on a day, ordered by
// symbol. taq_layout.h describes both layouts. A delimited file ends with `END|20161003|count|...`;
// one of fixed width begins with ` N02062014 Record Count : count`. So a file that was cut off is
// known, and is an error after the records that it has.

#include <optional>
#include <string>

#include "feed/market/taq/taq_layout.h"
#include "feed/market/text_reader.h"

namespace tickstack::feed::market {

struct TaqFileSettings {
  int32_t day = 0;                // That the file must be of, in days since 2000.
  int64_t midnight_ns = 0;        // Of this day in New York, in ns since 2000 UTC.
  std::optional<TaqKind> kind{};  // Needed for files of fixed width.
  bool has_amounts = false;       // Volumes need not be whole: trades have `amount`, not `size`.
};

// Returns the day at the end of a file's name, such as `EQY_US_ALL_TRADE_20161003.gz`, and the kind
// that the name tells.
std::optional<int32_t> TaqDayOfName(const std::string& path);
std::optional<TaqKind> TaqKindOfName(const std::string& path);

// Threads: one owner.
class TaqFile final : public TextReader {
 public:
  // kInvalidArgument if a file of fixed width is of unknown kind, or the file is of another day.
  // kDataLoss if it has no header, or that lacks a column. Errors of ByteStream::Open.
  static absl::StatusOr<std::unique_ptr<TaqFile>> Open(const std::string& path,
                                                       const TaqFileSettings& settings);

 private:
  // What the last record has, as far as its kind does.
  struct Row {
    double price = kNullPrice, ask = kNullPrice;
    int64_t size = kNullLong, ask_size = kNullLong;
    double amount = kNullPrice;
    int64_t id = kNullLong;
  };

  TaqFile(const std::string& path, const TaqFileSettings& settings)
      : TextReader(path, {.has_header = true, .last_line_may_lack_end = true}),
        settings_(settings) {}

  absl::Status TakeHeader(std::string_view line) override;
  absl::StatusOr<bool> TakeOther(const TextLine& line) override;
  absl::Status TakeEnd(const TextLine& line);
  absl::Status CheckEnd(int64_t records) override;
  absl::Status CheckDay(std::string_view date) const;
  Why Parse(std::string_view line, Record& record) override;
  Why ParseHead(Record& record);
  Why ParseTrade(Record& record);
  Why ParseQuote();
  bool ParsePrice(std::string_view text, double* price) const;
  void Emit(const Record& record, EventSink& sink) override;
  void EmitTrade(const EventHead& head, EventSink& sink) const;
  void EmitQuote(const EventHead& head, EventSink& sink);

  const TaqFileSettings settings_;
  std::optional<TaqLayout> layout_;
  std::optional<int64_t> announced_;  // Records that the file says it has.
  bool ended_ = false;                // The line END was read.
  TaqFields fields_;
  Row row_;
  std::string symbol_, cond_;
};

}  // namespace tickstack::feed::market
