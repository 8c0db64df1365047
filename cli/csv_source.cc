#include <algorithm>
#include <charconv>
#include <utility>

#include "base/status.h"
#include "cli/import_field.h"
#include "cli/record_source.h"
#include "disk/arrow_reader.h"
#include "disk/csv_reader.h"

namespace tickstack::cli {
namespace {

class CsvSource final : public RecordSource {
 public:
  CsvSource(disk::CsvReader reader, const ImportMapping& mapping)
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
  disk::CsvReader reader_;
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
  TS_ASSIGN_OR_RETURN(disk::CsvReader reader, disk::CsvReader::Open(path, mapping.delimiter));
  auto source = std::make_unique<CsvSource>(std::move(reader), mapping);
  TS_RETURN_IF_ERROR(source->Begin());
  return source;
}

absl::StatusOr<std::unique_ptr<RecordSource>> RecordSource::Open(const std::string& path,
                                                                 const ImportMapping& mapping) {
  return disk::IsArrowFile(path) ? OpenArrow(path, mapping) : OpenCsv(path, mapping);
}

}  // namespace tickstack::cli
