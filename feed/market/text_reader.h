#pragma once

// A text file, read line by line, in which each line is a record. A format derives its reader,
// which parses lines and makes their events. Empty lines are passed over.
//
// A line that does not fit is counted and gives no event. If the last line has no end, the file may
// have been cut off within it: that is an error, unless the format can tell that the line is whole.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "feed/market/event_reader.h"
#include "feed/market/line_reader.h"

namespace tickstack::feed::market {

struct TextFormat {
  bool has_header = false;  // The first line names the columns.
  // A last line that fits, but has no end, is taken for whole.
  bool last_line_may_lack_end = false;
  bool looks_ahead = false;  // Needs the next line to make the events of a line.
};

// Threads: one owner.
class TextReader : public EventReader {
 public:
  absl::StatusOr<bool> Advance() final;
  int64_t time_ns() const final;
  absl::Status Decode(EventSink& sink) final;
  absl::Status Rewind() override;
  const MessageCounts& counts() const final { return counts_; }

 protected:
  // Why a line does not fit; empty if it does.
  using Why = std::string_view;
  static constexpr std::string_view kUnknownType = "unknown type";

  struct Record {
    EventHead head;    // If it has no number, this class sets that of the line's record.
    char type = '\0';  // As which the line is counted.
  };

  TextReader(std::string path, TextFormat format) : path_(std::move(path)), format_(format) {}

  // Takes the header, before the first record and again after a rewind. The reader then forgets
  // what it knows of earlier records. An error names the file.
  virtual absl::Status TakeHeader(std::string_view /*line*/) { return absl::OkStatus(); }
  // Takes a line that is no record, such as a count at the end. False: it is a record. An error
  // names the file, and is final.
  virtual absl::StatusOr<bool> TakeOther(const TextLine& /*line*/) { return false; }
  // Checks what the file has told about its records, at its end. `records`: the number of them. An
  // error names the file.
  virtual absl::Status CheckEnd(int64_t /*records*/) { return absl::OkStatus(); }
  // Parses a line, whose views are valid until the next call, and sets the fields of `record`.
  virtual Why Parse(std::string_view line, Record& record) = 0;
  // Sends the events of the line that was parsed last, and fits.
  virtual void Emit(const Record& record, EventSink& sink) = 0;

  // Returns the line after the one that was parsed last, if the format looks ahead; empty at the
  // end.
  std::string_view next_line() const { return ahead_ ? ahead_->text : std::string_view(); }
  const std::string& path() const { return path_; }

 private:
  absl::StatusOr<std::optional<TextLine>> ReadLine();
  void LookAhead();
  absl::StatusOr<bool> TakeLine();
  absl::Status CheckLastLine() const;

  const std::string path_;
  const TextFormat format_;
  std::unique_ptr<LineReader> lines_;
  TextLine line_;
  std::string text_;  // Of line_, if the format looks ahead.
  std::optional<TextLine> ahead_;
  std::string ahead_text_;
  absl::Status ahead_error_;  // Reported after the lines before it.
  Record record_;
  Why why_;
  int64_t records_ = 0;
  MessageCounts counts_;
};

}  // namespace tickstack::feed::market
