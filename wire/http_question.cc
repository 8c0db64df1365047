#include "wire/http_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <cstdint>

#include "base/status.h"

namespace tickstack::wire {
namespace {

struct Suffix {
  std::string_view text;
  HttpForm form;
  std::string_view content_type;
};
constexpr std::array kSuffixes = {
    Suffix{"", HttpForm::kPage, "text/html; charset=utf-8"},
    Suffix{".csv", HttpForm::kCsv, "text/csv; charset=utf-8"},
    Suffix{".json", HttpForm::kJson, "application/json"},
    Suffix{".txt", HttpForm::kText, "text/plain; charset=utf-8"},
    Suffix{".xml", HttpForm::kXml, "text/xml; charset=utf-8"},
    Suffix{".xls", HttpForm::kWorkbook, "application/vnd.ms-excel"},
    Suffix{".grid", HttpForm::kGrid, "application/json"},
    Suffix{".parquet", HttpForm::kParquet, "application/vnd.apache.parquet"},
};

bool IsAlnumChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// True for a name of a download or a value that is safe in a header and in q.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return IsAlnumChar(c) || c == '_' || c == '.' || c == '-';
  });
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// Returns the name of `name:port`, `[::1]:port`, or either without a port.
std::string_view NameOfHost(std::string_view host) {
  if (!host.starts_with('[')) return host.substr(0, host.find(':'));
  const size_t end = host.find(']');
  const bool whole =
      end != std::string_view::npos && (end + 1 == host.size() || host[end + 1] == ':');
  return whole ? host.substr(1, end - 1) : host;
}

bool IsOfThisMachine(std::string_view name, std::string_view own_name) {
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(name), error);
  if (!error) return true;  // An address cannot be pointed elsewhere.
  if (name.ends_with('.')) name.remove_suffix(1);
  // The whole name must match: the owner of `vm.evil.example` can point it anywhere.
  return EqualsIgnoringCase(name, "localhost") || EqualsIgnoringCase(name, own_name);
}

std::string UnescapeForm(std::string_view text) {
  std::string blanks(text);
  std::replace(blanks.begin(), blanks.end(), '+', ' ');
  return UnescapeUrl(blanks);
}

}  // namespace

std::string_view ContentTypeOf(HttpForm form) {
  return std::find_if(kSuffixes.begin(), kSuffixes.end(),
                      [form](const Suffix& suffix) { return suffix.form == form; })
      ->content_type;
}

std::optional<HttpQuestion> ParseTarget(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  const std::string path = UnescapeUrl(target.substr(0, mark));
  if (!path.starts_with('/')) return std::nullopt;
  const std::string_view name = std::string_view(path).substr(1);
  HttpQuestion question;
  if (mark != std::string_view::npos) question.query = UnescapeUrl(target.substr(mark + 1));
  if (name.empty()) return question;
  // The longest suffix wins; the empty one matches only the path `/`.
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text.empty() || !name.ends_with(suffix.text)) continue;
    const std::string_view stem = name.substr(0, name.size() - suffix.text.size());
    if (!stem.empty() && !IsPlainName(stem)) return std::nullopt;
    question.form = suffix.form;
    if (!stem.empty()) question.file = name;
    if (mark == std::string_view::npos) question.query = stem;
    return question;
  }
  return std::nullopt;
}

std::string UnescapeUrl(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low < 0) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

std::string EscapeUrl(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (IsAlnumChar(c) || std::string_view("-._~").find(c) != std::string_view::npos) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

std::string QuestionInBody(std::string_view content_type, std::string_view body) {
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; "));
  const bool named = body.starts_with("q=");
  if (named && EqualsIgnoringCase(type, "application/x-www-form-urlencoded")) {
    return UnescapeForm(body.substr(2, body.find('&') - 2));
  }
  // A text form adds a line end.
  if (named && EqualsIgnoringCase(type, "text/plain")) {
    body.remove_prefix(2);
    if (body.ends_with("\r\n")) body.remove_suffix(2);
  }
  return std::string(body);
}

namespace {

// Returns what follows the name of an authorization scheme; nullopt for another scheme.
std::optional<std::string_view> AfterScheme(std::string_view header, std::string_view scheme) {
  const bool is_scheme = header.size() > scheme.size() && header[scheme.size()] == ' ' &&
                         EqualsIgnoringCase(header.substr(0, scheme.size()), scheme);
  return is_scheme ? std::optional(header.substr(scheme.size() + 1)) : std::nullopt;
}

std::optional<HttpCredentials> ParseBearer(std::string_view token) {
  const size_t dot = token.rfind('.');
  if (dot == std::string_view::npos || token.find('\0') != std::string_view::npos ||
      token.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  return HttpCredentials{std::string(token.substr(0, dot)), std::string(token.substr(dot + 1))};
}

std::optional<HttpCredentials> ParseBasic(std::string_view encoded) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : encoded) {
    if (c == '=') break;
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if ((count += 6) < 8) continue;
    count -= 8;
    text += static_cast<char>(bits >> count & 0xff);
  }
  const size_t colon = text.find(':');
  if (colon == std::string::npos || text.find('\0') != std::string::npos) return std::nullopt;
  return HttpCredentials{text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

std::optional<HttpCredentials> ParseAuthorization(std::string_view header) {
  if (const auto token = AfterScheme(header, "bearer")) return ParseBearer(*token);
  if (const auto encoded = AfterScheme(header, "basic")) return ParseBasic(*encoded);
  return std::nullopt;
}

std::optional<std::string> RefusalReason(const RequestOrigin& request, bool from_this_machine,
                                         std::string_view own_name,
                                         std::span<const std::string> allowed_origins) {
  if (from_this_machine && !request.host.empty() &&
      !IsOfThisMachine(NameOfHost(request.host), own_name)) {
    return fmt::format("the host {} is no name of this machine",
                       EscapeUrl(request.host.substr(0, 100)));
  }
  // Before the check of Sec-Fetch-Site, which is cross-site for these pages, too.
  if (std::ranges::find(allowed_origins, request.origin) != allowed_origins.end()) {
    return std::nullopt;
  }
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin" &&
      request.fetch_site != "none") {
    return "a page from elsewhere made the browser ask; open the address itself";
  }
  // The page's origin, or for browsers that do not send it, the referring page.
  for (const std::string_view from : {request.origin, request.referer}) {
    if (from.empty()) continue;
    const size_t scheme = from.find("://");
    const std::string_view rest =
        scheme == std::string_view::npos ? std::string_view() : from.substr(scheme + 3);
    const std::string_view host = rest.substr(0, rest.find('/'));
    if (!host.empty() && EqualsIgnoringCase(host, request.host)) continue;
    return "a page from elsewhere made the browser ask";
  }
  return std::nullopt;
}

absl::StatusOr<HttpTarget> ParseTargetForm(std::string_view target) {
  if (target.starts_with('/')) return HttpTarget{.host = {}, .path = target};
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!EqualsIgnoringCase(target.substr(0, scheme.size()), scheme)) continue;
    const std::string_view rest = target.substr(scheme.size());
    const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
    if (host.empty()) break;
    const std::string_view path = rest.substr(host.size());
    if (path.empty()) return HttpTarget{.host = host, .path = "/"};
    if (path.front() != '/') break;
    return HttpTarget{.host = host, .path = path};
  }
  return InvalidArgument(
      "no HTTP request: expected a path or http://HOST/PATH, found the target {}",
      EscapeUrl(target.substr(0, 100)));
}

absl::Status CheckHosts(std::span<const std::string_view> hosts, bool must_exist,
                        std::string_view host_of_target) {
  if (hosts.size() > 1) {
    return InvalidArgument("no HTTP request: expected one Host header, found {}", hosts.size());
  }
  if (hosts.empty()) {
    if (!must_exist) return absl::OkStatus();
    return InvalidArgument("no HTTP request: expected a Host header, found none");
  }
  const bool is_host = std::ranges::all_of(hosts[0], [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~%:[]").find(c) != std::string_view::npos;
  });
  if (!is_host) {
    return InvalidArgument(
        "no HTTP request: expected a name or address in the Host header, found {}",
        EscapeUrl(hosts[0].substr(0, 100)));
  }
  if (!host_of_target.empty() && !EqualsIgnoringCase(host_of_target, hosts[0])) {
    return InvalidArgument("no HTTP request: the target has the host {}, the Host header {}",
                           EscapeUrl(host_of_target.substr(0, 100)),
                           EscapeUrl(hosts[0].substr(0, 100)));
  }
  return absl::OkStatus();
}

absl::Status CheckOrigin(std::string_view origin) {
  constexpr std::string_view kHttp = "http://", kHttps = "https://";
  const auto wrong = [&](std::string_view why) {
    return InvalidArgument(
        "expected an origin as browsers send it, such as https://grafana.example or "
        "http://localhost:3000, found \"{}\": {}",
        origin, why);
  };
  const std::string_view scheme = origin.starts_with(kHttps) ? kHttps : kHttp;
  if (!origin.starts_with(scheme)) return wrong("it begins with neither https:// nor http://");
  const std::string_view host = origin.substr(scheme.size());
  if (host.empty() || host.front() == ':') return wrong("it has no host");
  for (const char c : host) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._:[]").find(c) != std::string_view::npos;
    if (c == '/') return wrong("it has a path");
    if (c >= 'A' && c <= 'Z') return wrong("it has capital letters");
    if (!plain) return wrong("it has a character that no host has");
  }
  if (host.ends_with(scheme == kHttps ? ":443" : ":80")) {
    return wrong("browsers leave out the port that is the scheme's own");
  }
  return absl::OkStatus();
}

}  // namespace tickstack::wire
