#pragma once

// Packets of SoupBinTCP, by which a server sends a session's messages over TCP:
//
//   length u16, big-endian: of what follows | type a1 | payload
//
//   from the server                                  from the client
//   A  login accepted: session a10, next number a20  L  login: user a6, password a10,
//   J  login rejected: reason a1, A or S                session a10, next number a20
//   S  a message; its number is not in it            R  heartbeat
//   U  a message without a number                    O  logout
//   H  heartbeat                                     U  a message without a number
//   Z  end of the session                            +  debug
//   +  debug
//
// Texts are ASCII. User and password are padded with spaces on the right; session and number on the
// left. The first message of a session has the number 1.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_buffer.h"

namespace tickstack::feed::live {

inline constexpr size_t kSoupUserBytes = 6, kSoupPasswordBytes = 10;
inline constexpr size_t kSoupSessionBytes = 10, kSoupNumberBytes = 20;
inline constexpr size_t kSoupHeadBytes = sizeof(uint16_t) + 1;  // The length, and the type.
inline constexpr size_t kSoupPacketBytesMax = sizeof(uint16_t) + UINT16_MAX;

struct SoupPacket {
  char type = 0;  // 0 if the length is 0, which no packet has.
  std::span<const std::byte> payload{};
};

// Makes packets of the bytes of a connection, however they are split. Threads: one owner. Memory:
// kBufferBytes.
class SoupPacketReader {
 public:
  // At least half of it is free after every packet that is complete was taken.
  static constexpr size_t kBufferBytes = 2 * kSoupPacketBytesMax;

  SoupPacketReader() { buffer_.resize(kBufferBytes); }

  // Returns where to put the next bytes. Not empty if Next has returned nullopt.
  std::span<std::byte> Room();
  // Adds the first `bytes` of Room.
  void Commit(size_t bytes) { end_ += bytes; }
  // Returns the next packet, or nullopt until more bytes are there. Valid until Room is called.
  std::optional<SoupPacket> Next();
  // Offset of the next packet in the connection's bytes.
  uint64_t offset() const { return offset_; }

 private:
  ByteBuffer buffer_;
  size_t begin_ = 0, end_ = 0;  // Where the bytes are that were not taken yet.
  uint64_t offset_ = 0;
};

// What a client sends first: who it is, and where to continue.
struct SoupLogin {
  std::string user, password;
  std::string session;    // Empty: the server's current one.
  uint64_t next_seq = 1;  // Number of the first message that is wanted.
};

// Appends the packet of a client.
void AppendSoupLogin(const SoupLogin& login, std::string& to);
void AppendSoupPacket(char type, std::string_view payload, std::string& to);

// Returns the number in a field, or nullopt if it has other characters than digits after spaces, or
// no digit, or is not below 2^64.
std::optional<uint64_t> ParseSoupNumber(std::string_view field);
// Returns a text without the spaces around it.
std::string_view TrimSpaces(std::string_view field);

}  // namespace tickstack::feed::live
