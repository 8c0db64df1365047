#pragma once

// What the stack bench is made of besides tickstack's own processes: blocking loopback sockets that
// speak just enough kdb+ IPC, prebuilt messages, child processes, and a relay in plain system calls
// to compare with. Whatever fails here ends the bench with a message: there is nothing to measure
// then.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "table/value.h"

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

// A blocking client socket.
class Peer {
 public:
  explicit Peer(uint16_t port, bool handshake = true);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  void Send(std::span<const std::byte> bytes);
  size_t Receive(std::span<std::byte> into);  // At least one byte; 0: the peer closed.
  void ReceiveAll(std::span<std::byte> into);
  Value Ask(const Value& request);  // No async message may be on its way.
  int socket() const { return socket_; }

 private:
  int socket_;
};

// A child that runs `body` in a forked copy of this process; SIGTERM and wait on destruction.
class Child {
 public:
  explicit Child(const std::function<int()>& body);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  double CpuSeconds() const;  // User and system time so far.
  // Of its first thread: what it ran, and what it waited for a core while it could have run.
  struct ThreadTimes {
    double ran_s = 0, waited_s = 0;
  };
  ThreadTimes FirstThread() const;
  size_t ResidentBytes() const;

 private:
  pid_t pid_;
};

// Async `.u.upd` messages of `rows` quotes each in the default schema (0: one row of atoms),
// symbols drawn by Zipf's law from 8,000.
std::vector<ByteBuffer> QuoteUpds(size_t messages, size_t rows, uint64_t seed);
// The same of trades; `rows` is 1 or more.
std::vector<ByteBuffer> TradeUpds(size_t messages, size_t rows, uint64_t seed);
// Of their symbols the one with the most rows but `rank`: it has 1 / (1 + rank) of the first one's.
std::string SymbolOfRank(size_t rank);
// Where the (first) time of such a message is, to overwrite it with the time when it was due.
size_t OffsetOfTime(const ByteBuffer& upd);

// Counts the rows of `upd` messages in a stream by looking at little more than their headers.
class RowCounter {
 public:
  // `on_upd(rows, first_time_ns)` is called for every message, or may be empty.
  void Take(std::span<const std::byte> bytes,
            const std::function<void(size_t, int64_t)>& on_upd = {});
  uint64_t rows() const { return rows_; }
  uint64_t messages() const { return messages_; }

 private:
  ByteBuffer head_;     // The first bytes of a message that is cut at the end of what was taken.
  size_t to_skip_ = 0;  // Bytes of a counted message that are still to come.
  uint64_t rows_ = 0;
  uint64_t messages_ = 0;
};

// What a tickerplant cannot do without, in plain system calls: takes one sender on `listener`, then
// one reader, and for each read writes a log and sends the same bytes on. Until the sender closes.
int RunBareRelay(int listener, const std::string& log_path);

}  // namespace tickstack::bench
