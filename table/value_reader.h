#pragma once

// The grammar of an encoded kdb+ value. All code that reads such bytes uses this reader: sizes and
// checks (table/walk.h), values (table/codec.h), items of nested columns (table/encoded.h), and
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
// A value's head is everything before the values that it contains. So a vector is one head, and
// (`a; 1 2) is three:
//
//   00 00 02 00 00 00 | f5 61 00 | 07 00 02 00 00 00  1...  2...
//   inner_values 2      0          0
//
// A count larger than the bytes can hold is found when the bytes end, so the cost is proportional
// to the bytes, not to the count.

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
  kBad,        // It is not a value, whatever bytes follow; see ValueReader::problem().
};

template <typename Byte>
struct ValueHead {
  int8_t code = 0;
  Attribute attribute = Attribute::kNone;
  bool counted = false;  // True for a vector or a list.
  size_t count = 1;      // Number of its elements or items; 1 for other values.
  // Number of values that it contains, which follow the head. At most INT32_MAX.
  uint64_t inner_values = 0;
  // For atoms, vectors and errors: the elements, or the names with their NULs.
  std::span<Byte> elements;
};

// kWire: a value in a message. kStored: a value in a file, where the attribute may be any byte.
enum class ValueSource : uint8_t { kWire, kStored };

// Reads forward. If the bytes are const, they must be little-endian. If they are mutable, they must
// be big-endian, and the reader converts each number to little-endian in place when it passes it.
//
// After kBad and kEndsEarly nothing more may be read. Allocates nothing.
template <typename Byte, ValueSource kSource = ValueSource::kWire>
class ValueReader {
 public:
  using Head = ValueHead<Byte>;

  // `place` is added to the byte offsets in problem().
  explicit ValueReader(std::span<Byte> bytes, size_t place = 0) : bytes_(bytes), place_(place) {}

  size_t offset() const { return offset_; }
  size_t size() const { return bytes_.size(); }
  size_t left() const { return bytes_.size() - offset_; }
  bool at_end() const { return left() == 0; }
  std::span<Byte> From(size_t begin) const { return bytes_.subspan(begin, offset_ - begin); }
  // Returns the description of the problem after kBad.
  std::string problem() const {
    return fmt::format("byte {}: {}", place_ + bad_offset_,
                       fmt::format(fmt::runtime(bad_), bad_numbers_[0], bad_numbers_[1],
                                   bad_numbers_[2], fmt::arg("what", bad_what_)));
  }

  // Returns the next type byte without passing it; 0 at the end of the bytes, where every further
  // read fails.
  int8_t PeekCode() const { return at_end() ? int8_t{0} : static_cast<int8_t>(bytes_[offset_]); }
  // Checks that the next type byte is `code`, without passing it. `what` describes the expected
  // value in problem().
  ReadOutcome Require(int8_t code, const char* what) {
    if (at_end()) return ReadOutcome::kEndsEarly;
    if (PeekCode() == code) return ReadOutcome::kWhole;
    bad_what_ = what;
    return Bad(offset_, "type {}, expected {} ({what})", PeekCode(), code);
  }

  // Reads the head of the next value.
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

  // Reads the next value, which must be an atom. Faster than TakeHead.
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
  // Reads `count` elements of a vector, or the one element of an atom.
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

  // Records a problem and returns kBad, also for callers that check more than the grammar. `format`
  // has a place for each of `numbers`, of which there are at most three.
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
  // The last of the functions; 112 is code that a process loaded.
  static constexpr int8_t kDerivedMax = 112;

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

  // Reads the head of a list, table, dictionary, function or error after its type byte.
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

  // Returns kBad for the type byte `code`, which was read last.
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
  // The parts of the problem's text. They are not joined before problem() is called, since readers
  // are copied.
  size_t bad_offset_ = 0;
  const char* bad_ = "";
  std::array<int64_t, 3> bad_numbers_ = {};
  const char* bad_what_ = "";
};

}  // namespace tickstack
