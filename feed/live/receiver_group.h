#pragma once

// Several receivers as one: the lines of the first, then those of the second, and so on.

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"
#include "feed/live/line_receiver.h"

namespace tickstack::feed::live {

// Threads: one owner.
class ReceiverGroup final : public LineReceiver {
 public:
  static absl::StatusOr<std::unique_ptr<ReceiverGroup>> Create(
      std::vector<std::unique_ptr<LineReceiver>> receivers);

  absl::Status Join() override;
  void Leave() override;
  int fd() const override { return epoll_.get(); }
  bool Receive(const OnDatagram& on_datagram) override;
  absl::Status status() const override;
  void Request(std::string_view payload) override;
  void SetPaused(bool paused) override;
  size_t lines() const override { return lines_.size(); }
  std::string LineName(size_t line) const override;
  const LineTraffic& traffic(size_t line) const override;

 private:
  explicit ReceiverGroup(std::vector<std::unique_ptr<LineReceiver>> receivers);

  const std::vector<std::unique_ptr<LineReceiver>> receivers_;
  std::vector<std::pair<const LineReceiver*, size_t>> lines_;  // Receiver, and its own index.
  OwnedFd epoll_;
};

}  // namespace tickstack::feed::live
