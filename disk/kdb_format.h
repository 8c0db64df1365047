#pragma once

// The constants of kdb+'s files, which their readers and writers share. docs/formats.md has
// drawings. Everything is little-endian.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "table/types.h"

namespace tickstack::disk {

// The first bytes of a file.
inline constexpr std::string_view kVectorTag{"\xfe\x20", 2};     // A vector, 3.0 and later.
inline constexpr std::string_view kOldVectorTag{"\xff\x20", 2};  // A vector, 2.x.
inline constexpr std::string_view kPageTag{"\xfd\x20", 2};  // Enums and anymaps, 3.6 and later.
inline constexpr std::string_view kSerialisedTag{"\xff\x01", 2};  // One value as on the wire.
inline constexpr char kEnum32Tag = '\xfe';                        // Followed by the domain's name.
inline constexpr std::string_view kCompressedTag = "kxzipped";
inline constexpr std::string_view kEncryptedTag = "kxzippEd";

// fe 20 and ff 20: a header of tag, type, attribute, and from byte 8 (ff 20: 12) the count.
inline constexpr size_t kVectorHeaderBytes = 16;

// ff 01: a header of tag, type, attribute and i32 count, for a vector or a list.
inline constexpr size_t kSerialisedVectorBytes = 8;

// fd 20: a page that has the name of an enum's domain and, at its end, a header of
// kVectorHeaderBytes.
inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kPageNameOffset = 16;
inline constexpr size_t kPageVectorOffset = kPageBytes - kVectorHeaderBytes;

// 20 is the 64-bit enum of 3.6; higher types are 32-bit enums.
inline constexpr uint8_t kEnumTypeMin = 20;
inline constexpr uint8_t kEnumTypeMax = 76;
inline constexpr uint8_t kAnymapType = 77;
inline constexpr uint8_t kNestedTypeBase = 77;  // 77+t: lists of vectors of type t, before 3.6.

// The null symbol in a 64-bit enum. In a 32-bit enum it is kNullInt.
inline constexpr int64_t kNullPosition = kNullLong;

// kxzipped: the tag, the blocks, a trailer of kTrailerBytes, an entry of kBlockEntryBytes for each
// block, and the number of blocks.
inline constexpr size_t kTrailerBytes = 32;
inline constexpr size_t kBlockEntryBytes = 8;
inline constexpr uint64_t kBlockBytesMin = uint64_t{1} << 12;
inline constexpr uint64_t kBlockBytesMax = uint64_t{1} << 20;

enum class Compression : uint8_t {
  kNone = 0,
  kIpc = 1,
  kGzip = 2,
  kSnappy = 3,
  kLz4 = 4,
  kZstd = 5
};

// The companions of a nested column are beside it.
inline constexpr char kCompanionSuffix = '#';

}  // namespace tickstack::disk
