#include "disk/anymap_writer.h"

#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "base/string_map.h"
#include "disk/column_file_header.h"
#include "disk/file_image.h"
#include "disk/symbol_file_writer.h"
#include "table/encoded.h"
#include "table/storable.h"
#include "table/types.h"

namespace tickstack::disk {
namespace {

constexpr std::string_view kEmptyList("\xff\x01\x00\x00\x00\x00\x00\x00", 8);
constexpr uint64_t kBuilt = uint64_t{1} << 56;  // Flag of items that are built when they are read.
constexpr size_t kCompactBytesMax = 95;
constexpr size_t kAlignment = 16;
constexpr int kCompactBase = 0x7f;

// Writes one item after the other into the payload.
class ItemWriter {
 public:
  explicit ItemWriter(uint64_t offset) : offset_(offset) {}

  // Appends one encoded value to bytes(), with stand-ins for what cannot be stored; returns the
  // reference to it.
  absl::StatusOr<uint64_t> AppendRow(std::span<const std::byte> value);

  ByteBuffer& bytes() { return bytes_; }
  // Drops the bytes so far, which have been written.
  void Forget() {
    offset_ += bytes_.size();
    bytes_.clear();
  }
  // Returns how many stand-ins there are so far.
  uint64_t stand_ins() const { return stand_ins_; }
  // Returns the names of all symbols so far, in order of first use.
  std::vector<std::string_view> Names() const { return {names_.begin(), names_.end()}; }

 private:
  uint64_t End() const { return offset_ + bytes_.size(); }
  void Align() {
    const size_t over = End() % kAlignment;
    if (over != 0) std::memset(bytes_.Extend(kAlignment - over), 0, kAlignment - over);
  }
  void AppendObjectHeader(int type, std::byte attribute, uint64_t count);
  int32_t NumberOf(std::string_view name);
  absl::StatusOr<uint64_t> Append(std::span<const std::byte> value);
  absl::StatusOr<uint64_t> AppendStandIn(std::string_view what);
  absl::StatusOr<uint64_t> AppendAtom(int type, std::span<const std::byte> data);
  absl::StatusOr<uint64_t> AppendVector(int type, std::span<const std::byte> value);
  absl::StatusOr<uint64_t> AppendObject(int type, uint64_t flag,
                                        std::span<const std::span<const std::byte>> parts);
  absl::StatusOr<uint64_t> AppendList(std::span<const std::byte> value);

  uint64_t offset_;  // Offset of bytes_ in the payload.
  ByteBuffer bytes_;
  StringMap<int32_t> numbers_;
  std::deque<std::string> names_;
  uint64_t stand_ins_ = 0;
};

void ItemWriter::AppendObjectHeader(int type, std::byte attribute, uint64_t count) {
  bytes_.AppendLittle(uint16_t{0x00fb});
  bytes_.AppendLittle(static_cast<uint8_t>(type));
  bytes_.AppendLittle(std::to_integer<uint8_t>(attribute));
  bytes_.AppendLittle(int32_t{1});
  bytes_.AppendLittle(count);
}

int32_t ItemWriter::NumberOf(std::string_view name) {
  const auto [at, is_new] = numbers_.try_emplace(name, static_cast<int32_t>(names_.size()));
  if (is_new) names_.emplace_back(name);
  return at->second;
}

absl::StatusOr<uint64_t> ItemWriter::AppendAtom(int type, std::span<const std::byte> data) {
  const uint64_t at = End();
  bytes_.AppendLittle(static_cast<uint8_t>(kCompactBase - type));
  if (type == static_cast<int>(Type::kSymbol)) {
    bytes_.AppendLittle(NumberOf(AsText(data.first(data.size() - 1))));
  } else {
    bytes_.Append(data);
  }
  return at | kBuilt;
}

absl::StatusOr<uint64_t> ItemWriter::AppendVector(int type, std::span<const std::byte> value) {
  constexpr size_t kHeaderBytes = 6;
  const auto count = static_cast<uint32_t>(LoadLittle<int32_t>(value.data() + 2));
  const std::span<const std::byte> data = value.subspan(kHeaderBytes);
  const bool symbols = type == static_cast<int>(Type::kSymbol);
  const size_t bytes = symbols ? count * sizeof(int32_t) : count * WidthOf(static_cast<Type>(type));
  const bool compact = bytes <= kCompactBytesMax;
  if (!compact) Align();
  const uint64_t at = End();
  if (compact) {
    bytes_.AppendLittle(static_cast<uint8_t>(kCompactBase + type));
    bytes_.AppendLittle(static_cast<uint8_t>(count));
  } else {
    AppendObjectHeader(type, std::byte{0}, count);
  }
  if (!symbols) {
    bytes_.Append(data);
    return at | (compact ? kBuilt : 0);
  }
  std::string_view rest = AsText(data);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t end = rest.find('\0');
    bytes_.AppendLittle(NumberOf(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  return at | (compact ? kBuilt : 0);
}

// Appends an object with references, which come first, before the referenced items.
absl::StatusOr<uint64_t> ItemWriter::AppendObject(
    int type, uint64_t flag, std::span<const std::span<const std::byte>> parts) {
  Align();
  const uint64_t at = End();
  AppendObjectHeader(type, std::byte{0}, parts.size());
  const size_t references = bytes_.size();
  bytes_.Extend(parts.size() * sizeof(uint64_t));
  for (size_t i = 0; i < parts.size(); ++i) {
    TS_ASSIGN_OR_RETURN(const uint64_t reference, Append(parts[i]));
    std::memcpy(bytes_.data() + references + i * sizeof(reference), &reference, sizeof(reference));
  }
  return at | flag;
}

absl::StatusOr<uint64_t> ItemWriter::AppendList(std::span<const std::byte> value) {
  constexpr size_t kHeaderBytes = 6;
  constexpr int kListObject = kAnymapType;
  const auto count = static_cast<uint32_t>(LoadLittle<int32_t>(value.data() + 2));
  std::span<const std::byte> rest = value.subspan(kHeaderBytes);
  std::vector<std::span<const std::byte>> items;
  for (uint32_t i = 0; i < count; ++i) {
    const std::optional<size_t> bytes = EncodedBytes(rest);
    if (!bytes)
      return DataLoss("item {} of {}: ends after the list's {} bytes", i, count, value.size());
    items.push_back(rest.first(*bytes));
    rest = rest.subspan(*bytes);
  }
  return AppendObject(kListObject, 0, items);
}

absl::StatusOr<uint64_t> ItemWriter::AppendRow(std::span<const std::byte> value) {
  if (EncodedBytes(value) != value.size()) {
    return DataLoss("{} bytes that are not one whole value", value.size());
  }
  const std::optional<Unstorable> found = FindUnstorable(value);
  return found && found->is_whole ? AppendStandIn(found->what) : Append(value);
}

absl::StatusOr<uint64_t> ItemWriter::AppendStandIn(std::string_view what) {
  ++stand_ins_;
  const std::string text = fmt::format("{}{}", kStandInPrefix, what);
  ByteBuffer value;
  value.AppendLittle(static_cast<uint8_t>(Type::kChar));
  value.AppendLittle(uint8_t{0});
  value.AppendLittle(static_cast<int32_t>(text.size()));
  value.Append(AsBytes(text));
  return AppendVector(static_cast<int>(Type::kChar), value.span());
}

// Recurses no deeper than kDepthMax: AppendRow has checked the row.
absl::StatusOr<uint64_t> ItemWriter::Append(std::span<const std::byte> value) {
  const auto type = static_cast<int8_t>(value.front());
  if (type < 0 && IsVectorType(static_cast<Type>(-type))) {
    return AppendAtom(-type, value.subspan(1));
  }
  if (type > 0 && IsVectorType(static_cast<Type>(type))) return AppendVector(type, value);
  if (type == static_cast<int8_t>(Type::kList)) return AppendList(value);
  if (IsFunctionCode(type)) return AppendStandIn(EncodedFunctionText(value));
  // A dictionary is keys and values; a table has an attribute and a dictionary of columns. The
  // attribute of a sorted dictionary (type 127) is not stored.
  const bool table = type == static_cast<int8_t>(Type::kTable);
  if (!table && type != static_cast<int8_t>(Type::kDict) &&
      type != static_cast<int8_t>(Type::kSortedDict)) {
    return DataLoss("a value of type {}", type);
  }
  const std::span<const std::byte> pair = value.subspan(table ? 3 : 1);
  const std::optional<size_t> first = EncodedBytes(pair);
  if (!first || *first == pair.size()) {
    return DataLoss("a dictionary of {} bytes ends after its keys", value.size());
  }
  const std::span<const std::byte> parts[] = {pair.first(*first), pair.subspan(*first)};
  return AppendObject(table ? 0x62 : 0x63, kBuilt, parts);
}

class AnymapWriter {
 public:
  static absl::StatusOr<uint64_t> Write(const Snapshot& snapshot, size_t column,
                                        const RowOrder& order, const std::string& path,
                                        const ColumnWriterOptions& options) {
    const auto create = [&](const std::string& name) {
      return FileImage::Create(name, options.compression, options.workers, options.storage, {},
                               options.checksums);
    };
    TS_ASSIGN_OR_RETURN(FileImage references, create(path));
    TS_ASSIGN_OR_RETURN(FileImage payload, create(path + "#"));
    AnymapWriter writer(references, payload);
    TS_RETURN_IF_ERROR(writer.AppendAll(snapshot, column, order));
    TS_ASSIGN_OR_RETURN(uint64_t bytes, references.Finish());
    TS_ASSIGN_OR_RETURN(const uint64_t payload_bytes, payload.Finish());
    bytes += payload_bytes;
    if (options.stand_ins != nullptr) *options.stand_ins += writer.items_.stand_ins();
    const std::vector<std::string_view> all_names = writer.items_.Names();
    if (all_names.empty()) return bytes;
    TS_ASSIGN_OR_RETURN(FileImage names, create(path + "##"));
    TS_RETURN_IF_ERROR(names.Append(SymbolListFile(all_names)));
    TS_ASSIGN_OR_RETURN(const uint64_t names_bytes, names.Finish());
    return bytes + names_bytes;
  }

 private:
  AnymapWriter(FileImage& references, FileImage& payload)
      : references_(references), payload_(payload), items_(0) {}

  absl::Status AppendAll(const Snapshot& snapshot, size_t column, const RowOrder& order) {
    TS_RETURN_IF_ERROR(references_.Append(AnymapHeader(order.rows())));
    TS_RETURN_IF_ERROR(payload_.Append(AnymapPayloadHeader()));
    if (order.in_place()) {
      for (size_t row = 0; row < order.rows(); ++row) {
        TS_RETURN_IF_ERROR(AppendRow(snapshot, column, row));
      }
    }
    for (const std::span<const uint32_t> run : order.runs()) {
      for (const uint32_t row : run) TS_RETURN_IF_ERROR(AppendRow(snapshot, column, row));
    }
    return payload_.Append(items_.bytes());
  }

  absl::Status AppendRow(const Snapshot& snapshot, size_t column, size_t row) {
    constexpr size_t kPieceBytes = size_t{64} << 10;
    const absl::StatusOr<uint64_t> reference = items_.AppendRow(snapshot.Item(column, row));
    if (!reference.ok()) return Annotate(reference.status(), fmt::format("row {}", row));
    TS_RETURN_IF_ERROR(references_.Append(std::as_bytes(std::span(&*reference, 1))));
    if (items_.bytes().size() < kPieceBytes) return absl::OkStatus();
    TS_RETURN_IF_ERROR(payload_.Append(items_.bytes()));
    items_.Forget();
    return absl::OkStatus();
  }

  FileImage& references_;
  FileImage& payload_;
  ItemWriter items_;
};

}  // namespace

absl::StatusOr<uint64_t> WriteAnymap(const Snapshot& snapshot, size_t column, const RowOrder& order,
                                     const std::string& path, const ColumnWriterOptions& options) {
  if (order.rows() > 0) return AnymapWriter::Write(snapshot, column, order, path, options);
  TS_RETURN_IF_ERROR(WriteNewFile(*options.storage, path, AsBytes(kEmptyList), options.checksums));
  return kEmptyList.size();
}

}  // namespace tickstack::disk
