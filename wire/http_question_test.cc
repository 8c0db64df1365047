#include "wire/http_question.h"

#include <gtest/gtest.h>

#include "base/status.h"
#include "wire/foreign_protocol.h"

namespace tickstack::wire {
namespace {

std::string QueryOf(std::string_view target) {
  const std::optional<HttpQuestion> question = ParseTarget(target);
  return question ? question->query : "no such page";
}

TEST(HttpQuestion, IsWhatStandsBehindTheMark) {
  EXPECT_EQ(QueryOf("/"), "");
  EXPECT_EQ(QueryOf("/?"), "");
  EXPECT_EQ(QueryOf("/?1+1"), "1+1") << "a plus adds";
  EXPECT_EQ(QueryOf("/?select%20from%20trade%20where%20sym=%60IBM"),
            "select from trade where sym=`IBM");
  EXPECT_EQ(QueryOf("/?count%20t?x#there"), "count t?x") << "the first mark is the one";
  EXPECT_EQ(ParseTarget("/?1")->form, HttpForm::kPage);
}

TEST(HttpQuestion, HasTheFormOfItsPath) {
  EXPECT_EQ(ParseTarget("/.csv?1")->form, HttpForm::kCsv);
  EXPECT_EQ(ParseTarget("/.json?1")->form, HttpForm::kJson);
  EXPECT_EQ(ParseTarget("/.xml?1")->form, HttpForm::kXml);
  EXPECT_EQ(ParseTarget("/day.xls?1")->form, HttpForm::kWorkbook);
  EXPECT_EQ(ParseTarget("/.txt?1")->form, HttpForm::kText);
  EXPECT_EQ(ParseTarget("/.grid?1")->form, HttpForm::kGrid);
  EXPECT_EQ(ParseTarget("/trade.parquet?1")->form, HttpForm::kParquet);
  EXPECT_EQ(ParseTarget("/.csv?1")->file, "");
  EXPECT_EQ(ParseTarget("/day-1.csv?1")->file, "day-1.csv");
  EXPECT_EQ(QueryOf("/day.csv?1"), "1");
  EXPECT_EQ(QueryOf("/trade.csv"), "trade") << "the value of a name";
  EXPECT_EQ(QueryOf("/.u.i.json"), ".u.i");
}

TEST(HttpQuestion, OfAnUnknownPathIsNone) {
  for (const char* target : {"", "?1", "*", "/favicon.ico", "/trade", "/a/b.csv", "/%2e%2e/x.csv",
                             "/a%0d%0ab.csv?1", "/a%22b.csv?1", "/x.pdf?1", "http://host/?1"}) {
    EXPECT_EQ(QueryOf(target), "no such page") << target;
  }
}

TEST(HttpQuestion, EscapesAreBytes) {
  EXPECT_EQ(UnescapeUrl("%41%6a%zz%4"), "Aj%zz%4");
  EXPECT_EQ(UnescapeUrl("%00").size(), 1u);
  EXPECT_EQ(EscapeUrl("a b&\"\xc3\xa9+"), "a%20b%26%22%C3%A9%2B");
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(UnescapeUrl(EscapeUrl(all)), all);
}

TEST(HttpQuestion, StandsInABodyAsAFormSendsIt) {
  EXPECT_EQ(QuestionInBody("text/plain", "q=1+1 \r\nmore\r\n"), "1+1 \r\nmore");
  EXPECT_EQ(QuestionInBody("application/x-www-form-urlencoded", "q=1%2B1+%2B+x&y=2"), "1+1 + x");
  EXPECT_EQ(QuestionInBody("application/octet-stream", "q=1"), "q=1") << "a statement of q";
  EXPECT_EQ(QuestionInBody("", "count trade"), "count trade");
}

TEST(HttpQuestion, CredentialsAreBase64) {
  const std::optional<HttpCredentials> found = ParseAuthorization("Basic dXNlcjpwYTpzcw==");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->user, "user");
  EXPECT_EQ(found->password, "pa:ss");
  EXPECT_TRUE(ParseAuthorization("basic dTo=").has_value());
  for (const char* wrong :
       {"", "Basic", "Basic ", "Bearer dXNlcjpw", "Basic dXNlcg==", "Basic ?", "Basic AHU6cA=="}) {
    EXPECT_FALSE(ParseAuthorization(wrong).has_value()) << wrong;
  }
}

TEST(HttpQuestion, ABearerTokenEndsWithItsPassword) {
  const std::optional<HttpCredentials> found = ParseAuthorization("bearer first.last.Se-cret_");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->user, "first.last");
  EXPECT_EQ(found->password, "Se-cret_");
  EXPECT_FALSE(ParseAuthorization("Bearer a:b.c").has_value()) << "another user over IPC";
}

std::string Why(const RequestOrigin& request, bool local = true) {
  return RefusalReason(request, local, "tick1", {}).value_or("");
}

TEST(HttpOrigin, PagesFromElsewhereMayNotAsk) {
  const auto refused = [](std::string_view origin, std::string_view site) {
    return !Why({"localhost:5010", origin, site}).empty();
  };
  EXPECT_FALSE(refused("", "")) << "curl";
  EXPECT_FALSE(refused("", "none")) << "typed into the address bar";
  EXPECT_FALSE(refused("http://localhost:5010", "same-origin"));
  EXPECT_FALSE(refused("https://localhost:5010", ""));
  EXPECT_TRUE(refused("", "cross-site")) << "a link or a picture of another page";
  EXPECT_TRUE(refused("", "same-site")) << "another port";
  EXPECT_TRUE(refused("http://localhost:3000", ""));
  EXPECT_TRUE(refused("http://evil.example", ""));
  EXPECT_TRUE(refused("null", ""));
  EXPECT_NE(Why({"", "http://", ""}), "");
  EXPECT_NE(Why({"localhost:5010", "", "", "http://evil.example/localhost:5010"}), "");
  EXPECT_EQ(Why({"localhost:5010", "", "", "http://localhost:5010/?1"}), "");
}

TEST(HttpOrigin, PagesOfAllowedOriginsMayAsk) {
  const std::vector<std::string> allowed = {"https://grafana.example", "http://localhost:3000"};
  const auto refused = [&](std::string_view host, std::string_view origin) {
    return RefusalReason({host, origin, "cross-site"}, true, "tick1", allowed).has_value();
  };
  EXPECT_FALSE(refused("localhost:5010", "https://grafana.example"));
  EXPECT_FALSE(refused("localhost:5010", "http://localhost:3000"));
  for (const char* other : {"", "null", "http://grafana.example", "https://grafana.example:444",
                            "https://grafana.example.evil.example", "https://Grafana.example",
                            "https://grafana.example/", "https://evil.example"}) {
    EXPECT_TRUE(refused("localhost:5010", other)) << other;
  }
  EXPECT_TRUE(refused("evil.example", "https://grafana.example")) << "a name that points here";
}

TEST(HttpOrigin, IsWrittenAsBrowsersSendIt) {
  for (const char* origin : {"https://grafana.example", "http://localhost:3000",
                             "http://[::1]:3000", "https://10.0.0.1:80", "http://x:443"}) {
    EXPECT_TRUE(CheckOrigin(origin).ok()) << origin;
  }
  for (const char* wrong : {"", "*", "null", "grafana.example", "https://", "https://:3000",
                            "https://grafana.example/", "https://Grafana.example",
                            "https://grafana.example:443", "http://x:80", "ws://x", "http://a b"}) {
    EXPECT_FALSE(CheckOrigin(wrong).ok()) << wrong;
  }
  EXPECT_EQ(Message(CheckOrigin("https://x/")),
            "expected an origin as browsers send it, such as https://grafana.example or "
            "http://localhost:3000, found \"https://x/\": it has a path");
}

TEST(HttpOrigin, NamesThatPointHereForAWhileAreRefused) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:5010", "[::1]:5010", "localhost", "LOCALHOST:1",
                           "localhost.:1", "tick1:5010", "Tick1", ""}) {
    EXPECT_EQ(Why({host, "", ""}), "") << host;
  }
  for (const char* host :
       {"evil.example", "evil.example:5010", "localhost.evil.example", "127.0.0.1.evil.example",
        "tick10", "tick1.evil.example", "[::1].evil.example", "[::1", "[", "]"}) {
    EXPECT_NE(Why({host, "", ""}), "") << host;
    EXPECT_EQ(Why({host, "", ""}, false), "") << "from elsewhere, any name may be ours";
  }
}

TEST(LooksLikeHttp, TellsARequestFromTheHandshakeOfKdb) {
  EXPECT_TRUE(LooksLikeHttp("GET / HTTP/1.1\r\n"));
  EXPECT_TRUE(LooksLikeHttp("POST /.csv"));
  for (const std::string_view text :
       {"", "GET", "GET ", "get /", "user:pw\x03", "GETS /", "GET:x"}) {
    EXPECT_FALSE(LooksLikeHttp(text)) << text;
  }
}

}  // namespace
}  // namespace tickstack::wire
