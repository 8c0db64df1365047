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
#include <vector>

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
constexpr const char* kFetchSiteHeader = "Sec-Fetch-Site";
constexpr const char* kPolicyHeader = "Content-Security-Policy";

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

class HttpSession final : public HttpClientSession {
 public:
  HttpSession(HttpSessions& sessions, std::unique_ptr<Transport> transport,
              AcceptedHttpClient client)
      : HttpClientSession(sessions, client.peer),
        stream_(std::move(transport)),
        peer_(std::move(client.peer)),
        local_(client.local) {
    const auto room = buffer_.prepare(client.received.size());
    asio::buffer_copy(room, asio::buffer(client.received));
    buffer_.commit(client.received.size());
  }
  ~HttpSession() override {
    sessions_.unsent_bytes -= unsent_bytes_;
    sessions_.bodies_bytes -= body_bytes_;
  }

  void ReadFirst() { ReadHead(); }

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
    sessions_.MakeIdle(*this);
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
                              error ? self->OnRead(error) : self->OnHead();
                            });
  }

  // Whatever the body is, a head that is refused needs none of it.
  void OnHead() {
    request_ = {};
    request_.base() = parser_->get().base();
    question_ = {.form = HttpForm::kText, .query = {}, .file = {}};
    status_page_.reset();
    file_ = nullptr;
    const http::verb method = request_.method();
    if (method == http::verb::unknown) {
      return Refuse(http::status::not_implemented, "expected GET, HEAD or POST");
    }
    if (method != http::verb::get && method != http::verb::head && method != http::verb::post) {
      return Refuse(http::status::method_not_allowed, "expected GET, HEAD or POST");
    }
    const absl::StatusOr<HttpTarget> target = ParseTargetForm(View(request_.target()));
    if (!target.ok()) return Refuse(http::status::bad_request, Message(target.status()));
    std::vector<std::string_view> hosts;
    for (const auto& field : request_) {
      if (field.name() == http::field::host) hosts.push_back(View(field.value()));
    }
    for (const http::field name : {http::field::origin, http::field::referer,
                                   http::field::authorization, http::field::content_type}) {
      if (request_.count(name) > 1) return RefuseRepeated(View(http::to_string(name)));
    }
    if (request_.count(kFetchSiteHeader) > 1) return RefuseRepeated(kFetchSiteHeader);
    const bool must_have_host = request_.version() >= 11;
    if (const absl::Status why = CheckHosts(hosts, must_have_host, target->host); !why.ok()) {
      return Refuse(http::status::bad_request, Message(why));
    }
    const std::string_view host = !target->host.empty() ? target->host
                                  : hosts.empty()       ? std::string_view()
                                                        : hosts[0];
    const RequestOrigin origin{host, View(request_[http::field::origin]),
                               View(request_[kFetchSiteHeader]),
                               View(request_[http::field::referer])};
    std::span<const std::string> allowed_origins;
    if (beast::websocket::is_upgrade(request_)) {
      allowed_origins = sessions_.options.web_socket_origins;
    }
    if (const auto why = RefusalReason(origin, local_, sessions_.own_name, allowed_origins)) {
      return Refuse(http::status::forbidden, *why);
    }
    target_ = target->path;
    HasLargeBody() ? LogInForBody() : ReadBody();
  }

  void RefuseRepeated(std::string_view name) {
    Refuse(http::status::bad_request,
           fmt::format("no HTTP request: expected one {} header, found several", name));
  }

  size_t DeclaredBytes() const {
    const auto length = parser_->content_length();
    return parser_->chunked() || !length ? sessions_.options.max_request_bytes
                                         : static_cast<size_t>(*length);
  }
  bool HasLargeBody() const {
    return (parser_->chunked() || parser_->content_length()) &&
           DeclaredBytes() > sessions_.options.small_request_bytes;
  }

  // A stranger cannot make this process keep a large body.
  void LogInForBody() {
    stream_.ExpiresNever();  // The process bounds the time of a login.
    Credentials credentials = CredentialsOf(request_);
    if (IsLoggedInAs(credentials)) return ReadLargeBody();
    DisconnectFromProcess();
    may_read_metrics_ = false;
    inside_as_ = FormatCredentials(credentials);
    sessions_.Open(credentials, peer_, this,
                   [self = Self()](absl::StatusOr<std::shared_ptr<Connection>> opened) {
                     if (!opened.ok()) {
                       self->request_.keep_alive(false);  // Its body is not read.
                       return self->OnAnswer(opened.status());
                     }
                     self->inside_ = *std::move(opened);
                     self->ReadLargeBody();
                   });
  }

  void ReadLargeBody() {
    const size_t bytes = DeclaredBytes();
    if (sessions_.bodies_bytes + bytes > sessions_.options.max_bodies_bytes) {
      return Refuse(http::status::service_unavailable,
                    "too many large requests are being received; try again");
    }
    body_bytes_ = bytes;
    sessions_.bodies_bytes += bytes;
    sessions_.MakeWait(*this);
    ReadBody();
  }

  bool IsLoggedInAs(const Credentials& credentials) const {
    return inside_ != nullptr && inside_as_ == FormatCredentials(credentials);
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
    sessions_.bodies_bytes -= std::exchange(body_bytes_, 0);
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
    if (beast::websocket::is_upgrade(request_)) {
      stream_.ExpiresNever();
      return RunWebSocketSession(sessions_, std::move(stream_), std::move(request_), peer_);
    }
    const http::verb method = request_.method();
    status_page_ =
        sessions_.status.has_pages() ? StatusPageAt(target_) : std::optional<StatusPage>();
    if (status_page_ == StatusPage::kEvent) return BeginEvents();
    if (status_page_) return AnswerStatusPage();
    file_ = FindPageFile(sessions_.status.files(), target_);
    // A form posts its question to `/`.
    if (file_ != nullptr && file_->path == "/" && method == http::verb::post) file_ = nullptr;
    if (file_ != nullptr) return AnswerFile();
    std::optional<HttpQuestion> question = ParseTarget(target_);
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
    const bool is_public = *status_page_ != StatusPage::kReady || !sessions_.options.checks_logins;
    if (!is_public && request_.count(http::field::authorization) > 0) return Ask();
    AskForPublicStatus();
  }

  void AskForPublicStatus() {
    stream_.ExpiresNever();  // StatusDesk bounds the time.
    use_ = Use::kAsks;
    AskForStatus(/*is_public=*/true);
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

  void AskForStatus(bool is_public) {
    sessions_.status.Ask(*status_page_, [self = Self(), is_public](StatusReply reply) {
      if (!self->EndAsking()) return;
      const bool hides = is_public && self->sessions_.options.checks_logins;
      if (hides && !reply.public_text.empty()) reply.text = std::move(reply.public_text);
      self->Respond(reply.ok ? http::status::ok : http::status::service_unavailable,
                    std::move(reply.text));
    });
  }

  void Ask() {
    stream_.ExpiresNever();  // The process itself bounds the time of a query.
    WatchForClose();
    Credentials credentials = CredentialsOf(request_);
    if (IsLoggedInAs(credentials)) return Call();
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
    if (const absl::Status may = sessions_.MakeBusy(*this); !may.ok()) return OnAnswer(may);
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
    if (may_read_metrics_) return AskForStatus(/*is_public=*/false);
    inside_->Call(Value::Symbol(kMetricsQuestion), [self = Self()](absl::StatusOr<Value> may) {
      if (!may.ok()) return self->OnAnswer(std::move(may));
      self->may_read_metrics_ = true;
      self->AskForStatus(/*is_public=*/false);
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
    // Whether a process is ready may be known to those who may not read why.
    if (status_page_ == StatusPage::kReady) return AskForPublicStatus();
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
    sessions_.MakeWait(*this);
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
  std::string target_;     // The path and query of the request.
  size_t body_bytes_ = 0;  // Its part of HttpSessions::bodies_bytes.
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
