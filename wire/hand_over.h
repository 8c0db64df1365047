#pragma once

// Hands the place of a running process, the holder, to its successor, such as a newer program. The
// successor prepares while the holder still answers. Then it receives the listening sockets, with
// the clients that wait in their queues, so no connection is refused.
//
//   successor: TakeOver                       holder: HandOver
//   Begin   "begin 1 rdb 0.9 REQUEST"  ---->  begin: refuses, or prepares
//                                      <----  "ready FACTS" or "no WHY"
//   ...prepares...
//   AskForSockets   "sockets"          ---->  release: stops accepting
//                                      <----  "wait WHY", "no WHY", or "given FACTS" with sockets
//   Confirm   "done"                   ---->  done(true): the holder ends
//
// If the successor ends before it has the sockets, the holder is told so (cancelled) and continues.
// If it ends after that and before Confirm, the holder is told done(false): it has nothing left to
// listen on and must end as failed. If the holder ends first, the successor starts as usual.
//
// The two meet at the abstract Unix socket @tickstack/take-over/PORT. Abstract sockets have no file
// mode, so each side checks that the other has its own effective user id.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/owned_fd.h"
#include "wire/event_loop.h"
#include "wire/listener_options.h"
#include "wire/transport.h"

namespace tickstack::wire {

// Exit code of a process whose place a successor has taken: it must not be started again.
inline constexpr int kExitHandedOver = 3;

// What a holder gives away.
struct Released {
  std::vector<std::unique_ptr<DetachedListener>> listeners;
  std::string facts;  // For the successor; one line.
};

// What a holder does; called from its loop. Errors are sent to the successor as text.
struct HandOverCalls {
  // A successor begins. Returns facts for it; an error refuses it.
  std::function<absl::StatusOr<std::string>(std::string_view request)> begin;
  // The successor is prepared. kUnavailable: not now, it asks again. Another error refuses it.
  std::function<absl::StatusOr<Released>()> release;
  // The successor ended, or was refused, before it had the sockets.
  std::function<void()> cancelled;
  // The sockets are gone. True: the successor accepts clients. False: it ended before that.
  std::function<void(bool accepts)> done;
};

// The holder's side. Threads: everything on the loop's thread.
class HandOver {
 public:
  // Waits for a successor of the process of this role that listens on `port`. One at a time;
  // others are refused. kUnavailable if the socket's name is in use.
  static absl::StatusOr<std::unique_ptr<HandOver>> Offer(EventLoop& loop, uint16_t port,
                                                         std::string role, HandOverCalls calls);
  ~HandOver();

 private:
  struct Impl;
  explicit HandOver(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// The successor's side. Its calls block. Threads: one owner.
class TakeOver {
 public:
  // Asks the process of this role that listens on `port` to hand over. kNotFound: no process offers
  // that. kFailedPrecondition: it refuses, it is of another user, or it speaks another version.
  static absl::StatusOr<std::unique_ptr<TakeOver>> Begin(int port, std::string_view role,
                                                         std::string_view request);
  ~TakeOver();  // Ends the take-over unless Confirm was called.

  const std::string& facts() const { return facts_; }  // The holder's, as of its last answer.
  // Receives the sockets into `listener`. kUnavailable: the holder asks to wait; ask again.
  // kFailedPrecondition: it refuses. kNotFound: it has ended.
  absl::Status AskForSockets(ListenerOptions& listener);
  // Reports that the successor accepts clients. The holder ends soon after.
  void Confirm();
  // True if the holder has ended. Cost: one system call.
  bool HolderHasEnded() const;

 private:
  explicit TakeOver(OwnedFd socket) : socket_(std::move(socket)) {}
  absl::StatusOr<std::string> Call(std::string_view message, std::vector<OwnedFd>* sockets);

  OwnedFd socket_;
  std::string facts_;
};

}  // namespace tickstack::wire
