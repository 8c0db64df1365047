#include "interchange/arrow_reader.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/status.h"
#include "interchange/arrow_body.h"

namespace tickstack::interchange {
namespace {

using arrow::BodyBuffers;
using arrow::ColumnValues;
using arrow::Dictionary;
using arrow::StreamColumn;
using arrow::StreamMessage;

constexpr std::string_view kFileTag("ARROW1\0\0", 8);
constexpr std::string_view kContinuation("\xff\xff\xff\xff", 4);

// The texts of a dictionary are a column by themselves.
StreamColumn TextsOf(const StreamColumn& column) {
  StreamColumn texts = column;
  texts.has_dictionary = false;
  return texts;
}

absl::Status CheckAllTaken(const BodyBuffers& buffers) {
  return buffers.left() == 0 ? absl::OkStatus()
                             : DataLoss("{} buffers of no column", buffers.left());
}

}  // namespace

bool IsArrowFile(const std::string& path) {
  const absl::StatusOr<File> file = File::OpenForReading(path);
  if (!file.ok()) return false;
  std::array<char, 8> start{};
  const size_t read = file->ReadAt(0, std::as_writable_bytes(std::span(start))).value_or(0);
  const std::string_view text(start.data(), read);
  return text == kFileTag || text.starts_with(kContinuation);
}

absl::Status ArrowReader::Damaged(const absl::Status& status) const {
  return Annotate(status, fmt::format("{}: byte {}", file_.path(), message_at_));
}

absl::StatusOr<ArrowReader> ArrowReader::Open(const std::string& path) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenForReading(path));
  ArrowReader reader(std::move(file));
  TS_ASSIGN_OR_RETURN(reader.file_bytes_, reader.file_.Bytes());
  ByteBuffer start;
  if (reader.file_bytes_ >= kFileTag.size()) {
    TS_RETURN_IF_ERROR(reader.ReadExactly(kFileTag.size(), start));
  }
  if (AsText(start.span()) == kFileTag) {
    return Unimplemented("{}: Arrow's file format (Feather), expected a stream", path);
  }
  reader.at_ = 0;
  TS_ASSIGN_OR_RETURN(std::optional<StreamMessage> message, reader.ReadMessage());
  if (!message || message->kind != StreamMessage::Kind::kSchema) {
    return reader.Damaged(DataLoss("expected a schema"));
  }
  reader.columns_ = std::move(message->columns);
  return reader;
}

// Nothing is allocated for bytes that the file does not have.
absl::Status ArrowReader::ReadExactly(uint64_t bytes, ByteBuffer& out) {
  if (bytes > file_bytes_ - at_) {
    return DataLoss("{}: byte {}: {} bytes expected, but the file ends at byte {}", file_.path(),
                    at_, bytes, file_bytes_);
  }
  out.resize(bytes);
  TS_ASSIGN_OR_RETURN(const size_t read, file_.ReadAt(at_, out.span()));
  if (read != bytes) return DataLoss("{}: it became shorter while it was read", file_.path());
  at_ += bytes;
  return absl::OkStatus();
}

// Reads a message and its body. nullopt at the end of the stream.
absl::StatusOr<std::optional<StreamMessage>> ArrowReader::ReadMessage() {
  message_at_ = at_;
  ByteBuffer head, metadata;
  TS_RETURN_IF_ERROR(ReadExactly(kContinuation.size() + sizeof(uint32_t), head));
  if (!AsText(head.span()).starts_with(kContinuation)) {
    return Damaged(DataLoss("not a message of Arrow's"));
  }
  const auto bytes = LoadLittle<uint32_t>(head.data() + kContinuation.size());
  if (bytes == 0) return std::nullopt;
  if (bytes > arrow::kMetadataBytesMax) return Damaged(DataLoss("metadata of {} bytes", bytes));
  TS_RETURN_IF_ERROR(ReadExactly(bytes, metadata));
  absl::StatusOr<StreamMessage> message = arrow::ParseStreamMessage(metadata);
  if (!message.ok()) return Damaged(message.status());
  TS_RETURN_IF_ERROR(ReadExactly(message->body_bytes, body_));
  return *std::move(message);
}

absl::Status ArrowReader::ReadDictionary(const StreamMessage& message) {
  const auto column = std::ranges::find_if(columns_, [&](const StreamColumn& each) {
    return each.has_dictionary && each.dictionary == message.dictionary;
  });
  if (column == columns_.end()) return DataLoss("a dictionary {} of no column", message.dictionary);
  if (message.nodes.size() != 1) {
    return DataLoss("a dictionary of {} columns", message.nodes.size());
  }
  if (message.nodes[0].nulls > 0) {
    return Unimplemented("column {}: a dictionary with nulls", Shown(*column));
  }
  BodyBuffers buffers(body_, message.buffers);
  const absl::StatusOr<ColumnValues> texts =
      ColumnValues::Take(TextsOf(*column), message.nodes[0], nullptr, buffers);
  if (!texts.ok()) return Annotate(texts.status(), "dictionary of column " + Shown(*column));
  TS_RETURN_IF_ERROR(CheckAllTaken(buffers));
  Dictionary& dictionary = dictionaries_[message.dictionary];
  if (!message.is_delta) dictionary = Dictionary();
  for (uint64_t i = 0; i < texts->rows(); ++i) dictionary.Add(texts->TextAt(i));
  return absl::OkStatus();
}

absl::Status ArrowReader::ReadValues(const StreamMessage& message) {
  if (message.nodes.size() != columns_.size()) {
    return DataLoss("a batch of {} columns, the schema has {}", message.nodes.size(),
                    columns_.size());
  }
  BodyBuffers buffers(body_, message.buffers);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const StreamColumn& column = columns_[i];
    const auto found =
        column.has_dictionary ? dictionaries_.find(column.dictionary) : dictionaries_.end();
    absl::StatusOr<ColumnValues> values = ColumnValues::Take(
        column, message.nodes[i], found == dictionaries_.end() ? nullptr : &found->second, buffers);
    if (!values.ok()) return Annotate(values.status(), "column " + Shown(column));
    values_.push_back(*std::move(values));
  }
  return CheckAllTaken(buffers);
}

absl::StatusOr<bool> ArrowReader::Next() {
  first_row_ += std::exchange(rows_, 0);
  for (;;) {
    values_.clear();
    TS_ASSIGN_OR_RETURN(const std::optional<StreamMessage> message, ReadMessage());
    if (!message) break;
    absl::Status status;
    switch (message->kind) {
      case StreamMessage::Kind::kSchema:
        return Damaged(DataLoss("a second schema"));
      case StreamMessage::Kind::kDictionary:
        status = ReadDictionary(*message);
        if (!status.ok()) return Damaged(status);
        continue;
      case StreamMessage::Kind::kBatch:
        break;
    }
    status = ReadValues(*message);
    if (!status.ok()) return Damaged(status);
    rows_ = message->rows;
    return true;
  }
  if (at_ == file_bytes_) return false;
  return Damaged(DataLoss("{} bytes after the end of the stream", file_bytes_ - at_));
}

}  // namespace tickstack::interchange
