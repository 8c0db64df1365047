#include "feed/live/receiver_group.h"

#include <sys/epoll.h>

#include <cerrno>

#include "base/status.h"

namespace tickstack::feed::live {

ReceiverGroup::ReceiverGroup(std::vector<std::unique_ptr<LineReceiver>> receivers)
    : receivers_(std::move(receivers)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  for (const auto& receiver : receivers_) {
    for (size_t line = 0; line < receiver->lines(); ++line) {
      lines_.emplace_back(receiver.get(), line);
    }
  }
}

absl::StatusOr<std::unique_ptr<ReceiverGroup>> ReceiverGroup::Create(
    std::vector<std::unique_ptr<LineReceiver>> receivers) {
  std::unique_ptr<ReceiverGroup> group(new ReceiverGroup(std::move(receivers)));
  if (!group->epoll_.is_open()) return ErrnoStatus(errno, "epoll_create1");
  for (const auto& receiver : group->receivers_) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (epoll_ctl(group->epoll_.get(), EPOLL_CTL_ADD, receiver->fd(), &event) != 0) {
      return ErrnoStatus(errno, "epoll_ctl");
    }
  }
  return group;
}

absl::Status ReceiverGroup::Join() {
  for (const auto& receiver : receivers_) {
    if (const absl::Status joined = receiver->Join(); !joined.ok()) {
      Leave();
      return joined;
    }
  }
  return absl::OkStatus();
}

void ReceiverGroup::Leave() {
  for (const auto& receiver : receivers_) receiver->Leave();
}

bool ReceiverGroup::Receive(const OnDatagram& on_datagram) {
  bool has_all = true;
  size_t first_line = 0;
  for (const auto& receiver : receivers_) {
    has_all &=
        receiver->Receive([&](size_t line, const market::Datagram& datagram, int64_t recv_ns) {
          on_datagram(first_line + line, datagram, recv_ns);
        });
    first_line += receiver->lines();
  }
  return has_all;
}

absl::Status ReceiverGroup::status() const {
  absl::Status first;
  for (const auto& receiver : receivers_) first.Update(receiver->status());
  return first;
}

void ReceiverGroup::Request(std::string_view payload) {
  for (const auto& receiver : receivers_) receiver->Request(payload);
}

void ReceiverGroup::SetPaused(bool paused) {
  for (const auto& receiver : receivers_) receiver->SetPaused(paused);
}

std::string ReceiverGroup::LineName(size_t line) const {
  return lines_[line].first->LineName(lines_[line].second);
}

const LineTraffic& ReceiverGroup::traffic(size_t line) const {
  return lines_[line].first->traffic(lines_[line].second);
}

}  // namespace tickstack::feed::live
