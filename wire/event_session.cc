// A client that listens to events (event_hub.h): one response that ends with the connection.

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/write.hpp>
#include <sstream>
#include <utility>

#include "base/status.h"
#include "wire/http_sessions.h"

namespace tickstack::wire {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

class EventSession final : public HttpClientSession, public EventListener {
 public:
  EventSession(HttpSessions& sessions, HttpStream stream, HttpRequest request,
               const std::string& peer)
      : HttpClientSession(sessions, peer),
        stream_(std::move(stream)),
        request_(std::move(request)),
        peer_(peer) {}
  ~EventSession() override { sessions_.events.Remove(number_); }

  // The connection to the process stays open while the client listens: the process closes it when
  // the user loses its rights, and when it ends.
  void Begin() {
    WatchForClose();
    sessions_.Open(CredentialsOf(request_), peer_, this,
                   [self = Self()](absl::StatusOr<std::shared_ptr<Connection>> opened) {
                     if (!opened.ok()) return self->Refuse(opened.status());
                     self->inside_ = *std::move(opened);
                     self->AskForRight();
                   });
  }

  void Abort() override {
    sessions_.events.Remove(std::exchange(number_, 0));
    stream_.Close();
    DisconnectFromProcess();
  }

  // The process sends nothing to a client that asks nothing.
  void OnMessage(Connection&, const ReceivedMessage&) override {}
  void OnClosed(Connection&, const absl::Status&) override {
    inside_ = nullptr;
    Abort();
  }

  void Take(const std::shared_ptr<const std::string>& event) override {
    if (!writing_) Write(event, [](EventSession&) {});
  }

 private:
  std::shared_ptr<EventSession> Self() {
    return std::static_pointer_cast<EventSession>(shared_from_this());
  }

  // Events tell what /metrics tells, so they need the same right.
  void AskForRight() {
    inside_->Call(Value::Symbol(kMetricsQuestion),
                  [self = Self()](const absl::StatusOr<Value>& may) {
                    if (!may.ok()) return self->Refuse(may.status());
                    const absl::Status busy = self->sessions_.MakeBusy(*self);
                    busy.ok() ? self->Accept() : self->Refuse(busy);
                  });
  }

  void Refuse(const absl::Status& why) {
    const bool denied = absl::IsPermissionDenied(why);
    const bool forbidden = Message(why).starts_with("access: ");
    response_.result(denied      ? http::status::unauthorized
                     : forbidden ? http::status::forbidden
                                 : http::status::service_unavailable);
    if (denied) {
      response_.set(http::field::www_authenticate, "Basic realm=\"tickstack\", charset=\"UTF-8\"");
    }
    response_.set(http::field::content_type, "text/plain; charset=utf-8");
    response_.body() = fmt::format("'{}\n", Message(why));
    response_.keep_alive(false);
    FinishResponse(request_, response_);
    stream_.ExpiresAfter(sessions_.options.idle_timeout);
    http::async_write(stream_, response_,
                      [self = Self()](const beast::error_code&, size_t) { self->Abort(); });
  }

  void Accept() {
    if (sessions_.events.is_full()) {
      return Refuse(Unavailable("events: {} pages listen already", EventHub::kListenersMax));
    }
    response_.result(http::status::ok);
    response_.set(http::field::content_type, "text/event-stream");
    response_.keep_alive(false);
    FinishResponse(request_, response_);
    response_.erase(http::field::content_length);  // It ends with the connection.
    std::ostringstream head;
    head << response_.base();
    Write(std::make_shared<const std::string>(head.str()), [](EventSession& session) {
      session.number_ = session.sessions_.events.Add(&session);
      if (session.number_ == 0) session.Abort();
    });
  }

  // Calls then(*this) when the client's socket has taken all bytes. A client that does not read for
  // the time that it has is disconnected.
  template <typename Then>
  void Write(const std::shared_ptr<const std::string>& text, Then then) {
    writing_ = true;
    stream_.ExpiresAfter(sessions_.TimeToTake(text->size()));
    asio::async_write(stream_, asio::buffer(*text),
                      [self = Self(), text, then](const beast::error_code& error, size_t) {
                        self->writing_ = false;
                        if (error) return self->Abort();
                        self->stream_.ExpiresNever();
                        then(*self);
                      });
  }

  // Reads and drops what the client sends, until it leaves.
  void WatchForClose() {
    stream_.async_read_some(asio::buffer(ignored_),
                            [self = Self()](const beast::error_code& error, size_t) {
                              error ? self->Abort() : self->WatchForClose();
                            });
  }

  HttpStream stream_;
  const HttpRequest request_;
  HttpResponse response_;
  const std::string peer_;
  std::array<std::byte, 1024> ignored_{};
  uint64_t number_ = 0;   // Its number in the hub; 0: it is not there.
  bool writing_ = false;  // It has an event that it has not read.
};

}  // namespace

void RunEventSession(HttpSessions& sessions, HttpStream stream, HttpRequest request,
                     const std::string& peer) {
  std::make_shared<EventSession>(sessions, std::move(stream), std::move(request), peer)->Begin();
}

}  // namespace tickstack::wire
