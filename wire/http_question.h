#pragma once

// What somebody who speaks HTTP asks of a process, and whether a page of somebody else made their
// browser ask it. Plain functions over the request's texts; http_session.h has the protocol.
//
//   GET /                        what there is
//   GET /?select from trade      as a page
//   GET /.csv?select from trade  as CSV; .json, .txt, .xml, .xls too; /day.csv names the download
//   GET /trade.csv               the value of a name
//   POST /, /.csv ...            the body is the question: for long ones
//
// In a URL %xx is the byte xx and nothing else is changed, as in q: a plus adds.

#include <optional>
#include <string>
#include <string_view>

namespace tickstack::wire {

enum class HttpForm { kPage, kCsv, kJson, kText, kXml, kWorkbook };

std::string_view ContentTypeOf(HttpForm form);

struct HttpQuestion {
  HttpForm form = HttpForm::kPage;
  std::string query;  // Empty: what there is.
  std::string file;   // What a download is called, `day.csv`; empty if the path does not say.
};

// nullopt: nothing is at that path. Cost: the target's bytes.
std::optional<HttpQuestion> ParseTarget(std::string_view target);

// %xx made bytes; what is no two hexadecimal digits stays as it is.
std::string UnescapeUrl(std::string_view text);
// All but letters, digits and -._~ as %xx.
std::string EscapeUrl(std::string_view text);

// The question in a POST's body: a form's `q=...`, as text or urlencoded by its content type, or
// the body itself.
std::string QuestionInBody(std::string_view content_type, std::string_view body);

// The user and password of `Authorization: Basic ...`; nullopt for anything else.
struct BasicCredentials {
  std::string user, password;
};
std::optional<BasicCredentials> ParseBasicAuthorization(std::string_view header);

// What a browser says of who made it send a request. Empty: the header was not there.
struct RequestOrigin {
  std::string_view host;          // Host
  std::string_view origin;        // Origin
  std::string_view fetch_site;    // Sec-Fetch-Site
  std::string_view referer = {};  // Referer
};

// Why a request is refused, nullopt if it is not. A page from elsewhere must not ask: it could not
// read the answer, but `.u.upd` needs no reader. Nor may a name that its owner lets point to this
// machine (DNS rebinding), so from the machine itself the host is an address, `localhost` or
// `own_name`.
std::optional<std::string> WhyRefused(const RequestOrigin& request, bool from_this_machine,
                                      std::string_view own_name);

}  // namespace tickstack::wire
