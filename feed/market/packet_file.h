#pragma once

// The packets of a capture in pcap or pcapng format, plain or compressed, read by libpcap.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "feed/market/byte_stream.h"

struct pcap;

namespace tickstack::feed::market {

struct CapturedPacket {
  int64_t recv_ns = 0;  // In ns since 2000.
  int link_type = 0;    // DLT_...
  std::span<const std::byte> bytes;
  size_t wire_bytes = 0;  // Its length on the wire, which may be larger than what was captured.
};

// Threads: one owner.
class PacketFile {
 public:
  // kNotFound; kDataLoss if it is neither pcap nor pcapng.
  static absl::StatusOr<std::unique_ptr<PacketFile>> Open(const std::string& path);
  ~PacketFile();
  PacketFile(const PacketFile&) = delete;
  PacketFile& operator=(const PacketFile&) = delete;

  // Returns the next packet, valid until the next call; nullopt at the end. kDataLoss, with the
  // packet's number, if the file is damaged or cut off.
  absl::StatusOr<std::optional<CapturedPacket>> Next();

  // Returns whether a file begins as a capture does. Errors of ByteStream.
  static absl::StatusOr<bool> IsCapture(const std::string& path);

  int64_t packet() const { return packet_; }  // Number, from 1, of the packet that Next returned.
  const std::string& path() const { return bytes_->path(); }

 private:
  struct ClosePcap {
    void operator()(pcap* capture) const;
  };
  explicit PacketFile(std::unique_ptr<ByteStream> bytes) : bytes_(std::move(bytes)) {}
  static long ReadCookie(void* self, char* out, size_t bytes);

  std::unique_ptr<ByteStream> bytes_;
  absl::Status read_error_;  // Of bytes_.
  std::unique_ptr<pcap, ClosePcap> pcap_;
  int64_t packet_ = 0;
};

// A UDP datagram over IPv4 or IPv6 within a captured packet.
struct Datagram {
  std::span<const std::byte> payload;
  std::span<const std::byte> address;  // The destination's, as in the packet.
  uint16_t port = 0;                   // The destination's.
  bool is_whole = true;                // False: the capture has a part of it.
};

// Returns the datagram in a packet of Ethernet (with VLAN tags), Linux cooked capture, loopback or
// raw IP; nullopt for other protocols and fragments.
std::optional<Datagram> DatagramOf(const CapturedPacket& packet);

// Returns `233.54.12.111:26477`.
std::string DestinationText(const Datagram& datagram);

}  // namespace tickstack::feed::market
