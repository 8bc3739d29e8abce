#include "app/gui/help_dialog.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "views/graph/graph_view.h"
#include "views/profile/timeline_view.h"
#include "views/table/table_page.h"
#include "views/tensor/tensor_view.h"
#include "views/testcase/testcase_panel.h"

namespace megascope {

namespace {

QString tr(const char* s) { return QCoreApplication::translate("megascope::Help", s); }

template <class T>
bool isInside(QWidget* widget) {
    for (; widget; widget = widget->parentWidget())
        if (qobject_cast<T*>(widget)) return true;
    return false;
}

QString row(const QString& keys, const QString& what) { return QStringLiteral("<tr><td style='padding-right:16px'><b>%1</b></td><td>%2</td></tr>").arg(keys, what); }

QString graphHelp() {
    return tr("<h3>Graph</h3><p>Boxes are operators, frames are modules. Constants hang at their readers as small labels.</p>") + QStringLiteral("<table>") +
           row(tr("Arrows"), tr("walk along the edges")) + row(tr("Enter / Backspace"), tr("expand / collapse a group")) + row(tr("F"), tr("fit everything in sight")) +
           row(QStringLiteral("1"), tr("100 %")) + row(QStringLiteral("2"), tr("go to the selection")) + row(tr("Wheel, + and −"), tr("zoom")) +
           row(tr("Ctrl+wheel, Shift+wheel"), tr("scroll down, sideways")) + row(tr("Space"), tr("only the neighbourhood of the selection")) + row(tr("Drag"), tr("move")) + row(tr("Double click"), tr("open or close a group")) + QStringLiteral("</table><p>") +
           tr("The strip below says what the colours mean. Tab reaches its list, its scale and the two handles of its range: arrow keys move a handle, Enter types a number, Delete "
              "lets both go.") + QStringLiteral("</p>");
}

QString timelineHelp() {
    return tr("<h3>Timeline</h3><p>One row per device and thread; a slice is one operator.</p>") + QStringLiteral("<table>") + row(QStringLiteral("W / S"), tr("zoom in / out at the pointer")) +
           row(QStringLiteral("A / D"), tr("move left / right")) + row(tr("F"), tr("fit")) + row(tr("Drag in the ruler"), tr("choose a time range")) + row(tr("M"), tr("mark the selected slice as the range")) + QStringLiteral("</table>");
}

QString tableHelp() {
    return tr("<h3>Tables</h3><p>Filters are words, all of which must hold:</p>") + QStringLiteral("<table>") + row(QStringLiteral("relu"), tr("some text of the row contains it")) +
           row(QStringLiteral("type:conv"), tr("that column contains it")) + row(QStringLiteral("shape:*x64x*"), tr("wildcards match the whole field")) +
           row(QStringLiteral("name:/b[0-9]$/"), tr("a regular expression")) + row(QStringLiteral("time&gt;1ms bytes&gt;=2MiB"), tr("numbers with units")) + row(QStringLiteral("-type:const"), tr("not")) +
           QStringLiteral("</table><p>") + tr("Click a header to sort, right-click it to choose columns. Ctrl+C copies the selected rows with exact values.") + QStringLiteral("</p>");
}

QString testcaseHelp() {
    return tr("<h3>Testcases</h3><p>F5 runs the selected testcases in a process of their own; Shift+F5 stops. A green tick means that every output is within its tolerance. "
              "“Own inputs” takes <b>#rand(low,high)</b>, <b>#zeros</b>, or a .npy or image file for each input.</p>");
}

QString windowHelp() {
    return tr("<h3>Everywhere</h3>") + QStringLiteral("<table>") + row(tr("Ctrl+O"), tr("open a model, profile or trace")) + row(tr("Ctrl+K"), tr("find operators, vars, commands, recent files")) +
           row(tr("Ctrl+F"), tr("find in the graph; filter the table when the table has the keyboard")) + row(QStringLiteral("F5 / Shift+F5"), tr("run / stop")) + row(QStringLiteral("F6"), tr("profile")) +
           row(tr("Alt+← / Alt+→"), tr("walk through the selections")) + row(tr("Ctrl+1, 2, 3"), tr("perspectives")) + QStringLiteral("</table>");
}

} // namespace

void showHelpFor(QWidget* window, QWidget* focus) {
    QString page;
    if (isInside<GraphView>(focus)) page = graphHelp();
    else if (isInside<TimelineView>(focus)) page = timelineHelp();
    else if (isInside<TablePage>(focus)) page = tableHelp();
    else if (isInside<TestcasePanel>(focus)) page = testcaseHelp();
    page += windowHelp();
    auto* dialog = new QDialog(window);
    dialog->setObjectName(QStringLiteral("help"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Help"));
    auto* text = new QTextBrowser(dialog);
    text->setHtml(page);
    text->setFrameShape(QFrame::NoFrame);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    auto* layout = new QVBoxLayout(dialog);
    layout->addWidget(text);
    layout->addWidget(buttons);
    dialog->resize(560, 440);
    dialog->show();
}

} // namespace megascope
