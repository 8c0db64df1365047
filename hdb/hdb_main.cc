#include "hdb/hdb_main.h"

#include <memory>

#include "base/file.h"
#include "base/heap_trimmer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "disk/decompressed_image.h"
#include "hdb/hdb.h"
#include "hdb/hdb_environment.h"
#include "hdb/hdb_metrics.h"
#include "serve/query_service.h"
#include "wire/event_loop.h"
#include "wire/heartbeat.h"

namespace tickstack::hdb {
namespace {

absl::Status Run(HdbMainOptions options) {
  if (options.cache_bytes > 0) disk::DecompressedCache::Instance().SetMaxBytes(options.cache_bytes);
  s3::ArchiveAccess archive;  // Destroyed after the threads of queries.
  TS_RETURN_IF_ERROR(Annotate(archive.Begin(options.archive), "hdb.tiers"));
  if (archive.store() != nullptr) {
    LogInfo("object store of archived tables name={} endpoint={} cache_bytes={}",
            archive.store()->name(), options.archive.store, options.archive.cache_bytes);
  }
  Hdb hdb(options.database);
  // Goes on without a database, so that nobody gets answers that miss days. A later reload finds
  // what was missing, for example a segment that was not mounted yet.
  if (const absl::Status loaded = hdb.Reload(); !loaded.ok()) {
    if (FileExists(options.database).value_or(true)) {
      LogError("database not loaded root={} error=\"{}\"", options.database, Message(loaded));
    } else {
      // There is no directory before the first day ends, or if the path is mistyped.
      LogInfo("no database yet, there is no such directory root={}", options.database);
    }
  }
  HdbEnvironment environment(&hdb, &SystemClock::Instance());
  environment.facts().SetLimits(options);
  wire::EventLoop loop;
  bool stop = false;
  loop.OnStopSignal([&](int) { stop = true; });
  serve::ProcessStatus status(StatusOf(options, environment));
  serve::QueryServiceOptions service_options = serve::ServiceOptionsOf(options, options.listener);
  service_options.status = &status;
  TS_ASSIGN_OR_RETURN(
      const std::unique_ptr<serve::QueryService> service,
      serve::QueryService::Start(service_options, &environment, &environment.queries()));
  environment.facts().SetPort(service->port());
  LogInfo("hdb up port={} database={} query_threads={}", service->port(), options.database,
          options.query_threads);
  const wire::Heartbeat heartbeat(loop, options.listener);
  loop.RunUntil([&] { return stop; }, false);
  LogInfo("hdb down queries={}", environment.queries().queries.load());
  return absl::OkStatus();
}

}  // namespace

int RunHdb(const HdbMainOptions& options) {
  InitLogging(options.name);
  const HeapTrimmer trimmer;
  const absl::Status status = Run(options);
  if (!status.ok()) LogError("hdb ends error=\"{}\"", Message(status));
  return status.ok() ? 0 : 1;
}

}  // namespace tickstack::hdb
