#include "bench/counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc keeps its own functions under these names.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

std::atomic<std::int64_t> live{0};
std::atomic<std::int64_t> peak{0};

void* add(void* block) {
    if (!block) return block;
    const std::int64_t now = live += static_cast<std::int64_t>(malloc_usable_size(block));
    std::int64_t most = peak.load(std::memory_order_relaxed);
    while (now > most && !peak.compare_exchange_weak(most, now)) {}
    return block;
}

void remove(void* block) {
    if (block) live -= static_cast<std::int64_t>(malloc_usable_size(block));
}

} // namespace

extern "C" {
void* malloc(std::size_t size) { return add(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) { return add(__libc_calloc(count, size)); }
void* realloc(void* block, std::size_t size) {
    remove(block);
    void* moved = __libc_realloc(block, size);
    if (!moved && size != 0) {
        add(block); // it stays where it was
        return nullptr;
    }
    return add(moved);
}
void* memalign(std::size_t alignment, std::size_t size) { return add(__libc_memalign(alignment, size)); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return add(__libc_memalign(alignment, size)); }
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
    void* made = __libc_memalign(alignment, size);
    if (!made) return ENOMEM;
    *block = add(made);
    return 0;
}
void free(void* block) {
    remove(block);
    __libc_free(block);
}
}

namespace megascope::bench {

CountedMemory counted_memory() { return {live.load(), peak.load()}; }
void restart_peak() { peak = live.load(); }

} // namespace megascope::bench
