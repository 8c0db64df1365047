#pragma once

// The parts of the stack bench besides tickstack's own processes: blocking loopback sockets that
// speak just enough kdb+ IPC, prebuilt messages, child processes, and a relay in plain system calls
// for comparison. Any failure here ends the bench with a message, because nothing can be measured
// then.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "table/value.h"
#include "wire/tls_context.h"

namespace tickstack::bench {

// A listening loopback socket on a port that the kernel chose; children inherit it.
struct Listener {
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int socket;
  uint16_t port;
};

// How a Peer logs in.
struct PeerLogin {
  std::string user_password = "bench:";
  bool tls = false;  // The server's certificate is checked as wire::SetTlsClientOptions says.
};

// A blocking client socket.
class Peer {
 public:
  explicit Peer(uint16_t port, bool handshake = true);
  Peer(uint16_t port, const PeerLogin& login);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  void Send(std::span<const std::byte> bytes);
  // Returns the number of bytes received, which is 0 only if the peer closed the connection.
  size_t Receive(std::span<std::byte> into);
  void ReceiveAll(std::span<std::byte> into);
  Value Ask(const Value& request);  // Sends a sync request. No async message may be pending.
  int socket() const { return socket_; }

 private:
  void BeginTls();
  void LogIn(const std::string& user_password);
  void SendOverTls(std::span<const std::byte> bytes);

  int socket_;
  wire::SslSession tls_;  // nullptr: plain bytes.
};

// A child process that runs `body` in a forked copy of this one. The destructor sends SIGTERM and
// waits.
class Child {
 public:
  explicit Child(const std::function<int()>& body);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  double CpuSeconds() const;  // User and system time so far.
  // How long the child's first thread has run, and how long it was runnable but waited for a core,
  // in seconds.
  struct ThreadTimes {
    double ran_s = 0, waited_s = 0;
  };
  ThreadTimes FirstThread() const;
  size_t ResidentBytes() const;

 private:
  pid_t pid_;
};

// Returns async `.u.upd` messages of `rows` quotes each in the default schema (0: one row of
// atoms). Symbols are drawn from 8,000 by Zipf's law.
std::vector<ByteBuffer> QuoteUpds(size_t messages, size_t rows, uint64_t seed);
// Returns such messages for trades. `rows` must be at least 1.
std::vector<ByteBuffer> TradeUpds(size_t messages, size_t rows, uint64_t seed);
// Returns the name of one of these symbols by its rank, from 0 for the most frequent. A symbol is
// drawn 1 / (1 + rank) times as often as the most frequent one.
std::string SymbolOfRank(size_t rank);
// Returns the offset in bytes of the time of the first row in a message of QuoteUpds or TradeUpds.
// The bench overwrites it with the time at which the message is due.
size_t OffsetOfTime(const ByteBuffer& upd);

// Counts the rows of `upd` messages in a stream, reading little more than their headers.
class RowCounter {
 public:
  // `on_upd(rows, first_time_ns)` is called for every message, or may be empty.
  void Take(std::span<const std::byte> bytes,
            const std::function<void(size_t, int64_t)>& on_upd = {});
  uint64_t rows() const { return rows_; }
  uint64_t messages() const { return messages_; }

 private:
  ByteBuffer head_;     // First bytes of a message whose rest has not arrived.
  size_t to_skip_ = 0;  // Bytes of a counted message that have not arrived.
  uint64_t rows_ = 0;
  uint64_t messages_ = 0;
};

// Runs the least that a tickerplant must do, in plain system calls: accepts one sender on
// `listener`, then one reader; after each read it writes a log and sends the same bytes on. Returns
// when the sender closes.
int RunBareRelay(int listener, const std::string& log_path);

}  // namespace tickstack::bench
