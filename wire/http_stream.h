#pragma once

// A Transport as the asynchronous stream that Beast's HTTP and WebSocket operations need, with a
// deadline. One read and one write may be pending at a time. Threads: the loop's.

#include <array>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/role.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "wire/event_loop.h"
#include "wire/transport.h"

namespace tickstack::wire {

class HttpStream {
 public:
  using executor_type = boost::asio::io_context::executor_type;

  explicit HttpStream(std::unique_ptr<Transport> transport);

  // Closes the stream when the time is over; replaces an earlier deadline.
  void ExpiresAfter(std::chrono::nanoseconds time);
  void ExpiresNever();
  void Close() { transport_->Close(); }
  Transport& transport() { return *transport_; }
  const std::shared_ptr<Transport>& shared_transport() const { return transport_; }

  // The members that Beast requires of an AsyncStream.

  executor_type get_executor() { return transport_->loop().context().get_executor(); }

  // Reads into the first buffer that is not empty.
  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Transport::ErrorCode, size_t)>(
        [this](auto handler, const Buffers& into) { Read(First(into), Own(std::move(handler))); },
        token, buffers);
  }

  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Transport::ErrorCode, size_t)>(
        [this](auto handler, const Buffers& from) {
          Pieces pieces;
          size_t count = 0;
          const auto end = boost::asio::buffer_sequence_end(from);
          for (auto i = boost::asio::buffer_sequence_begin(from); i != end; ++i) {
            if (count == pieces.size()) break;
            const boost::asio::const_buffer piece = *i;
            if (piece.size() == 0) continue;
            pieces[count++] = {static_cast<const std::byte*>(piece.data()), piece.size()};
          }
          Write(pieces, count, Own(std::move(handler)));
        },
        token, buffers);
  }

 private:
  using Done = Transport::Read;
  using Pieces = std::array<std::span<const std::byte>, 16>;

  template <typename Handler>
  static Done Own(Handler handler) {
    return [handler = std::move(handler)](const Transport::ErrorCode& error, size_t bytes) mutable {
      std::move(handler)(error, bytes);
    };
  }

  template <typename Buffers>
  static std::span<std::byte> First(const Buffers& buffers) {
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto i = boost::asio::buffer_sequence_begin(buffers); i != end; ++i) {
      const boost::asio::mutable_buffer buffer = *i;
      if (buffer.size() > 0) return {static_cast<std::byte*>(buffer.data()), buffer.size()};
    }
    return {};
  }

  void Read(std::span<std::byte> into, Done done);
  void Write(const Pieces& pieces, size_t count, Done done);

  std::shared_ptr<Transport> transport_;
  std::unique_ptr<Timer> deadline_;
};

// Beast calls this when a WebSocket times out, and async_teardown when a WebSocket ends.
inline void beast_close_socket(HttpStream& stream) { stream.Close(); }

// Tells the client that nothing follows, drops what it still sends, and closes the stream.
void TearDown(std::shared_ptr<Transport> transport, Transport::Waited done);

template <typename Handler>
void async_teardown(boost::beast::role_type, HttpStream& stream, Handler&& handler) {
  TearDown(stream.shared_transport(),
           [handler = std::decay_t<Handler>(std::forward<Handler>(handler))](
               const Transport::ErrorCode& error) mutable { std::move(handler)(error); });
}

}  // namespace tickstack::wire
