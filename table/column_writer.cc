#include "table/column_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/status.h"
#include "table/anymap_writer.h"
#include "table/column_elements.h"
#include "table/column_file_header.h"
#include "table/file_image.h"
#include "table/parted_index_writer.h"

namespace tickstack {
namespace {

struct Guid {
  uint64_t words[2];
};

// Appends the column's elements in their new order; make(from, to) turns some of them as they are
// here into those of the file.
template <typename From, typename To, typename Make>
absl::Status AppendInOrder(const Snapshot& snapshot, size_t column, const RowOrder& order,
                           Make make, FileImage& image) {
  constexpr size_t kPart = FileImage::kRoomMin / sizeof(To);
  std::vector<From> part(kPart);
  const auto append = [&](std::span<const From> elements) {
    make(elements, reinterpret_cast<To*>(image.Room().data()));
    return image.Filled(elements.size() * sizeof(To));
  };
  if (order.in_place()) {
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      std::span<const From> rest = snapshot.Chunk<From>(column, chunk);
      while (!rest.empty()) {
        const std::span<const From> elements = rest.first(std::min(kPart, rest.size()));
        TS_RETURN_IF_ERROR(append(elements));
        rest = rest.subspan(elements.size());
      }
    }
    return absl::OkStatus();
  }
  // Runs may be short: the parts are filled from several.
  const ColumnElements<From> elements(snapshot, column);
  size_t filled = 0;
  for (std::span<const uint32_t> run : order.runs()) {
    while (!run.empty()) {
      const std::span<const uint32_t> rows = run.first(std::min(kPart - filled, run.size()));
      elements.Gather(rows, part.data() + filled);
      filled += rows.size();
      run = run.subspan(rows.size());
      if (filled < kPart) continue;
      TS_RETURN_IF_ERROR(append(part));
      filled = 0;
    }
  }
  return append(std::span(part).first(filled));
}

template <typename T>
absl::Status AppendFixed(const Snapshot& snapshot, size_t column, const RowOrder& order,
                         FileImage& image) {
  const auto copy = [](std::span<const T> from, T* to) { std::ranges::copy(from, to); };
  return AppendInOrder<T, T>(snapshot, column, order, copy, image);
}

absl::Status AppendFixed(size_t width, const Snapshot& snapshot, size_t column,
                         const RowOrder& order, FileImage& image) {
  switch (width) {
    case 1:
      return AppendFixed<uint8_t>(snapshot, column, order, image);
    case 2:
      return AppendFixed<uint16_t>(snapshot, column, order, image);
    case 4:
      return AppendFixed<uint32_t>(snapshot, column, order, image);
    case 8:
      return AppendFixed<uint64_t>(snapshot, column, order, image);
    default:
      TS_CHECK(width == sizeof(Guid));
      return AppendFixed<Guid>(snapshot, column, order, image);
  }
}

// The column that the rows are grouped by: nothing of it is read.
absl::Status AppendParted(const Snapshot& snapshot, const RowOrder& order,
                          const SymbolPositions& positions, FileImage& image) {
  std::vector<int64_t> keys, starts;
  const std::span<const RowOrder::Group> groups = order.groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    const size_t end_row = i + 1 < groups.size() ? groups[i + 1].begin_row : snapshot.rows();
    const int64_t position = positions.Of(groups[i].symbol);
    keys.push_back(position);
    starts.push_back(static_cast<int64_t>(groups[i].begin_row));
    for (size_t left = end_row - groups[i].begin_row; left > 0;) {
      const std::span<std::byte> room = image.Room();
      const size_t part = std::min(left, room.size() / sizeof(position));
      std::fill_n(reinterpret_cast<int64_t*>(room.data()), part, position);
      TS_RETURN_IF_ERROR(image.Filled(part * sizeof(position)));
      left -= part;
    }
  }
  return image.Append(PartedIndexBytes(keys, starts, static_cast<int64_t>(snapshot.rows())));
}

absl::Status AppendEnum(const Snapshot& snapshot, size_t column, const RowOrder& order,
                        const SymbolPositions& positions, FileImage& image) {
  const auto number = [&](std::span<const SymbolId> from, int64_t* to) {
    for (const SymbolId id : from) *to++ = positions.Of(id);
  };
  return AppendInOrder<SymbolId, int64_t>(snapshot, column, order, number, image);
}

}  // namespace

absl::StatusOr<uint64_t> WriteColumn(const Snapshot& snapshot, size_t column, const RowOrder& order,
                                     const SymbolPositions& positions, const std::string& path,
                                     const ColumnWriterOptions& options) {
  const Type type = snapshot.schema().columns[column].type;
  if (type == Type::kList) return WriteAnymap(snapshot, column, order, path, options);
  TS_ASSIGN_OR_RETURN(FileImage image, FileImage::Create(path, options.compression, options.workers,
                                                         options.storage));
  const auto number = static_cast<int>(column);
  if (type != Type::kSymbol) {
    const bool sorted = number == order.time_column() && order.times_ascend();
    TS_RETURN_IF_ERROR(image.Append(
        VectorHeader(type, sorted ? Attribute::kSorted : Attribute::kNone, snapshot.rows())));
    TS_RETURN_IF_ERROR(AppendFixed(WidthOf(type), snapshot, column, order, image));
    return image.Finish();
  }
  const bool parted = number == order.sym_column();
  TS_RETURN_IF_ERROR(image.Append(
      EnumHeader("sym", parted ? Attribute::kParted : Attribute::kNone, snapshot.rows())));
  TS_RETURN_IF_ERROR(parted ? AppendParted(snapshot, order, positions, image)
                            : AppendEnum(snapshot, column, order, positions, image));
  return image.Finish();
}

}  // namespace tickstack
