#include "app/gui/settling.h"

#include <QAbstractEventDispatcher>
#include <QCoreApplication>
#include <QEvent>

#include <chrono>

#include "app/gui/main_window.h"

namespace megascope {

namespace {

constexpr std::chrono::minutes patience{5};

} // namespace

Settling::Settling(MainWindow* window) : QObject(window), window_(window) {
    patience_.setSingleShot(true);
    patience_.setInterval(patience);
    connect(&patience_, &QTimer::timeout, this, [this] {
        tired_ = true;
        look();
    });
    // With some event loops this comes before every round, with others only before it sleeps.
    connect(QAbstractEventDispatcher::instance(), &QAbstractEventDispatcher::aboutToBlock, this, &Settling::look);
}

void Settling::watch() {
    watching_ = true;
    tired_ = false;
    patience_.start();
    look();
}

void Settling::look() {
    if (!watching_ || asked_ || (!tired_ && !window_->settled())) return;
    asked_ = true;
    // Repaints have low priority; this comes behind them.
    QCoreApplication::postEvent(this, new QEvent(QEvent::User), Qt::LowEventPriority - 1);
}

bool Settling::event(QEvent* event) {
    if (event->type() != QEvent::User) return QObject::event(event);
    asked_ = false;
    // What came before this event may have started something.
    if (!watching_ || (!tired_ && !window_->settled())) return true;
    watching_ = false;
    patience_.stop();
    emit settled();
    return true;
}

} // namespace megascope
