#pragma once

// A subscriber's connection, as the publisher sends to it.

#include <memory>
#include <span>

#include "tickerplant/publisher.h"
#include "wire/connection.h"

namespace tickstack::tickerplant {

// Keeps the connection alive.
class ConnectionOutlet final : public Outlet {
 public:
  explicit ConnectionOutlet(wire::Connection& connection)
      : connection_(connection.shared_from_this()) {}
  void Queue(std::span<const wire::Segment> message) override { connection_->Queue(message); }
  void Flush() override { connection_->Flush(); }
  const wire::Connection& connection() const { return *connection_; }

 private:
  const std::shared_ptr<wire::Connection> connection_;
};

}  // namespace tickstack::tickerplant
