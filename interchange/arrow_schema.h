#pragma once

// The schema and the batches of a stream in Arrow's format, as its messages describe them. Source:
// Schema.fbs and Message.fbs. See arrow_reader.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::interchange::arrow {

// What a column holds, as far as readers here distinguish it.
enum class Content : uint8_t {
  kNulls,
  kBoolean,
  kInteger,
  kFloat,
  kText,
  kTimestamp,  // Units since 1970.
  kDate,       // Units since 1970: days, or ms.
  kTimeOfDay,
  kDuration,
};

struct StreamColumn {
  std::string name;
  Content content = Content::kNulls;
  size_t width = 0;             // Bytes per element; 0 for texts, booleans and nulls.
  bool is_signed = true;        // For kInteger.
  int64_t unit_ns = 0;          // Of times: ns per unit.
  size_t offset_width = 0;      // For texts: 4 or 8 bytes per offset.
  bool has_dictionary = false;  // Elements are numbers of texts in a dictionary.
  int64_t dictionary = 0;       // Its id.
  size_t index_width = 0;
  bool index_is_signed = true;
};

// Where a message claims that a buffer is in its body. Only BodyBuffers of arrow_body.h reads the
// bytes, and checks the place.
struct StreamBuffer {
  int64_t offset = 0;
  int64_t bytes = 0;
};

struct StreamNode {
  uint64_t rows = 0;   // The same for all columns of a batch.
  uint64_t nulls = 0;  // At most `rows`.
};

// The metadata of a message. Its body may have fewer bytes than the numbers say.
struct StreamMessage {
  enum class Kind : uint8_t { kSchema, kDictionary, kBatch };
  Kind kind = Kind::kBatch;
  uint64_t body_bytes = 0;
  std::vector<StreamColumn> columns;  // The columns of a schema.
  // A batch and a dictionary have these:
  uint64_t rows = 0;
  std::vector<StreamNode> nodes;
  std::vector<StreamBuffer> buffers;
  int64_t dictionary = 0;  // A dictionary's id.
  bool is_delta = false;   // True: a dictionary's texts are added to those before.
};

// The largest metadata of a message.
inline constexpr uint32_t kMetadataBytesMax = uint32_t{64} << 20;

// Parses a message's metadata, which may be any bytes, up to kMetadataBytesMax. kDataLoss if they
// are not such a message; kUnimplemented, with the column, for types that have no counterpart here,
// and for compressed bodies.
absl::StatusOr<StreamMessage> ParseStreamMessage(std::span<const std::byte> metadata);

// Returns the name of a column for an error: printable, and not too long.
std::string Shown(const StreamColumn& column);

}  // namespace tickstack::interchange::arrow
