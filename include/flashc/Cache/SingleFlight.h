//===- SingleFlight.h - Made once, kept a while -----------------*- C++ -*-===//
#ifndef FLASHC_CACHE_SINGLEFLIGHT_H
#define FLASHC_CACHE_SINGLEFLIGHT_H

#include "flashc/Cache/Lru.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace flashc {

/// A bounded map whose values are made when they are asked for. Threads that
/// ask for one key while it is made wait for the one that makes it; other keys
/// are not held up. Any thread may call any function at any time.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class SingleFlight {
public:
  /// Values are kept while their weights add up to at most `limit`.
  explicit SingleFlight(uint64_t limit) : kept(limit) {}

  struct Found {
    Value value;
    /// It was there, or another thread has made it.
    bool there = true;
  };

  /// The value of `key`, by `make` if nobody has it; `make` must not ask for
  /// the same key. An error goes to all threads that wait, and not to the next
  /// one that asks.
  llvm::Expected<Found> get(const Key &key,
                            llvm::function_ref<llvm::Expected<Value>()> make,
                            llvm::function_ref<uint64_t(const Value &)> weigh) {
    std::shared_ptr<Flight> flight;
    bool mine = false;
    {
      std::lock_guard guard(mutex);
      if (Value *value = kept.find(key))
        return Found{*value, true};
      std::shared_ptr<Flight> &place = flights[key];
      mine = !place;
      if (mine)
        place = std::make_shared<Flight>();
      flight = place;
    }
    if (!mine)
      return flight->wait();
    std::shared_ptr<Value> made;
    std::string error;
    if (llvm::Expected<Value> value = make())
      made = std::make_shared<Value>(std::move(*value));
    else
      error = llvm::toString(value.takeError());
    {
      std::lock_guard guard(mutex);
      if (made)
        kept.insert(key, *made, weigh(*made));
      flights.erase(key);
    }
    flight->land(made, error);
    if (!made)
      return llvm::createStringError(error);
    return Found{*made, false};
  }

  /// Forget all values.
  void clear() {
    std::lock_guard guard(mutex);
    kept.clear();
  }

private:
  /// One value that is being made.
  class Flight {
  public:
    void land(std::shared_ptr<Value> made, std::string text) {
      {
        std::lock_guard guard(mutex);
        done = true;
        value = std::move(made);
        error = std::move(text);
      }
      landed.notify_all();
    }
    llvm::Expected<Found> wait() {
      std::unique_lock lock(mutex);
      landed.wait(lock, [&] { return done; });
      if (value)
        return Found{*value, true};
      return llvm::createStringError(error);
    }

  private:
    std::mutex mutex;
    std::condition_variable landed;
    bool done = false;
    std::shared_ptr<Value> value;
    std::string error;
  };

  std::mutex mutex; // of all below
  Lru<Key, Value, Hash> kept;
  std::unordered_map<Key, std::shared_ptr<Flight>, Hash> flights;
};

} // namespace flashc

#endif // FLASHC_CACHE_SINGLEFLIGHT_H
