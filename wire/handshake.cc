#include "wire/handshake.h"

#include <string.h>  // explicit_bzero

#include <array>
#include <boost/asio/error.hpp>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/byte_buffer.h"
#include "wire/foreign_protocol.h"
#include "wire/whole_message.h"

namespace tickstack::wire {
namespace {

constexpr size_t kRefusalBytesMax = 4096;

// Returns the text of the response in `received`; nullopt while it is incomplete.
std::optional<std::string> RefusalText(std::span<const std::byte> received) {
  if (received.size() < kHeaderBytes) return std::nullopt;
  const absl::StatusOr<Header> header = ParseHeader(received.first<kHeaderBytes>());
  if (!header.ok() || header->compressed || header->total_bytes > kRefusalBytesMax) return "";
  if (received.size() < header->total_bytes) return std::nullopt;
  const absl::StatusOr<Value> error = DecodeMessage(received.first(header->total_bytes));
  return error.ok() && error->is_error() ? std::string(error->text()) : "";
}

// Sends the credentials and reads the answer; its own callbacks keep it alive.
class LoginAttempt : public std::enable_shared_from_this<LoginAttempt> {
 public:
  LoginAttempt(std::shared_ptr<Transport> transport, std::string credentials, LoggedIn done)
      : transport_(std::move(transport)),
        credentials_(std::move(credentials)),
        done_(std::move(done)) {}
  ~LoginAttempt() { Wipe(credentials_); }
  LoginAttempt(const LoginAttempt&) = delete;
  LoginAttempt& operator=(const LoginAttempt&) = delete;

  // The credentials fit into a stream that has just been connected, as a rule.
  void Send() {
    transport_->AsyncWaitWritable([self = shared_from_this()](Transport::ErrorCode error) {
      if (!error) {
        const std::span<const std::byte> unsent =
            std::as_bytes(std::span(self->credentials_)).subspan(self->sent_);
        self->sent_ += self->transport_->TryWrite({&unsent, 1}, error);
      }
      if (error && error != boost::asio::error::would_block) return self->done_(error, 0, "");
      self->sent_ < self->credentials_.size() ? self->Send() : self->ReadCapability();
    });
  }

 private:
  void ReadCapability() {
    transport_->AsyncRead(capability_,
                          [self = shared_from_this()](const Transport::ErrorCode& error, size_t) {
                            const auto byte = std::to_integer<uint8_t>(self->capability_[0]);
                            if (!error && byte == kRefusedByte) return self->ReadRefusal();
                            self->done_(error, byte, "");
                          });
  }

  void ReadRefusal() {
    refusal_.resize(kRefusalBytesMax);
    transport_->AsyncRead(
        refusal_.span().subspan(refused_),
        [self = shared_from_this()](const Transport::ErrorCode& error, size_t bytes) {
          self->refused_ += error ? 0 : bytes;
          const std::optional<std::string> text =
              RefusalText(self->refusal_.span().first(self->refused_));
          if (!text && !error && self->refused_ < kRefusalBytesMax) return self->ReadRefusal();
          self->done_(boost::asio::error::connection_refused, 0, text.value_or(""));
        });
  }

  const std::shared_ptr<Transport> transport_;
  std::string credentials_;
  size_t sent_ = 0;
  std::array<std::byte, 1> capability_{};
  ByteBuffer refusal_;
  size_t refused_ = 0;  // Bytes of refusal_ that have arrived.
  LoggedIn done_;
};

}  // namespace

void Wipe(std::string& text) {
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}

Credentials ParseCredentials(std::string_view text) {
  Credentials credentials;
  // Capabilities are 1 to 6; names and passwords are text. A control character at the end is the
  // capability.
  if (!text.empty() && static_cast<unsigned char>(text.back()) < ' ') {
    credentials.capability = static_cast<uint8_t>(text.back());
    text.remove_suffix(1);
  }
  const size_t colon = text.find(':');
  credentials.user = text.substr(0, colon);
  if (colon != std::string_view::npos) credentials.password = text.substr(colon + 1);
  return credentials;
}

std::string FormatCredentials(const Credentials& credentials) {
  std::string text = credentials.user + ":" + credentials.password;
  text.push_back(static_cast<char>(credentials.capability));
  text.push_back('\0');
  return text;
}

void LogIn(std::shared_ptr<Transport> transport, const Credentials& credentials, LoggedIn done) {
  std::make_shared<LoginAttempt>(std::move(transport), FormatCredentials(credentials),
                                 std::move(done))
      ->Send();
}

}  // namespace tickstack::wire
