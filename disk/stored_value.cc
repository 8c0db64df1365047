#include "disk/stored_value.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/column_file.h"
#include "disk/kdb_format.h"
#include "table/codec.h"
#include "table/encoded.h"
#include "table/storable.h"

namespace tickstack::disk {
namespace {

static_assert(kStoredValueBytesMax == kStorableBytesMax);

// An enum: the name of its domain NUL, attribute, i32 count, that many i32 positions.
struct Enum {
  std::string_view domain;
  uint8_t attribute = 0;
  std::span<const std::byte> positions;
  size_t bytes = 0;  // With all before the positions.
};

bool IsEnum(std::byte type) {
  const auto number = std::to_integer<uint8_t>(type);
  return number >= kEnumTypeMin && number <= kEnumTypeMax;
}

// nullopt if the bytes end before it does, or its count is negative.
std::optional<Enum> ParseEnum(std::span<const std::byte> bytes) {
  const std::string_view text = AsText(bytes.subspan(1));
  const size_t name_bytes = text.find('\0');
  if (name_bytes == std::string_view::npos || text.size() - name_bytes < 6) return std::nullopt;
  Enum found;
  found.domain = text.substr(0, name_bytes);
  const size_t head_bytes = 1 + name_bytes + 1 + 1 + 4;
  found.attribute = LoadLittle<uint8_t>(bytes.data() + head_bytes - 5);
  const auto count = LoadLittle<int32_t>(bytes.data() + head_bytes - 4);
  const uint64_t data_bytes = static_cast<uint64_t>(std::max(count, 0)) * sizeof(int32_t);
  if (count < 0 || data_bytes > bytes.size() - head_bytes) return std::nullopt;
  found.positions = bytes.subspan(head_bytes, data_bytes);
  found.bytes = head_bytes + data_bytes;
  return found;
}

absl::Status NoValue(uint64_t place) {
  return DataLoss("byte {}: expected a value that ends within the file", place);
}

// Copies one value and converts the enums in it to symbol vectors.
class Resolver {
 public:
  Resolver(std::span<const std::byte> bytes, const SymbolDomains* domains, uint64_t place)
      : bytes_(bytes), domains_(domains), place_(place) {}

  absl::StatusOr<ByteBuffer> Run() {
    uint64_t values = 1;  // Values still to be copied, as in EncodedBytes.
    while (values > 0) {
      --values;
      const std::span<const std::byte> rest = bytes_.subspan(at_);
      if (!rest.empty() && IsEnum(rest.front())) {
        TS_RETURN_IF_ERROR(CopyEnum(rest));
        continue;
      }
      const std::optional<EncodedHead> head = HeadOfEncoded(rest);
      if (!head) return NoValue(place_ + at_);
      out_.Append(rest.first(head->bytes));
      at_ += head->bytes;
      values += head->inner_values;
    }
    if (at_ == bytes_.size()) return std::move(out_);
    return DataLoss("byte {}: the value ends here, expected its end at byte {}", place_ + at_,
                    place_ + bytes_.size());
  }

 private:
  absl::Status CopyEnum(std::span<const std::byte> rest) {
    const std::optional<Enum> found = ParseEnum(rest);
    if (!found) return NoValue(place_ + at_);
    const SymbolDomain* const domain =
        domains_ == nullptr ? nullptr : domains_->Find(found->domain);
    if (domain == nullptr) {
      return NotFound("byte {}: an enum of {}, expected a domain of the database", place_ + at_,
                      found->domain);
    }
    const auto count = static_cast<int32_t>(found->positions.size() / sizeof(int32_t));
    out_.AppendLittle(static_cast<uint8_t>(Type::kSymbol));
    out_.AppendLittle(found->attribute);
    out_.AppendLittle(count);
    for (int32_t i = 0; i < count; ++i) {
      const auto position =
          LoadLittle<int32_t>(found->positions.data() + static_cast<size_t>(i) * sizeof(int32_t));
      const std::optional<SymbolId> id =
          domain->IdAt(position == kNullInt ? kNullPosition : position);
      if (!id) {
        return DataLoss("byte {}: an enum with position {}, domain {} has {} names", place_ + at_,
                        position, found->domain, domain->ids().size());
      }
      out_.Append(domains_->symbols().NameOf(*id));
      out_.AppendLittle(char{0});
      if (out_.size() > kStoredValueBytesMax) {
        return ResourceExhausted("byte {}: a value that takes more than {} bytes with its names",
                                 place_, kStoredValueBytesMax);
      }
    }
    at_ += found->bytes;
    return absl::OkStatus();
  }

  std::span<const std::byte> bytes_;
  const SymbolDomains* domains_;
  uint64_t place_;
  size_t at_ = 0;
  ByteBuffer out_;
};

}  // namespace

absl::StatusOr<Value> DecodeStored(std::span<const std::byte> bytes, const SymbolDomains* domains,
                                   uint64_t place) {
  TS_ASSIGN_OR_RETURN(const ByteBuffer resolved, Resolver(bytes, domains, place).Run());
  absl::StatusOr<Value> value = Decode(resolved);
  if (value.ok()) return value;
  return DataLoss("byte {}: not a value: {}", place, Message(value.status()));
}

absl::Status Spend(const Value& value, uint64_t* bytes_left) {
  TS_ASSIGN_OR_RETURN(const size_t bytes, EncodedBytes(value));
  if (bytes > *bytes_left) {
    return ResourceExhausted("a value of more than {} bytes", kStoredValueBytesMax);
  }
  *bytes_left -= bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> ItemOffsets(std::span<const std::byte> file) {
  std::vector<uint64_t> offsets;
  for (size_t at = kSerialisedVectorBytes; at < file.size();) {
    offsets.push_back(at);
    uint64_t values = 1;
    while (values > 0) {
      --values;
      const std::span<const std::byte> rest = file.subspan(at);
      if (!rest.empty() && IsEnum(rest.front())) {
        const std::optional<Enum> found = ParseEnum(rest);
        if (!found) return NoValue(at);
        at += found->bytes;
        continue;
      }
      const std::optional<EncodedHead> head = HeadOfEncoded(rest);
      if (!head) return NoValue(at);
      at += head->bytes;
      values += head->inner_values;
    }
  }
  offsets.push_back(file.size());
  return offsets;
}

absl::StatusOr<Value> DecodeStoredFile(std::span<const std::byte> file,
                                       const SymbolDomains* domains) {
  if (!AsText(file).starts_with(kSerialisedTag) || file.size() == kSerialisedTag.size()) {
    return DataLoss("byte 0: expected a value (ff 01)");
  }
  const auto type = static_cast<Type>(file[2]);
  const bool is_counted = type == Type::kList || IsVectorType(type);
  if (!is_counted || file.size() < kSerialisedVectorBytes)
    return DecodeStored(file.subspan(2), domains, 2);

  const auto attribute = static_cast<Attribute>(file[3]);
  if (attribute > Attribute::kGrouped) {
    return DataLoss("byte 3: attribute {}, expected 0 to 4", static_cast<int>(attribute));
  }
  const auto count = LoadLittle<int32_t>(file.data() + 4);
  uint64_t found = 0;
  Value value;
  if (type == Type::kSymbol) {
    TS_ASSIGN_OR_RETURN(const StoredNames names, ParseStoredNames(file));
    SymbolVector symbols;
    symbols.reserve(names.count, names.text.size());
    std::string_view text = AsText(names.text);
    for (; found < names.count; ++found) {
      const size_t name_bytes = text.find('\0');
      symbols.AppendName(text.substr(0, name_bytes));
      text.remove_prefix(name_bytes + 1);
    }
    value = Value::Symbols(std::move(symbols), attribute);
  } else if (type == Type::kList) {
    TS_ASSIGN_OR_RETURN(const std::vector<uint64_t> offsets, ItemOffsets(file));
    std::vector<Value> items;
    uint64_t bytes_left = kStoredValueBytesMax;
    for (found = 0; found + 1 < offsets.size(); ++found) {
      const uint64_t begin = offsets[found];
      TS_ASSIGN_OR_RETURN(Value item, DecodeStored(file.subspan(begin, offsets[found + 1] - begin),
                                                   domains, begin));
      TS_RETURN_IF_ERROR(Spend(item, &bytes_left));
      items.push_back(std::move(item));
    }
    value = Value::List(std::move(items), attribute);
  } else {
    found = (file.size() - kSerialisedVectorBytes) / WidthOf(type);
    value = Value::Vector(
        type, ByteBuffer(file.subspan(kSerialisedVectorBytes, found * WidthOf(type))), attribute);
  }
  if (count < 0 || static_cast<uint64_t>(count) > found) {
    return DataLoss("byte 4: {} items, but the file has {}", count, found);
  }
  return value;
}

absl::StatusOr<Value> ReadStoredValue(const std::string& path,
                                      std::shared_ptr<const SymbolDomains> domains) {
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<const StoredFile> file, StoredFile::Open(path));
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> head, file->Head());
  if (AsText(head).starts_with(kSerialisedTag)) {
    TS_ASSIGN_OR_RETURN(const PinnedBytes bytes, file->All());
    absl::StatusOr<Value> value = DecodeStoredFile(bytes.span(), domains.get());
    if (!value.ok()) return Annotate(value.status(), path);
    return value;
  }
  TS_ASSIGN_OR_RETURN(const std::shared_ptr<const ColumnFile> column,
                      ColumnFile::Open(path, std::move(domains)));
  return column->AllRows();
}

}  // namespace tickstack::disk
