#pragma once

// A subscriber's connection, as the publisher sends to it.

#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
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
  size_t queued_bytes() const override { return connection_->queued_bytes(); }
  uint64_t sent_bytes() const override { return connection_->sent_bytes(); }
  void Close(const absl::Status& why) override { connection_->Close(why); }
  std::string name() const override { return connection_->peer(); }
  const wire::Connection& connection() const { return *connection_; }

 private:
  const std::shared_ptr<wire::Connection> connection_;
};

}  // namespace tickstack::tickerplant
