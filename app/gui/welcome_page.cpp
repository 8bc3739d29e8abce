#include "app/gui/welcome_page.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/gui/recent_files.h"
#include "views/common/icon.h"

namespace megascope {

WelcomePage::WelcomePage(RecentFiles* recent, QWidget* parent) : QWidget(parent), recent_(recent) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* logo = new QLabel(this);
    logo->setPixmap(QIcon(QStringLiteral(":/icons/megascope.svg")).pixmap(QSize(72, 72), devicePixelRatioF()));
    auto* title = new QLabel(QStringLiteral("Megascope"), this);
    QFont font = title->font();
    font.setPointSizeF(font.pointSizeF() * 1.9);
    font.setBold(true);
    title->setFont(font);
    auto* claim = new QLabel(tr("Look into MegEngine models: graph, values, testcases, time."), this);
    claim->setForegroundRole(QPalette::PlaceholderText);
    auto* open = new QPushButton(themedIcon(QStringLiteral("open")), tr("Open a model or profile…"), this);
    open->setObjectName(QStringLiteral("open"));
    open->setDefault(true);
    auto* sample = new QPushButton(themedIcon(QStringLiteral("sample")), tr("Open a sample"), this);
    sample->setObjectName(QStringLiteral("sample"));
    auto* hint = new QLabel(tr("… or drop a file on this window. Megascope reads .mge dumps of both formats, testcase files, GraphProfiler JSON, Chrome traces and IO dumps of load_and_run. F1 explains what each part does."), this);
    hint->setWordWrap(true);
    hint->setForegroundRole(QPalette::PlaceholderText);
    listTitle_ = new QLabel(tr("Recent files"), this);
    QFont bold = listTitle_->font();
    bold.setBold(true);
    listTitle_->setFont(bold);
    list_ = new QListWidget(this);
    list_->setObjectName(QStringLiteral("recent"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setTextElideMode(Qt::ElideMiddle);
    list_->setMaximumHeight(fontMetrics().height() * 20);

    auto* head = new QHBoxLayout;
    head->setSpacing(16);
    head->addWidget(logo);
    auto* words = new QVBoxLayout;
    words->setSpacing(4);
    words->addStretch();
    words->addWidget(title);
    words->addWidget(claim);
    words->addStretch();
    head->addLayout(words, 1);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(open);
    buttons->addWidget(sample);
    buttons->addStretch();
    auto* column = new QVBoxLayout;
    column->setSpacing(12);
    column->addStretch(2);
    column->addLayout(head);
    column->addSpacing(8);
    column->addLayout(buttons);
    column->addWidget(hint);
    column->addSpacing(16);
    column->addWidget(listTitle_);
    column->addWidget(list_);
    column->addStretch(3);
    auto* frame = new QWidget(this);
    frame->setLayout(column);
    frame->setMaximumWidth(fontMetrics().averageCharWidth() * 90);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(24, 24, 24, 24);
    layout->addStretch(1);
    layout->addWidget(frame, 6);
    layout->addStretch(1);

    connect(open, &QPushButton::clicked, this, &WelcomePage::openRequested);
    connect(sample, &QPushButton::clicked, this, &WelcomePage::sampleRequested);
    connect(list_, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) { emit fileRequested(item->data(Qt::UserRole).toString()); });
    connect(list_, &QListWidget::itemClicked, this, [this](QListWidgetItem* item) { emit fileRequested(item->data(Qt::UserRole).toString()); });
    connect(recent_, &RecentFiles::changed, this, &WelcomePage::refresh);
    refresh();
}

void WelcomePage::refresh() {
    list_->clear();
    for (const QString& path : recent_->paths()) {
        const QFileInfo info(path);
        auto* item = new QListWidgetItem(themedIcon(QStringLiteral("file")), QStringLiteral("%1   —   %2").arg(info.fileName(), info.absolutePath()), list_);
        item->setData(Qt::UserRole, path);
        item->setToolTip(path);
    }
    const bool any = list_->count() > 0;
    list_->setVisible(any);
    listTitle_->setVisible(any);
}

} // namespace megascope
