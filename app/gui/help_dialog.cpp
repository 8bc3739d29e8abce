#include "app/gui/help_dialog.h"

#include <QApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QListWidget>
#include <QPushButton>
#include <QSplitter>
#include <QTextBrowser>
#include <QVBoxLayout>

#include <vector>

#include "app/gui/file_page.h"
#include "app/gui/run_record_page.h"
#include "views/dump/dump_dialog.h"
#include "views/graph/execution_order_view.h"
#include "views/graph/graph_diff_view.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector.h"
#include "views/profile/analysis_page.h"
#include "views/profile/flame_panel.h"
#include "views/profile/memory_panel.h"
#include "views/profile/profile_compare_view.h"
#include "views/profile/roofline_panel.h"
#include "views/profile/timeline_panel.h"
#include "views/table/outline_view.h"
#include "views/table/table_page.h"
#include "views/tensor/tensor_view.h"
#include "views/testcase/testcase_panel.h"

namespace megascope {

namespace {

QString tr(const char* s) { return QCoreApplication::translate("megascope::Help", s); }

struct Topic {
    QString title;
    QString page;
    bool (*has)(QWidget* focus) = nullptr; ///< is the focus in what the topic is about?
};

template <class... T>
bool isInside(QWidget* widget) {
    for (; widget; widget = widget->parentWidget())
        if ((qobject_cast<T*>(widget) || ...)) return true;
    return false;
}

QString row(const QString& keys, const QString& what) { return QStringLiteral("<tr><td style='padding-right:16px'><b>%1</b></td><td>%2</td></tr>").arg(keys, what); }

QString page(const QString& text, const QStringList& rows) {
    QString html = QStringLiteral("<p>%1</p>").arg(text);
    if (!rows.isEmpty()) html += QStringLiteral("<table>") + rows.join(QString()) + QStringLiteral("</table>");
    return html;
}

Topic everywhere() {
    return {tr("Everywhere"),
            page(tr("One selection holds in the whole window: what is selected in the graph, a table or the timeline is selected in all of them."),
                 {row(tr("Ctrl+O"), tr("open a model, a profile, a trace, an IO dump; or drop files on the window")), row(tr("Ctrl+R"), tr("open it again from disk")),
                  row(tr("Ctrl+K"), tr("find operators, vars, commands, recent files")), row(tr("Ctrl+F"), tr("find in the graph; filter the table when the table has the keyboard")),
                  row(QStringLiteral("F5 / Shift+F5"), tr("run / stop")), row(tr("Ctrl+F5"), tr("run all testcases")), row(QStringLiteral("F6"), tr("profile")),
                  row(QStringLiteral("F7"), tr("compare with another model")), row(tr("Ctrl+D"), tr("dump: write the graph optimized, with testcases, with other names")),
                  row(tr("Ctrl+Shift+S"), tr("save the file as it is, or in another format")), row(tr("Ctrl+S"), tr("save edited testcases as another file")), row(tr("Alt+← / Alt+→"), tr("walk through the selections")),
                  row(tr("Ctrl+1, 2, 3, 4"), tr("perspectives: inspect, run, profile, compare")), row(tr("Ctrl+F6 / Ctrl+Shift+F6"), tr("the keyboard goes to the next / previous part of the window")),
                  row(QStringLiteral("F1"), tr("this help, at the page about what has the keyboard"))})};
}

std::vector<Topic> topics() {
    return {
        everywhere(),
        {tr("Graph"),
         page(tr("Boxes are operators, frames are modules. Constants hang at their readers as small labels. A right click opens the menu Graph."),
              {row(tr("Arrows"), tr("walk along the edges; from an open group into it")), row(tr("Home / End"), tr("first / last operator")), row(tr("Enter / Backspace"), tr("expand / collapse a group")), row(tr("F"), tr("fit everything in sight")),
               row(QStringLiteral("1"), tr("100 %")), row(QStringLiteral("2"), tr("go to the selection")), row(tr("Wheel, + and −"), tr("zoom")), row(tr("Ctrl+wheel, Shift+wheel"), tr("scroll down, sideways")),
               row(tr("Drag"), tr("move")), row(tr("Double click"), tr("open or close a group")),
               row(tr("Space"), tr("only the neighbourhood of the selection; Ctrl+] and Ctrl+[ for more and fewer neighbours")), row(tr("Ctrl+↑ / Ctrl+↓"), tr("what the selection depends on / where it goes")),
               row(tr("Ctrl+P, Ctrl+Shift+P"), tr("all ways from one operator to another")), row(tr("F3 / Shift+F3"), tr("next / previous hit of the search")), row(tr("Ctrl+B"), tr("bookmark")),
               row(tr("Ctrl+E"), tr("write the drawing as SVG, PDF, PNG, DOT or JSON"))}) +
             page(tr("The strip below says what the colours mean. Tab reaches its list, its scale and the two handles of its range: arrow keys move a handle, Enter types a number, Delete "
                     "lets both go."), {}),
         [](QWidget* focus) { return isInside<GraphView>(focus) && !isInside<GraphDiffView>(focus); }},
        {tr("Execution order"), page(tr("Operators in the order in which they run; a bar is the life of a var, the curve the bytes that are alive."), {row(tr("↑ ↓ Page Home End"), tr("another operator"))}),
         [](QWidget* focus) { return isInside<ExecutionOrderView>(focus); }},
        {tr("Outline and inspector"),
         page(tr("The outline is the tree of modules, found from names or from structure, with each one's share of the time. The inspector shows what is selected: params (those that have their "
                 "default are dim), inputs, outputs, times, and its value once that is known. A click on a name in the inspector selects it; Ctrl+C copies the chosen lines."),
              {}),
         [](QWidget* focus) { return isInside<Inspector, OutlineView>(focus) && !isInside<TensorView>(focus); }},
        {tr("Values"),
         page(tr("The numbers of the selected var, their statistics, histogram and picture. Weights and inputs of the chosen testcase are known at once; everything else is computed by "
                 "<b>Compute</b>, with the testcase that is chosen in the panel. The value is saved as .npy."),
              {}),
         [](QWidget* focus) { return isInside<TensorView>(focus); }},
        {tr("Tables and filters"),
         page(tr("Filters are words, all of which must hold:"),
              {row(QStringLiteral("relu"), tr("some text of the row contains it")), row(QStringLiteral("type:conv"), tr("that column contains it")),
               row(QStringLiteral("shape:*x64x*"), tr("wildcards match the whole field")), row(QStringLiteral("name:/b[0-9]$/"), tr("a regular expression")),
               row(QStringLiteral("time&gt;1ms bytes&gt;=2MiB"), tr("numbers with units")), row(QStringLiteral("-type:const"), tr("not"))}) +
             QStringLiteral("<p>") + tr("The graph's search and Ctrl+K know the same words, there with every param (stride_h=2) and <b>type:pooling -&gt; type:conv</b> for operators that follow each other.") +
             QStringLiteral("</p><p>") +
             tr("Click a header to sort, right-click it to choose columns. Ctrl+C copies the selected rows with exact values; a right click copies them as CSV. Enter shows a row's operator in the graph.") +
             QStringLiteral("</p>"),
         [](QWidget* focus) { return isInside<TablePage>(focus); }},
        {tr("Testcases"),
         page(tr("F5 runs the selected testcases in a process of their own; Shift+F5 stops. A green tick means that every output is within its tolerance. "
                 "“Own inputs” takes <b>#rand(low,high)</b>, <b>#zeros</b>, or a .npy or image file for each input."),
              {}) +
             page(tr("A new testcase is typed as trace.dump's input_data takes it, or its files are dropped on the panel; what it expects is computed at once:"),
                  {row(QStringLiteral("#rand(0,1)"), tr("random values of the input's own shape, for every input")), row(QStringLiteral("#rand(0,255,4,...)"), tr("the same with another first size")),
                   row(QStringLiteral("data:cat.png;mask:mask.npy"), tr("a file for each input")), row(QStringLiteral("@list.txt"), tr("a testcase a line"))}) +
             page(tr("The open file never changes: <b>Save testcases…</b> writes another one. Names and seeds are for you and last until the file is closed; a file has no place for them."),
                  {row(QStringLiteral("F2"), tr("rename")), row(tr("Del"), tr("remove")), row(tr("Ctrl+Z / Ctrl+Shift+Z"), tr("undo / redo"))}),
         [](QWidget* focus) { return isInside<TestcasePanel>(focus); }},
        {tr("File"), page(tr("What the file says about itself: format, versions, kept names, metadata, user info, inputs and outputs, operators by type. Of a file with several graphs the list at the top chooses one. A click on an input or output selects it."), {}),
         [](QWidget* focus) { return isInside<FilePage, RunRecordPage>(focus); }},
        {tr("Dump"), page(tr("Writes the graph as trace.dump does, with its options under their names. At the right stands what would be written, computed anew after every change; the command below does the same on a command line."), {}),
         [](QWidget* focus) { return isInside<DumpDialog>(focus); }},
        {tr("Comparing models"), page(tr("Two models side by side; what is only on one side, or differs, is coloured. A click selects the counterpart; the menu Graph, its keys and Ctrl+F act on both drawings, and groups open on both sides."), {row(QStringLiteral("F7"), tr("choose the other model; or drop it with Shift held")), row(QStringLiteral("F8 / Shift+F8"), tr("next / previous difference"))}),
         [](QWidget* focus) { return isInside<GraphDiffView>(focus); }},
        {tr("Timeline"),
         page(tr("One row per device and thread; a slice is one operator."),
              {row(QStringLiteral("W / S"), tr("zoom in / out at the pointer; Ctrl+wheel, too")), row(QStringLiteral("A / D"), tr("move left / right")), row(tr("F"), tr("fit")), row(tr("Drag in the ruler"), tr("choose a time range")),
               row(tr("M"), tr("mark the selected slice as the range")), row(tr("Escape"), tr("no range")), row(tr("Enter / Shift+Enter in the search"), tr("next / previous hit"))}),
         [](QWidget* focus) { return isInside<TimelinePanel>(focus); }},
        {tr("Flame graph"),
         page(tr("A frame is as wide as the time of everything in it; modules stand above their submodules and operators."),
              {row(tr("Click or Enter"), tr("zoom into a frame")), row(tr("Backspace"), tr("back")), row(tr("Escape"), tr("the whole")), row(tr("Arrows, Home"), tr("walk"))}),
         [](QWidget* focus) { return isInside<FlamePanel>(focus); }},
        {tr("Roofline"),
         page(tr("Every operator by operations per byte and operations per second. Left of the ridge memory is the limit, right of it arithmetic. <b>Measure this machine</b> draws the limits."),
              {row(tr("Arrows"), tr("next operator")), row(tr("F"), tr("fit"))}),
         [](QWidget* focus) { return isInside<RooflinePanel>(focus); }},
        {tr("Memory"),
         page(tr("Which var takes memory when: steps across, addresses up. Beside the plan stands what other orders and ways to save memory would cost."),
              {row(QStringLiteral("W S A D, ↑ ↓"), tr("zoom and move")), row(QStringLiteral("[ / ]"), tr("previous / next step; the table lists who owns its bytes")), row(tr("F"), tr("fit"))}),
         [](QWidget* focus) { return isInside<MemoryPanel>(focus); }},
        {tr("Analysis of a profile"), page(tr("MegEngine's profile_analyze as a table, with the same numbers: filters above, groups by type, scope, shape or dtype."), {}), [](QWidget* focus) { return isInside<AnalysisPage>(focus); }},
        {tr("Comparing profiles"),
         page(tr("Operators by how much their time changed. “Not distinguishable” means that chance explains the difference, “too few samples” that even samples that do not overlap would not prove anything."), {}),
         [](QWidget* focus) { return isInside<ProfileCompareView>(focus); }},
        {tr("Without a window"), page(tr("<b>megascope-cli</b> does the same on a command line: info, run, selftest, bench, profile, testcase, dump, convert, diff and more; <b>megascope-cli --help</b> lists them."), {})},
    };
}

} // namespace

void showHelpFor(QWidget* window, QWidget* focus) {
    const std::vector<Topic> all = topics();
    auto* dialog = new QDialog(window);
    dialog->setObjectName(QStringLiteral("help"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Help"));
    auto* list = new QListWidget(dialog);
    list->setObjectName(QStringLiteral("helpTopics"));
    list->setAccessibleName(tr("Topics"));
    list->setFrameShape(QFrame::NoFrame);
    auto* text = new QTextBrowser(dialog);
    text->setObjectName(QStringLiteral("helpText"));
    text->setFrameShape(QFrame::NoFrame);
    int current = 0;
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
        const Topic& topic = all[static_cast<std::size_t>(i)];
        auto* item = new QListWidgetItem(topic.title, list);
        item->setSizeHint(QSize(0, dialog->fontMetrics().height() + 8));
        if (current == 0 && topic.has && topic.has(focus)) current = i;
    }
    QObject::connect(list, &QListWidget::currentRowChanged, text, [text, all](int row) {
        if (row >= 0) text->setHtml(QStringLiteral("<h3>%1</h3>%2").arg(all[static_cast<std::size_t>(row)].title, all[static_cast<std::size_t>(row)].page));
    });
    list->setCurrentRow(current);
    auto* split = new QSplitter(dialog);
    split->addWidget(list);
    split->addWidget(text);
    split->setStretchFactor(1, 1);
    split->setChildrenCollapsible(false);
    const int unit = dialog->fontMetrics().averageCharWidth();
    split->setSizes({unit * 26, unit * 80});
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    auto* layout = new QVBoxLayout(dialog);
    layout->addWidget(split, 1);
    layout->addWidget(buttons);
    dialog->resize(unit * 112, dialog->fontMetrics().height() * 28);
    dialog->show();
    list->setFocus();
}

} // namespace megascope
