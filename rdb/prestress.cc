#include "rdb/prestress.h"

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "rdb/rdb.h"

namespace tickstack::rdb {

absl::Status Prestress(RowSource& source, std::span<const Schema> schemas,
                       const std::function<bool()>& stop, Rdb& rdb) {
  if (!rdb.TableNames().empty()) {
    LogInfo("no prestress, the tables are there tables={}", rdb.TableNames().size());
    return absl::OkStatus();
  }
  rdb.OnSchemas(schemas);
  const int64_t begin_ns = MonotonicNs();
  int64_t rows = 0;
  LogLimit progress;
  while (!stop()) {
    TS_ASSIGN_OR_RETURN(const std::optional<RowSource::Rows> next, source.Next());
    if (!next) break;
    TS_RETURN_IF_ERROR(Annotate(rdb.Prestress(next->table, next->x),
                                fmt::format("prestress of {} behind {} rows", next->table, rows)));
    rows += next->rows;
    if (progress.Pass()) LogInfo("prestress rows={} of={}", rows, source.rows());
  }
  rdb.MakeDurable();
  LogInfo("prestressed rows={} ms={}", rows, (MonotonicNs() - begin_ns) / 1'000'000);
  return absl::OkStatus();
}

}  // namespace tickstack::rdb
