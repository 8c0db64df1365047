#include "feed/market/dbn/dbn_metadata.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "base/time.h"
#include "feed/market/big_endian.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kPreludeBytes = 8;
constexpr uint8_t kInstrumentIds = 0;  // A type of symbols.

// Reads the fields of a header, and remembers the first error.
class DbnHeaderReader {
 public:
  DbnHeaderReader(ByteStream& bytes, uint32_t length) : bytes_(bytes), left_(length) {}

  // Returns the next bytes, at most 64 KiB; none after an error.
  std::span<const std::byte> Take(size_t count) {
    if (!status_.ok()) return {};
    if (count > left_)
      return Fail(fmt::format("the length of the header ends within its {}", what_));
    const absl::StatusOr<std::span<const std::byte>> next = bytes_.Peek(count);
    if (!next.ok()) status_ = next.status();
    if (!next.ok()) return {};
    if (next->size() < count)
      return Fail(fmt::format("the file is cut off within the {} of its header", what_));
    left_ -= count;
    bytes_.Skip(count);
    return next->first(count);
  }
  void Skip(uint64_t count) {
    while (count > 0 && status_.ok()) {
      const size_t part = std::min<uint64_t>(count, size_t{1} << 16);
      Take(part);
      count -= part;
    }
  }
  void SkipRest() { Skip(left_); }
  template <typename T>
  T Number() {
    const std::span<const std::byte> at = Take(sizeof(T));
    return at.empty() ? T{} : LoadLittle<T>(at.data());
  }
  // A text that ends at a 0, if it is shorter.
  std::string_view Text(size_t count) {
    const std::string_view text = AsText(Take(count));
    const std::string_view symbol = text.substr(0, text.find('\0'));
    if (!IsPrintable(symbol)) Fail(fmt::format("a text of its {} is not ASCII", what_));
    return symbol;
  }
  std::span<const std::byte> Fail(std::string_view why) {
    if (status_.ok()) status_ = DataLoss("{}: byte {}: {}", bytes_.path(), bytes_.offset(), why);
    return {};
  }
  // Names the part of the header that is read next.
  void Begin(std::string_view what) { what_ = what; }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  ByteStream& bytes_;
  uint64_t left_;  // Bytes of the header.
  std::string_view what_ = "fixed fields";
  absl::Status status_;
};

// Returns the day of a number such as 20240131.
std::optional<int32_t> DayOfDigits(uint32_t digits) {
  const Civil date = {static_cast<int>(digits / 10'000), static_cast<int>(digits / 100 % 100),
                      static_cast<int>(digits % 100)};
  if (date.year < 1 || date.year > 9999 || date.month < 1 || date.month > 12) return std::nullopt;
  const int32_t day = DaysFromCivil(date.year, date.month, date.day);
  const Civil again = CivilFromDays(day);
  if (again.month != date.month || again.day != date.day) return std::nullopt;
  return day;
}

int32_t ReadDay(DbnHeaderReader& header) {
  const auto digits = header.Number<uint32_t>();
  const std::optional<int32_t> day = DayOfDigits(digits);
  if (!day)
    header.Fail(fmt::format("expected a day such as 20240131 in its mappings, found {}", digits));
  return day.value_or(0);
}

// What the lists of a header have in common.
struct DbnSymbolForm {
  size_t bytes;     // Length of a symbol.
  bool is_usable;   // Symbols are mapped to or from numbers of instruments.
  bool is_inverse;  // From them.
};

void ReadInterval(DbnHeaderReader& header, const DbnSymbolForm& form, const std::string& name,
                  DbnSymbols& symbols) {
  const int32_t begin_day = ReadDay(header), end_day = ReadDay(header);
  const std::string_view other = header.Text(form.bytes);
  if (!form.is_usable || other.empty() || !header.ok()) return;
  const std::string_view digits = form.is_inverse ? name : other;
  uint32_t instrument = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), instrument);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    header.Fail(
        fmt::format("expected the number of an instrument in its mappings, found '{}'", digits));
    return;
  }
  if (!symbols.MapDays(instrument, begin_day, end_day, form.is_inverse ? other : name)) {
    header.Fail(
        fmt::format("its mappings have more than {} instruments", DbnSymbols::kInstrumentsMax));
  }
}

void ReadMappings(DbnHeaderReader& header, const DbnSymbolForm& form, DbnSymbols& symbols) {
  header.Begin("mappings");
  const auto mappings = header.Number<uint32_t>();
  for (uint32_t i = 0; i < mappings && header.ok(); ++i) {
    const std::string name(header.Text(form.bytes));
    const auto intervals = header.Number<uint32_t>();
    for (uint32_t n = 0; n < intervals && header.ok(); ++n) {
      ReadInterval(header, form, name, symbols);
    }
  }
  symbols.SortDays();
}

void ReadHeader(DbnHeaderReader& header, DbnMetadata& metadata) {
  constexpr size_t kDatasetBytes = 16, kSymbolBytesOfVersion1 = 22;
  constexpr size_t kReservedOfVersion1 = 47, kReserved = 53, kQueryBytes = 26, kLists = 3;
  const bool is_first = metadata.version == 1;
  metadata.dataset = header.Text(kDatasetBytes);
  header.Skip(kQueryBytes + (is_first ? sizeof(uint64_t) : 0));
  const auto from = header.Number<uint8_t>(), to = header.Number<uint8_t>();
  header.Number<uint8_t>();  // Send times make the records longer, which needs no care.
  const size_t symbol_bytes = is_first ? kSymbolBytesOfVersion1 : header.Number<uint16_t>();
  if (header.ok() && symbol_bytes < kSymbolBytesOfVersion1) {
    header.Fail(fmt::format("expected symbols of at least {} bytes, found {}",
                            kSymbolBytesOfVersion1, symbol_bytes));
  }
  header.Skip(is_first ? kReservedOfVersion1 : kReserved);
  header.Skip(header.Number<uint32_t>());
  header.Begin("symbols");
  for (size_t list = 0; list < kLists; ++list) {
    header.Skip(uint64_t{header.Number<uint32_t>()} * symbol_bytes);
  }
  const bool is_inverse = from == kInstrumentIds && to != kInstrumentIds;
  ReadMappings(header, {symbol_bytes, is_inverse || to == kInstrumentIds, is_inverse},
               metadata.symbols);
  header.Begin("padding");
  header.SkipRest();
}

// Says what a file is that does not begin as DBN.
std::string_view WhatIs(std::span<const std::byte> begin) {
  constexpr uint8_t kDefinition = 0x13;
  constexpr std::string_view kDbz = "DBZ";
  if (AsText(begin).substr(kPreludeBytes).starts_with(kDbz)) {
    return "DBZ, the format before DBN, which is not supported";
  }
  // Records begin with their length in words and their type.
  const auto words = static_cast<uint8_t>(begin[0]), type = static_cast<uint8_t>(begin[1]);
  const bool is_record = (words == 12 && type == 0) || (words == 20 && type == 1) ||
                         (words == 14 && type == 0xA0) || (words >= 90 && type == kDefinition);
  return is_record ? "records without a header (a fragment), which are not supported"
                   : "another format";
}

}  // namespace

absl::StatusOr<DbnMetadata> ReadDbnMetadata(ByteStream& bytes) {
  constexpr size_t kProbeBytes = 16;
  constexpr std::string_view kMagic = "DBN";
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> begin, bytes.Peek(kProbeBytes));
  if (begin.size() < kPreludeBytes) {
    return DataLoss("{}: byte {}: the file is cut off within its header", bytes.path(),
                    begin.size());
  }
  if (!AsText(begin).starts_with(kMagic)) {
    return DataLoss("{}: byte 0: expected DBN, found {}", bytes.path(), WhatIs(begin));
  }
  DbnMetadata metadata;
  metadata.version = static_cast<uint8_t>(begin[kMagic.size()]);
  if (metadata.version < 1 || metadata.version > DbnMetadata::kVersionMax) {
    return DataLoss("{}: byte 3: expected DBN version 1 to {}, found {}", bytes.path(),
                    DbnMetadata::kVersionMax, metadata.version);
  }
  const auto length = LoadLittle<uint32_t>(begin.data() + kMagic.size() + 1);
  if (length > DbnMetadata::kLengthMax) {
    return DataLoss("{}: byte 4: expected a header of at most {} bytes, found {}", bytes.path(),
                    DbnMetadata::kLengthMax, length);
  }
  bytes.Skip(kPreludeBytes);
  DbnHeaderReader header(bytes, length);
  ReadHeader(header, metadata);
  if (!header.ok()) return header.status();
  return metadata;
}

}  // namespace tickstack::feed::market
