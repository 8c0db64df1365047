#include "feed/live/soup_packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

#include "feed/market/big_endian.h"

namespace tickstack::feed::live {

std::span<std::byte> SoupPacketReader::Room() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return buffer_.span().subspan(end_);
}

std::optional<SoupPacket> SoupPacketReader::Next() {
  const std::span<const std::byte> bytes = buffer_.span().subspan(begin_, end_ - begin_);
  if (bytes.size() < sizeof(uint16_t)) return std::nullopt;
  const size_t length = market::BigU16(bytes.data());
  if (bytes.size() < sizeof(uint16_t) + length) return std::nullopt;
  begin_ += sizeof(uint16_t) + length;
  offset_ += sizeof(uint16_t) + length;
  if (length == 0) return SoupPacket{};
  return SoupPacket{market::CharAt(bytes.data() + sizeof(uint16_t)),
                    bytes.subspan(kSoupHeadBytes, length - 1)};
}

void AppendSoupPacket(char type, std::string_view payload, std::string& to) {
  const auto length = static_cast<uint16_t>(1 + payload.size());
  to += static_cast<char>(length >> 8);
  to += static_cast<char>(length & 0xff);
  to += type;
  to += payload;
}

void AppendSoupLogin(const SoupLogin& login, std::string& to) {
  AppendSoupPacket('L',
                   fmt::format("{:<{}}{:<{}}{:>{}}{:>{}}", login.user, kSoupUserBytes,
                               login.password, kSoupPasswordBytes, login.session, kSoupSessionBytes,
                               login.next_seq, kSoupNumberBytes),
                   to);
}

std::optional<uint64_t> ParseSoupNumber(std::string_view field) {
  const std::string_view digits = TrimSpaces(field);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return number;
}

std::string_view TrimSpaces(std::string_view field) {
  const size_t first = std::min(field.find_first_not_of(' '), field.size());
  const size_t end = field.find_last_not_of(' ') + 1;  // npos + 1 is 0.
  return field.substr(first, end > first ? end - first : 0);
}

}  // namespace tickstack::feed::live
