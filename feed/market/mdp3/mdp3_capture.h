#pragma once

// A capture of CME's MDP 3.0: UDP packets, with the numbers of a channel on all its lines.
//
// A packet has no name of its channel, so the caller says which destinations are its lines. The
// packet, not the message, has a number: the messages of a packet share it.
//
// Numbers start over once a week, and when the exchange restarts a channel. A packet is of a new
// session if it was sent more than a second after the latest one, and has no larger number. Packets
// with a lower number that were sent before are repetitions, or late.

#include <map>
#include <string>
#include <vector>

#include "feed/market/channel_lines.h"
#include "feed/market/mdp3/mdp3_decoder.h"
#include "feed/market/packet_reader.h"

namespace tickstack::feed::market {

class Mdp3Capture final : public PacketReader {
 public:
  // Packets to destinations that are of no channel of `lines` are passed over. If `lines` is empty,
  // the capture must have one destination, which is the channel. Errors of PacketFile::Open.
  static absl::StatusOr<std::unique_ptr<Mdp3Capture>> Open(const std::string& path,
                                                           ChannelLines lines,
                                                           ArbiterSettings settings = {});
  std::string TypeName(uint8_t type) const override;

 private:
  struct Channel {
    std::vector<int64_t> sessions;  // When the first packet of each was sent, ns since 2000.
    uint32_t seq = 0;               // The largest number of the last session.
    int64_t sent_ns = kNullLong;    // When the packet with that number was sent.
    std::string session;            // The last packet's.
  };

  Mdp3Capture(std::string path, ChannelLines lines, ArbiterSettings settings)
      : PacketReader(std::move(path), settings), lines_(std::move(lines)) {}
  Why Frame(std::span<const std::byte> payload, const Datagram& datagram,
            LinePacket& packet) override;
  const std::string* ChannelOf(const std::string& destination, bool fits);
  static Why SetSession(Channel& channel, LinePacket& packet);
  Why DecodeMessage(const MergedMessage& message, const EventHead& head, EventSink& sink,
                    MessageCounts& counts) override;
  std::string TypeText(std::span<const std::byte> message) const override;
  void Reset() override;

  const ChannelLines lines_;
  std::string only_channel_;  // If there are no lines.
  std::map<std::string, Channel, std::less<>> channels_;
  Mdp3Decoder decoder_;
};

}  // namespace tickstack::feed::market
