#include "wire/http_stream.h"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

namespace tickstack::wire {
namespace {

namespace asio = boost::asio;

// The end of a WebSocket's stream; its own callbacks keep it alive.
struct Ending {
  std::shared_ptr<Transport> transport;
  Transport::Waited done;
  std::array<std::byte, 2048> dropped;

  static void ReadOn(std::unique_ptr<Ending> ending) {
    Ending& self = *ending;
    self.transport->AsyncRead(self.dropped, [ending = std::move(ending)](
                                                const Transport::ErrorCode& error, size_t) mutable {
      if (!error) return ReadOn(std::move(ending));
      ending->transport->Close();
      ending->done(error == asio::error::eof ? Transport::ErrorCode() : error);
    });
  }
};

}  // namespace

HttpStream::HttpStream(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)), deadline_(std::make_unique<Timer>(transport_->loop())) {}

void HttpStream::ExpiresAfter(std::chrono::nanoseconds time) {
  deadline_->Once(time, [transport = transport_.get()] { transport->Close(); });
}

void HttpStream::ExpiresNever() { deadline_->Cancel(); }

void HttpStream::Read(std::span<std::byte> into, Done done) {
  if (!into.empty()) return transport_->AsyncRead(into, std::move(done));
  asio::post(get_executor(),
             [done = std::move(done)]() mutable { done(Transport::ErrorCode(), 0); });
}

void HttpStream::Write(const Pieces& pieces, size_t count, Done done) {
  Transport::ErrorCode error;
  const size_t sent = count == 0 ? 0 : transport_->TryWrite(std::span(pieces).first(count), error);
  if (error != asio::error::would_block) {
    return asio::post(get_executor(),
                      [done = std::move(done), error, sent]() mutable { done(error, sent); });
  }
  transport_->AsyncWaitWritable([transport = transport_, pieces, count, done = std::move(done)](
                                    const Transport::ErrorCode& closed) mutable {
    if (closed) return done(closed, 0);
    Transport::ErrorCode failed;
    const size_t written = transport->TryWrite(std::span(pieces).first(count), failed);
    // 0 bytes without an error: the caller writes again.
    done(failed == asio::error::would_block ? Transport::ErrorCode() : failed, written);
  });
}

void TearDown(std::shared_ptr<Transport> transport, Transport::Waited done) {
  transport->ShutdownSend();
  auto ending = std::make_unique<Ending>();
  ending->transport = std::move(transport);
  ending->done = std::move(done);
  Ending::ReadOn(std::move(ending));
}

}  // namespace tickstack::wire
