#pragma once

#include <functional>

#include <pthread.h>

namespace megascope::test {

/// Runs `work` on a thread with a stack of that many bytes: what recurses as deep as a graph ends the program.
inline void on_a_small_stack(std::size_t bytes, std::function<void()> work) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_t thread;
    const auto run = [](void* w) -> void* {
        (*static_cast<std::function<void()>*>(w))();
        return nullptr;
    };
    if (pthread_create(&thread, &attributes, run, &work) == 0) pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

} // namespace megascope::test
