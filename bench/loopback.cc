#include "bench/loopback.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "base/time.h"
#include "wire/codec.h"
#include "wire/ipc.h"

namespace tickstack::bench {
namespace {

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::exit(1);
}

void NoDelay(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Bytes of a message that suffice to know its rows: header, `upd, the table's name, the column
// names, and the first column's header and first element. The default quote schema needs 110 bytes.
constexpr size_t kHeadBytes = 160;

constexpr size_t kSymbols = 8000;
constexpr long kTlsWriteBytes = 256L << 10;

int ConnectTo(uint16_t port) {
  const int connected = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::connect(connected, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    Die("connect");
  NoDelay(connected);
  return connected;
}

// Draws symbols by Zipf's law: the k-th has 1/k of the first one's rows.
class Symbols {
 public:
  explicit Symbols(std::mt19937_64& rng) : rng_(rng) {
    std::vector<double> weights;
    for (size_t i = 0; i < kSymbols; ++i) {
      names_.push_back(SymbolOfRank(i));
      weights.push_back(1.0 / static_cast<double>(i + 1));
    }
    zipf_ = std::discrete_distribution<size_t>(weights.begin(), weights.end());
  }
  const std::string& Next() { return names_[zipf_(rng_)]; }

 private:
  std::mt19937_64& rng_;
  std::vector<std::string> names_;
  std::discrete_distribution<size_t> zipf_;
};

ByteBuffer UpdOf(const char* table, std::vector<Value> x) {
  return wire::EncodeMessage(
      wire::MessageKind::kAsync,
      Value::List({Value::Symbol(".u.upd"), Value::Symbol(table), Value::List(std::move(x))}));
}

}  // namespace

Listener::Listener() : socket(::socket(AF_INET, SOCK_STREAM, 0)), port(0) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket, 16) != 0) {
    Die("listen");
  }
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
}

Listener::~Listener() { ::close(socket); }

Peer::Peer(uint16_t port, bool handshake) : socket_(ConnectTo(port)) {
  if (handshake) LogIn(PeerLogin().user_password);
}

Peer::Peer(uint16_t port, const PeerLogin& login) : socket_(ConnectTo(port)) {
  if (login.tls) BeginTls();
  LogIn(login.user_password);
}

Peer::~Peer() { ::close(socket_); }

void Peer::BeginTls() {
  absl::StatusOr<wire::SslSession> session = wire::NewTlsClientSession("127.0.0.1");
  if (!session.ok()) Die("TLS");
  tls_ = *std::move(session);
  // The records of one Send leave in one system call, as those of the stack's own connections do.
  BIO* const gathering = BIO_new(BIO_f_buffer());
  BIO_set_write_buffer_size(gathering, kTlsWriteBytes);
  SSL_set_bio(tls_.get(), BIO_new_socket(socket_, BIO_NOCLOSE),
              BIO_push(gathering, BIO_new_socket(socket_, BIO_NOCLOSE)));
  if (SSL_connect(tls_.get()) != 1) Die("TLS: handshake");
}

void Peer::LogIn(const std::string& user_password) {
  constexpr std::string_view kCapability("\x06\0", 2);
  Send(AsBytes(user_password + std::string(kCapability)));
  std::byte capability{};
  ReceiveAll({&capability, 1});
}

void Peer::SendOverTls(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int sent = SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (sent <= 0) Die("send over TLS");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  if (BIO_flush(SSL_get_wbio(tls_.get())) != 1) Die("send over TLS");
}

void Peer::Send(std::span<const std::byte> bytes) {
  if (tls_ != nullptr) return SendOverTls(bytes);
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) Die("send");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
}

size_t Peer::Receive(std::span<std::byte> into) {
  if (tls_ != nullptr) {
    const int bytes = SSL_read(tls_.get(), into.data(), static_cast<int>(into.size()));
    if (bytes <= 0) Die("recv over TLS");
    return static_cast<size_t>(bytes);
  }
  const ssize_t got = ::recv(socket_, into.data(), into.size(), 0);
  if (got < 0) Die("recv");
  return static_cast<size_t>(got);
}

void Peer::ReceiveAll(std::span<std::byte> into) {
  while (!into.empty()) {
    const size_t got = Receive(into);
    if (got == 0) Die("recv: closed");
    into = into.subspan(got);
  }
}

Value Peer::Ask(const Value& request) {
  Send(wire::EncodeMessage(wire::MessageKind::kSync, request));
  std::byte head[wire::kHeaderBytes];
  ReceiveAll(head);
  const absl::StatusOr<wire::Header> header = wire::ParseHeader(head);
  if (!header.ok()) Die("answer: header");
  ByteBuffer body;
  body.resize(static_cast<size_t>(header->total_bytes) - wire::kHeaderBytes);
  ReceiveAll(body.span());
  absl::StatusOr<Value> answer = wire::Decode(body);
  if (!answer.ok()) Die("answer: body");
  if (answer->is_error()) {
    std::fprintf(stderr, "answer: '%s\n", std::string(answer->text()).c_str());
    std::exit(1);
  }
  return *std::move(answer);
}

Child::Child(const std::function<int()>& body) : pid_(::fork()) {
  if (pid_ < 0) Die("fork");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::_Exit(body());
}

Child::~Child() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

double Child::CpuSeconds() const {
  std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  unsigned long user = 0, system = 0;
  const size_t paren = text.rfind(')');
  if (paren == std::string::npos ||
      std::sscanf(text.c_str() + paren + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                  &user, &system) != 2) {
    return 0;
  }
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Child::ThreadTimes Child::FirstThread() const {
  const std::string pid = std::to_string(pid_);
  std::ifstream file("/proc/" + pid + "/task/" + pid + "/schedstat");
  double ran_ns = 0, waited_ns = 0;
  file >> ran_ns >> waited_ns;
  return {ran_ns / 1e9, waited_ns / 1e9};
}

size_t Child::ResidentBytes() const {
  std::ifstream statm("/proc/" + std::to_string(pid_) + "/statm");
  size_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

std::vector<ByteBuffer> QuoteUpds(size_t messages, size_t rows, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Symbols symbols(rng);
  const int64_t now_ns = SystemClock::Instance().NowNs();
  std::vector<ByteBuffer> upds;
  for (size_t m = 0; m < messages; ++m) {
    const size_t n = std::max<size_t>(rows, 1);
    std::vector<int64_t> times(n, now_ns), bid_sizes, ask_sizes;
    std::vector<double> bids, asks;
    SymbolVector syms;
    for (size_t row = 0; row < n; ++row) {
      syms.push_back(symbols.Next());
      bids.push_back(100 + static_cast<double>(rng() % 1000) / 100);
      asks.push_back(bids.back() + 0.01);
      bid_sizes.push_back(static_cast<int64_t>(100 * (1 + rng() % 9)));
      ask_sizes.push_back(static_cast<int64_t>(100 * (1 + rng() % 9)));
    }
    std::vector<Value> x;
    if (rows == 0) {
      x = {Value::Timestamp(times[0]), Value::Symbol(syms[0]),    Value::Float(bids[0]),
           Value::Float(asks[0]),      Value::Long(bid_sizes[0]), Value::Long(ask_sizes[0]),
           Value::Char('R'),           Value::Char('N')};
    } else {
      x = {Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
           Value::Symbols(std::move(syms)),
           Value::Vector(Type::kFloat, std::span<const double>(bids)),
           Value::Vector(Type::kFloat, std::span<const double>(asks)),
           Value::Vector(Type::kLong, std::span<const int64_t>(bid_sizes)),
           Value::Vector(Type::kLong, std::span<const int64_t>(ask_sizes)),
           Value::String(std::string(n, 'R')),
           Value::String(std::string(n, 'N'))};
    }
    upds.push_back(UpdOf("quote", std::move(x)));
  }
  return upds;
}

std::vector<ByteBuffer> TradeUpds(size_t messages, size_t rows, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Symbols symbols(rng);
  const std::vector<int64_t> times(rows, SystemClock::Instance().NowNs());
  std::vector<ByteBuffer> upds;
  for (size_t m = 0; m < messages; ++m) {
    std::vector<double> prices;
    std::vector<int32_t> sizes;
    SymbolVector syms;
    for (size_t row = 0; row < rows; ++row) {
      syms.push_back(symbols.Next());
      prices.push_back(100 + static_cast<double>(rng() % 1000) / 100);
      sizes.push_back(static_cast<int32_t>(100 * (1 + rng() % 9)));
    }
    const std::vector<uint8_t> stops(rows, 0);
    upds.push_back(
        UpdOf("trade",
              {Value::Vector(Type::kTimestamp, std::span(times)), Value::Symbols(std::move(syms)),
               Value::Vector(Type::kFloat, std::span<const double>(prices)),
               Value::Vector(Type::kInt, std::span<const int32_t>(sizes)),
               Value::Vector(Type::kBoolean, std::span(stops)),
               Value::String(std::string(rows, 'R')), Value::String(std::string(rows, 'N'))}));
  }
  return upds;
}

std::string SymbolOfRank(size_t rank) {
  std::string name;
  for (size_t rest = rank + 26; rest > 0; rest /= 26)
    name.push_back(static_cast<char>('A' + rest % 26));
  return name;
}

size_t OffsetOfTime(const ByteBuffer& upd) {
  // header 8, list 6, `.u.upd 8, `quote or `trade 7, list 6, then an atom's type, or a vector's
  // header.
  constexpr size_t kX = 8 + 6 + 8 + 7 + 6;
  return upd.data()[kX] == std::byte{12} ? kX + 6 : kX + 1;
}

void RowCounter::Take(std::span<const std::byte> bytes,
                      const std::function<void(size_t, int64_t)>& on_upd) {
  while (!bytes.empty()) {
    if (to_skip_ > 0) {
      const size_t skip = std::min(to_skip_, bytes.size());
      to_skip_ -= skip;
      bytes = bytes.subspan(skip);
      continue;
    }
    std::span<const std::byte> head = bytes;
    const size_t had = head_.size();
    if (had > 0 || bytes.size() < kHeadBytes) {
      head_.Append(bytes.first(std::min(bytes.size(), kHeadBytes - had)));
      head = head_.span();
    }
    const auto total = head.size() >= 8 ? LoadLittle<uint32_t>(head.data() + 4) : 0;
    if (head.size() < 8 || head.size() < std::min<size_t>(total, kHeadBytes))
      return;  // The rest has not arrived.
    // header 8, list 6, `upd 5, `table, 62 00 63, names, list 6, first column.
    size_t at = 8 + 6 + 5 + 1;
    while (head[at] != std::byte{0}) ++at;
    at += 1 + 3 + 2;
    const auto columns = LoadLittle<uint32_t>(head.data() + at);
    at += 4;
    for (uint32_t i = 0; i < columns; ++i) {
      while (head[at] != std::byte{0}) ++at;
      ++at;
    }
    at += 6 + 2;
    const auto rows = LoadLittle<uint32_t>(head.data() + at);
    if (on_upd) on_upd(rows, LoadLittle<int64_t>(head.data() + at + 4));
    rows_ += rows;
    ++messages_;
    // Includes what was gathered of the message earlier.
    const size_t taken_before = had;
    head_.clear();
    to_skip_ = total - taken_before;
  }
}

int RunBareRelay(int listener, const std::string& log_path) {
  const int log = ::open(log_path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  const int from = ::accept(listener, nullptr, nullptr);
  const int to = ::accept(listener, nullptr, nullptr);
  if (log < 0 || from < 0 || to < 0) Die("relay");
  NoDelay(from);
  NoDelay(to);
  std::vector<std::byte> block(size_t{256} << 10);
  while (true) {
    const ssize_t got = ::recv(from, block.data(), block.size(), 0);
    if (got <= 0) break;
    if (::write(log, block.data(), static_cast<size_t>(got)) != got) Die("relay: write");
    for (ssize_t at = 0; at < got;) {
      const ssize_t sent =
          ::send(to, block.data() + at, static_cast<size_t>(got - at), MSG_NOSIGNAL);
      if (sent <= 0) Die("relay: send");
      at += sent;
    }
  }
  ::close(to);
  return 0;
}

}  // namespace tickstack::bench
