#include "feed/market/text_reader.h"

#include "base/status.h"

namespace tickstack::feed::market {

absl::Status TextReader::Rewind() {
  TS_ASSIGN_OR_RETURN(lines_, LineReader::Open(path_));
  line_ = {};
  record_ = {};
  why_ = {};
  records_ = 0;
  counts_ = {};
  if (format_.has_header) {
    TS_ASSIGN_OR_RETURN(const std::optional<TextLine> header, ReadLine());
    TS_RETURN_IF_ERROR(TakeHeader(header ? header->text : std::string_view()));
  }
  if (format_.looks_ahead) LookAhead();
  return absl::OkStatus();
}

// Returns the next line that is not empty.
absl::StatusOr<std::optional<TextLine>> TextReader::ReadLine() {
  while (true) {
    TS_ASSIGN_OR_RETURN(std::optional<TextLine> line, lines_->Next());
    if (!line || !line->text.empty()) return line;
  }
}

void TextReader::LookAhead() {
  absl::StatusOr<std::optional<TextLine>> next = ReadLine();
  ahead_error_ = next.status();
  ahead_ = next.ok() ? *next : std::nullopt;
  if (!ahead_) return;
  ahead_text_.assign(ahead_->text);
  ahead_->text = ahead_text_;
}

// Moves to the next line; false at the end.
absl::StatusOr<bool> TextReader::TakeLine() {
  if (!format_.looks_ahead) {
    TS_ASSIGN_OR_RETURN(const std::optional<TextLine> line, ReadLine());
    if (line) line_ = *line;
    return line.has_value();
  }
  TS_RETURN_IF_ERROR(ahead_error_);
  if (!ahead_) return false;
  line_ = *ahead_;
  text_.swap(ahead_text_);
  line_.text = text_;
  LookAhead();
  return true;
}

absl::StatusOr<bool> TextReader::Advance() {
  bool is_other = false;
  do {
    TS_ASSIGN_OR_RETURN(const bool more, TakeLine());
    if (!more) {
      TS_RETURN_IF_ERROR(CheckEnd(records_));
      return false;
    }
    TS_ASSIGN_OR_RETURN(is_other, TakeOther(line_));
  } while (is_other);
  record_ = {};
  why_ = Parse(line_.text, record_);
  if (!line_.has_end) TS_RETURN_IF_ERROR(CheckLastLine());
  ++records_;
  if (record_.head.seq == kNullLong) record_.head.seq = records_;
  return true;
}

absl::Status TextReader::CheckLastLine() const {
  if (why_.empty() && format_.last_line_may_lack_end) return absl::OkStatus();
  return DataLoss("{}: byte {}: the file is cut off within line {}: {}", path_, line_.offset,
                  line_.number, why_.empty() ? "it has no end" : why_);
}

// The order of a file is that in which it was received.
int64_t TextReader::time_ns() const {
  return record_.head.recv_ns != kNullLong ? record_.head.recv_ns : record_.head.time_ns;
}

absl::Status TextReader::Decode(EventSink& sink) {
  constexpr size_t kShownBytes = 120;
  const auto type = static_cast<uint8_t>(record_.type);
  if (why_.empty()) {
    ++counts_.decoded[type];
    Emit(record_, sink);
  } else if (why_ == kUnknownType) {
    ++counts_.unknown[type];
  } else {
    ++counts_.bad[type];
    counts_.AddProblem(fmt::format("{}: line {}: {}: {}", path_, line_.number, why_,
                                   line_.text.substr(0, kShownBytes)));
  }
  return absl::OkStatus();
}

}  // namespace tickstack::feed::market
