#include <QAction>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QMimeData>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QtTest>

#include "app/gui/compare_controller.h"
#include "app/gui/main_window.h"
#include "tests/app/own_settings.h"
#include "tests/views/sample_model.h"
#include "views/common/error_bar.h"
#include "views/graph/graph_diff_view.h"
#include "views/graph/graph_view.h"
#include "views/table/table_page.h"

using namespace megascope;

/// Two dumps of one network: smallcnn as the trace was, and its convolutions fused for NCHW88.
class CompareTest : public QObject {
    Q_OBJECT
private:
    static void openBoth(MainWindow& window, const QString& first, const QString& second) {
        window.resize(1400, 900);
        window.show();
        window.open(first);
        QTRY_VERIFY(window.documents()->model());
        window.compareWith(second);
        QTRY_VERIFY(window.comparison()->active());
        QTRY_VERIFY(window.comparison()->view()->differences());
        QTRY_VERIFY(window.settled());
    }

private slots:
    void initTestCase() {
        QVERIFY(settings_.take());
        plain_ = QStringLiteral(MEGASCOPE_TEST_DATA "/format/smallcnn.v1_allnames.mge");
        fused_ = QStringLiteral(MEGASCOPE_TEST_DATA "/format/smallcnn.v1_nchw88_fuse.mge");
    }
    void init() { QSettings().clear(); }

    void aSecondDumpStandsBesideTheFirst() {
        MainWindow window(make_local_runner());
        openBoth(window, plain_, fused_);
        const auto& differences = *window.comparison()->view()->differences();
        // Fusing replaces convolutions by ConvBias, and the layout is converted at both ends.
        const Graph& right = *window.comparison()->view()->second()->picture()->scene.structure->graph;
        bool fused = false, converted = false;
        for (const OprId id : differences.diff.only_b) {
            fused |= right.type_text(id).starts_with("ConvBias");
            converted |= right.type_text(id) == "Dimshuffle";
        }
        QVERIFY(fused && converted);
        QVERIFY(window.comparison()->view()->isVisible());
        QVERIFY(window.comparison()->table()->model()->rowCount() > 0);
        QVERIFY(!window.errorBar()->isVisible());
    }

    void aRowJumpsToItsOperatorsAndTheWindowFollows() {
        MainWindow window(make_local_runner());
        openBoth(window, plain_, fused_);
        GraphDiffView* view = window.comparison()->view();
        TableModel* model = window.comparison()->table()->model();
        for (int row = 0; row < model->rowCount(); ++row) {
            const auto& d = view->differences()->list[static_cast<std::size_t>(model->index(row, 0).data(TableModel::SourceRowRole).toInt())];
            window.comparison()->table()->view()->selectRow(row);
            QCOMPARE(view->first()->selectedOpr(), d.a);
            QCOMPARE(view->second()->selectedOpr(), d.b);
            if (d.a.valid()) QCOMPARE(window.selection()->current(), Pick::of(d.a)); // the left graph is the open one
        }
    }

    void bothSidesMoveTogether() {
        MainWindow window(make_local_runner());
        openBoth(window, plain_, plain_);
        GraphDiffView* view = window.comparison()->view();
        QVERIFY(view->differences()->list.empty());
        GraphView *a = view->first(), *b = view->second();
        QTest::keyClick(a, Qt::Key_PageDown);
        QTest::keyClick(a, Qt::Key_Plus);
        // Equal graphs are drawn equally, so that the same operator stands at the same place from the middle.
        const OprId last(static_cast<std::uint32_t>(view->differences()->a_of.size() - 1));
        const auto fromMiddle = [last](GraphView* v) { return v->toWidget(*v->topOf(last)) - QRectF(v->rect()).center(); };
        QVERIFY2((fromMiddle(a) - fromMiddle(b)).manhattanLength() < 1, qPrintable(QString::number((fromMiddle(a) - fromMiddle(b)).manhattanLength())));
        QCOMPARE(a->transform().scale, b->transform().scale);
        view->setMovesTogether(false);
        const GraphTransform before = b->transform();
        QTest::keyClick(a, Qt::Key_PageUp);
        QCOMPARE(b->transform().y, before.y);
    }

    void swappingAndEnding() {
        MainWindow window(make_local_runner());
        openBoth(window, plain_, fused_);
        const std::size_t only = window.comparison()->view()->differences()->diff.only_b.size();
        window.comparison()->swapSides();
        QTRY_VERIFY(window.comparison()->view()->differences());
        QCOMPARE(window.comparison()->view()->differences()->diff.only_a.size(), only);
        window.comparison()->close();
        QVERIFY(!window.comparison()->active());
        QCOMPARE(window.comparison()->table()->model()->sourceRows(), 0);
    }

    void aDropWithShiftComparesAndAProfileDoesNot() {
        MainWindow window(make_local_runner());
        window.show();
        window.open(plain_);
        QTRY_VERIFY(window.documents()->model());
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(fused_)});
        // Qt delivers a drop only to the widget that a drag entered before.
        QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &mime, Qt::LeftButton, Qt::ShiftModifier);
        QCoreApplication::sendEvent(&window, &enter);
        QDropEvent drop(QPointF(5, 5), Qt::CopyAction, &mime, Qt::LeftButton, Qt::ShiftModifier);
        QCoreApplication::sendEvent(&window, &drop);
        QTRY_VERIFY(window.comparison()->active());
        QCOMPARE(window.documents()->model()->path, plain_);
        QVERIFY(!CompareController::isModelFile(QStringLiteral(MEGASCOPE_TEST_DATA "/profile/lenet_get_profile.json")));
        QVERIFY(CompareController::isModelFile(plain_));
    }

    void aBrokenSecondFileIsNamed() {
        QTemporaryDir dir;
        QFile file(dir.filePath("broken.mge"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("no model at all\n");
        file.close();
        MainWindow window(make_local_runner());
        window.show();
        window.open(plain_);
        QTRY_VERIFY(window.documents()->model());
        window.compareWith(file.fileName());
        QTRY_VERIFY(window.errorBar()->isVisible());
        QVERIFY(window.errorBar()->sentence().contains("broken.mge"));
        QVERIFY(!window.comparison()->active());
    }

private:
    OwnSettings settings_;
    QString plain_, fused_;
};

QTEST_MAIN(CompareTest)
#include "test_compare.moc"
