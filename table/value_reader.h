#pragma once

// The grammar of an encoded kdb+ value, once. Every reader of such bytes is made of this one: sizes
// and checks (table/walk.h), values (table/codec.h), items of nested columns (table/encoded.h), and
// upds (wire/upd.h).
//
// A value is a type byte and what follows from it:
//
//   -1..-19   atom      element, or NUL-terminated name
//    1..19    vector    attribute u8 | count i32 | elements back to back
//    0        list      attribute u8 | count i32 | values back to back
//    98       table     attribute u8 | 99 | symbol vector of names | list of columns
//    99, 127  dict      value (keys) | value (values)
//    100      lambda    namespace NUL | char vector of source
//    101..103 primitive number u8
//    104, 105 projection, composition   count i32 | values
//    106..112 derived   value
//    -128     error     text NUL
//
// Its head is all of that up to the values in it. So a vector is one head, and (`a; 1 2) is three:
//
//   00 00 02 00 00 00 | f5 61 00 | 07 00 02 00 00 00  1...  2...
//   inner_values 2      0          0
//
// No count is trusted further than the bytes go, so the cost is bounded by the bytes: the smallest
// item of a list has two.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "table/name_scan.h"
#include "table/types.h"

namespace tickstack {

enum class ReadOutcome : uint8_t {
  kWhole,
  kEndsEarly,  // The bytes end before the value does.
  kBad,        // No bytes that could follow make it a value; see ValueReader::problem().
};

template <typename Byte>
struct ValueHead {
  int8_t code = 0;
  Attribute attribute = Attribute::kNone;
  bool counted = false;       // A vector or a list.
  size_t count = 1;           // Its elements or items.
  uint64_t inner_values = 0;  // Values that follow the head and belong to it. At most INT32_MAX.
  std::span<Byte> elements;   // Atoms, vectors, errors: elements, or names with NULs.
};

// kWire: as values travel. kStored: in files, where the attribute may be any byte.
enum class ValueSource : uint8_t { kWire, kStored };

// Reads forward. A template over the constness of its bytes: constant bytes are little-endian;
// mutable ones are big-endian, and every number is turned round as it is passed.
//
// After kBad and kEndsEarly nothing more may be read. Allocates nothing.
template <typename Byte, ValueSource kSource = ValueSource::kWire>
class ValueReader {
 public:
  using Head = ValueHead<Byte>;

  // Problems name bytes from `place` on.
  explicit ValueReader(std::span<Byte> bytes, size_t place = 0) : bytes_(bytes), place_(place) {}

  size_t offset() const { return offset_; }
  size_t size() const { return bytes_.size(); }
  size_t left() const { return bytes_.size() - offset_; }
  bool at_end() const { return left() == 0; }
  std::span<Byte> From(size_t begin) const { return bytes_.subspan(begin, offset_ - begin); }
  // The text for kBad.
  std::string problem() const {
    return fmt::format("byte {}: {}", place_ + bad_offset_,
                       fmt::format(fmt::runtime(bad_), bad_numbers_[0], bad_numbers_[1],
                                   bad_numbers_[2], fmt::arg("what", bad_what_)));
  }

  // The type byte that comes next; 0 at the end, where whatever reads it then fails.
  int8_t PeekCode() const { return at_end() ? int8_t{0} : static_cast<int8_t>(bytes_[offset_]); }
  // The type byte that comes next must be `code`.
  ReadOutcome Require(int8_t code, const char* what) {
    if (at_end()) return ReadOutcome::kEndsEarly;
    if (PeekCode() == code) return ReadOutcome::kWhole;
    bad_what_ = what;
    return Bad(offset_, "type {}, expected {} ({what})", PeekCode(), code);
  }

  // The head of the value that comes next.
  ReadOutcome TakeHead(Head* head) {
    if (at_end()) return ReadOutcome::kEndsEarly;
    const int8_t code = PeekCode();
    ++offset_;
    head->code = code;
    head->inner_values = 0;
    if (code >= 0 && IsVectorType(static_cast<Type>(code))) {
      head->counted = true;
      if (ReadOutcome outcome = TakeAttributeAndCount(head); outcome != ReadOutcome::kWhole) {
        return outcome;
      }
      return TakeElements(static_cast<Type>(code), head->count, &head->elements);
    }
    head->attribute = Attribute::kNone;
    head->counted = false;
    head->count = 1;
    if (code < 0 && code != kErrorCode) {
      const auto type = static_cast<Type>(-code);
      return IsVectorType(type) ? TakeElements(type, 1, &head->elements) : BadType(code);
    }
    return TakeOtherHead(head);
  }

  // An atom, which is less work than its head.
  ReadOutcome TakeAtom(Type* type, std::span<Byte>* element) {
    if (at_end()) return ReadOutcome::kEndsEarly;
    const int8_t code = PeekCode();
    *type = static_cast<Type>(-code);
    ++offset_;
    return IsVectorType(*type) ? TakeElements(*type, 1, element) : BadType(code);
  }

  ReadOutcome Take(size_t bytes, std::span<Byte>* taken) {
    if (left() < bytes) return ReadOutcome::kEndsEarly;
    *taken = bytes_.subspan(offset_, bytes);
    offset_ += bytes;
    return ReadOutcome::kWhole;
  }
  ReadOutcome TakeNames(size_t names, std::span<Byte>* taken) {
    const size_t bytes = BytesOfNames(bytes_.subspan(offset_), names);
    if (bytes == kTooFewNames) return ReadOutcome::kEndsEarly;
    return Take(bytes, taken);
  }
  // `count` elements of a vector, or the one of an atom.
  ReadOutcome TakeElements(Type type, size_t count, std::span<Byte>* taken) {
    if (type == Type::kSymbol) return TakeNames(count, taken);
    const size_t width = WidthOf(type);
    if (ReadOutcome outcome = Take(count * width, taken); outcome != ReadOutcome::kWhole) {
      return outcome;  // At most 2^31 times 16.
    }
    if constexpr (kReverses) ReverseElements(taken->data(), width, count);
    return ReadOutcome::kWhole;
  }
  ReadOutcome TakeAttribute(Attribute* attribute) {
    if (at_end()) return ReadOutcome::kEndsEarly;
    const auto number = std::to_integer<uint8_t>(bytes_[offset_]);
    if (kSource == ValueSource::kWire && number > kAttributeMax) [[unlikely]] {
      return Bad(offset_, "attribute {}, expected 0 to 4", number);
    }
    *attribute = static_cast<Attribute>(number);
    ++offset_;
    return ReadOutcome::kWhole;
  }
  ReadOutcome TakeCount(size_t* count) {
    if (left() < sizeof(int32_t)) return ReadOutcome::kEndsEarly;
    if constexpr (kReverses) ReverseElements(bytes_.data() + offset_, sizeof(int32_t), 1);
    const auto number = LoadLittle<int32_t>(bytes_.data() + offset_);
    if (number < 0) [[unlikely]] {
      return Bad(offset_, "count {}, expected 0 or more", number);
    }
    offset_ += sizeof(int32_t);
    *count = static_cast<size_t>(number);
    return ReadOutcome::kWhole;
  }

  // For readers that check more than the grammar: always kBad. `format` has as many places as there
  // are numbers, three at most.
  template <typename... Numbers>
  [[gnu::cold, gnu::noinline]] ReadOutcome Bad(size_t offset, const char* format,
                                               Numbers... numbers) {
    bad_offset_ = offset;
    bad_ = format;
    bad_numbers_ = {static_cast<int64_t>(numbers)...};
    return ReadOutcome::kBad;
  }

 private:
  static constexpr bool kReverses = !std::is_const_v<Byte>;
  static constexpr int8_t kErrorCode = static_cast<int8_t>(Type::kError);
  static constexpr uint8_t kAttributeMax = static_cast<uint8_t>(Attribute::kGrouped);
  // The last of the derived functions. Type 112 is code that a process loaded: it is in no file.
  static constexpr int8_t kDerivedMax = kSource == ValueSource::kWire ? 112 : 111;

  template <typename T>
  static void ReverseEach(std::byte* at, size_t elements) {
    for (size_t i = 0; i < elements; ++i, at += sizeof(T)) {
      T value;
      std::memcpy(&value, at, sizeof(T));
      if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
      if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
      if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
      std::memcpy(at, &value, sizeof(T));
    }
  }
  static void ReverseElements(std::byte* at, size_t width, size_t elements) {
    if (width == 2) ReverseEach<uint16_t>(at, elements);
    if (width == 4) ReverseEach<uint32_t>(at, elements);
    if (width == 8) ReverseEach<uint64_t>(at, elements);
    // Guids (16) are bytes in print order, the same in both byte orders.
  }

  ReadOutcome TakeAttributeAndCount(Head* head) {
    if (ReadOutcome outcome = TakeAttribute(&head->attribute); outcome != ReadOutcome::kWhole) {
      return outcome;
    }
    return TakeCount(&head->count);
  }

  // A list, table, dictionary, function or error; its type byte has been taken.
  ReadOutcome TakeOtherHead(Head* head) {
    const int8_t code = head->code;
    if (code == 0) {
      head->counted = true;
      const ReadOutcome outcome = TakeAttributeAndCount(head);
      head->inner_values = head->count;
      return outcome;
    }
    if (code == 98) {
      head->inner_values = 1;  // Its dictionary.
      return TakeAttribute(&head->attribute);
    }
    if (code == 99 || code == 127) {
      head->inner_values = 2;
      return ReadOutcome::kWhole;
    }
    if (code == kErrorCode) return TakeNames(1, &head->elements);
    return code >= 100 && code <= kDerivedMax ? TakeFunctionHead(head) : BadType(code);
  }

  ReadOutcome TakeFunctionHead(Head* head) {
    std::span<Byte> taken;
    if (head->code >= 101 && head->code <= 103) return Take(1, &taken);
    head->inner_values = 1;
    if (head->code == 100) return TakeNames(1, &taken);  // The namespace; the source is a value.
    if (head->code > 105) return ReadOutcome::kWhole;
    size_t values = 0;
    const ReadOutcome outcome = TakeCount(&values);
    head->inner_values = values;
    return outcome;
  }

  // The type byte that was taken last.
  ReadOutcome BadType(int8_t code) {
    const bool is_enumeration = code >= 20 && code <= 76;
    return Bad(offset_ - 1,
               is_enumeration ? "type {}, an enumerated vector, which does not travel"
                              : "type {}, which does not exist",
               code);
  }

  std::span<Byte> bytes_;
  size_t place_;
  size_t offset_ = 0;
  // The problem, as the parts of its text: readers are copied.
  size_t bad_offset_ = 0;
  const char* bad_ = "";
  std::array<int64_t, 3> bad_numbers_ = {};
  const char* bad_what_ = "";
};

}  // namespace tickstack
