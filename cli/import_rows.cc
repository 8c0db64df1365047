#include "cli/import_rows.h"

#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "cli/import_field.h"
#include "table/batch.h"

namespace tickstack::cli {
namespace {

constexpr size_t kRowsPerAppend = 4096;

// Days whose name as a partition has a year of four digits: 0001.01.01 and 9999.12.31.
constexpr int32_t kFirstDay = -730'119;
constexpr int32_t kLastDay = 2'921'939;
// Each day has chunks of its own, so that many days with a row each would take much memory.
constexpr size_t kDaysMax = 20'000;

}  // namespace

ImportRows::ImportRows(const ImportMapping& mapping)
    : mapping_(mapping),
      schema_(mapping.schema()),
      tier_(mem::MakeDramTier("import")),
      pending_(mapping.columns.size()) {
  date_column_.spec = {"date", Type::kDate};
  date_column_.format = mapping.date_format;
}

absl::StatusOr<std::shared_ptr<Table>> ImportRows::MakeTable(const Schema& schema) {
  return Table::Create(schema, &symbols_, {tier_.get(), {}, nullptr});
}

absl::StatusOr<ImportRows::Places> ImportRows::PlacesIn(const RecordSource& source) const {
  Places places;
  const auto place = [&](const std::string& from, size_t& out) -> absl::Status {
    const absl::StatusOr<size_t> found = source.PlaceOf(from);
    if (!found.ok()) return source.ErrorAt(Message(found.status()));
    out = *found;
    return absl::OkStatus();
  };
  for (const MappedColumn& column : mapping_.columns) {
    TS_RETURN_IF_ERROR(place(column.from, places.columns.emplace_back()));
  }
  if (!mapping_.date_column.empty()) TS_RETURN_IF_ERROR(place(mapping_.date_column, places.date));
  return places;
}

absl::StatusOr<int32_t> ImportRows::DateOf(const RecordSource& source, const Places& places) const {
  if (!mapping_.date.empty()) return ReadDate(mapping_.date, "");
  ByteBuffer element;
  if (!mapping_.date_column.empty()) {
    TS_RETURN_IF_ERROR(source.Append(date_column_, places.date, element));
    const auto days = LoadLittle<int32_t>(element.data());
    if (days == kNullInt) return InvalidArgument("column {} is null", mapping_.date_column);
    return days;
  }
  for (size_t i = 0; i < mapping_.columns.size(); ++i) {
    const MappedColumn& column = mapping_.columns[i];
    if (column.spec.type != Type::kTimestamp) continue;
    TS_RETURN_IF_ERROR(source.Append(column, places.columns[i], element));
    const auto ns = LoadLittle<int64_t>(element.data());
    if (ns == kNullLong) return InvalidArgument("column {} is null", column.spec.name);
    return DayOf(ns);
  }
  return InvalidArgument("no column has the row's day");
}

absl::Status ImportRows::CheckDay(int32_t date) const {
  if (date < kFirstDay || date > kLastDay) return InvalidArgument("not in the years 1 to 9999");
  if (days_.size() < kDaysMax || days_.contains(date)) return absl::OkStatus();
  return InvalidArgument("rows of more than {} days: is the format of dates right?", kDaysMax);
}

absl::Status ImportRows::AddRecord(const RecordSource& source, const Places& places) {
  const absl::StatusOr<int32_t> date = DateOf(source, places);
  if (!date.ok()) return source.ErrorAt(fmt::format("date: {}", Message(date.status())));
  if (pending_rows_ == kRowsPerAppend || (pending_rows_ > 0 && *date != pending_date_)) {
    TS_RETURN_IF_ERROR(Flush());
  }
  if (pending_rows_ == 0) {
    const absl::Status status = CheckDay(*date);
    if (!status.ok()) return source.ErrorAt(fmt::format("date: {}", Message(status)));
  }
  pending_date_ = *date;
  for (size_t i = 0; i < mapping_.columns.size(); ++i) {
    const MappedColumn& column = mapping_.columns[i];
    const absl::Status status = source.Append(column, places.columns[i], pending_[i]);
    if (status.ok()) continue;
    return source.ErrorAt(fmt::format("{}: {}", column.spec.name, Message(status)));
  }
  ++pending_rows_;
  ++rows_;
  return absl::OkStatus();
}

absl::Status ImportRows::Flush() {
  if (pending_rows_ == 0) return absl::OkStatus();
  std::shared_ptr<Table>& table = days_[pending_date_];
  if (table == nullptr) {
    TS_ASSIGN_OR_RETURN(table, MakeTable(schema_));
  }
  std::vector<ColumnView> views;
  for (size_t i = 0; i < pending_.size(); ++i) {
    views.push_back({schema_.columns[i].type, Attribute::kNone, pending_rows_, pending_[i].span()});
  }
  TS_RETURN_IF_ERROR(table->Append({views, pending_rows_}));
  for (ByteBuffer& column : pending_) column.clear();
  pending_rows_ = 0;
  return absl::OkStatus();
}

absl::Status ImportRows::Add(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<RecordSource> source,
                      RecordSource::Open(path, mapping_));
  TS_ASSIGN_OR_RETURN(const Places places, PlacesIn(*source));
  for (;;) {
    TS_ASSIGN_OR_RETURN(const bool more, source->Next());
    if (!more) return Flush();
    TS_RETURN_IF_ERROR(AddRecord(*source, places));
  }
}

}  // namespace tickstack::cli
