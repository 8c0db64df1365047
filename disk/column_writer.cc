#include "disk/column_writer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/status.h"
#include "disk/anymap_writer.h"
#include "disk/column_file_header.h"
#include "disk/file_image.h"
#include "disk/parted_index_writer.h"
#include "disk/row_gather.h"
#include "mem/medium.h"

namespace tickstack::disk {
namespace {

// Memory for a window.
class Window {
 public:
  static absl::StatusOr<Window> Take(mem::Tier* tier, size_t bytes) {
    TS_ASSIGN_OR_RETURN(std::byte * memory, tier->Allocate(bytes));
    return Window(tier, memory, bytes);
  }
  Window(Window&& other) noexcept
      : tier_(other.tier_), memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  ~Window() {
    if (memory_ != nullptr) tier_->Free(memory_, bytes_);
  }
  std::span<std::byte> bytes() const { return {memory_, bytes_}; }

 private:
  Window(mem::Tier* tier, std::byte* memory, size_t bytes)
      : tier_(tier), memory_(memory), bytes_(bytes) {}

  mem::Tier* tier_;
  std::byte* memory_;
  size_t bytes_;
};

// A column that is being written to its file.
struct Source {
  const Snapshot& snapshot;
  size_t column;
  const RowOrder& order;
  std::span<std::byte> window;  // Memory for putting it in order, unless it is in place.
  bool in_image;                // True if the window is the image's room.
};

// Appends the column's elements in their new order; make(from, to) converts some of them to the
// form of the file.
template <typename From, typename To, typename Make>
absl::Status AppendInOrder(const Source& source, Make make, FileImage& image) {
  const auto append = [&](std::span<const From> rest) -> absl::Status {
    while (!rest.empty()) {
      const std::span<const From> part =
          rest.first(std::min(FileImage::kRoomMin / sizeof(To), rest.size()));
      make(part, reinterpret_cast<To*>(image.Room().data()));
      TS_RETURN_IF_ERROR(image.Filled(part.size() * sizeof(To)));
      rest = rest.subspan(part.size());
    }
    return absl::OkStatus();
  };
  const Snapshot& snapshot = source.snapshot;
  if (source.order.in_place()) {
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      mem::MediumAccess access(snapshot.MediumOf(source.column));
      const std::span<const From> elements = snapshot.Chunk<From>(source.column, chunk);
      TS_RETURN_IF_ERROR(append(elements));
      access.ReadInOrder(elements.data(), elements.size_bytes());
    }
    return absl::OkStatus();
  }
  const RowGather<From> gather(snapshot, source.column, source.order);
  for (size_t row = 0; row < source.order.rows();) {
    const std::span<std::byte> room = source.in_image ? image.Room() : source.window;
    const std::span<From> part(reinterpret_cast<From*>(room.data()),
                               std::min(room.size() / sizeof(From), source.order.rows() - row));
    gather.Fill(row, part);
    TS_RETURN_IF_ERROR(source.in_image ? image.Filled(part.size_bytes()) : append(part));
    row += part.size();
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status AppendFixed(const Source& source, FileImage& image) {
  const auto copy = [](std::span<const T> from, T* to) { std::ranges::copy(from, to); };
  return AppendInOrder<T, T>(source, copy, image);
}

absl::Status AppendFixed(size_t width, const Source& source, FileImage& image) {
  switch (width) {
    case 1:
      return AppendFixed<uint8_t>(source, image);
    case 2:
      return AppendFixed<uint16_t>(source, image);
    case 4:
      return AppendFixed<uint32_t>(source, image);
    case 8:
      return AppendFixed<uint64_t>(source, image);
    default:
      TS_CHECK(width == sizeof(GuidBytes));
      return AppendFixed<GuidBytes>(source, image);
  }
}

// Appends the column by which the rows are grouped: nothing of it must be read.
absl::Status AppendParted(const RowOrder& order, const SymbolPositions& positions,
                          FileImage& image) {
  std::vector<int64_t> keys, starts;
  const std::span<const RowOrder::Group> groups = order.groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    const size_t end_row = i + 1 < groups.size() ? groups[i + 1].begin_row : order.rows();
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
  return image.Append(PartedIndexBytes(keys, starts, static_cast<int64_t>(order.rows())));
}

absl::Status AppendEnum(const Source& source, const SymbolPositions& positions, FileImage& image) {
  const auto number = [&](std::span<const SymbolId> from, int64_t* to) {
    for (const SymbolId id : from) *to++ = positions.Of(id);
  };
  return AppendInOrder<SymbolId, int64_t>(source, number, image);
}

}  // namespace

absl::StatusOr<uint64_t> WriteColumn(const Snapshot& snapshot, size_t column, const RowOrder& order,
                                     const SymbolPositions& positions, const std::string& path,
                                     const ColumnWriterOptions& options) {
  const Type type = snapshot.schema().columns[column].type;
  if (type == Type::kList) return WriteAnymap(snapshot, column, order, path, options);
  const auto number = static_cast<int>(column);
  const bool parted = number == order.sym_column();
  std::optional<Window> window;
  Source source{snapshot, column, order, {}, false};
  if (!parted && !order.in_place()) {
    TS_ASSIGN_OR_RETURN(Window taken, Window::Take(options.tier, options.window_bytes));
    window.emplace(std::move(taken));
    source.window = window->bytes();
    // Elements that already have the file's form are put in order where they are written from.
    source.in_image = type != Type::kSymbol &&
                      options.compression.algorithm == Compression::kNone &&
                      source.window.size() >= FileStream::kMemoryMin;
  }
  TS_ASSIGN_OR_RETURN(FileImage image,
                      FileImage::Create(path, options.compression, options.workers, options.storage,
                                        source.in_image ? source.window : std::span<std::byte>(),
                                        options.checksums));
  if (type != Type::kSymbol) {
    const bool sorted = number == order.time_column() && order.times_ascend();
    TS_RETURN_IF_ERROR(image.Append(
        VectorHeader(type, sorted ? Attribute::kSorted : Attribute::kNone, order.rows())));
    TS_RETURN_IF_ERROR(AppendFixed(WidthOf(type), source, image));
    return image.Finish();
  }
  TS_RETURN_IF_ERROR(image.Append(
      EnumHeader("sym", parted ? Attribute::kParted : Attribute::kNone, order.rows())));
  TS_RETURN_IF_ERROR(parted ? AppendParted(order, positions, image)
                            : AppendEnum(source, positions, image));
  return image.Finish();
}

}  // namespace tickstack::disk
