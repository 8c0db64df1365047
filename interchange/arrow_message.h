#pragma once

// Messages of Arrow's streaming format. See arrow_stream.h.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack::interchange::arrow {

// Numbers from Schema.fbs.
enum class TypeCode : uint8_t {
  kInt = 2,
  kFloatingPoint = 3,
  kUtf8 = 5,
  kBool = 6,
  kDate = 8,
  kTime = 9,
  kTimestamp = 10,
  kFixedSizeBinary = 15,
  kDuration = 18,
};
enum class TimeUnit : int16_t { kSecond = 0, kMs = 1, kNs = 3 };

// Kinds of messages, from Message.fbs.
inline constexpr uint8_t kSchemaHeader = 1;
inline constexpr uint8_t kDictionaryHeader = 2;
inline constexpr uint8_t kBatchHeader = 3;

// Returns where a FlatBuffer's table has the place of field number `i` of its schema.
constexpr uint16_t Slot(int i) { return static_cast<uint16_t>(4 + 2 * i); }

struct Field {
  std::string name;  // UTF-8.
  TypeCode type = TypeCode::kInt;
  int32_t bits = 0;               // For kInt, kFloatingPoint and kTime.
  bool is_unsigned = false;       // For kInt.
  TimeUnit unit = TimeUnit::kNs;  // For kTime, kTimestamp and kDuration.
};

// The bytes of one column in a batch.
struct ColumnBuffers {
  int64_t nulls = 0;
  std::vector<std::string> buffers;  // The bits of rows that are not null, and then the type's own.
};

// Returns the message that begins a stream.
std::string SchemaMessage(std::span<const Field> fields);
// Returns a message with `rows` rows.
std::string BatchMessage(size_t rows, std::span<const ColumnBuffers> columns);

inline constexpr std::string_view kEndOfStream("\xff\xff\xff\xff\0\0\0\0", 8);

}  // namespace tickstack::interchange::arrow
