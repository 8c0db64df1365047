#include "feed/market/packet_file.h"

#include <arpa/inet.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/big_endian.h"

namespace tickstack::feed::market {
namespace {

constexpr uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd;
constexpr uint16_t kVlan = 0x8100, kServiceVlan = 0x88a8, kOldVlan = 0x9100;
constexpr std::byte kUdpProtocol{17};
constexpr size_t kUdpHeadBytes = 8;

// Where a packet's IP header begins. nullopt: it has none.
std::optional<size_t> IpOffset(const CapturedPacket& packet) {
  constexpr size_t kEthernetBytes = 14, kVlanBytes = 4;
  const std::span<const std::byte> bytes = packet.bytes;
  switch (packet.link_type) {
    case DLT_RAW:
    case DLT_IPV4:
    case DLT_IPV6:
      return 0;
    case DLT_NULL:
    case DLT_LOOP:
      return 4;
    case DLT_LINUX_SLL:
      return 16;
    case DLT_LINUX_SLL2:
      return 20;
    case DLT_EN10MB:
      break;
    default:
      return std::nullopt;
  }
  size_t at = kEthernetBytes;
  while (bytes.size() >= at + kVlanBytes) {
    const uint16_t type = BigU16(bytes.data() + at - 2);
    if (type == kIpv4 || type == kIpv6) return at;
    if (type != kVlan && type != kServiceVlan && type != kOldVlan) return std::nullopt;
    at += kVlanBytes;
  }
  return std::nullopt;
}

}  // namespace

void PacketFile::ClosePcap::operator()(pcap* capture) const { pcap_close(capture); }

PacketFile::~PacketFile() = default;

long PacketFile::ReadCookie(void* self, char* out, size_t bytes) {
  auto* const file = static_cast<PacketFile*>(self);
  if (!file->read_error_.ok()) return -1;
  const absl::StatusOr<size_t> read =
      file->bytes_->Read(std::as_writable_bytes(std::span(out, bytes)));
  if (read.ok()) return static_cast<long>(*read);
  file->read_error_ = read.status();
  return -1;
}

absl::StatusOr<std::unique_ptr<PacketFile>> PacketFile::Open(const std::string& path) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> bytes, ByteStream::Open(path));
  std::unique_ptr<PacketFile> file(new PacketFile(std::move(bytes)));
  std::FILE* const stream = fopencookie(file.get(), "r", {&ReadCookie, nullptr, nullptr, nullptr});
  if (stream == nullptr) return ErrnoStatus(errno, path);
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  file->pcap_.reset(
      pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, error.data()));
  if (file->pcap_ == nullptr) {
    std::fclose(stream);
    TS_RETURN_IF_ERROR(file->read_error_);
    return DataLoss("{}: expected a capture (pcap or pcapng): {}", path, error.data());
  }
  return file;
}

absl::StatusOr<bool> PacketFile::IsCapture(const std::string& path) {
  constexpr uint32_t kMagics[] = {0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a};
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> bytes, ByteStream::Open(path));
  TS_ASSIGN_OR_RETURN(const std::span<const std::byte> first, bytes->Peek(sizeof(uint32_t)));
  return first.size() >= sizeof(uint32_t) &&
         std::ranges::find(kMagics, BigU32(first.data())) != std::end(kMagics);
}

absl::StatusOr<std::optional<CapturedPacket>> PacketFile::Next() {
  pcap_pkthdr* head = nullptr;
  const u_char* data = nullptr;
  const int result = pcap_next_ex(pcap_.get(), &head, &data);
  if (result == PCAP_ERROR_BREAK) return std::nullopt;
  if (result != 1) {
    TS_RETURN_IF_ERROR(read_error_);
    return DataLoss("{}: packet {}: {}", path(), packet_ + 1, pcap_geterr(pcap_.get()));
  }
  ++packet_;
  CapturedPacket packet;
  // tv_usec has nanoseconds. The seconds of a hostile file are anything.
  constexpr int64_t kSecondsMax = int64_t{1} << 33;
  const int64_t seconds = std::clamp<int64_t>(head->ts.tv_sec, 0, kSecondsMax);
  packet.recv_ns = seconds * kNsPerSecond + head->ts.tv_usec - kUnixNsOfKdbEpoch;
  packet.link_type = pcap_datalink(pcap_.get());
  packet.bytes = std::as_bytes(std::span(data, head->caplen));
  packet.wire_bytes = head->len;
  return packet;
}

std::optional<Datagram> DatagramOf(const CapturedPacket& packet) {
  const std::optional<size_t> ip = IpOffset(packet);
  if (!ip || packet.bytes.size() < *ip + 1) return std::nullopt;
  std::span<const std::byte> bytes = packet.bytes.subspan(*ip);
  Datagram datagram;
  const auto version = static_cast<unsigned>(bytes[0] >> 4);
  if (version == 4) {
    constexpr size_t kHeadBytesMin = 20, kAddressOffset = 16;
    constexpr uint16_t kFragmentBits = 0x3fff;  // More fragments, or not the first.
    const size_t head_bytes = static_cast<size_t>(bytes[0] & std::byte{15}) * 4;
    if (head_bytes < kHeadBytesMin || bytes.size() < head_bytes) return std::nullopt;
    if (bytes[9] != kUdpProtocol) return std::nullopt;
    if ((BigU16(bytes.data() + 6) & kFragmentBits) != 0) return std::nullopt;
    datagram.address = bytes.subspan(kAddressOffset, 4);
    bytes = bytes.subspan(head_bytes);
  } else if (version == 6) {
    constexpr size_t kHeadBytes = 40, kAddressOffset = 24;
    if (bytes.size() < kHeadBytes || bytes[6] != kUdpProtocol) return std::nullopt;
    datagram.address = bytes.subspan(kAddressOffset, 16);
    bytes = bytes.subspan(kHeadBytes);
  } else {
    return std::nullopt;
  }
  if (bytes.size() < kUdpHeadBytes) return std::nullopt;
  datagram.port = BigU16(bytes.data() + 2);
  // Bytes behind the datagram are padding of a short frame, or a switch's trailer.
  const size_t length = BigU16(bytes.data() + 4);
  if (length < kUdpHeadBytes) return std::nullopt;
  datagram.is_whole = bytes.size() >= length;
  datagram.payload = bytes.subspan(kUdpHeadBytes, std::min(bytes.size(), length) - kUdpHeadBytes);
  return datagram;
}

std::string DestinationText(const Datagram& datagram) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_4 = datagram.address.size() == 4;
  inet_ntop(is_4 ? AF_INET : AF_INET6, datagram.address.data(), text.data(), text.size());
  return fmt::format(fmt::runtime(is_4 ? "{}:{}" : "[{}]:{}"), text.data(), datagram.port);
}

}  // namespace tickstack::feed::market
