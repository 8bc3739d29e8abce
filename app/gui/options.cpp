#include "app/gui/options.h"

#include <CLI/CLI.hpp>

#include <cstdlib>

namespace megascope {

Options parseOptions(int argc, char** argv) {
    CLI::App cli("Megascope: trace inspector and profiler for MegEngine", "megascope");
    std::vector<std::string> files;
    std::string screenshot, size, theme, select, view, table, filter, profile, compareProfile, testcase;
    Options options;
    cli.add_option("files", files, "Models and profiles to open; a second model is compared with the first one");
    cli.add_option("--profile", profile, "A profile to open together with the model")->option_text("JSON");
    cli.add_option("--compare-profile", compareProfile, "A profile or trace to compare the open one with")->option_text("FILE");
    cli.add_option("--theme", theme, "Colours")->check(CLI::IsMember({"light", "dark"}));
    cli.add_flag("--run", options.run, "Run the file's testcases after opening");
    cli.add_flag("--measure", options.measure, "Measure what this machine can do, for the roofline");
    cli.add_option("--select", select, "Select an operator or var by name")->option_text("NAME");
    cli.add_option("--view", view, "The view in the middle")->check(CLI::IsMember({"graph", "timeline", "flame", "roofline", "memory", "value", "file", "compare", "analysis", "changes", "order"}));
    cli.add_option("--table", table, "The table at the bottom")->check(CLI::IsMember({"operators", "vars", "weights", "results", "problems", "log"}));
    cli.add_option("--filter", filter, "Filter of that table")->option_text("WORDS");
    cli.add_option("--add-testcase", testcase, "Add a testcase as in trace.dump's input_data")->option_text("ITEM");
    cli.add_flag("--dump", options.dump, "Open the Dump dialog; --screenshot is then a picture of it");
    cli.add_option("--screenshot", screenshot, "Write a picture of the window when all jobs are done, and exit")->option_text("PNG");
    cli.add_option("--size", size, "Size of the window for --screenshot")->option_text("WxH");
    cli.set_version_flag("--version", std::string("megascope ") + MEGASCOPE_VERSION);
    try {
        cli.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(cli.exit(error));
    }
    if (!size.empty()) {
        const QStringList parts = QString::fromStdString(size).split(QLatin1Char('x'));
        const QSize wanted = parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
        if (wanted.width() < 320 || wanted.height() < 240 || wanted.width() > 16384 || wanted.height() > 16384) {
            std::cerr << "megascope: --size takes WIDTHxHEIGHT, for example 1280x800, not '" << size << "'.\n";
            std::exit(2);
        }
        options.size = wanted;
    }
    for (const std::string& file : files) options.files << QString::fromStdString(file);
    options.screenshot = QString::fromStdString(screenshot);
    options.theme = QString::fromStdString(theme);
    options.select = QString::fromStdString(select);
    options.view = QString::fromStdString(view);
    options.table = QString::fromStdString(table);
    options.filter = QString::fromStdString(filter);
    options.compareProfile = QString::fromStdString(compareProfile);
    options.addTestcase = QString::fromStdString(testcase);
    options.profile = QString::fromStdString(profile);
    options.freshSettings = !screenshot.empty();
    return options;
}

} // namespace megascope
