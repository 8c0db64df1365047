#include "disk/column_check.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"
#include "disk/column_file.h"
#include "disk/kdb_format.h"
#include "disk/parted_index_writer.h"

namespace tickstack::disk {
namespace {

// Calls f(row, element) for the elements in a piece of a file, until f returns false. No element
// crosses a piece, since data and pieces begin at multiples of the width.
template <typename F>
void ForElements(const ColumnLayout& layout, uint64_t offset, std::span<const std::byte> piece,
                 const F& f) {
  const uint64_t data_end = layout.data_offset + layout.data_bytes();
  uint64_t at = std::max(offset, layout.data_offset);
  const uint64_t end = std::min(offset + piece.size(), data_end);
  for (; at < end; at += layout.width) {
    if (!f((at - layout.data_offset) / layout.width, piece.data() + (at - offset))) return;
  }
}

// Returns an element as an integer with q's order: null first.
int64_t WholeAt(const std::byte* at, size_t width) {
  switch (width) {
    case 1:
      return LoadLittle<uint8_t>(at);
    case 2:
      return LoadLittle<int16_t>(at);
    case 4:
      return LoadLittle<int32_t>(at);
    default:
      return LoadLittle<int64_t>(at);
  }
}

double FloatAt(const std::byte* at, size_t width) {
  const double number = width == 4 ? double{LoadLittle<float>(at)} : LoadLittle<double>(at);
  return std::isnan(number) ? -HUGE_VAL : number;
}

int64_t CheckedPosition(const std::byte* at, size_t width) {
  const int64_t position = WholeAt(at, width);
  return width == sizeof(int32_t) && position == kNullInt ? kNullPosition : position;
}

// Checks that successive elements ascend.
class OrderWatch {
 public:
  explicit OrderWatch(const ColumnLayout& layout) : type_(layout.type), width_(layout.width) {}

  // Returns false at the first element that is less than the previous one.
  bool Next(const std::byte* element) {
    bool in_order = true;
    if (type_ == Type::kGuid) {
      in_order = !begun_ || std::memcmp(guid_, element, sizeof(guid_)) <= 0;
      std::memcpy(guid_, element, sizeof(guid_));
    } else if (IsFloating(type_)) {
      const double number = FloatAt(element, width_);
      in_order = !begun_ || float_ <= number;
      float_ = number;
    } else {
      const int64_t number = WholeAt(element, width_);
      in_order = !begun_ || whole_ <= number;
      whole_ = number;
    }
    begun_ = true;
    return in_order;
  }
  void Restart() { begun_ = false; }

 private:
  const Type type_;
  const size_t width_;
  bool begun_ = false;
  int64_t whole_ = 0;
  double float_ = 0;
  std::byte guid_[16] = {};
};

class ColumnChecker {
 public:
  ColumnChecker(const std::string& path, std::shared_ptr<const SymbolDomains> domains)
      : path_(path), domains_(std::move(domains)) {}

  ColumnCheck Run() {
    absl::StatusOr<std::shared_ptr<const ColumnFile>> column = ColumnFile::Open(path_, domains_);
    if (!column.ok()) {
      result_.Add(FindingOf(path_, column.status()));
      return std::move(result_);
    }
    column_ = *std::move(column);
    layout_ = column_->layout();
    result_.rows = column_->rows();
    result_.type = column_->type();
    result_.is_plain_symbols = column_->kind() == ColumnKind::kSymbols;
    AddDiskBytes();
    if (layout_.form == ColumnForm::kSerialised || column_->kind() == ColumnKind::kItems) {
      CheckItems();
    } else if (column_->kind() == ColumnKind::kEnum) {
      CheckEnum();
    } else {
      CheckVector();
    }
    CheckEnd();
    return std::move(result_);
  }

 private:
  void Find(uint64_t byte, std::string what) { result_.Add({path_, byte, std::move(what)}); }
  uint64_t ByteOf(uint64_t row) const { return layout_.data_offset + row * layout_.width; }

  void AddDiskBytes() {
    result_.disk_bytes = column_->file().disk_bytes();
    if (column_->kind() != ColumnKind::kItems) return;
    for (const std::string& companion : {path_ + "#", path_ + "##"}) {
      const absl::StatusOr<File> file = File::OpenForReading(companion);
      if (file.ok()) result_.disk_bytes += file->Bytes().value_or(0);
    }
  }

  void Visit(StoredFile::Visitor visitor) {
    const absl::Status status = column_->file().Visit(visitor);
    if (!status.ok()) {
      result_.Add(FindingOf(path_, status));
      is_damaged_ = true;
    }
  }

  // Reports bytes after the last row that are no whole row.
  void CheckEnd() {
    if (layout_.width == 0 || layout_.attribute > Attribute::kSorted) return;
    const uint64_t end = layout_.data_offset + layout_.data_bytes();
    const uint64_t bytes = column_->file().bytes();
    if (end != bytes) {
      Find(end, fmt::format("{} bytes behind the last row, where a row has {}: part of an append",
                            bytes - end, layout_.width));
    }
  }

  void CheckVector() {
    OrderWatch watch(layout_);
    const bool claims_order = layout_.attribute == Attribute::kSorted;
    bool in_order = true;
    Visit([&](uint64_t offset, std::span<const std::byte> piece) {
      if (!claims_order) return absl::OkStatus();  // A block that can be decompressed is correct.
      ForElements(layout_, offset, piece, [&](uint64_t row, const std::byte* element) {
        if (watch.Next(element)) return true;
        if (in_order)
          Find(
              ByteOf(row),
              fmt::format(
                  "row {} is less than the row before, in a column that claims to be sorted", row));
        in_order = false;
        return false;
      });
      return absl::OkStatus();
    });
  }

  void CheckItems() {
    if (layout_.form == ColumnForm::kOldNested) CheckOldNestedEnd();
    // An error is reported for the rows.
    const absl::StatusOr<std::vector<PinnedBytes>> held = column_->Pin();
    for (uint64_t row = 0; row < column_->rows(); ++row) {
      const absl::StatusOr<Value> item = column_->ItemAt(row);
      if (item.ok()) continue;
      result_.Add(FindingOf(path_, item.status()));
      // A failure to decompress, or a missing domain, affects every row alike.
      if (item.status().code() != absl::StatusCode::kDataLoss) return;
    }
  }

  // Checks that the last row ends where `col#` does: ItemAt only checks that no row ends beyond.
  void CheckOldNestedEnd() {
    const uint64_t rows = column_->rows();
    if (rows == 0) return;
    const absl::StatusOr<PinnedBytes> ends = column_->file().All();
    const absl::StatusOr<std::unique_ptr<const StoredFile>> elements =
        StoredFile::Open(path_ + kCompanionSuffix);
    if (!ends.ok() || !elements.ok()) return;  // Reported for the rows.
    const auto end = LoadLittle<uint64_t>(ends->data() + ByteOf(rows - 1));
    const size_t width = WidthOf(layout_.type);
    if ((*elements)->bytes() != end * width) {
      Find(ByteOf(rows - 1), fmt::format("the last row ends at element {}, {}# has {} bytes of "
                                         "elements of {}",
                                         end, path_, (*elements)->bytes(), width));
    }
  }

  void CheckEnum() {
    const SymbolDomain* const domain = column_->domain();
    // A database has no symbols yet if its days so far had no rows.
    if (domain == nullptr && layout_.rows > 0) {
      Find(layout_.form == ColumnForm::kEnum && layout_.width == 8 ? kPageNameOffset : 1,
           fmt::format("an enum of {}, expected a domain of the database", layout_.domain));
    }
    const bool parted = layout_.attribute == Attribute::kParted;
    std::vector<int64_t> keys;
    std::vector<int64_t> starts;
    // Each position is one group, so more groups than names (or null) mean a position that comes
    // back; keeping them all would take as much memory as the rows.
    const uint64_t groups_max = (domain == nullptr ? layout_.rows : domain->ids().size()) + 1;
    bool too_many = false;
    int64_t before = 0;
    bool by_position = true, by_name = true;
    Visit([&](uint64_t offset, std::span<const std::byte> piece) {
      ForElements(layout_, offset, piece, [&](uint64_t row, const std::byte* element) {
        const int64_t position = CheckedPosition(element, layout_.width);
        if (row > 0 && position == before) return true;
        if (domain != nullptr && !domain->IdAt(position)) {
          Find(ByteOf(row), fmt::format("row {} has position {}, domain {} has {} names", row,
                                        position, layout_.domain, domain->ids().size()));
        } else if (row > 0 && layout_.attribute == Attribute::kSorted) {
          CheckOrder(row, before, position, &by_position, &by_name);
        }
        if (parted && !too_many) {
          keys.push_back(position);
          starts.push_back(static_cast<int64_t>(row));
          too_many = keys.size() > groups_max;
        }
        before = position;
        return true;
      });
      if (parted) KeepIndex(offset, piece);
      return absl::OkStatus();
    });
    if (parted && !is_damaged_) CheckParted(std::move(keys), std::move(starts), too_many);
  }

  // kdb+ sorts enums by name, other programs also by position: one of the two orders must apply
  // throughout.
  void CheckOrder(uint64_t row, int64_t before, int64_t position, bool* by_position,
                  bool* by_name) {
    if (!*by_position && !*by_name) return;
    *by_position = *by_position && before <= position;
    *by_name = *by_name && domains_ != nullptr && NameOf(before) <= NameOf(position);
    if (!*by_position && !*by_name) {
      Find(ByteOf(row),
           fmt::format("row {} is less than a row before, in a column that claims to be sorted",
                       row));
    }
  }

  std::string_view NameOf(int64_t position) const {
    const SymbolDomain* const domain = column_->domain();
    const std::optional<SymbolId> id = domain == nullptr ? std::nullopt : domain->IdAt(position);
    return id ? domains_->symbols().NameOf(*id) : std::string_view();
  }

  // Keeps the bytes after the rows, up to the size that an index of the rows can have.
  void KeepIndex(uint64_t offset, std::span<const std::byte> piece) {
    const uint64_t data_end = layout_.data_offset + layout_.data_bytes();
    if (offset + piece.size() <= data_end || IndexIsTooLong()) return;
    index_.Append(piece.subspan(data_end > offset ? data_end - offset : 0));
  }
  bool IndexIsTooLong() const {
    const uint64_t data_end = layout_.data_offset + layout_.data_bytes();
    return column_->file().bytes() - data_end > kPageBytes + 64 * layout_.rows;
  }

  void CheckParted(std::vector<int64_t> keys, std::vector<int64_t> starts, bool too_many) {
    std::vector<int64_t> sorted = keys;
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (too_many || twice != sorted.end()) {
      const int64_t position = twice != sorted.end() ? *twice : keys.back();
      const auto first = std::ranges::find(keys, position);
      const auto again = std::find(first + 1, keys.end(), position);
      const auto row =
          starts[static_cast<size_t>((again == keys.end() ? first : again) - keys.begin())];
      Find(ByteOf(static_cast<uint64_t>(row)),
           fmt::format("row {} has position {} again, in a column that claims to be parted", row,
                       position));
      return;
    }
    result_.group_starts.assign(starts.begin(), starts.end());
    result_.group_starts.push_back(layout_.rows);
    starts.push_back(static_cast<int64_t>(layout_.rows));
    CheckIndex(keys, starts);
  }

  void CheckIndex(const std::vector<int64_t>& keys, const std::vector<int64_t>& starts) {
    const uint64_t data_end = layout_.data_offset + layout_.data_bytes();
    const PartedIndexPlaces places = PlacesOfPartedIndex(layout_, keys.size());
    const uint64_t bytes = column_->file().bytes();
    if (bytes != places.end) {
      Find(data_end, fmt::format("{} bytes of index, expected {} for {} symbols", bytes - data_end,
                                 places.end - data_end, keys.size()));
      return;
    }
    const auto number = [&](uint64_t at, size_t width) {
      return CheckedPosition(index_.data() + (at - data_end), width);
    };
    const auto expect = [&](uint64_t at, size_t width, int64_t expected, std::string_view what) {
      const int64_t found = number(at, width);
      if (found == expected) return true;
      Find(at, fmt::format("the index says {} {}, the rows {}", what, found, expected));
      return false;
    };
    const auto count = static_cast<int64_t>(keys.size());
    if (!expect(places.keys_header + 8, 8, count, "count of symbols") ||
        !expect(places.starts_header + 8, 8, count + 1, "count of starts")) {
      return;
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!expect(places.keys + i * layout_.width, layout_.width, keys[i], "symbol")) break;
    }
    for (size_t i = 0; i < starts.size(); ++i) {
      if (!expect(places.starts + i * 8, 8, starts[i], "start")) break;
    }
    const std::vector<int64_t> slots = PartedHashTable(keys, places.slot_count);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!expect(places.slots + i * 8, 8, slots[i], "hash slot")) break;
    }
  }

  const std::string path_;
  const std::shared_ptr<const SymbolDomains> domains_;
  std::shared_ptr<const ColumnFile> column_;
  ColumnLayout layout_;
  ByteBuffer index_;  // Bytes after the rows of a parted enum.
  bool is_damaged_ = false;
  ColumnCheck result_;
};

}  // namespace

void ColumnCheck::Add(Finding finding) {
  if (findings.size() < kFindingsMax) {
    findings.push_back(std::move(finding));
  } else {
    ++findings_left_off;
  }
}

Finding FindingOf(const std::string& path, const absl::Status& status) {
  std::string_view what = Message(status);
  if (what.starts_with(path + ": ")) what.remove_prefix(path.size() + 2);
  Finding finding{path, std::nullopt, ""};
  constexpr std::string_view kByte = "byte ";
  if (what.starts_with(kByte)) {
    uint64_t byte = 0;
    const auto [end, error] =
        std::from_chars(what.data() + kByte.size(), what.data() + what.size(), byte);
    if (error == std::errc() && std::string_view(end, 2) == ": ") {
      finding.byte = byte;
      what.remove_prefix(static_cast<size_t>(end - what.data()) + 2);
    }
  }
  finding.what = what;
  return finding;
}

ColumnCheck CheckColumn(const std::string& path, std::shared_ptr<const SymbolDomains> domains) {
  return ColumnChecker(path, std::move(domains)).Run();
}

std::optional<Finding> FindTimeGoingBack(const std::string& path,
                                         const std::vector<uint64_t>& starts) {
  const absl::StatusOr<std::shared_ptr<const ColumnFile>> column = ColumnFile::Open(path);
  if (!column.ok() || (*column)->layout().form != ColumnForm::kVector) return std::nullopt;
  const ColumnLayout& layout = (*column)->layout();
  const bool is_time = layout.type == Type::kTimestamp || layout.type == Type::kTimespan ||
                       layout.type == Type::kTime || layout.type == Type::kDatetime;
  if (!is_time || starts.empty() || starts.back() != layout.rows) return std::nullopt;
  OrderWatch watch(layout);
  size_t group = 0;
  std::optional<Finding> found;
  const absl::Status status =
      (*column)->file().Visit([&](uint64_t offset, std::span<const std::byte> piece) {
        ForElements(layout, offset, piece, [&](uint64_t row, const std::byte* element) {
          if (row == starts[group]) {
            watch.Restart();
            ++group;
          }
          if (watch.Next(element)) return true;
          found = Finding{path, layout.data_offset + row * layout.width,
                          fmt::format("row {} is earlier than the row before of the same symbol, "
                                      "and as-of joins expect ascending times",
                                      row)};
          return false;
        });
        return found ? absl::CancelledError() : absl::OkStatus();
      });
  return found;  // A block that cannot be decompressed is a finding of the column.
}

}  // namespace tickstack::disk
