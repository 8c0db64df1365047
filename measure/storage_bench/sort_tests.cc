#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <numeric>

#include "base/file.h"
#include "base/mapping.h"
#include "base/status.h"
#include "disk/parted_index_writer.h"
#include "measure/storage_bench/suites.h"
#include "measure/storage_bench/vector_file.h"

namespace tickstack::measure::storage_bench {
namespace {

// The table: `sym`, positions of symbols as longs, and `floatcol`.
struct TablePaths {
  explicit TablePaths(const Workspace& workspace)
      : sym(workspace.PathOf("tbl/sym")), floats(workspace.PathOf("tbl/floatcol")) {}
  std::string sym, floats;
};

// Returns the rows in order of their positions; rows of one position keep their order.
absl::StatusOr<std::vector<uint32_t>> OrderOf(std::span<const int64_t> positions,
                                              const std::string& path) {
  if (positions.size() > UINT32_MAX) {
    return ResourceExhausted("{}: {} rows, at most {}", path, positions.size(), UINT32_MAX);
  }
  int64_t most = 0;
  for (const int64_t position : positions) {
    if (position < 0 || position > INT32_MAX) {
      return DataLoss("{}: position {} in the column of symbols", path, position);
    }
    most = std::max(most, position);
  }
  std::vector<uint32_t> begin(static_cast<size_t>(most) + 2);
  for (const int64_t position : positions) ++begin[static_cast<size_t>(position) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<uint32_t> order(positions.size());
  for (size_t row = 0; row < positions.size(); ++row) {
    order[begin[static_cast<size_t>(positions[row])]++] = static_cast<uint32_t>(row);
  }
  return order;
}

// Writes a column in a new order beside the old one, and renames it into place.
absl::Status Reorder(const std::string& path, Type type, std::span<const uint32_t> order) {
  std::vector<int64_t> sorted(order.size());
  {
    TS_ASSIGN_OR_RETURN(const Mapping column, Mapping::OfFile(path));
    const std::span<const int64_t> items = ItemsOf<int64_t>(column);
    if (items.size() != order.size()) {
      return DataLoss("{}: {} rows, expected {}", path, items.size(), order.size());
    }
    for (size_t row = 0; row < order.size(); ++row) sorted[row] = items[order[row]];
  }
  const std::string beside = path + ".sorted";
  TS_RETURN_IF_ERROR(WriteVector(beside, type, BytesOf(sorted)));
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    return Annotate(ErrnoStatus(errno, "rename"), beside);
  }
  return absl::OkStatus();
}

absl::StatusOr<Work> SortTable(const TablePaths& paths) {
  std::vector<uint32_t> order;
  {
    TS_ASSIGN_OR_RETURN(const Mapping sym, Mapping::OfFile(paths.sym));
    TS_ASSIGN_OR_RETURN(order, OrderOf(ItemsOf<int64_t>(sym), paths.sym));
  }
  TS_RETURN_IF_ERROR(Reorder(paths.sym, Type::kLong, order));
  TS_RETURN_IF_ERROR(Reorder(paths.floats, Type::kFloat, order));
  const size_t items = 2 * order.size();
  return Work{1, static_cast<int64_t>(items), items * kItemBytes};
}

// Adds the index of `p#` behind the items, and sets the attribute.
absl::StatusOr<Work> AddParted(const std::string& path) {
  std::vector<int64_t> keys, starts;
  size_t rows = 0;
  {
    TS_ASSIGN_OR_RETURN(const Mapping sym, Mapping::OfFile(path));
    const std::span<const int64_t> items = ItemsOf<int64_t>(sym);
    rows = items.size();
    for (size_t row = 0; row < rows; ++row) {
      if (row > 0 && items[row] == items[row - 1]) continue;
      keys.push_back(items[row]);
      starts.push_back(static_cast<int64_t>(row));
    }
  }
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(path));
  TS_ASSIGN_OR_RETURN(const uint64_t end, file.Bytes());
  TS_RETURN_IF_ERROR(
      file.WriteAt(end, disk::PartedIndexBytes(keys, starts, static_cast<int64_t>(rows)).span()));
  constexpr size_t kAttributeOffset = 3;
  constexpr auto kParted = static_cast<std::byte>(Attribute::kParted);
  TS_RETURN_IF_ERROR(file.WriteAt(kAttributeOffset, std::span(&kParted, 1)));
  return Work{1, static_cast<int64_t>(rows), rows * kItemBytes};
}

absl::StatusOr<uint64_t> RowsOf(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
  return bytes / kItemBytes;
}

Test SyncColumns(TestName name, const std::vector<std::string>& columns) {
  const auto rows = std::make_shared<uint64_t>(0);
  return {.name = std::move(name),
          .io = Io::kSyncWrite,
          .run = [=]() -> absl::StatusOr<Work> {
            for (const std::string& path : columns) TS_RETURN_IF_ERROR(SyncFile(path));
            return Work{1, 1, *rows * columns.size() * kItemBytes};
          },
          .prepare = [=]() -> absl::StatusOr<Pages> {
            TS_ASSIGN_OR_RETURN(*rows, RowsOf(columns.front()));
            return Pages{};
          }};
}

absl::StatusOr<Pages> PagesOfTable(const TablePaths& paths) {
  TS_ASSIGN_OR_RETURN(const Pages sym, PagesOf(paths.sym));
  TS_ASSIGN_OR_RETURN(const Pages floats, PagesOf(paths.floats));
  return Pages{sym.resident + floats.resident, sym.total + floats.total};
}

}  // namespace

std::vector<Test> SortTests(const Workspace& workspace) {
  const TablePaths paths(workspace);
  std::vector<Test> tests;
  tests.push_back({.name = {"read write disk", ".xasc.xasc", "disk sort", "xasc"},
                   .io = Io::kColdRead,
                   .run = [paths] { return SortTable(paths); },
                   .prepare = [paths] { return PagesOfTable(paths); }});
  tests.push_back(
      SyncColumns({"write disk", ".xasc.syncAfterSort", "sync table after sort", "system sync"},
                  {paths.sym, paths.floats}));
  tests.push_back(
      {.name = {"read mem write disk", ".xasc.phash", "add attribute", "@[; `sym; `p#]"},
       .io = Io::kWarmRead,
       .run = [paths] { return AddParted(paths.sym); },
       .prepare = [paths] { return PagesOf(paths.sym); }});
  tests.push_back(SyncColumns(
      {"write disk", ".xasc.syncAfterPhash", "sync column after parted attribute", "system sync"},
      {paths.sym}));
  return tests;
}

}  // namespace tickstack::measure::storage_bench
