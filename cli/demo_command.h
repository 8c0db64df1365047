#pragma once

namespace tickstack {

struct DemoOptions {
  double seconds = 30;
  double rate = 48'000;  // Updates per second.
  bool keep = false;     // Leave the data directory, and say where it is.
};

// Runs a stack in a temporary folder, on ports that the kernel chooses, with a simulated market;
// then compares what was published, logged and captured, and prints what it measured. 0; 1 if a row
// is missing or anything failed, or at Ctrl-C. Leaves nothing behind.
int RunDemo(const DemoOptions& options);

}  // namespace tickstack
