#pragma once

// The kdb+ types: their codes, letters, widths and nulls, as in the public kdb+ reference
// ("Datatypes"). An encoded value begins with its type's code if it is a vector, and with the
// negative code if it is an atom.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace tickstack {

enum class Type : int8_t {
  kList = 0,  // A general list: items of any type.
  kBoolean = 1,
  kGuid = 2,
  kByte = 4,
  kShort = 5,
  kInt = 6,
  kLong = 7,
  kReal = 8,
  kFloat = 9,
  kChar = 10,
  kSymbol = 11,
  kTimestamp = 12,
  kMonth = 13,
  kDate = 14,
  kDatetime = 15,
  kTimespan = 16,
  kMinute = 17,
  kSecond = 18,
  kTime = 19,
  kTable = 98,
  kDict = 99,
  kLambda = 100,
  kUnary = 101,  // Unary primitive; number 0 is the generic null `::`.
  kOperator = 102,
  kIterator = 103,
  kProjection = 104,
  kComposition = 105,
  kSortedDict = 127,
  kError = -128,
};

enum class Attribute : uint8_t { kNone = 0, kSorted = 1, kUnique = 2, kParted = 3, kGrouped = 4 };

inline constexpr int16_t kNullShort = std::numeric_limits<int16_t>::min();
inline constexpr int32_t kNullInt = std::numeric_limits<int32_t>::min();
inline constexpr int64_t kNullLong = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kInfinityLong = std::numeric_limits<int64_t>::max();
inline constexpr int32_t kInfinityInt = std::numeric_limits<int32_t>::max();
inline constexpr int16_t kInfinityShort = std::numeric_limits<int16_t>::max();
// The bit patterns that kdb+ writes for null. Readers treat every NaN as null.
inline constexpr uint32_t kNullRealBits = 0xffc00000u;
inline constexpr uint64_t kNullFloatBits = 0xfff8000000000000u;

// Returns the size of one element of a fixed-width type, in bytes; 0 for symbols, lists, and types
// that no vector has.
constexpr size_t WidthOf(Type type) {
  switch (type) {
    case Type::kBoolean:
    case Type::kByte:
    case Type::kChar:
      return 1;
    case Type::kShort:
      return 2;
    case Type::kInt:
    case Type::kReal:
    case Type::kMonth:
    case Type::kDate:
    case Type::kMinute:
    case Type::kSecond:
    case Type::kTime:
      return 4;
    case Type::kLong:
    case Type::kFloat:
    case Type::kTimestamp:
    case Type::kDatetime:
    case Type::kTimespan:
      return 8;
    case Type::kGuid:
      return 16;
    case Type::kList:
    case Type::kSymbol:
    case Type::kTable:
    case Type::kDict:
    case Type::kLambda:
    case Type::kUnary:
    case Type::kOperator:
    case Type::kIterator:
    case Type::kProjection:
    case Type::kComposition:
    case Type::kSortedDict:
    case Type::kError:
      return 0;
  }
  return 0;  // A code from outside that is no type, such as 3.
}

constexpr bool IsFixedWidth(Type type) { return WidthOf(type) != 0; }
// True if a vector can have the type: 1 to 19, except 3, which does not exist.
constexpr bool IsVectorType(Type type) { return IsFixedWidth(type) || type == Type::kSymbol; }
// True if elements are floating-point numbers.
constexpr bool IsFloating(Type type) {
  return type == Type::kReal || type == Type::kFloat || type == Type::kDatetime;
}

// Returns the letter that q's meta shows for a vector of the type, one of `b g x h i j e f c s p m
// d z n u v t`; ' ' for all other types.
char LetterOf(Type type);
// Returns the type with this letter; nullopt if there is none, also for ' '.
std::optional<Type> TypeOfLetter(char letter);
std::string_view NameOf(Type type);  // Such as "timestamp", "list" or "table".

}  // namespace tickstack
