#pragma once

#include <QSize>
#include <QString>
#include <QStringList>

namespace megascope {

/// The command line of the window.
struct Options {
    QStringList files;
    QString screenshot;      ///< write a picture of the window here and exit
    QSize size{1280, 800};   ///< of the window, for screenshots
    QString theme;           ///< "light", "dark", or empty: as set
    bool measure = false;     ///< measure this machine's ceilings for the roofline
    bool run = false;        ///< run the testcases after opening
    QString select;          ///< name of an operator or var
    QString view;            ///< "graph", "timeline", "value", "file", "compare", "order"
    QString table;           ///< "operators", "vars", "weights", "results", "problems", "log"
    QString filter;          ///< text for the table's filter
    QString compareProfile;  ///< a profile to compare the open one with
    QString profile;         ///< a profile to open together with the model
    QString addTestcase;     ///< an item of input_data that is added to the testcases after opening
    bool dump = false;       ///< open the Dump dialog; a screenshot is then of the dialog
    bool freshSettings = false; ///< settings of other runs are not read (implied by `screenshot`)
};

/// Prints help or an error and exits where the command line asks for it; never returns then.
[[nodiscard]] Options parseOptions(int argc, char** argv);

} // namespace megascope
