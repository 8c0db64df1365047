#include "table/walk.h"

#include <optional>
#include <string>

#include "base/status.h"
#include "table/codec.h"
#include "table/types.h"

namespace tickstack {
namespace {

// What the value around it must know about a value.
struct Shape {
  int8_t code = 0;
  size_t count = 0;
  bool counted = false;  // A vector, list, table or dict: something that has a count.
};

template <typename Byte>
class Walker {
 public:
  explicit Walker(ValueReader<Byte>& reader) : reader_(reader) {}

  ReadOutcome Value(int depth, Shape* shape) {
    const size_t begin = reader_.offset();
    if (depth > 1) [[likely]] {
      if (ReadOutcome outcome = CheckPlace(depth); outcome != kWhole) [[unlikely]]
        return outcome;
    }
    Head head;
    if (ReadOutcome outcome = reader_.TakeHead(&head); outcome != kWhole) return outcome;
    *shape = {head.code, head.count, head.counted};
    if (head.inner_values == 0) return kWhole;
    switch (head.code) {
      case 98:
        return Table(begin, depth, shape);
      case 99:
      case 127:
        return Dict(begin, depth, shape);
      case 100:
        return Source();
      default:  // A list, or a function of functions.
        return Values(head.inner_values, depth + 1);
    }
  }

 private:
  using Head = typename ValueReader<Byte>::Head;
  using enum ReadOutcome;

  // Whether a value of the type that comes next may sit here.
  ReadOutcome CheckPlace(int depth) {
    const int8_t code = reader_.PeekCode();
    if (reader_.at_end()) return kEndsEarly;
    if (code == static_cast<int8_t>(Type::kError)) [[unlikely]] {
      return reader_.Bad(reader_.offset(), "an error (type 0x80) inside another value");
    }
    if (depth <= kDepthMax) [[likely]]
      return kWhole;
    const bool is_leaf =
        code < 0 || IsVectorType(static_cast<Type>(code)) || (code >= 101 && code <= 103);
    if (is_leaf) return kWhole;
    return reader_.Bad(reader_.offset(), "nested deeper than {} values", kDepthMax);
  }

  ReadOutcome Values(uint64_t count, int depth) {
    Shape ignored;
    for (uint64_t i = 0; i < count; ++i) {
      if (ReadOutcome outcome = Value(depth, &ignored); outcome != kWhole) return outcome;
    }
    return kWhole;
  }

  ReadOutcome Dict(size_t begin, int depth, Shape* shape) {
    Shape keys, values;
    if (ReadOutcome outcome = Value(depth + 1, &keys); outcome != kWhole) return outcome;
    if (ReadOutcome outcome = Value(depth + 1, &values); outcome != kWhole) return outcome;
    if (!keys.counted || !values.counted) {
      return reader_.Bad(begin, "a dictionary of types {} and {}, expected lists", keys.code,
                         values.code);
    }
    if (keys.count != values.count) {
      return reader_.Bad(begin, "a dictionary of {} keys and {} values", keys.count, values.count);
    }
    shape->counted = true;
    shape->count = keys.count;
    return kWhole;
  }

  // The head of a value that must be of type `code`.
  ReadOutcome TakeHeadOf(int8_t code, const char* what, Head* head) {
    if (ReadOutcome outcome = reader_.Require(code, what); outcome != kWhole) return outcome;
    return reader_.TakeHead(head);
  }

  ReadOutcome Table(size_t begin, int depth, Shape* shape) {
    Head dict, names, columns;
    if (ReadOutcome outcome = TakeHeadOf(99, "the dictionary of a table", &dict);
        outcome != kWhole) {
      return outcome;
    }
    if (ReadOutcome outcome = TakeHeadOf(11, "a table's column names", &names); outcome != kWhole) {
      return outcome;
    }
    if (ReadOutcome outcome = TakeHeadOf(0, "a table's columns", &columns); outcome != kWhole) {
      return outcome;
    }
    if (columns.count != names.count) {
      return reader_.Bad(begin, "a table of {} names and {} columns", names.count, columns.count);
    }
    shape->counted = true;
    return Columns(columns.count, depth + 2, &shape->count);
  }

  ReadOutcome Columns(size_t count, int depth, size_t* rows) {
    *rows = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t begin = reader_.offset();
      Shape column;
      if (ReadOutcome outcome = Value(depth, &column); outcome != kWhole) return outcome;
      if (column.code < 0 || column.code > 19) {
        return reader_.Bad(begin, "column {} of a table is of type {}, expected a vector or list",
                           i, column.code);
      }
      if (i == 0) *rows = column.count;
      if (column.count != *rows) {
        return reader_.Bad(begin, "column {} of a table has {} rows, the first has {}", i,
                           column.count, *rows);
      }
    }
    return kWhole;
  }

  ReadOutcome Source() {
    Head source;
    return TakeHeadOf(10, "a lambda's source", &source);
  }

  ValueReader<Byte>& reader_;
};

absl::Status EndsEarly(size_t bytes) {
  return InvalidArgument("byte 0: the value goes on past the end, byte {}", bytes);
}

}  // namespace

ReadOutcome WalkValue(ValueReader<const std::byte>& reader, int depth) {
  Shape shape;
  return Walker<const std::byte>(reader).Value(depth, &shape);
}

absl::StatusOr<size_t> WalkWholeValue(std::span<const std::byte> bytes) {
  TS_ASSIGN_OR_RETURN(const std::optional<size_t> used, ValueBytes(bytes));
  if (!used) return EndsEarly(bytes.size());
  return *used;
}

absl::StatusOr<std::optional<size_t>> ValueBytes(std::span<const std::byte> bytes) {
  ValueReader<const std::byte> reader(bytes);
  switch (WalkValue(reader, 1)) {
    case ReadOutcome::kWhole:
      return reader.offset();
    case ReadOutcome::kEndsEarly:
      return std::nullopt;
    case ReadOutcome::kBad:
      break;
  }
  return InvalidArgument("{}", reader.problem());
}

absl::Status ToLittleEndian(std::span<std::byte> body) {
  ValueReader<std::byte> reader(body);
  Shape shape;
  const ReadOutcome outcome = Walker<std::byte>(reader).Value(1, &shape);
  if (outcome == ReadOutcome::kBad) return InvalidArgument("{}", reader.problem());
  if (outcome == ReadOutcome::kEndsEarly) return EndsEarly(body.size());
  if (reader.at_end()) return absl::OkStatus();
  return InvalidArgument("byte {}: the value ends here, its message at byte {}", reader.offset(),
                         body.size());
}

}  // namespace tickstack
