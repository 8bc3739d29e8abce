#include "base/cut_off_guard.h"

#include <atomic>
#include <csignal>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace megascope {

namespace {

std::atomic<bool> cut_off{false};
std::uintptr_t page_size = 4096;

/// Only what may be called in a signal handler: mmap is a bare system call.
void replace_page(int signal, siginfo_t* info, void*) {
    if (info->si_code == BUS_ADRERR && info->si_addr) {
        const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(info->si_addr) & ~(page_size - 1);
        if (::mmap(reinterpret_cast<void*>(page), page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) { // NOLINT(performance-no-int-to-ptr)
            cut_off.store(true, std::memory_order_relaxed);
            return;
        }
    }
    // Something else: end as without a handler.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

} // namespace

void guard_against_cut_off_files() {
    page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = replace_page;
    action.sa_flags = SA_SIGINFO;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, nullptr);
}

bool pages_were_cut_off() { return cut_off.load(std::memory_order_relaxed); }

} // namespace megascope
