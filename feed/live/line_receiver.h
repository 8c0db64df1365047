#pragma once

// Receives the lines of a live feed: by UDP (udp_receiver.h), or from a server (soup_receiver.h).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "feed/market/packet_file.h"

namespace tickstack::feed::live {

struct LineTraffic {
  int64_t packets = 0;
  int64_t bytes = 0;  // Of their payloads.
  int64_t lost = 0;   // Packets that the kernel dropped, as the last received packet says.
  int64_t bad = 0;    // Packets that do not fit, of a protocol that the receiver reads itself.
};

// Threads: one owner.
class LineReceiver {
 public:
  // `line`: index of the line; `recv_ns` in ns since 2000. The datagram is valid during the call.
  using OnDatagram =
      std::function<void(size_t line, const market::Datagram& datagram, int64_t recv_ns)>;

  virtual ~LineReceiver() = default;

  // Begins to receive. Errors name the line and what the system refused; then nothing is received.
  virtual absl::Status Join() = 0;
  // Stops, and closes the sockets.
  virtual void Leave() = 0;

  // Becomes readable when Receive has something to do. Valid as long as this object.
  virtual int fd() const = 0;
  // Receives a bounded part of each line, of all lines in turn. Returns true if it received
  // everything that was there.
  virtual bool Receive(const OnDatagram& on_datagram) = 0;
  // Not OK once a line has failed for good; what other lines have is no longer wanted then.
  virtual absl::Status status() const { return absl::OkStatus(); }

  // Sends a request for missing messages to the server that answers them, if there is one.
  virtual void Request(std::string_view /*payload*/) {}
  // Stops reading lines whose sender waits for the reader, or continues. Other lines have packets
  // lost in the meantime, so they are received as before.
  virtual void SetPaused(bool /*paused*/) {}

  virtual size_t lines() const = 0;
  virtual std::string LineName(size_t line) const = 0;
  virtual const LineTraffic& traffic(size_t line) const = 0;
};

}  // namespace tickstack::feed::live
