#include "wire/connection.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/error.hpp>
#include <cstdlib>
#include <deque>
#include <optional>
#include <utility>

#include "base/status.h"
#include "wire/codec.h"
#include "wire/compress.h"
#include "wire/unfinished_messages.h"

namespace tickstack::wire {

namespace asio = boost::asio;

namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
// A block that grew for a message is kept for later messages up to this size. A tickerplant under
// load gets messages of a MiB and more, and a new block would be copied each time that it doubles.
constexpr size_t kKeptBlockBytes = 8 * kBlockBytes;
// With less room than this after the last message, a new block is started, to keep reads large.
constexpr size_t kLeastReadBytes = size_t{32} << 10;
std::atomic<uint64_t> next_connection_id{1};

struct Block {
  explicit Block(size_t bytes)
      : memory(static_cast<std::byte*>(std::malloc(bytes))), capacity(bytes) {
    if (memory == nullptr) throw std::bad_alloc();
  }
  ~Block() { std::free(memory); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::byte* memory;
  size_t capacity;
};

struct PendingReply {
  bool ready = false;
  Answer answer;
};

// A request that this side waits for the answer of.
struct PendingCall {
  Connection::ResponseCallback done;
  AnswerSink* sink = nullptr;  // nullptr: the answer is received as a whole.
};

absl::Status ToError(const Value& error) { return absl::UnknownError(AbslView(error.text())); }

}  // namespace

struct Connection::Impl {
  Impl(std::shared_ptr<Transport> stream, const ConnectionOptions& opts, ConnectionHandler* handle)
      : loop(stream->loop()), transport(std::move(stream)), options(opts), handler(handle) {}

  EventLoop& loop;
  const std::shared_ptr<Transport> transport;
  const ConnectionOptions options;
  ConnectionHandler* handler;
  size_t max_message_bytes = options.max_message_bytes;

  // Receiving. Bytes [consumed, filled) of the block are not delivered yet.
  std::shared_ptr<Block> block = std::make_shared<Block>(kBlockBytes);
  std::shared_ptr<const void> owner = block;
  size_t filled = 0;
  size_t consumed = 0;
  uint64_t to_skip = 0;     // Bytes of a message above the limit, still to be dropped.
  bool reading = false;     // An asynchronous read is under way.
  bool delivering = false;  // Inside DeliverMessages.
  bool paused = false;      // Paused by the handler.

  // Sending.
  SendQueue queue;
  bool waiting_writable = false;
  bool close_when_sent = false;
  std::optional<Timer> close_timer;

  // Answers that this side owes, and answers that it waits for.
  std::deque<PendingReply> replies;
  ReplyTicket first_ticket = 0;
  std::deque<PendingCall> calls;
  uint64_t to_forward = 0;  // Bytes of an answer that its sink still has to get.
  // A sink has bytes of the block. It may release them on another thread, so the number of owners
  // does not say when they were read.
  bool sink_has_block = false;

  size_t held = 0;  // Bytes that are counted in options.unfinished.

  bool Throttled() const { return paused || replies.size() >= options.max_unanswered; }
  size_t BytesOfTail() const;
  size_t NextCapacity();
  void Skip();
  bool BeginForwarding(const Header& header);
  bool Forward();
};

// ---- receiving

// Returns the size of the incomplete message at the end of the block; 0 if its header is
// incomplete. DeliverMessages has checked the header.
size_t Connection::Impl::BytesOfTail() const {
  if (filled - consumed < kHeaderBytes) return 0;
  const absl::StatusOr<Header> header =
      ParseHeader(std::span<const std::byte, kHeaderBytes>(block->memory + consumed, kHeaderBytes));
  return header.ok() ? static_cast<size_t>(header->total_bytes) : 0;
}

// Returns the capacity of the block that the next read needs instead of this one; 0: this one has
// room.
size_t Connection::Impl::NextCapacity() {
  // Only `block` and `owner` refer to it: nobody kept a message.
  const bool alone = !sink_has_block && block.use_count() == 2;
  const size_t tail = filled - consumed;
  if (tail == 0 && alone && block->capacity == kBlockBytes) {
    filled = consumed = 0;
    return 0;
  }
  const size_t needed = std::max(BytesOfTail(), tail + 1);
  // A declared length is trusted only as its bytes arrive: the block at most doubles.
  const size_t capacity = std::max(kBlockBytes, std::min(needed, 2 * tail));
  if (tail == 0 && held > 0 && !options.unfinished->HasRoomForKept()) return capacity;
  if (filled < block->capacity && consumed + needed <= block->capacity &&
      (tail > 0 || block->capacity - filled >= kLeastReadBytes)) {
    return 0;
  }
  if (alone && capacity <= block->capacity && block->capacity <= kKeptBlockBytes) {
    std::memmove(block->memory, block->memory + consumed, tail);
    consumed = 0;
    filled = tail;
    return 0;
  }
  return capacity;
}

// False if the connection was closed, because unfinished messages hold too much.
bool Connection::MakeRoom() {
  Impl& impl = *impl_;
  const size_t capacity = impl.NextCapacity();
  if (capacity == 0) return true;
  const size_t held = capacity - kBlockBytes;
  if (impl.options.unfinished != nullptr && held != impl.held) {
    impl.held = held;
    impl.options.unfinished->Set(*this, held);
    if (!open_) return false;
  }
  const size_t tail = impl.filled - impl.consumed;
  auto next = std::make_shared<Block>(capacity);
  std::memcpy(next->memory, impl.block->memory + impl.consumed, tail);
  impl.block = std::move(next);
  impl.owner = impl.block;
  impl.sink_has_block = false;
  impl.consumed = 0;
  impl.filled = tail;
  return true;
}

void Connection::ReadSome() {
  Impl& impl = *impl_;
  if (!open_ || impl.reading || impl.Throttled() || !MakeRoom()) return;
  impl.reading = true;
  impl.transport->AsyncRead(
      {impl.block->memory + impl.filled, impl.block->capacity - impl.filled},
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->impl_->reading = false;
        if (!self->open_) return;
        if (error == asio::error::eof) {
          const size_t tail = self->impl_->filled - self->impl_->consumed;
          const bool inside = tail > 0 || self->impl_->to_skip > 0 || self->impl_->to_forward > 0;
          self->Fail(!inside || self->impl_->Throttled()
                         ? absl::OkStatus()
                         : DataLoss("{}: closed inside a message, after {} bytes of it",
                                    self->peer_, tail));
          return;
        }
        if (error) {
          self->Fail(Unavailable("{}: read: {}", self->peer_, error.message()));
          return;
        }
        self->OnReadable(bytes);
      });
}

void Connection::OnReadable(size_t bytes) {
  impl_->filled += bytes;
  received_bytes_ += bytes;
  DeliverMessages();
  ReadSome();
}

void Connection::Impl::Skip() {
  const auto bytes = static_cast<size_t>(std::min<uint64_t>(to_skip, filled - consumed));
  to_skip -= bytes;
  consumed += bytes;
}

// Lets the sink of the request that this answers take it, if it wants to. The header and the first
// byte after it, which tells an error, have arrived.
bool Connection::Impl::BeginForwarding(const Header& header) {
  constexpr std::byte kError{0x80};
  if (header.kind != MessageKind::kResponse || calls.empty()) return false;
  AnswerSink* const sink = std::exchange(calls.front().sink, nullptr);  // It is asked once.
  if (sink == nullptr || header.compressed || !header.little_endian ||
      header.total_bytes < kForwardedBytesMin || block->memory[consumed + kHeaderBytes] == kError ||
      !sink->Begin(static_cast<size_t>(header.total_bytes))) {
    return false;
  }
  calls.front().sink = sink;
  to_forward = header.total_bytes;
  return true;
}

// Gives the sink what has arrived. Returns true when the answer is complete.
bool Connection::Impl::Forward() {
  const auto bytes = static_cast<size_t>(std::min<uint64_t>(to_forward, filled - consumed));
  if (bytes > 0) {
    calls.front().sink->Add({block->memory + consumed, bytes}, owner);
    sink_has_block = true;
  }
  to_forward -= bytes;
  consumed += bytes;
  return to_forward == 0;
}

bool Connection::SkipTooLarge(MessageKind kind, uint64_t bytes) {
  return impl_->handler != nullptr && impl_->handler->OnTooLarge(*this, kind, bytes);
}

void Connection::DeliverMessages() {
  Impl& impl = *impl_;
  if (impl.delivering) return;
  impl.delivering = true;
  bool any = false;
  while (open_ && !impl.Throttled()) {
    impl.Skip();
    if (impl.to_forward > 0) {
      if (!impl.Forward()) break;
      const ResponseCallback done = std::move(impl.calls.front().done);
      impl.calls.pop_front();
      done(Value());
      continue;
    }
    if (impl.filled - impl.consumed < kHeaderBytes) break;
    std::byte* at = impl.block->memory + impl.consumed;
    const absl::StatusOr<Header> header =
        ParseHeader(std::span<const std::byte, kHeaderBytes>(at, kHeaderBytes));
    if (!header.ok()) {
      Fail(Annotate(header.status(), peer_));
      break;
    }
    if (header->total_bytes > impl.max_message_bytes) {
      if (SkipTooLarge(header->kind, header->total_bytes)) {
        impl.to_skip = header->total_bytes;
        continue;
      }
      Fail(ResourceExhausted("{}: message of {} bytes, the bound is {}", peer_, header->total_bytes,
                             impl.max_message_bytes));
      break;
    }
    const auto total = static_cast<size_t>(header->total_bytes);
    if (impl.filled - impl.consumed < total) {
      if (impl.filled - impl.consumed > kHeaderBytes && impl.BeginForwarding(*header)) continue;
      break;
    }
    impl.consumed += total;
    any = true;
    if (!DeliverMessage({at, total})) break;
  }
  if (any && impl.handler != nullptr) impl.handler->OnDrained(*this);
  impl.delivering = false;
}

bool Connection::DeliverMessage(std::span<const std::byte> message) {
  Impl& impl = *impl_;
  const absl::StatusOr<Header> header = ParseHeader(message.first<kHeaderBytes>());
  std::span<const std::byte> body = message.subspan(kHeaderBytes);
  std::shared_ptr<const void> own;
  if (header->compressed) {
    absl::StatusOr<ByteBuffer> plain = Decompress(message, impl.max_message_bytes);
    if (!plain.ok()) {
      if (absl::IsResourceExhausted(plain.status()) &&
          SkipTooLarge(header->kind, *DeclaredBytes(message))) {
        return open_;
      }
      Fail(Annotate(plain.status(), peer_));
      return false;
    }
    auto kept = std::make_shared<ByteBuffer>(*std::move(plain));
    body = kept->span().subspan(kHeaderBytes);
    own = std::move(kept);
  }
  if (!header->little_endian) {
    // In place: nobody else has these bytes until they are delivered.
    const std::span<std::byte> writable(const_cast<std::byte*>(body.data()), body.size());
    if (absl::Status swapped = ToLittleEndian(writable); !swapped.ok()) {
      Fail(Annotate(swapped, peer_));
      return false;
    }
  }
  if (header->kind == MessageKind::kResponse && !impl.calls.empty()) {
    const ResponseCallback done = std::move(impl.calls.front().done);
    impl.calls.pop_front();
    absl::StatusOr<Value> answer = Decode(body);
    if (answer.ok() && answer->is_error()) answer = ToError(*answer);
    done(std::move(answer));
    return open_;
  }
  if (impl.handler != nullptr) {
    impl.handler->OnMessage(*this,
                            ReceivedMessage{header->kind, body, own != nullptr ? own : impl.owner});
  }
  return open_;
}

size_t Connection::max_message_bytes() const { return impl_->max_message_bytes; }

void Connection::set_max_message_bytes(size_t bytes) {
  impl_->max_message_bytes = std::min(bytes, impl_->options.max_message_bytes);
}

bool Connection::IsInsideMessage() const { return impl_->filled > impl_->consumed; }

void Connection::PauseReading() { impl_->paused = true; }

bool Connection::is_paused() const { return impl_->paused; }

bool Connection::PeerHasClosed() const { return !open_ || impl_->transport->PeerHasClosed(); }

void Connection::SetUnacknowledgedMax(std::chrono::milliseconds at_most) {
  if (open_) impl_->transport->SetUnacknowledgedMax(at_most);
}

bool Connection::HasUnread() const {
  return open_ && (impl_->filled > impl_->consumed || impl_->transport->HasUnread());
}

void Connection::ResumeReading() {
  if (!impl_->paused) return;
  impl_->paused = false;
  impl_->loop.Post([self = shared_from_this()] {
    self->DeliverMessages();
    self->ReadSome();
  });
}

// ---- sending

void Connection::Queue(ByteBuffer message) {
  if (!open_) return;
  impl_->queue.Append(std::move(message));
  CheckQueue();
}

void Connection::Queue(std::span<const Segment> segments) {
  if (!open_) return;
  impl_->queue.Append(segments);
  CheckQueue();
}

void Connection::Queue(Answer message) {
  if (message.stream == nullptr) return Queue(std::move(message.encoded));
  if (open_) impl_->queue.Append(std::move(message.stream));
}

void Connection::CheckQueue() {
  if (queued_bytes() <= impl_->options.max_queue_bytes) return;
  // What the socket accepts immediately does not count against a reader.
  Flush();
  if (open_ && queued_bytes() > impl_->options.max_queue_bytes) {
    Fail(ResourceExhausted("{}: slow reader: {} bytes unsent, the bound is {}", peer_,
                           queued_bytes(), impl_->options.max_queue_bytes));
  }
}

void Connection::Flush() {
  Impl& impl = *impl_;
  if (!open_ || impl.waiting_writable) return;
  const boost::system::error_code error = impl.queue.WriteTo(*impl.transport, &sent_bytes_);
  if (error == asio::error::would_block) return WaitWritable();
  if (error) return Fail(Unavailable("{}: send: {}", peer_, error.message()));
  if (impl.close_when_sent && impl.queue.empty()) Fail(absl::OkStatus());
}

size_t Connection::queued_bytes() const { return impl_->queue.bytes(); }

void Connection::WaitWritable() {
  impl_->waiting_writable = true;
  impl_->transport->AsyncWaitWritable(
      [self = shared_from_this()](const boost::system::error_code& error) {
        self->impl_->waiting_writable = false;
        if (error || !self->open_) return;
        self->Flush();
        Impl& impl = *self->impl_;
        if (self->open_ && impl.queue.empty() && impl.handler != nullptr) {
          impl.handler->OnSent(*self);
        }
      });
}

// ---- answers

ReplyTicket Connection::TakeTicket() {
  impl_->replies.emplace_back();
  return impl_->first_ticket + impl_->replies.size() - 1;
}

AnswerForm Connection::form() const {
  return {capability_, !local_ && impl_->options.compress && capability_ >= kCapabilityCompression,
          by_http_};
}

void Connection::Reply(ReplyTicket ticket, const Value& answer) {
  Reply(ticket, EncodeAnswer(answer, form()));
}

void Connection::ReplyError(ReplyTicket ticket, std::string_view text,
                            std::optional<size_t> position) {
  Reply(ticket, ErrorAnswer(text, position, form()));
}

void Connection::Reply(ReplyTicket ticket, Answer answer) {
  Impl& impl = *impl_;
  if (!open_) return;
  TS_CHECK(ticket >= impl.first_ticket && ticket - impl.first_ticket < impl.replies.size());
  PendingReply& reply = impl.replies[ticket - impl.first_ticket];
  TS_CHECK(!reply.ready);
  reply.ready = true;
  reply.answer = std::move(answer);
  const bool was_throttled = impl.Throttled();
  while (open_ && !impl.replies.empty() && impl.replies.front().ready) {
    Answer next = std::move(impl.replies.front().answer);
    impl.replies.pop_front();
    ++impl.first_ticket;
    Queue(std::move(next));
  }
  Flush();
  if (was_throttled && !impl.Throttled()) {
    impl.loop.Post([self = shared_from_this()] {
      self->DeliverMessages();
      self->ReadSome();
    });
  }
}

void Connection::Call(const Value& request, ResponseCallback done, AnswerSink* sink) {
  if (!open_) {
    impl_->loop.Post(
        [done = std::move(done), peer = peer_] { done(Unavailable("{}: not connected", peer)); });
    return;
  }
  impl_->calls.push_back({std::move(done), sink});
  Send(EncodeMessage(MessageKind::kSync, request));
}

void Connection::SendAsync(const Value& message) {
  Send(EncodeMessage(MessageKind::kAsync, message));
}

// ---- life

Connection::Connection(std::string peer, uint8_t capability, bool local)
    : id_(next_connection_id.fetch_add(1, std::memory_order_relaxed)),
      peer_(std::move(peer)),
      capability_(capability),
      local_(local) {}

Connection::~Connection() = default;

std::shared_ptr<Connection> Connection::Adopt(std::shared_ptr<Transport> transport,
                                              std::string peer, uint8_t capability, bool local,
                                              const ConnectionOptions& options,
                                              ConnectionHandler* handler) {
  std::shared_ptr<Connection> connection(new Connection(std::move(peer), capability, local));
  connection->impl_ = std::make_unique<Impl>(std::move(transport), options, handler);
  return connection;
}

void Connection::Start(std::span<const std::byte> received) {
  Impl& impl = *impl_;
  if (!received.empty()) {
    if (received.size() > impl.block->capacity)
      impl.block = std::make_shared<Block>(received.size());
    impl.owner = impl.block;
    std::memcpy(impl.block->memory, received.data(), received.size());
    OnReadable(received.size());
    return;
  }
  ReadSome();
}

void Connection::Close(absl::Status why) { Fail(std::move(why)); }

void Connection::CloseWhenSent(std::chrono::nanoseconds at_most) {
  if (!open_) return;
  impl_->close_when_sent = true;
  impl_->close_timer.emplace(impl_->loop);
  impl_->close_timer->Once(at_most, [self = shared_from_this()] { self->Fail(absl::OkStatus()); });
  Flush();
}

void Connection::Detach() {
  impl_->handler = nullptr;
  impl_->calls.clear();  // The callbacks' owners are about to be destroyed with the handler.
  Fail(absl::OkStatus());
}

void Connection::Fail(absl::Status why) {
  if (!open_) return;
  open_ = false;
  Impl& impl = *impl_;
  impl.transport->Close();
  if (std::exchange(impl.held, 0) > 0) impl.options.unfinished->Remove(*this);
  impl.queue.Clear();
  impl.close_timer.reset();
  // Posted to the loop, because the caller may be in the middle of the handler's own work.
  impl.loop.Post([self = shared_from_this(), why = std::move(why)] {
    std::deque<PendingCall>& calls = self->impl_->calls;
    // Unanswered calls get kUnavailable, after which a caller may retry.
    const absl::Status unanswered = why.ok()
                                        ? Unavailable("{}: closed before it answered", self->peer_)
                                    : absl::IsDataLoss(why) ? Unavailable("{}", Message(why))
                                                            : why;
    while (!calls.empty()) {  // A callback may call Detach.
      const ResponseCallback done = std::move(calls.front().done);
      calls.pop_front();
      done(unanswered);
    }
    if (ConnectionHandler* handler = std::exchange(self->impl_->handler, nullptr);
        handler != nullptr) {
      handler->OnClosed(*self, why);
    }
  });
}

}  // namespace tickstack::wire
