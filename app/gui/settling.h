#pragma once

#include <QObject>
#include <QTimer>

namespace megascope {

class MainWindow;

/// Tells when a window has come to rest: no job, layout, animation or delayed work is going on and no event waits, so that what is
/// painted next is what stays. It listens to the event loop and waits for nothing else. GUI thread.
class Settling : public QObject {
    Q_OBJECT
public:
    explicit Settling(MainWindow* window);
    /// `settled` is sent once, as soon as the window is at rest; at the latest after `patience`, or never for a window that goes away.
    void watch();

signals:
    void settled();

protected:
    bool event(QEvent* event) override;

private:
    void look();

    MainWindow* window_;
    QTimer patience_;
    bool watching_ = false;
    bool asked_ = false; ///< an event of ours waits behind all others
    bool tired_ = false;
};

} // namespace megascope
