//===- Workers.cpp - Processes that run cases -----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workers.h"

#include "llvm/Support/Compiler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace fuzz;

using Clock = std::chrono::steady_clock;

/// What attributes and types keep for ever is dropped with their context.
static constexpr unsigned kCasesOfContext = 400;

/// Far more than any case needs that is not at fault. The address sanitizer
/// takes as much for itself.
#if LLVM_ADDRESS_SANITIZER_BUILD
static constexpr rlim_t kBytesOfWorker = RLIM_INFINITY;
#else
static constexpr rlim_t kBytesOfWorker = rlim_t(6) << 30;
#endif

static int64_t getSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             Clock::now().time_since_epoch())
      .count();
}

namespace {

/// What a worker tells the process that started it, in memory that they share.
struct Progress {
  std::atomic<uint64_t> index;
  std::atomic<int64_t> begun;
  std::atomic<uint64_t> outcomes[3], known, faults;
  std::atomic<bool> isDone;
};

class Worker {
public:
  Worker(const DialectRegistry &registry,
         const std::function<Case(uint64_t)> &getCase,
         const RunOptions &options, unsigned number)
      : registry(registry), getCase(getCase), options(options),
        log(options.folder + "/worker-" + std::to_string(number) + ".log") {
    void *memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      llvm::report_fatal_error("no memory to share with a worker");
    progress = new (memory) Progress();
  }
  ~Worker() { munmap(progress, sizeof(Progress)); }

  void start(uint64_t first);
  /// Looks after the process; false once all is done.
  bool check(Summary &summary, int64_t deadline);
  void addTo(Summary &summary) const;

private:
  [[noreturn]] void loop(uint64_t first);
  void runHere(const Case &input, MLIRContext &context);
  void runAlone(const Case &input, MLIRContext &context);
  bool isKnown(StringRef said) const;
  void keep(const Case &input, StringRef kind, StringRef what) const;
  void keepCrash(Summary &summary, StringRef kind) const;

  const DialectRegistry &registry;
  const std::function<Case(uint64_t)> &getCase;
  const RunOptions &options;
  std::string log;
  Progress *progress;
  pid_t process = -1;
};

} // namespace

//===----------------------------------------------------------------------===//
// In the worker
//===----------------------------------------------------------------------===//

void Worker::start(uint64_t first) {
  llvm::outs().flush();
  progress->begun = getSeconds();
  process = fork();
  if (process < 0)
    llvm::report_fatal_error("cannot start a worker");
  if (process == 0)
    loop(first);
}

void Worker::loop(uint64_t first) {
  // Those that it starts end with it.
  setpgid(0, 0);
  int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(file, STDERR_FILENO);
  dup2(file, STDOUT_FILENO);
  llvm::sys::PrintStackTraceOnErrorSignal("kvq-fuzz");
  rlimit limit{kBytesOfWorker, kBytesOfWorker};
  setrlimit(RLIMIT_AS, &limit);
  std::unique_ptr<MLIRContext> context;
  unsigned left = 0;
  for (uint64_t index = first; !options.count || index < options.count;
       index += options.jobs) {
    if (left-- == 0) {
      context = std::make_unique<MLIRContext>(registry,
                                              MLIRContext::Threading::DISABLED);
      context->allowUnregisteredDialects();
      left = kCasesOfContext;
    }
    progress->index = index;
    progress->begun = getSeconds();
    Case input = getCase(index);
    if (input.isBytecode())
      runAlone(input, *context);
    else
      runHere(input, *context);
  }
  progress->isDone = true;
  // No destructors: they are the parent's.
  _exit(0);
}

void Worker::runHere(const Case &input, MLIRContext &context) {
  std::string fault;
  Outcome outcome = run(input, context, fault);
  if (fault.empty()) {
    ++progress->outcomes[unsigned(outcome)];
  } else if (isKnown(fault)) {
    ++progress->known;
  } else {
    ++progress->faults;
    keep(input, "fault", fault);
  }
}

/// MLIR's reader of bytecode trusts it, and may damage memory of which another
/// case would die.
void Worker::runAlone(const Case &input, MLIRContext &context) {
  pid_t reader = fork();
  if (reader == 0) {
    runHere(input, context);
    _exit(0);
  }
  int status = 1;
  waitpid(reader, &status, 0);
  if (status != 0)
    _exit(1);
}

bool Worker::isKnown(StringRef said) const {
  return llvm::any_of(options.known, [&](const std::string &known) {
    return llvm::Regex(known).match(said);
  });
}

//===----------------------------------------------------------------------===//
// In the process that started it
//===----------------------------------------------------------------------===//

void Worker::keep(const Case &input, StringRef kind, StringRef what) const {
  std::string stem =
      (options.folder + "/" + kind + "-" + Twine(uint64_t(progress->index)))
          .str();
  std::error_code error;
  llvm::raw_fd_ostream(stem + ".txt", error) << what << "\n";
  llvm::consumeError(input.save(stem));
}

void Worker::keepCrash(Summary &summary, StringRef kind) const {
  auto buffer = llvm::MemoryBuffer::getFile(log);
  StringRef said = buffer ? (*buffer)->getBuffer() : StringRef();
  Case input = getCase(progress->index);
  // Memory that the reader of bytecode has damaged may give no stack trace.
  bool isOfReader = input.isBytecode() && !said.contains("kvq::");
  if (isKnown(said) || isOfReader) {
    ++summary.known;
    return;
  }
  ++summary.faults;
  keep(input, kind, said);
  llvm::outs() << kind << " of case " << uint64_t(progress->index) << "\n";
}

bool Worker::check(Summary &summary, int64_t deadline) {
  if (process < 0)
    return false;
  int64_t now = getSeconds();
  bool isLate = deadline && now >= deadline;
  bool hangs = now - progress->begun > options.secondsOfCase;
  if (hangs) {
    // It says where it is.
    kill(-process, SIGABRT);
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  if (isLate || hangs)
    kill(-process, SIGKILL);
  int status;
  if (waitpid(process, &status, isLate || hangs ? 0 : WNOHANG) == 0)
    return true;
  process = -1;
  if (progress->isDone || (isLate && !hangs))
    return false;
  keepCrash(summary, hangs ? "hang" : "crash");
  start(progress->index + options.jobs);
  return true;
}

void Worker::addTo(Summary &summary) const {
  summary.invalid += progress->outcomes[unsigned(Outcome::Invalid)];
  summary.refused += progress->outcomes[unsigned(Outcome::Refused)];
  summary.lowered += progress->outcomes[unsigned(Outcome::Lowered)];
  summary.known += progress->known;
  summary.faults += progress->faults;
}

Summary fuzz::runCases(const DialectRegistry &registry,
                       const std::function<Case(uint64_t)> &getCase,
                       const RunOptions &options) {
  int64_t deadline = options.seconds ? getSeconds() + options.seconds : 0;
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned number = 0; number < options.jobs; ++number) {
    workers.push_back(
        std::make_unique<Worker>(registry, getCase, options, number));
    workers.back()->start(number);
  }
  Summary summary;
  bool isRunning = true;
  while (isRunning) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    isRunning = false;
    for (auto &worker : workers)
      isRunning |= worker->check(summary, deadline);
  }
  for (auto &worker : workers)
    worker->addTo(summary);
  return summary;
}
