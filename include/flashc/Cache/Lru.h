//===- Lru.h - A map that forgets what was used longest ago -----*- C++ -*-===//
#ifndef FLASHC_CACHE_LRU_H
#define FLASHC_CACHE_LRU_H

#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>

namespace flashc {

/// Holds values whose weights add up to at most `limit`; a value that is
/// heavier than that is not kept. Not safe for several threads.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class Lru {
public:
  explicit Lru(uint64_t limit) : limit(limit) {}

  /// The value, which becomes the latest one used; null if there is none.
  Value *find(const Key &key) {
    auto found = places.find(key);
    if (found == places.end())
      return nullptr;
    items.splice(items.begin(), items, found->second);
    return &found->second->value;
  }

  /// Replaces the value of the key.
  void insert(const Key &key, Value value, uint64_t weight) {
    erase(key);
    if (weight > limit)
      return;
    while (total + weight > limit)
      erase(Key(items.back().key));
    items.push_front({key, std::move(value), weight});
    places[key] = items.begin();
    total += weight;
  }

  void erase(const Key &key) {
    auto found = places.find(key);
    if (found == places.end())
      return;
    total -= found->second->weight;
    items.erase(found->second);
    places.erase(found);
  }

  void clear() {
    places.clear();
    items.clear();
    total = 0;
  }

  size_t size() const { return items.size(); }
  uint64_t weight() const { return total; }

private:
  struct Item {
    Key key;
    Value value;
    uint64_t weight;
  };
  uint64_t limit, total = 0;
  std::list<Item> items; // latest first
  std::unordered_map<Key, typename std::list<Item>::iterator, Hash> places;
};

} // namespace flashc

#endif // FLASHC_CACHE_LRU_H
