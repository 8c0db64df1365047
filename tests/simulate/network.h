#pragma once

// Connections that can go wrong: a MemoryNetwork whose streams are slow, take writes in parts, or
// are reset, which loses the bytes that were not read. A dead process's writes reach nobody.
//
// The way from one process to another may be cut for a while, in one direction or both. What is
// sent meanwhile arrives later, as with TCP, which sends it again; so does the end of a connection.
// A connection that is made meanwhile is not established before.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/memory_network.h"
#include "wire/transport.h"

namespace tickstack::simulate {

class Process;
class Stream;

// The open connections of a world.
class Connections {
 public:
  // The two ends of a connection; nullptr: the end does not exist.
  struct Pair {
    Stream* client = nullptr;
    Stream* server = nullptr;
    Process* client_process = nullptr;
    Process* server_process = nullptr;  // nullptr: nobody listened.
    int64_t established_ns = 0;         // Nothing arrives before (monotonic).
  };

  void ResetAllOf(Process& process);
  // Closes the process's connections that only their own pending operations keep alive. The
  // process's loop must be destroyed next, with the callbacks.
  void CloseAllOf(Process& process);
  // The same of a loop that a thread of a process has run.
  void CloseAllOn(const wire::EventLoop& loop);
  // Nothing that `from` sends to `to` arrives before `until_ns` (monotonic).
  void Cut(const Process& from, const Process& to, int64_t until_ns);
  void CallOffCuts() { cuts_.clear(); }
  // Resets connection number `number` modulo their count, if there are any.
  void ResetOne(uint64_t number);
  // Delays what one end of such a connection has not read yet, until `until_ns` (monotonic).
  void HoldOne(uint64_t number, int64_t until_ns);

 private:
  friend class Stream;
  friend class ProcessNetwork;
  friend class ProcessListener;
  // Returns when what `from` sends to `to` arrives again; 0 if nothing was cut.
  int64_t CutUntilNs(const Process* from, const Process* to) const;
  Stream* Pick(uint64_t number) const;   // nullptr if there are none.
  std::map<uint64_t, Stream*> streams_;  // In order of creation.
  uint64_t next_ = 0;
  // By address: connections whose server has not accepted them yet.
  std::map<std::string, std::deque<std::shared_ptr<Pair>>> arriving_;
  std::map<std::string, Process*> listening_;  // By address.
  std::map<std::pair<const Process*, const Process*>, int64_t> cuts_;
};

// The network as a process sees it.
class ProcessNetwork final : public wire::Network {
 public:
  explicit ProcessNetwork(Process& process) : process_(process) {}
  absl::StatusOr<std::unique_ptr<wire::Listener>> Listen(wire::EventLoop& loop,
                                                         const wire::Address& address) override;
  absl::StatusOr<std::unique_ptr<wire::Transport>> Connect(wire::EventLoop& loop,
                                                           const wire::Address& address,
                                                           wire::Transport::Waited done) override;

 private:
  Process& process_;
};

}  // namespace tickstack::simulate
