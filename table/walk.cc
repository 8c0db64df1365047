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
// The walk is a template over the constness of its bytes. On constant bytes, which are
// little-endian, it only looks; on mutable ones, which are big-endian, it reverses every number
// that it passes. It never trusts a count beyond the bytes, so its cost is bounded by them: the
// smallest item of a list has two.

#include "table/walk.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "table/codec.h"
#include "table/name_scan.h"
#include "table/types.h"

namespace tickstack {
namespace {

enum class Outcome { kWhole, kEndsEarly, kBad };

// The facts about a value that the value around it needs.
struct Shape {
  int8_t code = 0;
  size_t count = 0;
  bool counted = false;  // True for a vector, list, table or dict, which have a count.
};

template <typename T>
void ReverseEach(std::byte* at, size_t elements) {
  for (size_t i = 0; i < elements; ++i, at += sizeof(T)) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
    std::memcpy(at, &value, sizeof(T));
  }
}

void ReverseElements(std::byte* at, size_t width, size_t elements) {
  if (width == 2) ReverseEach<uint16_t>(at, elements);
  if (width == 4) ReverseEach<uint32_t>(at, elements);
  if (width == 8) ReverseEach<uint64_t>(at, elements);
  // Guids (16) are bytes in print order, the same in both byte orders.
}

template <typename Byte>
class Walker {
 public:
  Walker(std::span<Byte> bytes, size_t place) : bytes_(bytes), place_(place) {}

  size_t offset() const { return offset_; }
  const std::string& problem() const { return problem_; }

  Outcome Value(int depth, Shape* shape) {
    if (left() < 1) return Outcome::kEndsEarly;
    const size_t begin = offset_;
    const auto code = static_cast<int8_t>(bytes_[offset_++]);
    shape->code = code;
    shape->count = 1;
    shape->counted = false;

    if (code < 0 && code != kErrorCode) return Atom(static_cast<Type>(-code), begin);
    if (IsVectorType(static_cast<Type>(code))) return Vector(static_cast<Type>(code), shape);
    if (code >= 101 && code <= 103) return Skip(1);
    if (code == kErrorCode) {
      if (depth == 1) return Name();
      return Bad(begin, "an error (type 0x80) inside another value");
    }
    // All other types contain values.
    if (depth > kDepthMax) {
      return Bad(begin, fmt::format("nested deeper than {} values", kDepthMax));
    }
    if (code == 0) return List(depth, shape);
    if (code == 98) return Table(begin, depth, shape);
    if (code == 99 || code == 127) return Dict(begin, depth, shape);
    if (code >= 100 && code <= 112) return Function(code, depth);
    return BadType(begin, code);
  }

 private:
  static constexpr bool kReverses = !std::is_const_v<Byte>;
  static constexpr int8_t kErrorCode = static_cast<int8_t>(Type::kError);

  size_t left() const { return bytes_.size() - offset_; }

  Outcome Skip(size_t bytes) {
    if (left() < bytes) return Outcome::kEndsEarly;
    offset_ += bytes;
    return Outcome::kWhole;
  }

  Outcome Elements(Type type, size_t count) {
    const size_t width = WidthOf(type);
    const size_t bytes = count * width;  // At most 2^31 times 16.
    if (left() < bytes) return Outcome::kEndsEarly;
    if constexpr (kReverses) ReverseElements(bytes_.data() + offset_, width, count);
    offset_ += bytes;
    return Outcome::kWhole;
  }

  Outcome Names(size_t count) {
    const size_t bytes = BytesOfNames(bytes_.subspan(offset_), count);
    if (bytes == kTooFewNames) return Outcome::kEndsEarly;
    offset_ += bytes;
    return Outcome::kWhole;
  }
  Outcome Name() { return Names(1); }

  Outcome Attribute() {
    if (left() < 1) return Outcome::kEndsEarly;
    const auto attribute = std::to_integer<uint8_t>(bytes_[offset_]);
    if (attribute > static_cast<uint8_t>(tickstack::Attribute::kGrouped)) {
      return Bad(offset_, fmt::format("attribute {}, expected 0 to 4", attribute));
    }
    ++offset_;
    return Outcome::kWhole;
  }

  Outcome Count(size_t* count) {
    if (left() < sizeof(int32_t)) return Outcome::kEndsEarly;
    if constexpr (kReverses) ReverseElements(bytes_.data() + offset_, sizeof(int32_t), 1);
    const auto number = LoadLittle<int32_t>(bytes_.data() + offset_);
    if (number < 0) return Bad(offset_, fmt::format("count {}, expected 0 or more", number));
    offset_ += sizeof(int32_t);
    *count = static_cast<size_t>(number);
    return Outcome::kWhole;
  }

  Outcome Atom(Type type, size_t begin) {
    if (type == Type::kSymbol) return Name();
    if (IsFixedWidth(type)) return Elements(type, 1);
    return BadType(begin, static_cast<int8_t>(-static_cast<int8_t>(type)));
  }

  Outcome Vector(Type type, Shape* shape) {
    if (Outcome outcome = AttributeAndCount(shape); outcome != Outcome::kWhole) return outcome;
    return type == Type::kSymbol ? Names(shape->count) : Elements(type, shape->count);
  }

  Outcome AttributeAndCount(Shape* shape) {
    shape->counted = true;
    if (Outcome outcome = Attribute(); outcome != Outcome::kWhole) return outcome;
    return Count(&shape->count);
  }

  Outcome List(int depth, Shape* shape) {
    if (Outcome outcome = AttributeAndCount(shape); outcome != Outcome::kWhole) return outcome;
    return Values(shape->count, depth + 1);
  }

  Outcome Values(size_t count, int depth) {
    Shape ignored;
    for (size_t i = 0; i < count; ++i) {
      if (Outcome outcome = Value(depth, &ignored); outcome != Outcome::kWhole) return outcome;
    }
    return Outcome::kWhole;
  }

  Outcome Dict(size_t begin, int depth, Shape* shape) {
    Shape keys, values;
    if (Outcome outcome = Value(depth + 1, &keys); outcome != Outcome::kWhole) return outcome;
    if (Outcome outcome = Value(depth + 1, &values); outcome != Outcome::kWhole) return outcome;
    if (!keys.counted || !values.counted) {
      return Bad(begin, fmt::format("a dictionary of types {} and {}, expected lists", keys.code,
                                    values.code));
    }
    if (keys.count != values.count) {
      return Bad(begin,
                 fmt::format("a dictionary of {} keys and {} values", keys.count, values.count));
    }
    shape->counted = true;
    shape->count = keys.count;
    return Outcome::kWhole;
  }

  Outcome Table(size_t begin, int depth, Shape* shape) {
    if (Outcome outcome = Attribute(); outcome != Outcome::kWhole) return outcome;
    if (Outcome outcome = Expect(99, "the dictionary of a table"); outcome != Outcome::kWhole) {
      return outcome;
    }
    if (Outcome outcome = Expect(11, "a table's column names"); outcome != Outcome::kWhole) {
      return outcome;
    }
    Shape names;
    if (Outcome outcome = Vector(Type::kSymbol, &names); outcome != Outcome::kWhole) {
      return outcome;
    }
    if (Outcome outcome = Expect(0, "a table's columns"); outcome != Outcome::kWhole) {
      return outcome;
    }
    Shape columns;
    if (Outcome outcome = AttributeAndCount(&columns); outcome != Outcome::kWhole) return outcome;
    if (columns.count != names.count) {
      return Bad(begin,
                 fmt::format("a table of {} names and {} columns", names.count, columns.count));
    }
    shape->counted = true;
    return Columns(columns.count, depth + 2, &shape->count);
  }

  Outcome Columns(size_t count, int depth, size_t* rows) {
    *rows = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t begin = offset_;
      Shape column;
      if (Outcome outcome = Value(depth, &column); outcome != Outcome::kWhole) return outcome;
      if (column.code < 0 || column.code > 19) {
        return Bad(begin,
                   fmt::format("column {} of a table is of type {}, expected a vector or list", i,
                               column.code));
      }
      if (i == 0) *rows = column.count;
      if (column.count != *rows) {
        return Bad(begin, fmt::format("column {} of a table has {} rows, the first has {}", i,
                                      column.count, *rows));
      }
    }
    return Outcome::kWhole;
  }

  Outcome Function(int8_t code, int depth) {
    if (code == 100) {
      if (Outcome outcome = Name(); outcome != Outcome::kWhole) return outcome;
      if (Outcome outcome = Expect(10, "a lambda's source"); outcome != Outcome::kWhole) {
        return outcome;
      }
      Shape source;
      return Vector(Type::kChar, &source);
    }
    size_t count = 1;
    if (code <= 105) {
      if (Outcome outcome = Count(&count); outcome != Outcome::kWhole) return outcome;
    }
    return Values(count, depth + 1);
  }

  // The next byte is the type `code`.
  Outcome Expect(int8_t code, const char* what) {
    if (left() < 1) return Outcome::kEndsEarly;
    const auto found = static_cast<int8_t>(bytes_[offset_]);
    if (found != code) {
      return Bad(offset_, fmt::format("type {}, expected {} ({})", found, code, what));
    }
    ++offset_;
    return Outcome::kWhole;
  }

  Outcome BadType(size_t offset, int8_t code) {
    if (code >= 20 && code <= 76) {
      return Bad(offset, fmt::format("type {}, an enumerated vector, which does not travel", code));
    }
    return Bad(offset, fmt::format("type {}, which does not exist", code));
  }

  [[gnu::cold, gnu::noinline]] Outcome Bad(size_t offset, std::string what) {
    problem_ = fmt::format("byte {}: {}", place_ + offset, what);
    return Outcome::kBad;
  }

  std::span<Byte> bytes_;
  size_t place_;
  size_t offset_ = 0;
  std::string problem_;
};

absl::Status EndsEarly(size_t place, size_t bytes) {
  return InvalidArgument("byte {}: the value goes on past the end, byte {}", place, place + bytes);
}

absl::Status EndsLate(size_t used, size_t bytes) {
  return InvalidArgument("byte {}: the value ends here, its message at byte {}", used, bytes);
}

}  // namespace

absl::StatusOr<std::optional<size_t>> WalkValue(std::span<const std::byte> bytes, int depth,
                                                size_t place) {
  Walker<const std::byte> walker(bytes, place);
  Shape shape;
  switch (walker.Value(depth, &shape)) {
    case Outcome::kWhole:
      return walker.offset();
    case Outcome::kEndsEarly:
      return std::nullopt;
    case Outcome::kBad:
      break;
  }
  return InvalidArgument("{}", walker.problem());
}

absl::StatusOr<size_t> WalkWholeValue(std::span<const std::byte> bytes, int depth, size_t place) {
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> used, WalkValue(bytes, depth, place));
  if (!used) return EndsEarly(place, bytes.size());
  return *used;
}

absl::StatusOr<std::optional<size_t>> ValueBytes(std::span<const std::byte> bytes) {
  return WalkValue(bytes, 1, 0);
}

absl::Status ToLittleEndian(std::span<std::byte> body) {
  Walker<std::byte> walker(body, 0);
  Shape shape;
  const Outcome outcome = walker.Value(1, &shape);
  if (outcome == Outcome::kBad) return InvalidArgument("{}", walker.problem());
  if (outcome == Outcome::kEndsEarly) return EndsEarly(0, body.size());
  if (walker.offset() != body.size()) return EndsLate(walker.offset(), body.size());
  return absl::OkStatus();
}

}  // namespace tickstack
