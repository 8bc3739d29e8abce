// Drives a fuzz entry point without a fuzzer: every file of the given folders as it is, then a bounded number of mutations of
// them. The random numbers have a fixed seed, so a failure happens again. An input that ends the program, or that takes longer
// than anything may take, is left in fuzz-failed.bin. Usage: fuzz_NAME [--mutations=N] FOLDER_OR_FILE...

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uintmax_t largest_seed = 64 * 1024;
constexpr unsigned most_seconds = 30; // for one input; sanitizers and busy machines included
constexpr rlim_t most_memory = rlim_t{4} << 30U;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_can_be_limited = false; // their shadow memory counts as well
#else
constexpr bool memory_can_be_limited = true;
#endif

Bytes load(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const Bytes* running = nullptr;

extern "C" void keep_input(int signal) {
    const int file = ::open("fuzz-failed.bin", O_CREAT | O_TRUNC | O_WRONLY, 0644);
    if (file >= 0 && ::write(file, running->data(), running->size()) >= 0) ::close(file);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void run(const Bytes& input) {
    running = &input;
    ::alarm(most_seconds);
    LLVMFuzzerTestOneInput(input.data(), input.size());
}

Bytes mutated(Bytes bytes, std::mt19937& random) {
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
        const std::size_t at = below(bytes.size());
        switch (below(6)) {
        case 0: bytes[at] ^= static_cast<std::uint8_t>(1U << below(8)); break;
        case 1: bytes[at] = static_cast<std::uint8_t>(below(256)); break;
        case 2: { // a number at its limits
            static constexpr std::uint32_t limits[] = {0, 1, 4, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
            const std::uint32_t value = limits[below(std::size(limits))];
            for (std::size_t i = 0; i < 4 && at + i < bytes.size(); ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
            break;
        }
        case 3: bytes.resize(at); break;
        case 4: { // a piece of it once more
            const std::size_t size = std::min<std::size_t>(bytes.size() - at, 1 + below(32));
            const Bytes piece(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size())), piece.begin(), piece.end());
            break;
        }
        default: bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at)); break;
        }
    }
    return bytes;
}

} // namespace

int main(int argc, char** argv) {
    std::vector<std::filesystem::path> files;
    int mutations_per_seed = 1000;
    for (int i = 1; i < argc; ++i) {
        constexpr std::string_view option = "--mutations=";
        if (std::string_view(argv[i]).starts_with(option)) mutations_per_seed = std::atoi(argv[i] + option.size());
        if (std::filesystem::is_regular_file(argv[i])) files.emplace_back(argv[i]);
        if (!std::filesystem::is_directory(argv[i])) continue;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i]))
            if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) {
        std::fprintf(stderr, "no seeds\n");
        return EXIT_FAILURE;
    }
    for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGALRM}) std::signal(signal, keep_input);
    if (const rlimit limit{most_memory, most_memory}; memory_can_be_limited) ::setrlimit(RLIMIT_DATA, &limit);
    std::mt19937 random(20160701);
    std::size_t runs = 1;
    run({});
    for (const auto& file : files) {
        const Bytes seed = load(file);
        run(seed);
        ++runs;
        if (seed.size() > largest_seed) continue;
        for (int i = 0; i < mutations_per_seed; ++i, ++runs) run(mutated(seed, random));
    }
    std::printf("%zu files, %zu runs\n", files.size(), runs);
    return EXIT_SUCCESS;
}
