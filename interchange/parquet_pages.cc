#include "interchange/parquet_pages.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "table/utf8.h"

namespace tickstack::interchange::parquet {
namespace {

// Encodes which rows are not null, preceded by the length.
std::string DefinitionLevels(const Validity& valid) {
  std::string run;
  if (valid.nulls() == 0 || valid.nulls() == valid.rows()) {
    AppendVarint(run, uint64_t{valid.rows()} << 1);
    run += valid.nulls() == 0 ? '\1' : '\0';
  } else {
    AppendVarint(run, uint64_t{valid.bits().size()} << 1 | 1);
    run += valid.bits();
  }
  std::string out;
  AppendBytes(out, static_cast<uint32_t>(run.size()));
  return out + run;
}

// Returns the converted type, which readers use that do not know logical types.
std::optional<int32_t> ConvertedType(const ColumnSchema& column) {
  switch (column.meaning) {
    case Meaning::kText:
      return 0;
    case Meaning::kDate:
      return 6;
    case Meaning::kTimeOfDay:
      return column.physical == Physical::kInt32 ? std::optional(7) : std::nullopt;
    case Meaning::kUnsignedByte:
      return 11;
    case Meaning::kShort:
      return 16;
    case Meaning::kNumber:
    case Meaning::kUuid:
    case Meaning::kTimestamp:
    case Meaning::kTimestampUs:
      return std::nullopt;
  }
  return std::nullopt;
}

void WriteLogicalType(const ColumnSchema& column, ThriftWriter& out) {
  switch (column.meaning) {
    case Meaning::kText:
      out.Empty(1);
      break;
    case Meaning::kDate:
      out.Empty(6);
      break;
    case Meaning::kTimeOfDay:
    case Meaning::kTimestamp:
    case Meaning::kTimestampUs: {
      const bool is_ms = column.physical == Physical::kInt32;
      out.Struct(column.meaning == Meaning::kTimeOfDay ? 7 : 8);
      out.Bool(1, false);  // Without a time zone.
      out.Struct(2);
      out.Empty(column.meaning == Meaning::kTimestampUs ? 2 : is_ms ? 1 : 3);  // us, ms or ns.
      out.End();
      out.End();
      break;
    }
    case Meaning::kUnsignedByte:
    case Meaning::kShort:
      out.Struct(10);
      out.Byte(1, column.meaning == Meaning::kShort ? 16 : 8);
      out.Bool(2, column.meaning == Meaning::kShort);
      out.End();
      break;
    case Meaning::kUuid:
      out.Empty(14);
      break;
    case Meaning::kNumber:
      break;
  }
}

}  // namespace

void ColumnSchema::Write(ThriftWriter& out) const {
  out.I32(1, static_cast<int32_t>(physical));
  if (physical == Physical::kFixed) out.I32(2, 16);
  out.I32(3, 1);  // Optional.
  out.Text(4, name);
  if (const std::optional<int32_t> converted = ConvertedType(*this)) out.I32(6, *converted);
  if (meaning == Meaning::kNumber) return;
  out.Struct(10);
  WriteLogicalType(*this, out);
  out.End();
}

std::string_view AppendText(std::string& out, std::string_view text) {
  const size_t at = out.size();
  AppendBytes(out, uint32_t{0});
  AppendUtf8(out, text);
  const auto bytes = static_cast<uint32_t>(out.size() - at - sizeof(uint32_t));
  std::memcpy(out.data() + at, &bytes, sizeof bytes);
  return std::string_view(out).substr(at + sizeof bytes);
}

std::string HybridRun(std::span<const uint32_t> numbers, int width) {
  std::string out;
  if (std::ranges::all_of(numbers, [&](uint32_t n) { return n == numbers.front(); })) {
    AppendVarint(out, uint64_t{numbers.size()} << 1);
    for (int bits = 0; bits < width; bits += 8) {
      out += static_cast<char>(numbers.empty() ? 0 : numbers.front() >> bits);
    }
    return out;
  }
  const size_t groups = (numbers.size() + 7) / 8;
  AppendVarint(out, uint64_t{groups} << 1 | 1);
  const size_t end = out.size() + groups * static_cast<size_t>(width);
  uint64_t buffer = 0;
  int held = 0;
  for (const uint32_t number : numbers) {
    buffer |= uint64_t{number} << held;
    for (held += width; held >= 8; held -= 8, buffer >>= 8) out += static_cast<char>(buffer);
  }
  if (held > 0) out += static_cast<char>(buffer);
  out.resize(end, '\0');  // The last group is padded.
  return out;
}

PageWriter::PageWriter(int level)
    : level_(level), context_(level == 0 ? nullptr : ::ZSTD_createCCtx()) {
  TS_CHECK(level == 0 || context_ != nullptr);  // Only lack of memory can fail.
}

Chunk PageWriter::Begin(size_t rows) const {
  Chunk chunk;
  chunk.begin = chunk.data_page = end();
  chunk.codec = level_ == 0 ? Codec::kNone : Codec::kZstd;
  chunk.rows = static_cast<int64_t>(rows);
  return chunk;
}

std::string_view PageWriter::Packed(std::string_view body) {
  if (level_ == 0) return body;
  const size_t bound = ::ZSTD_compressBound(body.size());
  if (packed_.size() < bound) packed_.resize(bound);
  const size_t size = ::ZSTD_compressCCtx(context_.get(), packed_.data(), packed_.size(),
                                          body.data(), body.size(), level_);
  TS_CHECK(::ZSTD_isError(size) == 0);  // With such a bound, only lack of memory can fail.
  return std::string_view(packed_).substr(0, size);
}

void PageWriter::WritePage(bool is_dictionary, size_t values, Encoding encoding,
                           std::string_view body, Chunk& chunk) {
  const std::string_view packed = Packed(body);
  std::string head;
  ThriftWriter out(head);
  out.I32(1, is_dictionary ? 2 : 0);
  out.I32(2, static_cast<int32_t>(body.size()));
  out.I32(3, static_cast<int32_t>(packed.size()));
  out.Struct(is_dictionary ? 7 : 5);
  out.I32(1, static_cast<int32_t>(values));
  out.I32(2, static_cast<int32_t>(encoding));
  if (!is_dictionary) {
    out.I32(3, static_cast<int32_t>(Encoding::kRle));
    out.I32(4, static_cast<int32_t>(Encoding::kRle));
  }
  out.End();
  out.End();
  chunk.bytes += static_cast<int64_t>(head.size() + body.size());
  chunk.bytes_in_file += static_cast<int64_t>(head.size() + packed.size());
  bytes += head;
  bytes += packed;
}

void PageWriter::WriteDictionary(size_t values, std::string_view plain, Chunk& chunk) {
  WritePage(true, values, Encoding::kPlain, plain, chunk);
  chunk.has_dictionary = true;
  chunk.data_page = end();
}

void PageWriter::WriteRows(const Validity& valid, Encoding encoding, std::string_view values,
                           Chunk& chunk) {
  chunk.nulls += static_cast<int64_t>(valid.nulls());
  std::string body = DefinitionLevels(valid);
  body += values;
  WritePage(false, valid.rows(), encoding, body, chunk);
}

void PageWriter::WriteIndices(const Validity& valid, size_t entries,
                              std::span<const uint32_t> numbers, Chunk& chunk) {
  const int width = std::max(1, static_cast<int>(std::bit_width(std::max<size_t>(entries, 1) - 1)));
  WriteRows(valid, Encoding::kDictionary, static_cast<char>(width) + HybridRun(numbers, width),
            chunk);
}

}  // namespace tickstack::interchange::parquet
