#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "cli/import_field.h"
#include "cli/record_source.h"
#include "interchange/arrow_reader.h"
#include "interchange/csv_reader.h"

namespace tickstack::cli {
namespace {

class CsvSource final : public RecordSource {
 public:
  CsvSource(interchange::CsvReader reader, const ImportMapping& mapping)
      : reader_(std::move(reader)), mapping_(mapping) {}

  // Reads the header or, if there is none, the first record.
  absl::Status Begin() {
    TS_ASSIGN_OR_RETURN(const bool found, reader_.Next());
    if (!found && mapping_.header) return reader_.ErrorAt("expected a header");
    has_first_ = found && !mapping_.header;
    header_.assign(reader_.fields().begin(), reader_.fields().end());
    is_empty_ = !found;
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> PlaceOf(const std::string& from) const override;
  absl::StatusOr<bool> Next() override;
  absl::Status Append(const MappedColumn& column, size_t place, ByteBuffer& out) const override {
    const std::string_view field = reader_.fields()[place];
    return AppendField(column, field, IsNullField(mapping_, field), out);
  }
  absl::Status ErrorAt(std::string_view what) const override { return reader_.ErrorAt(what); }

 private:
  interchange::CsvReader reader_;
  const ImportMapping& mapping_;
  std::vector<std::string> header_;  // Without a header, the first record.
  bool has_first_ = false;           // True: the first record was read, and not yet returned.
  bool is_empty_ = false;
};

absl::StatusOr<size_t> CsvSource::PlaceOf(const std::string& from) const {
  if (is_empty_) return 0;  // A file without records has no columns either.
  if (!mapping_.header) {
    size_t number = 0;
    const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), number);
    if (error == std::errc() && end == from.data() + from.size() && number >= 1 &&
        number <= header_.size()) {
      return number - 1;
    }
    return InvalidArgument("without a header, `from` is a number from 1 to {}, found {}",
                           header_.size(), from);
  }
  const auto count = std::ranges::count(header_, from);
  if (count == 1) return static_cast<size_t>(std::ranges::find(header_, from) - header_.begin());
  return InvalidArgument("the header has {} columns {}", count == 0 ? "no" : "several", from);
}

absl::StatusOr<bool> CsvSource::Next() {
  if (std::exchange(has_first_, false)) return true;
  TS_ASSIGN_OR_RETURN(const bool more, reader_.Next());
  if (more && reader_.fields().size() != header_.size()) {
    return reader_.ErrorAt(
        fmt::format("{} fields, expected {}", reader_.fields().size(), header_.size()));
  }
  return more;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordSource>> OpenCsv(const std::string& path,
                                                      const ImportMapping& mapping) {
  TS_ASSIGN_OR_RETURN(interchange::CsvReader reader,
                      interchange::CsvReader::Open(path, mapping.delimiter));
  auto source = std::make_unique<CsvSource>(std::move(reader), mapping);
  TS_RETURN_IF_ERROR(source->Begin());
  return source;
}

namespace {

struct OtherFormat {
  std::string_view begins;  // The first bytes of such a file.
  std::string_view name;
  std::string_view advice;
};

constexpr OtherFormat kOtherFormats[] = {
    {"PAR1", "a Parquet file", "write it as Arrow: pyarrow.feather.write_feather"},
    {"\x1f\x8b", "compressed by gzip", "decompress it: gunzip"},
    {"\x28\xb5\x2f\xfd", "compressed by zstd", "decompress it: unzstd"},
    {"\xfd"
     "7zXZ",
     "compressed by xz", "decompress it: unxz"},
    {"PK\x03\x04", "a zip archive or a workbook", "unpack it, or save its sheet as CSV"},
    {"\xd0\xcf\x11\xe0", "a workbook", "save its sheet as CSV"},
    {"Obj\x01", "an Avro file", "write it as CSV or Arrow"},
    {"ORC", "an ORC file", "write it as CSV or Arrow"},
    {"FEA1", "an old Feather file", "write it as Arrow: version 2 of Feather"},
    {"\xff\xfe", "text in UTF-16", "convert it: iconv -f utf-16 -t utf-8"},
    {"\xfe\xff", "text in UTF-16", "convert it: iconv -f utf-16 -t utf-8"},
    {"\xff\x01", "a file of kdb+", "a database has it already, or q writes it as CSV"},
    {"{\"", "JSON", "write it as CSV or Arrow"},
    {"[{", "JSON", "write it as CSV or Arrow"},
};

// Returns an error for a file that is known to be neither CSV nor Arrow.
absl::Status CheckFormat(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  std::array<char, 8> start{};
  TS_ASSIGN_OR_RETURN(const size_t read, file.ReadAt(0, std::as_writable_bytes(std::span(start))));
  const std::string_view text(start.data(), read);
  // A name of a column may begin like a letter code, but no CSV has such bytes.
  const bool is_binary = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < '\t' || (c & 0x80) != 0; });
  for (const OtherFormat& format : kOtherFormats) {
    const bool is_json = format.name == "JSON";
    if (!text.starts_with(format.begins) || (!is_binary && !is_json)) continue;
    return InvalidArgument("{}: it is {}; expected CSV or Arrow: {}", path, format.name,
                           format.advice);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordSource>> RecordSource::Open(const std::string& path,
                                                                 const ImportMapping& mapping) {
  TS_RETURN_IF_ERROR(CheckFormat(path));
  return interchange::IsArrowFile(path) ? OpenArrow(path, mapping) : OpenCsv(path, mapping);
}

}  // namespace tickstack::cli
