#include "disk/arrow_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/status.h"

namespace tickstack::disk {
namespace {

using arrow::Content;
using arrow::StreamColumn;
using arrow::StreamMessage;

constexpr std::string_view kFileTag("ARROW1\0\0", 8);
constexpr uint32_t kContinuation = 0xffffffff;

template <typename T>
T LoadAt(std::span<const std::byte> bytes, uint64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

bool BitAt(std::span<const std::byte> bits, uint64_t i) {
  return (static_cast<uint8_t>(bits[i / 8]) >> (i % 8) & 1) != 0;
}

// Returns a number of 1 to 8 bytes; nullopt if 63 bits cannot hold it.
std::optional<int64_t> NumberAt(std::span<const std::byte> bytes, size_t width, bool is_signed,
                                uint64_t i) {
  if (is_signed) {
    if (width == 1) return LoadAt<int8_t>(bytes, i);
    if (width == 2) return LoadAt<int16_t>(bytes, i);
    if (width == 4) return LoadAt<int32_t>(bytes, i);
    return LoadAt<int64_t>(bytes, i);
  }
  if (width == 1) return LoadAt<uint8_t>(bytes, i);
  if (width == 2) return LoadAt<uint16_t>(bytes, i);
  if (width == 4) return LoadAt<uint32_t>(bytes, i);
  const auto value = LoadAt<uint64_t>(bytes, i);
  if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<int64_t>(value);
}

// Returns offset `i` of texts. Negative ones become larger than any file.
uint64_t OffsetAt(std::span<const std::byte> offsets, size_t width, uint64_t i) {
  return width == 4 ? static_cast<uint64_t>(int64_t{LoadAt<int32_t>(offsets, i)})
                    : LoadAt<uint64_t>(offsets, i);
}

// The texts of a dictionary are a column by themselves.
StreamColumn TextsOf(const StreamColumn& column) {
  StreamColumn texts = column;
  texts.has_dictionary = false;
  return texts;
}

}  // namespace

bool IsArrowFile(const std::string& path) {
  const absl::StatusOr<File> file = File::OpenForReading(path);
  if (!file.ok()) return false;
  std::array<char, 8> start{};
  const size_t read = file->ReadAt(0, std::as_writable_bytes(std::span(start))).value_or(0);
  const std::string_view text(start.data(), read);
  return text == kFileTag || text.starts_with("\xff\xff\xff\xff");
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
  TS_RETURN_IF_ERROR(ReadExactly(8, head));
  if (LoadAt<uint32_t>(head, 0) != kContinuation) {
    return Damaged(DataLoss("not a message of Arrow's"));
  }
  const auto bytes = LoadAt<uint32_t>(head, 1);
  if (bytes == 0) return std::nullopt;
  TS_RETURN_IF_ERROR(ReadExactly(bytes, metadata));
  absl::StatusOr<StreamMessage> message = arrow::ParseStreamMessage(metadata);
  if (!message.ok()) return Damaged(message.status());
  TS_RETURN_IF_ERROR(ReadExactly(message->body_bytes, body_));
  return *std::move(message);
}

absl::Status ArrowReader::CheckTexts(const StreamColumn& column, uint64_t rows,
                                     const Part& part) const {
  if (rows == 0) return absl::OkStatus();
  if (part.offsets.size() / column.offset_width <= rows) {
    return DataLoss("column {}: offsets of {} bytes for {} rows", column.name, part.offsets.size(),
                    rows);
  }
  uint64_t last = OffsetAt(part.offsets, column.offset_width, 0);
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t next = OffsetAt(part.offsets, column.offset_width, row + 1);
    if (next < last || next > part.data.size()) {
      return DataLoss("column {}: text {} ends at byte {} of {}", column.name, row, next,
                      part.data.size());
    }
    last = next;
  }
  return absl::OkStatus();
}

absl::Status ArrowReader::CheckIndices(const StreamColumn& column, uint64_t rows,
                                       const Part& part) const {
  for (uint64_t row = 0; row < rows; ++row) {
    if (!part.valid.empty() && !BitAt(part.valid, row)) continue;
    const std::optional<int64_t> index =
        NumberAt(part.data, column.index_width, column.index_is_signed, row);
    const size_t texts = part.dictionary == nullptr ? 0 : part.dictionary->size();
    if (!index || *index < 0 || static_cast<uint64_t>(*index) >= texts) {
      return DataLoss("column {}: row {} has text {} of a dictionary of {}", column.name, row,
                      index.value_or(-1), texts);
    }
  }
  return absl::OkStatus();
}

// Sets the buffers of a column, from number `buffer` on, and checks that they have all rows.
absl::Status ArrowReader::SetPart(const StreamColumn& column, const StreamMessage& message,
                                  size_t& buffer, Part& part) const {
  if (column.content == Content::kNulls) return absl::OkStatus();
  const bool has_offsets = column.content == Content::kText && !column.has_dictionary;
  const size_t count = has_offsets ? 3 : 2;
  if (message.buffers.size() - buffer < count) {
    return DataLoss("column {}: the batch has {} buffers", column.name, message.buffers.size());
  }
  const auto bytes = [&](size_t i) {
    const arrow::StreamBuffer& place = message.buffers[buffer + i];
    return body_.span().subspan(place.offset, place.bytes);
  };
  part.valid = bytes(0);
  if (has_offsets) part.offsets = bytes(1);
  part.data = bytes(count - 1);
  buffer += count;
  const uint64_t bit_bytes = (message.rows + 7) / 8;
  const size_t width = column.has_dictionary ? column.index_width : column.width;
  if (!part.valid.empty() && part.valid.size() < bit_bytes) {
    return DataLoss("column {}: {} bytes say which of {} rows are null", column.name,
                    part.valid.size(), message.rows);
  }
  const uint64_t needed = column.content == Content::kBoolean ? bit_bytes
                          : has_offsets                       ? 0
                                                              : message.rows * width;
  if (part.data.size() < needed) {
    return DataLoss("column {}: {} bytes for {} rows", column.name, part.data.size(), message.rows);
  }
  return has_offsets ? CheckTexts(column, message.rows, part) : absl::OkStatus();
}

absl::Status ArrowReader::SetParts(const StreamMessage& message) {
  parts_.assign(columns_.size(), {});
  if (message.nodes.size() != columns_.size()) {
    return DataLoss("a batch of {} columns, the schema has {}", message.nodes.size(),
                    columns_.size());
  }
  size_t buffer = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Part& part = parts_[i];
    TS_RETURN_IF_ERROR(SetPart(columns_[i], message, buffer, part));
    if (part.valid.empty() && message.nodes[i].nulls > 0 &&
        columns_[i].content != Content::kNulls) {
      return DataLoss("column {}: {} nulls, but nothing says which", columns_[i].name,
                      message.nodes[i].nulls);
    }
    if (!columns_[i].has_dictionary) continue;
    const auto found = dictionaries_.find(columns_[i].dictionary);
    if (found != dictionaries_.end()) part.dictionary = &found->second;
    TS_RETURN_IF_ERROR(CheckIndices(columns_[i], message.rows, part));
  }
  return absl::OkStatus();
}

absl::Status ArrowReader::ReadDictionary(const StreamMessage& message) {
  const auto column = std::ranges::find_if(columns_, [&](const StreamColumn& each) {
    return each.has_dictionary && each.dictionary == message.dictionary;
  });
  if (column == columns_.end()) {
    return DataLoss("a dictionary {} of no column", message.dictionary);
  }
  if (message.nodes.size() == 1 && message.nodes[0].nulls > 0) {
    return Unimplemented("column {}: a dictionary with nulls", column->name);
  }
  const StreamColumn texts = TextsOf(*column);
  Part part;
  size_t buffer = 0;
  TS_RETURN_IF_ERROR(SetPart(texts, message, buffer, part));
  std::vector<std::string>& dictionary = dictionaries_[message.dictionary];
  if (!message.is_delta) dictionary.clear();
  for (uint64_t i = 0; i < message.rows; ++i) {
    const uint64_t begin = OffsetAt(part.offsets, texts.offset_width, i);
    const uint64_t end = OffsetAt(part.offsets, texts.offset_width, i + 1);
    dictionary.emplace_back(AsText(part.data.subspan(begin, end - begin)));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ArrowReader::Next() {
  first_row_ += std::exchange(rows_, 0);
  for (;;) {
    TS_ASSIGN_OR_RETURN(const std::optional<StreamMessage> message, ReadMessage());
    if (!message) return false;
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
    status = SetParts(*message);
    if (!status.ok()) return Damaged(status);
    rows_ = message->rows;
    return true;
  }
}

bool ArrowReader::IsNull(size_t column, uint64_t row) const {
  if (columns_[column].content == Content::kNulls) return true;
  const Part& part = parts_[column];
  return !part.valid.empty() && !BitAt(part.valid, row);
}

bool ArrowReader::BooleanAt(size_t column, uint64_t row) const {
  return BitAt(parts_[column].data, row);
}

std::optional<int64_t> ArrowReader::IntegerAt(size_t column, uint64_t row) const {
  return NumberAt(parts_[column].data, columns_[column].width, columns_[column].is_signed, row);
}

double ArrowReader::FloatAt(size_t column, uint64_t row) const {
  const Part& part = parts_[column];
  return columns_[column].width == 4 ? double{LoadAt<float>(part.data, row)}
                                     : LoadAt<double>(part.data, row);
}

std::string_view ArrowReader::TextAt(size_t column, uint64_t row) const {
  const StreamColumn& spec = columns_[column];
  const Part& part = parts_[column];
  if (spec.has_dictionary) {
    const std::optional<int64_t> index =
        NumberAt(part.data, spec.index_width, spec.index_is_signed, row);
    return (*part.dictionary)[static_cast<size_t>(*index)];
  }
  const uint64_t begin = OffsetAt(part.offsets, spec.offset_width, row);
  const uint64_t end = OffsetAt(part.offsets, spec.offset_width, row + 1);
  return AsText(part.data.subspan(begin, end - begin));
}

}  // namespace tickstack::disk
