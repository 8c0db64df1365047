// The session of an HTTP client: successive requests, each a question to the process.

#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "base/status.h"
#include "table/format_value.h"
#include "wire/codec.h"
#include "wire/error_position.h"
#include "wire/http_page.h"
#include "wire/http_question.h"
#include "wire/http_sessions.h"
#include "wire/page_files.h"

namespace tickstack::wire {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr uint32_t kHeadBytesMax = 64 << 10;
constexpr std::chrono::seconds kLinger{2};
constexpr size_t kLingerBytes = size_t{64} << 20;
constexpr const char* kPolicyHeader = "Content-Security-Policy";

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

class HttpSession final : public HttpClientSession {
 public:
  HttpSession(HttpSessions& sessions, std::unique_ptr<Transport> transport,
              AcceptedHttpClient client)
      : HttpClientSession(sessions),
        stream_(std::move(transport)),
        peer_(std::move(client.peer)),
        local_(client.local) {
    const auto room = buffer_.prepare(client.received.size());
    asio::buffer_copy(room, asio::buffer(client.received));
    buffer_.commit(client.received.size());
  }
  ~HttpSession() override { sessions_.unsent_bytes -= unsent_bytes_; }

  void ReadFirst() {
    sessions_.AddPending(this);
    ReadHead();
  }

  void Abort() override {
    stream_.Close();
    DisconnectFromProcess();  // A pending answer keeps this session alive, too.
  }

  // Callbacks of the connection to the process, whose answers have callbacks of their own.
  void OnMessage(Connection&, const ReceivedMessage&) override {}
  void OnClosed(Connection&, const absl::Status&) override { inside_ = nullptr; }

 private:
  // Reads the next request, whenever it begins.
  void Read() {
    if (buffer_.size() > 0) return ReadHead();
    stream_.ExpiresAfter(sessions_.options.idle_timeout);
    stream_.async_read_some(buffer_.prepare(kHeadBytesMax),
                            [self = Self()](const beast::error_code& error, size_t bytes) {
                              if (error) return;  // Dropping the last reference closes the socket.
                              self->buffer_.commit(bytes);
                              self->ReadHead();
                            });
  }

  void ReadHead() {
    parser_.emplace();
    parser_->header_limit(kHeadBytesMax);
    parser_->body_limit(sessions_.options.max_request_bytes);
    stream_.ExpiresAfter(sessions_.options.head_timeout);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = Self()](const beast::error_code& error, size_t) {
                              self->sessions_.RemovePending(self.get());
                              error ? self->OnRead(error) : self->ReadBody();
                            });
  }

  void ReadBody() {
    stream_.ExpiresAfter(sessions_.options.idle_timeout);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = Self()](const beast::error_code& error, size_t) { self->OnRead(error); });
  }

  std::shared_ptr<HttpSession> Self() {
    return std::static_pointer_cast<HttpSession>(shared_from_this());
  }

  void OnRead(const beast::error_code& error) {
    if (error == http::error::end_of_stream || error == asio::error::operation_aborted) {
      return;  // Dropping the last reference closes the stream.
    }
    request_ = {};
    if (error == http::error::body_limit || error == http::error::header_limit) {
      return Refuse(http::status::payload_too_large,
                    fmt::format("a request is too large: a head may have {} bytes, a body {}",
                                kHeadBytesMax, sessions_.options.max_request_bytes));
    }
    if (error.category() == http::make_error_code(http::error::bad_method).category()) {
      return Refuse(http::status::bad_request, "no HTTP request: " + error.message());
    }
    if (error) return;
    request_ = parser_->release();
    status_page_.reset();
    file_ = nullptr;
    Handle();
  }

  void Handle() {
    const RequestOrigin origin{
        View(request_[http::field::host]), View(request_[http::field::origin]),
        View(request_["Sec-Fetch-Site"]), View(request_[http::field::referer])};
    const bool is_web_socket = beast::websocket::is_upgrade(request_);
    std::span<const std::string> allowed_origins;
    if (is_web_socket) allowed_origins = sessions_.options.web_socket_origins;
    if (const auto why = RefusalReason(origin, local_, sessions_.own_name, allowed_origins)) {
      return Refuse(http::status::forbidden, *why);
    }
    if (is_web_socket) {
      stream_.ExpiresNever();
      return RunWebSocketSession(sessions_, std::move(stream_), std::move(request_), peer_);
    }
    const http::verb method = request_.method();
    if (method != http::verb::get && method != http::verb::head && method != http::verb::post) {
      return Refuse(http::status::method_not_allowed, "expected GET, HEAD or POST");
    }
    status_page_ = sessions_.status.has_pages() ? StatusPageAt(View(request_.target()))
                                                : std::optional<StatusPage>();
    if (status_page_ == StatusPage::kEvent) return BeginEvents();
    if (status_page_) return AnswerStatusPage();
    file_ = FindPageFile(sessions_.status.files(), View(request_.target()));
    // A form posts its question to `/`.
    if (file_ != nullptr && file_->path == "/" && method == http::verb::post) file_ = nullptr;
    if (file_ != nullptr) return AnswerFile();
    std::optional<HttpQuestion> question = ParseTarget(View(request_.target()));
    if (!question) {
      return Refuse(
          http::status::not_found,
          "there are /, /console, /?QUERY, /.csv?QUERY, /.json?QUERY, /.txt?QUERY, /.xml?QUERY, "
          "/.xls?QUERY, /.parquet?QUERY, NAME.csv, /events, /metrics, /healthz and /readyz");
    }
    if (method == http::verb::post) {
      std::string asked =
          QuestionInBody(View(request_[http::field::content_type]), request_.body());
      if (!asked.empty()) question->query = std::move(asked);
    }
    question_ = *std::move(question);
    is_index_ = question_.query.empty();
    Ask();
  }

  // Health needs no login: it must be seen from outside even if no client can log in. Metrics need
  // a login with the right to them.
  void AnswerStatusPage() {
    if (!IsRead()) return;
    if (*status_page_ == StatusPage::kMetrics) return Ask();
    stream_.ExpiresNever();  // StatusDesk bounds the time.
    AskForStatus();
  }

  void BeginEvents() {
    if (request_.method() != http::verb::get) {
      return Refuse(http::status::method_not_allowed, "expected GET");
    }
    stream_.ExpiresNever();
    RunEventSession(sessions_, std::move(stream_), std::move(request_), peer_);
  }

  // Asking is a login here, no question.
  void AnswerFile() {
    if (IsRead()) Ask();
  }

  // Refuses a POST to a page that has no question.
  bool IsRead() {
    question_ = {.form = HttpForm::kText, .query = {}, .file = {}};
    if (request_.method() != http::verb::post) return true;
    Refuse(http::status::method_not_allowed, "expected GET or HEAD");
    return false;
  }

  void AskForStatus() {
    sessions_.status.Ask(*status_page_, [self = Self()](StatusReply reply) {
      if (!self->EndAsking()) return;
      self->Respond(reply.ok ? http::status::ok : http::status::service_unavailable,
                    std::move(reply.text));
    });
  }

  void Ask() {
    stream_.ExpiresNever();  // The process itself bounds the time of a query.
    WatchForClose();
    Credentials credentials = CredentialsOf(request_);
    if (inside_ != nullptr && inside_as_ == FormatCredentials(credentials)) return Call();
    DisconnectFromProcess();
    may_read_metrics_ = false;
    inside_as_ = FormatCredentials(credentials);
    sessions_.Open(credentials, peer_, this,
                   [self = Self()](absl::StatusOr<std::shared_ptr<Connection>> opened) {
                     if (!opened.ok()) return self->OnAnswer(opened.status());
                     self->inside_ = *std::move(opened);
                     self->Call();
                   });
  }

  void Call() {
    if (status_page_) return AskForMetrics();
    if (file_ != nullptr) {
      if (EndAsking()) Respond(http::status::ok, std::string(file_->text));
      return;
    }
    const std::string_view text = is_index_ ? "tables[]" : std::string_view(question_.query);
    inside_->Call(Value::String(text), [self = Self()](absl::StatusOr<Value> answer) {
      self->OnAnswer(std::move(answer));
    });
  }

  // The rights of a connection do not change, so the server is asked once. A process whose loop
  // hangs later is reported by StatusDesk.
  void AskForMetrics() {
    if (may_read_metrics_) return AskForStatus();
    inside_->Call(Value::Symbol(kMetricsQuestion), [self = Self()](absl::StatusOr<Value> may) {
      if (!may.ok()) return self->OnAnswer(std::move(may));
      self->may_read_metrics_ = true;
      self->AskForStatus();
    });
  }

  // Cancels the query in the process if the client leaves.
  void WatchForClose() {
    asking_ = true;
    stream_.transport().AsyncWaitReadable([self = Self()](const beast::error_code& error) {
      if (error || !self->asking_) return;
      if (!self->ClientHasClosed()) return;  // Its next request has arrived.
      self->left_ = true;
      self->DisconnectFromProcess();
    });
  }

  // The answer is there. False if the client has left.
  bool EndAsking() {
    asking_ = false;
    if (left_ || !stream_.transport().is_open()) return false;
    stream_.transport().Cancel();  // Cancels the wait for the client's end.
    return true;
  }

  void OnAnswer(absl::StatusOr<Value> answer) {
    if (!EndAsking()) return;
    if (answer.ok()) return Answer(*answer);
    const absl::Status& why = answer.status();
    // kUnknown has q's own error text, which q shows after a quote.
    const PositionedError error = SplitPosition(Message(why));
    const std::string quoted = fmt::format("'{}", error.text);
    switch (why.code()) {
      case absl::StatusCode::kUnknown:
        return Respond(error.text.starts_with("access: ") ? http::status::forbidden
                                                          : http::status::bad_request,
                       ErrorText(quoted, error.position));
      case absl::StatusCode::kPermissionDenied:
        return Respond(http::status::unauthorized, ErrorText(quoted));
      case absl::StatusCode::kResourceExhausted:
        return Respond(http::status::payload_too_large,
                       ErrorText(fmt::format("the answer has more than {} MiB; ask for less of it",
                                             sessions_.options.max_answer_bytes >> 20)));
      default:
        return Respond(http::status::service_unavailable, ErrorText(std::string(Message(why))));
    }
  }

  // True if the client has closed its side.
  bool ClientHasClosed() {
    return stream_.transport().PeerHasClosed() && !stream_.transport().HasUnread();
  }

  void Answer(const Value& answer) {
    // Checked before the work: rendering delays all other clients.
    if (ClientHasClosed()) return;
    const bool is_short = question_.form == HttpForm::kPage || question_.form == HttpForm::kGrid;
    const size_t bytes = is_short ? 0 : EncodedBytes(answer).value_or(0);
    if (!sessions_.HasRoom(0, bytes)) return RespondOverloaded();
    absl::StatusOr<std::string> text = TextOf(answer);
    if (!text.ok()) {
      return Respond(http::status::bad_request, ErrorText(std::string(Message(text.status()))));
    }
    if (!sessions_.HasRoom(0, text->size())) return RespondOverloaded();
    Respond(http::status::ok, *std::move(text));
  }

  // An error only for Parquet, which cannot have every value.
  absl::StatusOr<std::string> TextOf(const Value& answer) const {
    switch (question_.form) {
      case HttpForm::kPage:
        return is_index_ ? IndexOf(answer) : AnswerPage(question_.query, answer);
      case HttpForm::kCsv:
        return FormatCsv(answer);
      case HttpForm::kJson:
        return FormatJson(answer) + "\n";
      case HttpForm::kText:
        return FormatText(answer);
      case HttpForm::kXml:
        return FormatXml(answer);
      case HttpForm::kWorkbook:
        return FormatWorkbook(answer);
      case HttpForm::kGrid:
        return FormatGrid(answer) + "\n";
      case HttpForm::kParquet:
        return sessions_.status.FormatParquet(answer);
    }
    return std::string();
  }

  void RespondOverloaded() {
    Respond(http::status::service_unavailable,
            ErrorText("too many answers wait for slow readers; try again"));
  }

  static std::string IndexOf(const Value& answer) {
    std::vector<std::string> tables;
    if (answer.is(Type::kSymbol)) {
      for (size_t i = 0; i < answer.count(); ++i) tables.emplace_back(answer.symbols()[i]);
    }
    return IndexPage(tables);
  }

  std::string ErrorText(const std::string& what,
                        std::optional<size_t> position = std::nullopt) const {
    switch (question_.form) {
      case HttpForm::kPage:
        return ErrorPage(question_.query, what);
      case HttpForm::kJson:
      case HttpForm::kGrid:
        return fmt::format("{{\"error\":{}{}}}\n", FormatJson(Value::String(what)),
                           position ? fmt::format(",\"position\":{}", *position) : "");
      case HttpForm::kCsv:
      case HttpForm::kText:
      case HttpForm::kXml:
      case HttpForm::kWorkbook:
      case HttpForm::kParquet:
        break;
    }
    return what + "\n";
  }

  // Refuses a request before there is a question: sends plain text and closes the connection.
  void Refuse(http::status status, std::string_view why) {
    question_ = {.form = HttpForm::kText, .query = {}, .file = {}};
    request_.keep_alive(false);
    Respond(status, fmt::format("{}\n", why));
  }

  // An error is no Parquet.
  HttpForm FormOf(http::status status) const {
    const bool is_text = question_.form == HttpForm::kParquet && status != http::status::ok;
    return is_text ? HttpForm::kText : question_.form;
  }

  void Respond(http::status status, std::string text) {
    unsent_bytes_ = text.size();
    sessions_.unsent_bytes += unsent_bytes_;
    response_ = {};
    response_.result(status);
    const bool is_file = file_ != nullptr && status == http::status::ok;
    const std::string_view type = is_file        ? file_->content_type
                                  : status_page_ ? ContentTypeOf(*status_page_)
                                                 : ContentTypeOf(FormOf(status));
    response_.set(http::field::content_type, beast::string_view(type.data(), type.size()));
    if (status == http::status::unauthorized) {
      response_.set(http::field::www_authenticate, "Basic realm=\"tickstack\", charset=\"UTF-8\"");
    }
    if (status == http::status::method_not_allowed) {
      const bool is_question = file_ == nullptr && !status_page_;
      response_.set(http::field::allow, is_question ? "GET, HEAD, POST" : "GET, HEAD");
    }
    if (!question_.file.empty() && status == http::status::ok) {
      response_.set(http::field::content_disposition,
                    fmt::format("attachment; filename=\"{}\"", question_.file));
    }
    response_.body() = std::move(text);
    response_.keep_alive(request_.keep_alive());
    FinishResponse(request_, response_);
    if (is_file) {
      response_.set(kPolicyHeader,
                    beast::string_view(kPageFilePolicy.data(), kPageFilePolicy.size()));
    }
    stream_.ExpiresAfter(sessions_.TimeToTake(unsent_bytes_));
    http::async_write(stream_, response_, [self = Self()](const beast::error_code& error, size_t) {
      self->OnSentAll(error);
    });
  }

  void OnSentAll(const beast::error_code& error) {
    sessions_.unsent_bytes -= std::exchange(unsent_bytes_, 0);
    const bool ends = response_.need_eof() || !response_.keep_alive();
    response_ = {};
    if (error) return;
    if (!ends) return Read();
    stream_.transport().ShutdownSend();
    stream_.ExpiresAfter(kLinger);
    Linger(0);
  }

  // Reads and drops what the client still sends. Closing a socket with unread bytes would discard
  // what was sent last: as a rule, why its large request was refused.
  void Linger(size_t dropped) {
    buffer_.clear();
    if (dropped > kLingerBytes) return;
    stream_.async_read_some(buffer_.prepare(kHeadBytesMax),
                            [self = Self(), dropped](const beast::error_code& error, size_t bytes) {
                              if (!error) self->Linger(dropped + bytes);
                            });
  }

  HttpStream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  HttpRequest request_;
  HttpResponse response_;
  const std::string peer_;
  const bool local_;
  HttpQuestion question_;
  // The request asks for this page or file, not a question.
  std::optional<StatusPage> status_page_;
  const PageFile* file_ = nullptr;
  bool is_index_ = false;
  bool asking_ = false;
  bool left_ = false;
  size_t unsent_bytes_ = 0;
  bool may_read_metrics_ = false;  // The server has said so about inside_.
  std::string inside_as_;          // The credentials of the connection to the process.
};

}  // namespace

void RunHttpSession(HttpSessions& sessions, std::unique_ptr<Transport> transport,
                    AcceptedHttpClient client) {
  std::make_shared<HttpSession>(sessions, std::move(transport), std::move(client))->ReadFirst();
}

}  // namespace tickstack::wire
