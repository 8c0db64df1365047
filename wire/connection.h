#pragma once

// One kdb+ IPC connection, after its handshake: whole messages in, a bounded queue of bytes out.
//
// Only the kernel copies bytes. The stream is read into blocks of 256 KiB. A message that lies
// whole in a block is delivered as a span over it, together with the block's owner, and a message
// to send is a list of segments that may point into received blocks. So a tickerplant logs and
// forwards columns without touching them. A block that nobody kept is filled again immediately,
// while it is still in the cache.
//
//   read:   |..message..|..message..|..par|
//                                    +---+ the tail is copied to the front of the next block
//           |partial..|..message..|.......|
//
// A message larger than a block makes its block grow as the bytes arrive.
//
// Threads: everything runs on the loop's thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "table/answer_sink.h"
#include "table/value.h"
#include "wire/answer.h"
#include "wire/authenticator.h"
#include "wire/event_loop.h"
#include "wire/ipc.h"
#include "wire/places.h"
#include "wire/send_queue.h"
#include "wire/transport.h"

namespace tickstack::wire {

// A received message. `body` is always little-endian and uncompressed. It is valid while `owner`,
// or a copy of it, exists.
struct ReceivedMessage {
  MessageKind kind;
  std::span<const std::byte> body;
  const std::shared_ptr<const void>& owner;
};

class Connection;

class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  // Receives a sync or async message, or on a client connection a response that no Call waits for.
  virtual void OnMessage(Connection& connection, const ReceivedMessage& message) = 0;
  // Every complete message of one read was delivered: the moment to write a log and to publish.
  virtual void OnDrained(Connection&) {}
  // A message of `bytes` bytes has begun, or a compressed one declares that size, which is more
  // than max_message_bytes. True: its bytes are read and dropped. False: the connection is closed.
  virtual bool OnTooLarge(Connection&, MessageKind /*kind*/, uint64_t /*bytes*/) { return false; }
  // The queue was written completely, after the socket had refused some of it.
  virtual void OnSent(Connection&) {}
  // Called once, as the last call. OK if the peer closed between messages.
  virtual void OnClosed(Connection& connection, const absl::Status& why) = 0;
};

class UnfinishedMessages;

struct ConnectionOptions {
  // A larger message closes the connection, unless OnTooLarge returns true.
  size_t max_message_bytes = size_t{256} << 20;
  // More unsent bytes than this close the connection: a slow reader must not use up the memory of
  // the others. Streamed answers are not counted; their creator bounds them.
  size_t max_queue_bytes = size_t{512} << 20;
  // Number of unanswered sync requests above which reading pauses, so that further requests wait in
  // the peer's socket.
  size_t max_unanswered = 1024;
  // Answers of more than 2,000 bytes to peers on other machines are compressed if that halves them
  // (wire/answer.h).
  bool compress = true;
  // Where the memory of its unfinished message is counted; nullptr: nowhere, because the peer is
  // one that this process has chosen.
  std::shared_ptr<UnfinishedMessages> unfinished = nullptr;
};

using ReplyTicket = uint64_t;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using ResponseCallback = std::function<void(absl::StatusOr<Value>)>;

  // Takes a stream on which the handshake is done. `peer` names the other side in logs.
  static std::shared_ptr<Connection> Adopt(std::shared_ptr<Transport> transport, std::string peer,
                                           uint8_t capability, bool local,
                                           const ConnectionOptions& options,
                                           ConnectionHandler* handler);
  ~Connection();

  // Starts reading. `received` has the bytes that arrived after the handshake.
  void Start(std::span<const std::byte> received = {});

  // Queues bytes of whole messages, headers included. The next Flush sends them.
  void Queue(ByteBuffer message);
  void Queue(std::span<const Segment> segments);
  void Queue(Answer message);  // Made for form().
  // Writes what the socket accepts now; the rest is sent as the peer reads. OnClosed may follow
  // from the loop.
  void Flush();
  void Send(ByteBuffer message) {
    Queue(std::move(message));
    Flush();
  }

  // Sync requests are answered in the order of their arrival, although their answers may be ready
  // in any order: take a ticket in OnMessage, and return it with the answer. An answer that is too
  // large for the peer becomes an error.
  ReplyTicket TakeTicket();
  void Reply(ReplyTicket ticket, const Value& answer);
  void ReplyError(ReplyTicket ticket, std::string_view text,
                  std::optional<size_t> position = std::nullopt);
  // `answer` was made for this connection's form(). A stream is destroyed once it is sent, or when
  // the connection ends.
  void Reply(ReplyTicket ticket, Answer answer);
  AnswerForm form() const;

  // Sends a sync request. The callback gets the answer; kUnknown with q's text if it is an error;
  // kUnavailable if the connection ends first. Async messages may be delivered meanwhile.
  //
  // A long answer goes to `sink` if that wants it, and the callback gets the generic null when all
  // of it has arrived. `sink` must live until the callback.
  void Call(const Value& request, ResponseCallback done, AnswerSink* sink = nullptr);
  void SendAsync(const Value& message);

  // While reading is paused, no message is read or delivered, and the peer sees backpressure.
  void PauseReading();
  void ResumeReading();
  bool is_paused() const;
  // True if the peer has closed its side. For use while reading is paused. Cost: one system call.
  bool PeerHasClosed() const;
  // Sets the time after which the connection ends if the peer does not acknowledge sent bytes; 0:
  // the kernel's limit of about 15 minutes. Not for peers that may leave bytes unread for long,
  // because the kernel counts that time, too. Has no effect on Unix sockets.
  void SetUnacknowledgedMax(std::chrono::milliseconds at_most);
  // True if a part of a message has arrived or bytes wait in the socket. Cost: one system call.
  bool HasUnread() const;

  // Ends the connection; OnClosed(why) follows from the loop. Further calls do nothing.
  void Close(absl::Status why);
  // Closes once the whole queue has been written, or after `at_most`.
  void CloseWhenSent(std::chrono::nanoseconds at_most);

  // Ends the connection without calling the handler or the callbacks of pending requests, because
  // they are about to be destroyed.
  void Detach();

  uint64_t id() const { return id_; }
  // Positive. Unique among live connections: it repeats after 2^31 - 1 of them.
  int32_t handle() const { return static_cast<int32_t>((id_ - 1) % INT32_MAX) + 1; }
  const std::string& peer() const { return peer_; }
  const std::string& user() const { return user_; }
  void set_user(std::string user) { user_ = std::move(user); }
  // What the client may do; nullptr: everything, because the server has no authenticator.
  const std::shared_ptr<const ClientRights>& rights() const { return rights_; }
  void set_rights(std::shared_ptr<const ClientRights> rights) { rights_ = std::move(rights); }
  // The class of its place among the server's connections.
  PlaceClass place() const { return place_; }
  void set_place(PlaceClass place) { place_ = place; }
  // Limit of a message: max_message_bytes, or less if its sender may not send large ones.
  size_t max_message_bytes() const;
  void set_max_message_bytes(size_t bytes);
  // True if a part of a message has arrived.
  bool IsInsideMessage() const;
  // True if the gateway opened it for a client that speaks HTTP or WebSocket.
  bool by_http() const { return by_http_; }
  void set_by_http() { by_http_ = true; }
  uint8_t capability() const { return capability_; }
  bool is_local() const { return local_; }  // Loopback or a Unix socket.
  bool is_open() const { return open_; }
  size_t queued_bytes() const;  // See SendQueue::bytes().
  uint64_t received_bytes() const { return received_bytes_; }
  uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  struct Impl;
  Connection(std::string peer, uint8_t capability, bool local);
  void ReadSome();
  bool MakeRoom();
  void OnReadable(size_t bytes);
  void DeliverMessages();
  bool DeliverMessage(std::span<const std::byte> message);
  void WaitWritable();
  void Fail(absl::Status why);
  void CheckQueue();
  bool SkipTooLarge(MessageKind kind, uint64_t bytes);

  std::unique_ptr<Impl> impl_;
  const uint64_t id_;
  std::string peer_;
  bool by_http_ = false;
  std::string user_;
  std::shared_ptr<const ClientRights> rights_;
  PlaceClass place_ = PlaceClass::kAnonymous;
  uint8_t capability_;
  bool local_;
  bool open_ = true;
  uint64_t received_bytes_ = 0;
  uint64_t sent_bytes_ = 0;
};

}  // namespace tickstack::wire
