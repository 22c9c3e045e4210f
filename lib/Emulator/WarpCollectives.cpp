//===- WarpCollectives.cpp - What the lanes of a warp do together ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir::kvq::emulator;

//===----------------------------------------------------------------------===//
// Gathering
//===----------------------------------------------------------------------===//

static std::string describe(const Site &site, uint32_t mask) {
  std::string text = site.instruction;
  if (!site.location.empty())
    text += " at " + site.location;
  return text + " with mask 0x" + llvm::utohexstr(mask, /*LowerCase=*/true);
}

/// Whether two lanes may meet there.
static bool isSameOperation(const Site &site, const Site &other,
                            bool isAligned) {
  if (&site == &other)
    return true;
  return !isAligned && site.operation.handler == other.operation.handler &&
         site.operation.kind == other.operation.kind &&
         site.operation.size == other.operation.size &&
         site.operation.flag == other.operation.flag;
}

void WarpCollectives::finish(Warp &warp, Pending &pending) {
  llvm::erase(gatherings, &pending);
  pending.execute(warp, pending.gathering);
  forEachLane(pending.gathering.arrived, [&](unsigned lane) {
    warp.threads[lane]->block->resume(*warp.threads[lane]);
  });
}

void WarpCollectives::gather(Thread &thread, const Site &site, uint32_t mask,
                             Slot *results, const Slot *arguments,
                             bool isAligned, Execute execute) {
  Warp &warp = *thread.warp;
  Block &block = *thread.block;
  if (!(mask >> thread.lane & 1))
    block.fail(thread, &site,
               "divergent: lane " + llvm::Twine(thread.lane) +
                   " is not part of its own mask 0x" +
                   llvm::Twine::utohexstr(mask));
  if (uint32_t missing = mask & ~warp.all)
    block.fail(thread, &site,
               "divergent: mask 0x" + llvm::Twine::utohexstr(mask) +
                   " has lanes that the block does not have, 0x" +
                   llvm::Twine::utohexstr(missing));
  Pending *pending = nullptr;
  for (Pending *other : gatherings) {
    const Gathering &gathering = other->gathering;
    if (!(gathering.mask & mask))
      continue;
    if (gathering.mask != mask ||
        !isSameOperation(site, *gathering.site, isAligned))
      block.fail(thread, &site,
                 "divergent: lane " +
                     llvm::Twine(llvm::countr_zero(gathering.arrived)) +
                     " of the warp waits at " +
                     describe(*gathering.site, gathering.mask) +
                     ", this one is at " + describe(site, mask));
    pending = other;
  }
  // The first lane keeps it on its stack, as it waits until the end.
  Pending own;
  if (!pending) {
    own.gathering.site = &site;
    own.gathering.mask = mask;
    own.gathering.arrived = 0;
    own.execute = execute;
    pending = &own;
    gatherings.push_back(pending);
  }
  Gathering &gathering = pending->gathering;
  gathering.arrived |= 1u << thread.lane;
  gathering.results[thread.lane] = results;
  gathering.arguments[thread.lane] = arguments;
  gathering.sites[thread.lane] = &site;
  thread.waitsAt = &site;
  if (gathering.arrived == (mask & warp.live))
    finish(warp, *pending);
  else
    block.suspend(thread, ThreadState::Waiting, &site);
}

void WarpCollectives::exit(Warp &warp) {
  // What is finished is removed.
  llvm::SmallVector<Pending *, 2> waiting(gatherings.begin(), gatherings.end());
  for (Pending *pending : waiting)
    if (pending->gathering.arrived == (pending->gathering.mask & warp.live))
      finish(warp, *pending);
}

void mlir::kvq::emulator::gatherAll(Thread &thread, const Site &site,
                                    Slot *results, const Slot *arguments,
                                    WarpCollectives::Execute execute) {
  Warp &warp = *thread.warp;
  if (warp.live != ~0u)
    thread.block->fail(
        thread, &site,
        "divergent: all 32 lanes of the warp have to execute it, lanes 0x" +
            llvm::Twine::utohexstr(uint32_t(~warp.live)) +
            (warp.all == ~0u ? " have exited" : " are not in the block"));
  warp.collectives.gather(thread, site, ~0u, results, arguments,
                          /*isAligned=*/true, execute);
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

void mlir::kvq::emulator::synchronizeWarp(Thread &thread, const Site &site,
                                          Slot *results,
                                          const Slot *arguments) {
  thread.warp->collectives.gather(
      thread, site, uint32_t(arguments[0]), results, arguments,
      /*isAligned=*/false, [](Warp &warp, const Gathering &gathering) {
        llvm::SmallVector<unsigned, kWarpSize> threads;
        forEachLane(gathering.arrived, [&](unsigned lane) {
          threads.push_back(warp.threads[lane]->index);
        });
        warp.threads[0]->block->clocks.synchronize(threads);
      });
}

/// The lane that `lane` reads, and whether it is in range.
static std::pair<unsigned, bool> getSource(ShuffleKind kind, int lane, int b,
                                           int c) {
  b &= 31;
  int segment = c >> 8 & 31, clamp = c & 31;
  int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  int source;
  bool isInRange;
  switch (kind) {
  case ShuffleKind::Up:
    source = lane - b;
    isInRange = source >= last;
    break;
  case ShuffleKind::Down:
    source = lane + b;
    isInRange = source <= last;
    break;
  case ShuffleKind::Butterfly:
    source = lane ^ b;
    isInRange = source <= last;
    break;
  case ShuffleKind::Index:
    source = first | (b & ~segment);
    isInRange = source <= last;
    break;
  }
  return {isInRange ? source : lane, isInRange};
}

void mlir::kvq::emulator::shuffle(Thread &thread, const Site &site,
                                  Slot *results, const Slot *arguments) {
  thread.warp->collectives.gather(
      thread, site, uint32_t(arguments[0]), results, arguments,
      /*isAligned=*/false, [](Warp &warp, const Gathering &gathering) {
        auto kind = ShuffleKind(gathering.site->operation.kind);
        forEachLane(gathering.arrived, [&](unsigned lane) {
          const Slot *own = gathering.arguments[lane];
          auto [source, isInRange] =
              getSource(kind, lane, uint32_t(own[2]), uint32_t(own[3]));
          if (!(gathering.arrived >> source & 1)) {
            Thread &reader = *warp.threads[lane];
            reader.block->fail(reader, gathering.sites[lane],
                               "divergent: lane " + llvm::Twine(lane) +
                                   " reads lane " + llvm::Twine(source) +
                                   ", which does not take part");
          }
          gathering.results[lane][0] = gathering.arguments[source][1];
          gathering.results[lane][1] = isInRange;
        });
      });
}

void mlir::kvq::emulator::vote(Thread &thread, const Site &site, Slot *results,
                               const Slot *arguments) {
  thread.warp->collectives.gather(
      thread, site, uint32_t(arguments[0]), results, arguments,
      /*isAligned=*/false, [](Warp &warp, const Gathering &gathering) {
        uint32_t ballot = 0, all = gathering.arrived;
        forEachLane(all, [&](unsigned lane) {
          ballot |= uint32_t(gathering.arguments[lane][1] & 1) << lane;
        });
        uint32_t result;
        switch (VoteKind(gathering.site->operation.kind)) {
        case VoteKind::All:
          result = ballot == all;
          break;
        case VoteKind::Any:
          result = ballot != 0;
          break;
        case VoteKind::Uniform:
          result = ballot == all || ballot == 0;
          break;
        case VoteKind::Ballot:
          result = ballot;
          break;
        }
        forEachLane(
            all, [&](unsigned lane) { gathering.results[lane][0] = result; });
      });
}

static uint32_t combine(ReduxKind kind, uint32_t a, uint32_t b) {
  switch (kind) {
  case ReduxKind::Add:
    return a + b;
  case ReduxKind::Min:
    return std::min<int32_t>(a, b);
  case ReduxKind::Max:
    return std::max<int32_t>(a, b);
  case ReduxKind::UMin:
    return std::min(a, b);
  case ReduxKind::UMax:
    return std::max(a, b);
  case ReduxKind::And:
    return a & b;
  case ReduxKind::Or:
    return a | b;
  case ReduxKind::Xor:
    return a ^ b;
  }
  llvm_unreachable("unknown reduction");
}

/// Reduces the first arguments of all lanes with `combine`.
template <typename Combine>
static void reduceLanes(const Gathering &gathering, Combine combine) {
  bool isFirst = true;
  uint32_t result = 0;
  forEachLane(gathering.arrived, [&](unsigned lane) {
    auto value = uint32_t(gathering.arguments[lane][0]);
    result = isFirst ? value : combine(result, value);
    isFirst = false;
  });
  forEachLane(gathering.arrived,
              [&](unsigned lane) { gathering.results[lane][0] = result; });
}

void mlir::kvq::emulator::redux(Thread &thread, const Site &site, Slot *results,
                                const Slot *arguments) {
  thread.warp->collectives.gather(
      thread, site, uint32_t(arguments[1]), results, arguments,
      /*isAligned=*/false, [](Warp &warp, const Gathering &gathering) {
        auto kind = ReduxKind(gathering.site->operation.kind);
        reduceLanes(gathering, [&](uint32_t a, uint32_t b) {
          return combine(kind, a, b);
        });
      });
}

void mlir::kvq::emulator::reduxFloat(Thread &thread, const Site &site,
                                     Slot *results, const Slot *arguments) {
  thread.warp->collectives.gather(
      thread, site, uint32_t(arguments[1]), results, arguments,
      /*isAligned=*/false, [](Warp &warp, const Gathering &gathering) {
        int64_t kind = gathering.site->operation.kind;
        reduceLanes(gathering, [&](uint32_t first, uint32_t second) {
          float a = llvm::bit_cast<float>(first);
          float b = llvm::bit_cast<float>(second);
          if (kind & 2) {
            a = std::fabs(a);
            b = std::fabs(b);
          }
          float result = kind & 1 ? std::fmax(a, b) : std::fmin(a, b);
          if ((kind & 4) && (std::isnan(a) || std::isnan(b)))
            result = std::nanf("");
          return llvm::bit_cast<uint32_t>(result);
        });
      });
}

void mlir::kvq::emulator::match(Thread &thread, const Site &site, Slot *results,
                                const Slot *arguments) {
  thread.warp->collectives.gather(
      thread, site, uint32_t(arguments[0]), results, arguments,
      /*isAligned=*/false, [](Warp &warp, const Gathering &gathering) {
        uint64_t valueMask =
            gathering.site->operation.size == 8 ? ~0ull : UINT32_MAX;
        forEachLane(gathering.arrived, [&](unsigned lane) {
          uint32_t same = 0;
          forEachLane(gathering.arrived, [&](unsigned other) {
            if (!((gathering.arguments[lane][1] ^
                   gathering.arguments[other][1]) &
                  valueMask))
              same |= 1u << other;
          });
          if (!gathering.site->operation.flag) {
            gathering.results[lane][0] = same;
            return;
          }
          bool all = same == gathering.arrived;
          gathering.results[lane][0] = all ? same : 0;
          gathering.results[lane][1] = all;
        });
      });
}

void mlir::kvq::emulator::elect(Thread &thread, const Site &site, Slot *results,
                                const Slot *arguments) {
  thread.warp->collectives.gather(
      thread, site, uint32_t(arguments[0]), results, arguments,
      /*isAligned=*/false, [](Warp &warp, const Gathering &gathering) {
        unsigned leader = llvm::countr_zero(gathering.arrived);
        forEachLane(gathering.arrived, [&](unsigned lane) {
          gathering.results[lane][0] = leader;
          gathering.results[lane][1] = lane == leader;
        });
      });
}

void mlir::kvq::emulator::sleep(Thread &thread, const Site &site, Slot *results,
                                const Slot *arguments) {
  // Another block may do it, too, so it is no deadlock.
  ++thread.block->numEvents;
  thread.block->suspend(thread, ThreadState::Polling, &site);
}
