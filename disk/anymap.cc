// An anymap is three files (docs/formats.md):
//
//   col     a page, then a reference a row: 56 bits of offset, 8 bits of flags
//   col#    a page, then items, from offset 0 on, in any order; several rows may share one
//   col##   the names of all symbols in the items, which hold their numbers; only if there are any
//
//   compact   7f+t | u8 n | elements        a vector of type t of at most 255 elements
//             7f-t | element                an atom
//             93 | i32 name | u8 n | i64s   an enum, with the name of its domain
//   full      fb 00 | type | attribute | i32 | i64 n | content
//               vector  n elements          4d list   n references
//               14 enum n i64 positions     62 table, 63 dictionary   two references
//
// Because items contain references, they form a graph, which a damaged or hostile file may bend
// into a cycle, or into a tree that is far larger than the file. So a row is built with a bound on
// its depth and on its bytes.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/scratch.h"
#include "base/status.h"
#include "disk/kdb_format.h"
#include "disk/nested_items.h"
#include "disk/stored_value.h"
#include "table/codec.h"

namespace tickstack::disk {
namespace {

constexpr uint64_t kOffsetMask = (uint64_t{1} << 56) - 1;
constexpr uint8_t kAtomBase = 0x7f;  // An atom of type t is 7f-t, a compact vector 7f+t.
constexpr uint8_t kCompactEnum = kAtomBase + kEnumTypeMin;
constexpr uint8_t kFull = 0xfb;
constexpr size_t kFullHeaderBytes = 16;
constexpr uint8_t kTableType = 98;
constexpr uint8_t kDictType = 99;
// The domain of full enums, which no file names. All known ones are of `sym`.
constexpr std::string_view kFullEnumDomain = "sym";

// What a row may take in addition to kStoredValueBytesMax: items may share what they refer to, but
// a reference has 8 bytes, so a legitimate row is far below this.
constexpr uint64_t kRowBytesMin = uint64_t{1} << 20;
constexpr uint64_t kGrowthMax = 64;

struct Names {
  std::unique_ptr<const StoredFile> file;
  PinnedBytes held;
  std::span<const std::byte> text;  // View of `held`.
  std::vector<uint64_t> starts;     // Offsets in `text`.

  std::optional<std::string_view> At(int32_t number) const {
    if (number < 0 || static_cast<size_t>(number) >= starts.size()) return std::nullopt;
    // The text ends at the name's own NUL, which exists.
    return reinterpret_cast<const char*>(text.data() + starts[static_cast<size_t>(number)]);
  }
};

absl::StatusOr<Names> OpenNames(const std::string& path, const ChecksumFile* checksums) {
  Names names;
  absl::StatusOr<std::unique_ptr<const StoredFile>> file = StoredFile::Open(path, checksums);
  if (file.status().code() == absl::StatusCode::kNotFound) return names;
  if (!file.ok()) return file.status();
  names.file = *std::move(file);
  TS_ASSIGN_OR_RETURN(names.held, names.file->All());
  if (names.file->is_archived()) {
    // The cache could not evict a file that is pinned for as long as its column is open.
    const internal::ScratchScope outside_of_queries(nullptr);
    const auto copy = std::make_shared<const ByteBuffer>(names.held.span());
    names.held = PinnedBytes(copy->span(), copy);
  }
  const absl::StatusOr<StoredNames> stored = ParseStoredNames(names.held.span());
  if (!stored.ok()) return Annotate(stored.status(), path);
  names.text = stored->text;
  names.starts.reserve(stored->count);
  for (size_t at = 0; at < names.text.size(); at = AsText(names.text).find('\0', at) + 1) {
    names.starts.push_back(at);
  }
  return names;
}

// Builds one row's value.
class Builder {
 public:
  // `payload` is that of the file col#, whose bytes are verified here as they are read.
  Builder(const StoredFile& file, std::span<const std::byte> payload, const Names& names,
          const SymbolDomains* domains)
      : file_(file),
        payload_(payload),
        names_(names),
        domains_(domains),
        bytes_left_(std::min(kStoredValueBytesMax, kRowBytesMin + kGrowthMax * payload.size())) {}

  // Returns the item of a reference. Errors name the byte of col#.
  absl::StatusOr<Value> At(uint64_t reference, int depth) {
    const uint64_t offset = reference & kOffsetMask;
    if (depth > kDepthMax) return Damage(offset, "nested deeper than 64 values");
    TS_RETURN_IF_ERROR(Spend(offset, sizeof(Value)));
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, Bytes(offset, 1));
    const auto first = std::to_integer<uint8_t>(head.front());
    if (first == kFull) return Full(offset, depth);
    if (first == kCompactEnum) return CompactEnum(offset);
    if (first > kAtomBase) return CompactVector(offset, static_cast<Type>(first - kAtomBase));
    return Atom(offset, static_cast<Type>(kAtomBase - first));
  }

 private:
  static absl::Status Damage(uint64_t offset, std::string_view what) {
    return DataLoss("byte {}: {}", kPageBytes + offset, what);
  }

  absl::Status Spend(uint64_t offset, uint64_t bytes) {
    if (bytes <= bytes_left_) {
      bytes_left_ -= bytes;
      return absl::OkStatus();
    }
    return ResourceExhausted("byte {}: in a row that takes more than {} bytes", kPageBytes + offset,
                             kStoredValueBytesMax);
  }

  absl::StatusOr<std::span<const std::byte>> Bytes(uint64_t offset, uint64_t bytes) const {
    if (offset <= payload_.size() && bytes <= payload_.size() - offset) {
      TS_RETURN_IF_ERROR(file_.Verify(kPageBytes + offset, kPageBytes + offset + bytes));
      return payload_.subspan(offset, bytes);
    }
    return DataLoss("byte {}: item ends after byte {}, the end of the items", kPageBytes + offset,
                    kPageBytes + payload_.size());
  }

  // Returns `count` elements of `width` bytes.
  absl::StatusOr<std::span<const std::byte>> Elements(uint64_t offset, uint64_t count,
                                                      size_t width) {
    if (count > payload_.size() / width) {
      return DataLoss("byte {}: an item of {} elements in a file of {} bytes", kPageBytes + offset,
                      count, kPageBytes + payload_.size());
    }
    TS_RETURN_IF_ERROR(Spend(offset, count * width));
    return Bytes(offset, count * width);
  }

  absl::StatusOr<std::string_view> Name(uint64_t offset, int32_t number) {
    const std::optional<std::string_view> name = names_.At(number);
    if (!name) {
      return DataLoss("byte {}: symbol {}, of {}", kPageBytes + offset, number,
                      names_.starts.size());
    }
    TS_RETURN_IF_ERROR(Spend(offset, name->size() + 1));
    return *name;
  }

  absl::StatusOr<Value> Symbols(uint64_t offset, std::span<const std::byte> numbers,
                                Attribute attribute) {
    SymbolVector symbols;
    for (size_t i = 0; i < numbers.size(); i += sizeof(int32_t)) {
      TS_ASSIGN_OR_RETURN(const std::string_view name,
                          Name(offset, LoadLittle<int32_t>(numbers.data() + i)));
      symbols.push_back(name);
    }
    return Value::Symbols(std::move(symbols), attribute);
  }

  absl::StatusOr<Value> Enum(uint64_t offset, std::string_view domain_name,
                             std::span<const std::byte> positions, Attribute attribute) {
    const SymbolDomain* const domain = domains_ == nullptr ? nullptr : domains_->Find(domain_name);
    if (domain == nullptr && !positions.empty()) {
      return NotFound("byte {}: an enum of {}, expected a domain of the database",
                      kPageBytes + offset, domain_name);
    }
    SymbolVector symbols;
    for (size_t i = 0; i < positions.size(); i += sizeof(int64_t)) {
      const auto position = LoadLittle<int64_t>(positions.data() + i);
      const std::optional<SymbolId> id = domain->IdAt(position);
      if (!id) {
        return DataLoss("byte {}: an enum with position {}, domain {} has {} names",
                        kPageBytes + offset, position, domain_name, domain->ids().size());
      }
      const std::string_view name = domains_->symbols().NameOf(*id);
      TS_RETURN_IF_ERROR(Spend(offset, name.size() + 1));
      symbols.push_back(name);
    }
    return Value::Symbols(std::move(symbols), attribute);
  }

  absl::StatusOr<Value> Vector(uint64_t offset, uint64_t data, Type type, uint64_t count,
                               Attribute attribute) {
    const size_t width = type == Type::kSymbol ? sizeof(int32_t) : WidthOf(type);
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> elements, Elements(data, count, width));
    if (type == Type::kSymbol) return Symbols(offset, elements, attribute);
    return Value::Vector(type, ByteBuffer(elements), attribute);
  }

  absl::StatusOr<Value> CompactVector(uint64_t offset, Type type) {
    if (!IsVectorType(type)) return Unknown(offset);
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, Bytes(offset, 2));
    return Vector(offset, offset + 2, type, std::to_integer<uint8_t>(head[1]), Attribute::kNone);
  }

  absl::StatusOr<Value> CompactEnum(uint64_t offset) {
    constexpr size_t kHeadBytes = 6;
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, Bytes(offset, kHeadBytes));
    TS_ASSIGN_OR_RETURN(const std::string_view domain,
                        Name(offset, LoadLittle<int32_t>(head.data() + 1)));
    TS_ASSIGN_OR_RETURN(
        const std::span<const std::byte> positions,
        Elements(offset + kHeadBytes, std::to_integer<uint8_t>(head[5]), sizeof(int64_t)));
    return Enum(offset, domain, positions, Attribute::kNone);
  }

  absl::StatusOr<Value> Atom(uint64_t offset, Type type) {
    if (!IsVectorType(type)) return Unknown(offset);
    if (type == Type::kSymbol) {
      TS_ASSIGN_OR_RETURN(const std::span<const std::byte> number,
                          Bytes(offset + 1, sizeof(int32_t)));
      TS_ASSIGN_OR_RETURN(const std::string_view name,
                          Name(offset, LoadLittle<int32_t>(number.data())));
      return Value::Symbol(name);
    }
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> element, Bytes(offset + 1, WidthOf(type)));
    return Value::AtomFromBytes(type, element);
  }

  absl::StatusOr<Value> Full(uint64_t offset, int depth) {
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, Bytes(offset, kFullHeaderBytes));
    const auto code = std::to_integer<uint8_t>(head[2]);
    const auto attribute = static_cast<Attribute>(head[3]);
    const auto count = LoadLittle<int64_t>(head.data() + 8);
    const uint64_t data = offset + kFullHeaderBytes;
    if (head[1] != std::byte{0} || attribute > Attribute::kGrouped || count < 0) {
      return Damage(offset, "an item whose header cannot be");
    }
    const auto items = static_cast<uint64_t>(count);
    if (code == kAnymapType) return List(data, items, attribute, depth);
    if (code == kTableType || code == kDictType) return Pair(offset, code, attribute, depth);
    if (code == kEnumTypeMin) {
      TS_ASSIGN_OR_RETURN(const std::span<const std::byte> positions,
                          Elements(data, items, sizeof(int64_t)));
      return Enum(offset, kFullEnumDomain, positions, attribute);
    }
    const auto type = static_cast<Type>(code);
    if (!IsVectorType(type)) return Unknown(offset);
    return Vector(offset, data, type, items, attribute);
  }

  absl::StatusOr<Value> List(uint64_t data, uint64_t count, Attribute attribute, int depth) {
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> references,
                        Elements(data, count, sizeof(uint64_t)));
    std::vector<Value> items;
    for (size_t i = 0; i < count; ++i) {
      TS_ASSIGN_OR_RETURN(
          Value item,
          At(LoadLittle<uint64_t>(references.data() + i * sizeof(uint64_t)), depth + 1));
      items.push_back(std::move(item));
    }
    return Value::List(std::move(items), attribute);
  }

  absl::StatusOr<Value> Pair(uint64_t offset, uint8_t code, Attribute attribute, int depth) {
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> references,
                        Bytes(offset + kFullHeaderBytes, 2 * sizeof(uint64_t)));
    TS_ASSIGN_OR_RETURN(Value keys, At(LoadLittle<uint64_t>(references.data()), depth + 1));
    TS_ASSIGN_OR_RETURN(Value values, At(LoadLittle<uint64_t>(references.data() + 8), depth + 1));
    if (code == kDictType) {
      if (!IsCounted(keys) || !IsCounted(values) || keys.count() != values.count()) {
        return Damage(offset, "a dictionary whose keys and values are not lists of one length");
      }
      return Value::Dict(std::move(keys), std::move(values));
    }
    if (!keys.is(Type::kSymbol) || !values.is_list() || keys.count() != values.count()) {
      return Damage(offset, "a table that has no name for each column");
    }
    for (const Value& column : values.items()) {
      const bool is_column = column.is_vector() || column.is_list();
      if (!is_column || column.count() != values.items().front().count()) {
        return Damage(offset, "a table whose columns are not lists of one length");
      }
    }
    return Value::Pair(Type::kTable, attribute, std::move(keys), std::move(values));
  }

  static bool IsCounted(const Value& value) {
    return value.is_vector() || value.is_list() || value.is_table() || value.is_dict();
  }

  absl::Status Unknown(uint64_t offset) const {
    const bool full = payload_[offset] == std::byte{kFull};
    return DataLoss("byte {}: an item of type {:02x}, expected a type of kdb+", kPageBytes + offset,
                    std::to_integer<int>(payload_[offset + (full ? 2 : 0)]));
  }

  const StoredFile& file_;
  std::span<const std::byte> payload_;
  const Names& names_;
  const SymbolDomains* domains_;
  uint64_t bytes_left_;
};

class Anymap : public NestedItems {
 public:
  Anymap(const StoredFile& column, const ColumnLayout& layout,
         std::unique_ptr<const StoredFile> payload, Names names,
         std::shared_ptr<const SymbolDomains> domains)
      : column_(column),
        layout_(layout),
        payload_(std::move(payload)),
        names_(std::move(names)),
        domains_(std::move(domains)) {}

  absl::StatusOr<Value> At(uint64_t row) const override {
    TS_ASSIGN_OR_RETURN(const PinnedBytes references, column_.InPlace());
    TS_ASSIGN_OR_RETURN(const PinnedBytes payload, payload_->InPlace());
    const uint64_t at = layout_.data_offset + row * sizeof(uint64_t);
    TS_RETURN_IF_ERROR(column_.Verify(at, at + sizeof(uint64_t)));
    absl::StatusOr<Value> value =
        Builder(*payload_, payload.span().subspan(kPageBytes), names_, domains_.get())
            .At(LoadLittle<uint64_t>(references.data() + at), 1);
    if (!value.ok()) {
      return Annotate(value.status(), fmt::format("{}: byte {}: row {}: {}", column_.path(), at,
                                                  row, payload_->path()));
    }
    return value;
  }
  absl::Status Pin(std::vector<PinnedBytes>& held) const override {
    TS_ASSIGN_OR_RETURN(held.emplace_back(), payload_->InPlace());
    return absl::OkStatus();
  }

 private:
  const StoredFile& column_;
  const ColumnLayout layout_;
  const std::unique_ptr<const StoredFile> payload_;
  const Names names_;
  const std::shared_ptr<const SymbolDomains> domains_;
};

absl::Status CheckPayload(const StoredFile& payload) {
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, payload.Head());
  if (head.size() == kPageBytes && AsText(head).starts_with(kPageTag) &&
      static_cast<Type>(head[kPageVectorOffset + 2]) == Type::kByte) {
    return absl::OkStatus();
  }
  return DataLoss("{}: byte 0: expected the items of an anymap (fd 20, type 4)", payload.path());
}

}  // namespace

absl::StatusOr<std::unique_ptr<const NestedItems>> OpenAnymap(
    const StoredFile& column, const ColumnLayout& layout,
    std::shared_ptr<const SymbolDomains> domains, const ChecksumFile* checksums) {
  const std::string payload_path = column.path() + kCompanionSuffix;
  TS_ASSIGN_OR_RETURN(std::unique_ptr<const StoredFile> payload,
                      StoredFile::Open(payload_path, checksums));
  TS_RETURN_IF_ERROR(CheckPayload(*payload));
  TS_ASSIGN_OR_RETURN(Names names, OpenNames(payload_path + kCompanionSuffix, checksums));
  return std::make_unique<Anymap>(column, layout, std::move(payload), std::move(names),
                                  std::move(domains));
}

}  // namespace tickstack::disk
