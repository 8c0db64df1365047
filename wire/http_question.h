#pragma once

// What an HTTP request asks of a process, and whether a page of another site sent it. Functions
// over the texts of a request; http_session.cc has the protocol.
//
//   GET /?select from trade      the answer as a page
//   GET /.csv?select from trade  as CSV; /day.csv names the download; also .json .txt .xml .xls,
//                                .parquet, and .grid for the console (table/format_value.h)
//   GET /trade.csv               the value of a name
//   POST /, /.csv ...            the body is the question, for long ones
//
// In a URL %xx is the byte xx and nothing else is changed, as in q: a plus adds.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::wire {

enum class HttpForm { kPage, kCsv, kJson, kText, kXml, kWorkbook, kGrid, kParquet };

std::string_view ContentTypeOf(HttpForm form);

struct HttpQuestion {
  HttpForm form = HttpForm::kPage;
  std::string query;  // Empty: the page that lists the tables.
  std::string file;   // Name of the download, such as `day.csv`; empty if the path has none.
};

// Returns the question of a request target; nullopt if nothing is at that path.
std::optional<HttpQuestion> ParseTarget(std::string_view target);

// Replaces %xx by bytes. A percent sign without two hexadecimal digits stays as it is.
std::string UnescapeUrl(std::string_view text);
// Writes all characters except letters, digits and -._~ as %xx.
std::string EscapeUrl(std::string_view text);

// Returns the question in the body of a POST: the value of a form's `q=...`, decoded by its content
// type, or the body itself.
std::string QuestionInBody(std::string_view content_type, std::string_view body);

// Returns the user and password of `Authorization: Basic ...`, or of `Authorization: Bearer
// USER.PASSWORD`, where the password has no dot; nullopt for other headers.
struct HttpCredentials {
  std::string user, password;
};
std::optional<HttpCredentials> ParseAuthorization(std::string_view header);

// The headers that tell which page made a browser send a request. Empty: the header is missing.
struct RequestOrigin {
  std::string_view host;          // Host
  std::string_view origin;        // Origin
  std::string_view fetch_site;    // Sec-Fetch-Site
  std::string_view referer = {};  // Referer
};

// Returns the reason to refuse a request, or nullopt. A page of another site must not send queries:
// it could not read the answer, but a `.u.upd` would have its effect nevertheless. Pages of
// `allowed_origins` may; an origin is compared byte by byte. From the machine itself, the host must
// be an address, `localhost` or `own_name`, because anyone can let a name of their own point to
// this machine (DNS rebinding).
std::optional<std::string> RefusalReason(const RequestOrigin& request, bool from_this_machine,
                                         std::string_view own_name,
                                         std::span<const std::string> allowed_origins);

// The target of a request, as RFC 9112 has it.
struct HttpTarget {
  std::string_view host;  // That of an absolute form, `http://HOST/PATH`; empty for another one.
  std::string_view path;  // With its query; `/` if an absolute form has none.
};
// kInvalidArgument unless the target is a path or an absolute form.
absl::StatusOr<HttpTarget> ParseTargetForm(std::string_view target);

// Returns OK if `hosts`, the values of all Host headers of a request, are one name or address with
// or without a port. A request of HTTP/1.0 may have none, and one in absolute form must have the
// host of its target. Otherwise kInvalidArgument: proxies and this server could disagree about
// which site the request is for.
absl::Status CheckHosts(std::span<const std::string_view> hosts, bool must_exist,
                        std::string_view host_of_target);

// kInvalidArgument unless `origin` is written as browsers send it: `https://name` or
// `http://name:port`, in lower case, without a path and without the scheme's own port.
absl::Status CheckOrigin(std::string_view origin);

}  // namespace tickstack::wire
