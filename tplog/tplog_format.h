#pragma once

// The layout of the tickerplant log and its sidecar index: docs/formats.md has a drawing and an
// example in hex. Everything that reads or writes logs shares these constants. `tickstack
// --version` shows the index's version.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack::tplog {

// A log begins like an empty general list, `ff 01`, type 0, attribute, int32 count, and continues
// with one encoded value per message. The count is 0, or the true one in a log that q saved again;
// readers ignore it.
inline constexpr uint64_t kTplogHeaderBytes = 8;
inline constexpr std::array<std::byte, kTplogHeaderBytes> kTplogHeader = {
    std::byte{0xff}, std::byte{0x01}, std::byte{0}, std::byte{0},
    std::byte{0},    std::byte{0},    std::byte{0}, std::byte{0}};

// The longest message. A larger count is damage: reading stops there instead of allocating memory.
inline constexpr uint64_t kTplogMessageBytesMax = uint64_t{1} << 31;

inline std::string TplogIndexPath(std::string_view log_path) {
  return std::string(log_path) + ".idx";
}

// The index: a header, then records.
//
//   header   8  magic "tsindex\n"
//            4  version
//            4  CRC32C of the 12 bytes before
//   record   4  CRC32C of the record's other bytes
//            2  bytes of the whole record
//            1  kind
//            1  in a name record: the NameKind; else 0
//            .. fields of the kind
inline constexpr size_t kIndexHeaderBytes = 16;
inline constexpr std::string_view kIndexMagic = "tsindex\n";
inline constexpr uint32_t kIndexVersion = 1;
inline constexpr size_t kRecordHeadBytes = 8;
inline constexpr size_t kRecordBytesMax = UINT16_MAX;

enum class RecordKind : uint8_t {
  // Gives a table or feed its number: 4 number, then the name. Tables count from 0, feeds from 1.
  kName = 1,
  // A run of messages that one write appends. Its record is written before them.
  //   8 offset  8 first_seq  8 time_ns  4 messages  4 crc  4 bytes  4 source
  //   then per table 4 table  4 rows
  kBlock = 2,
  // Replaces the block record right before it, and has the same fields. It describes the part of
  // that block that was in the log when the next writer found it torn.
  kCutBlock = 3,
  // Rows that a feed had sent before this log began: 4 feed  4 table  8 rows.
  kProgress = 4,
};
enum class NameKind : uint8_t { kTable = 1, kFeed = 2 };

inline constexpr size_t kBlockFixedBytes = kRecordHeadBytes + 40;
inline constexpr size_t kBlockTableBytes = 8;
inline constexpr size_t kBlockTablesMax = (kRecordBytesMax - kBlockFixedBytes) / kBlockTableBytes;
inline constexpr size_t kNameFixedBytes = kRecordHeadBytes + 4;
inline constexpr size_t kProgressBytes = kRecordHeadBytes + 16;
inline constexpr size_t kIndexNameBytesMax = 4096;

// Source of a block's messages: the number of the feed that numbered their rows, or one of these.
inline constexpr uint32_t kSourceNone = 0;              // Rows without numbers: plain `.u.upd`.
inline constexpr uint32_t kSourceUnknown = UINT32_MAX;  // Indexed after the fact, from the log.

// The part of a log that is indexed after the fact is divided into blocks of about this size.
inline constexpr uint64_t kRebuiltBlockBytes = uint64_t{1} << 20;

}  // namespace tickstack::tplog
