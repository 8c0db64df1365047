#pragma once

// Connections inside one thread, for tests: bytes are delivered through the loops, in the order in
// which they were written, and no run differs from another.
//
// Threads: one, for the network and all loops that use it.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wire/transport.h"

namespace tickstack::wire {

class MemoryNetwork final : public Network {
 public:
  static constexpr size_t kUnreadBytesMax = size_t{256} << 10;

  MemoryNetwork();
  // Drops the callbacks of operations that are pending. The loops may be gone already.
  ~MemoryNetwork() override;
  MemoryNetwork(const MemoryNetwork&) = delete;
  MemoryNetwork& operator=(const MemoryNetwork&) = delete;

  absl::StatusOr<std::unique_ptr<Listener>> Listen(EventLoop& loop,
                                                   const Address& address) override;
  absl::StatusOr<std::unique_ptr<Transport>> Connect(EventLoop& loop, const Address& address,
                                                     Transport::Waited done) override;

  // Sets how many bytes may be unread in one direction of a connection; beyond it, the writer
  // waits. Default: kUnreadBytesMax. Applies only to connections that are made later.
  void set_unread_bytes_max(size_t bytes) { unread_bytes_max_ = bytes; }

  struct End;  // One side of a connection.

 private:
  class MemoryListener;
  std::shared_ptr<End> MakeEnd(EventLoop& loop);

  std::map<std::string, MemoryListener*> listeners_;  // By port or path.
  size_t unread_bytes_max_ = kUnreadBytesMax;
  uint16_t next_port_ = 1;  // The next listener's or client's port.
  std::vector<std::weak_ptr<End>> ends_;
};

}  // namespace tickstack::wire
