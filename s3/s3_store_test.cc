#include "s3/s3_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <string>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/partition_testing.h"
#include "s3/archive_access.h"
#include "s3/s3_credentials.h"

namespace tickstack::s3 {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(S3Credentials, ReadsAFileOfAwsTools) {
  const auto read = ParseS3Credentials(
      "# keys\n[default]\n aws_access_key_id=AKIA1 \r\naws_secret_access_key = a/b+c=d\n\n"
      "aws_session_token = t\n");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->access_key, "AKIA1");
  EXPECT_EQ(read->secret_key, "a/b+c=d");
  EXPECT_EQ(read->session_token, "t");
}

TEST(S3Credentials, ErrorsNameTheLineAndNotItsContent) {
  const absl::Status status =
      ParseS3Credentials("aws_access_key_id = a\naws_secret_acess_key = hidden\n").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("line 2"));
  EXPECT_THAT(std::string(Message(status)), Not(HasSubstr("hidden")));
  EXPECT_FALSE(ParseS3Credentials("aws_access_key_id = a\n").ok());
  EXPECT_FALSE(ParseS3Credentials("").ok());
}

TEST(S3Credentials, AFileThatOthersCanReadIsRefused) {
  const disk::TemporaryFolder folder;
  const std::string path = folder / "keys";
  disk::PutFile(path, "aws_access_key_id = a\naws_secret_access_key = b\n");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(LoadS3Credentials(path).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(LoadS3Credentials(path).ok());
}

S3Options Options() {
  S3Options options;
  options.endpoint = "http://127.0.0.1:1";  // Nobody listens there.
  options.bucket = "history";
  options.credentials = {"key", "secret", ""};
  options.attempts = 2;
  return options;
}

TEST(S3Store, RefusesOptionsThatCannotBeRight) {
  EXPECT_TRUE(OpenS3Store(Options()).ok());
  for (const char* const endpoint :
       {"", "s3.example.com", "ftp://a", "http://", "http://a/b", "http://u:p@a", "http://a?b"}) {
    S3Options options = Options();
    options.endpoint = endpoint;
    EXPECT_EQ(OpenS3Store(options).status().code(), absl::StatusCode::kInvalidArgument) << endpoint;
  }
  for (const char* const bucket : {"", "a/b", "a b", "..", "a\n"}) {
    S3Options options = Options();
    options.bucket = bucket;
    EXPECT_EQ(OpenS3Store(options).status().code(), absl::StatusCode::kInvalidArgument) << bucket;
  }
  S3Options options = Options();
  options.credentials.secret_key.clear();
  EXPECT_FALSE(OpenS3Store(options).ok());
}

TEST(S3Store, AServiceThatIsNotThereIsUnavailable) {
  const auto store = OpenS3Store(Options());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->name(), "s3://history");
  ByteBuffer bytes;
  bytes.resize(10);
  const absl::Status status = (*store)->Get("a/b", 0, bytes.span(), nullptr);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("s3://history/a/b"));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("http://127.0.0.1:1"));
  EXPECT_THAT(std::string(Message(status)), Not(HasSubstr("secret")));
  const std::atomic<bool> cancelled = true;
  EXPECT_TRUE(absl::IsCancelled((*store)->Get("a/b", 0, bytes.span(), &cancelled)));
}

TEST(ArchiveAccess, ChecksThePrefixOfKeys) {
  const disk::TemporaryFolder folder;
  const std::string path = folder / "keys";
  disk::PutFile(path, "aws_access_key_id = a\naws_secret_access_key = b\n");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ArchiveSettings settings;
  EXPECT_EQ(OpenStoreOf(settings).status().code(), absl::StatusCode::kFailedPrecondition);
  settings.store = "http://127.0.0.1:1/";
  settings.bucket = "history";
  settings.credentials = path;
  for (const char* const prefix : {"", "a", "a/b.c_d-e"}) {
    settings.prefix = prefix;
    EXPECT_TRUE(OpenStoreOf(settings).ok()) << prefix;
  }
  for (const char* const prefix : {"/a", "a/", "a//b", "..", "a/../b", "a b", "a?b", "ä"}) {
    settings.prefix = prefix;
    EXPECT_EQ(OpenStoreOf(settings).status().code(), absl::StatusCode::kInvalidArgument) << prefix;
  }
}

}  // namespace
}  // namespace tickstack::s3
