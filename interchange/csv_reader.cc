#include "interchange/csv_reader.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace tickstack::interchange {
namespace {

constexpr size_t kCsvPieceBytes = size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

absl::StatusOr<CsvReader> CsvReader::Open(const std::string& path, char delimiter) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenForReading(path));
  CsvReader reader(std::move(file), delimiter);
  TS_RETURN_IF_ERROR(reader.ReadMore().status());
  if (reader.buffer_.starts_with(kByteOrderMark)) reader.end_ = kByteOrderMark.size();
  return reader;
}

absl::Status CsvReader::ErrorAt(std::string_view what) const {
  return InvalidArgument("{}:{}: {}", file_.path(), line_, what);
}

// Appends a piece of the file to the buffer, without the records that are done. Returns false at
// the end of the file.
absl::StatusOr<bool> CsvReader::ReadMore() {
  buffer_.erase(0, begin_);
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() > kRecordBytesMax) {
    return ErrorAt(fmt::format("a record of more than {} bytes", kRecordBytesMax));
  }
  const size_t held = buffer_.size();
  buffer_.resize(held + kCsvPieceBytes);
  const absl::StatusOr<size_t> read =
      file_.ReadAt(offset_, std::as_writable_bytes(std::span(buffer_)).subspan(held));
  buffer_.resize(held + read.value_or(0));
  TS_RETURN_IF_ERROR(read.status());
  offset_ += *read;
  return *read > 0;
}

// Sets end_ to the end of the record at begin_: after the first line break that is not within
// quotes, where each quote opens or closes, also one of two.
absl::Status CsvReader::FindEnd() {
  bool quoted = false;
  size_t at = begin_;
  next_line_ = line_;
  for (;;) {
    for (; at < buffer_.size(); ++at) {
      if (buffer_[at] == '"') quoted = !quoted;
      if (buffer_[at] != '\n') continue;
      ++next_line_;
      if (quoted) continue;
      end_ = at + 1;
      return absl::OkStatus();
    }
    at -= begin_;  // ReadMore moves the record to the front.
    TS_ASSIGN_OR_RETURN(const bool more, ReadMore());
    if (more) continue;
    if (quoted) return ErrorAt("a quote that is not closed");
    end_ = buffer_.size();
    return absl::OkStatus();
  }
}

// Reads a field from its opening quote on, and moves its bytes so that each double quote is one.
absl::StatusOr<std::string_view> CsvReader::QuotedField(size_t& at, size_t end) {
  const size_t start = at;
  size_t out = start;
  for (++at; at < end; ++at) {
    if (buffer_[at] == '"') {
      ++at;
      if (at >= end || buffer_[at] != '"') break;
    }
    buffer_[out++] = buffer_[at];
  }
  if (at < end && buffer_[at] != delimiter_) {
    return ErrorAt("bytes between a closing quote and the end of the field");
  }
  return std::string_view(buffer_).substr(start, out - start);
}

absl::Status CsvReader::Split() {
  size_t end = end_;
  if (end > begin_ && buffer_[end - 1] == '\n') --end;
  if (end > begin_ && buffer_[end - 1] == '\r') --end;
  fields_.clear();
  for (size_t at = begin_;; ++at) {
    if (fields_.size() == kRecordFieldsMax) {
      return ErrorAt(fmt::format("a record of more than {} fields", kRecordFieldsMax));
    }
    if (at < end && buffer_[at] == '"') {
      TS_ASSIGN_OR_RETURN(fields_.emplace_back(), QuotedField(at, end));
    } else {
      const auto from = buffer_.begin() + static_cast<std::ptrdiff_t>(at);
      const auto to = buffer_.begin() + static_cast<std::ptrdiff_t>(end);
      const auto stop = std::find(from, to, delimiter_);
      const std::string_view field(buffer_.data() + at, static_cast<size_t>(stop - from));
      if (field.find('"') != std::string_view::npos) {
        return ErrorAt("a quote within a field that does not begin with one");
      }
      fields_.push_back(field);
      at += field.size();
    }
    if (at >= end) return absl::OkStatus();
  }
}

absl::StatusOr<bool> CsvReader::Next() {
  for (;;) {
    begin_ = end_;
    line_ = next_line_;
    TS_RETURN_IF_ERROR(FindEnd());
    if (begin_ == end_) return false;
    TS_RETURN_IF_ERROR(Split());
    if (fields_.size() != 1 || !fields_[0].empty()) return true;
  }
}

}  // namespace tickstack::interchange
