#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTableView>
#include <QtTest>

#include "tests/views/held_jobs.h"
#include "views/table/table_model.h"
#include "views/table/table_page.h"

using namespace megascope;

namespace {

/// Rows 0, 1, 2, … that are called item0, item1, …
class ManyRows : public TableModel {
public:
    explicit ManyRows(int rows) : TableModel({{"n", "N", {}, true, true, {}}, {"name", "Name", {}, false, true, {}}}) { setRows(rows); }
    void setRows(int rows) {
        beginSourceReset();
        rows_ = rows;
        endSourceReset();
    }
    int sourceRows() const override { return rows_; }

protected:
    std::shared_ptr<const TableModel> frozen() const override { return std::make_shared<ManyRows>(rows_); }
    QString cellText(int row, int column) const override { return column == 0 ? QString::number(row) : QStringLiteral("item%1").arg(row); }
    SortKey cellKey(int row, int column) const override { return column == 0 ? SortKey(static_cast<double>(row)) : SortKey(cellText(row, column)); }
    Pick pick(int row) const override { return Pick::of(OprId(static_cast<std::uint32_t>(row))); }
    int sourceRowOf(Pick pick) const override { return pick.opr.valid() ? static_cast<int>(pick.opr.value()) : -1; }

private:
    int rows_ = 0;
};

} // namespace

// Filters and sorts of many rows while jobs are slow.

class TableJobsTest : public QObject {
    Q_OBJECT
private slots:
    void aFilterOfManyRowsIsAJob() {
        HeldJobs jobs;
        ManyRows model(5000);
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setJobs(&jobs);
        jobs.hold();
        model.setFilter(FilterQuery::parse("n>=4990"));
        QVERIFY(model.arranging());
        QCOMPARE(model.rowCount(), 5000); // what was there stays
        jobs.release();
        QTRY_VERIFY(!model.arranging());
        QCOMPARE(model.rowCount(), 10);
        QCOMPARE(model.sourceRow(0), 4990);
        QCOMPARE(model.rowOf(Pick::of(OprId(4995U))), 5);
        QCOMPARE(model.rowOf(Pick::of(OprId(17U))), -1);
    }

    void aNewerFilterSupersedes() {
        HeldJobs jobs;
        ManyRows model(5000);
        model.setJobs(&jobs);
        jobs.hold();
        QSignalSpy shown(&model, &QAbstractItemModel::modelReset);
        model.setFilter(FilterQuery::parse("n>=4990"));
        model.setFilter(FilterQuery::parse("name:item77"));
        jobs.release();
        QTRY_VERIFY(jobs.idle());
        QCOMPARE(shown.size(), 1);
        QCOMPARE(model.rowCount(), 1 + 10); // 77, 770 to 779
    }

    void sortingKeepsWhatIsSelectedAndItsOrder() {
        HeldJobs jobs;
        ManyRows model(5000);
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setJobs(&jobs);
        const QPersistentModelIndex kept(model.index(17, 1));
        jobs.hold();
        model.sort(1, Qt::DescendingOrder);
        QVERIFY(model.arranging());
        QCOMPARE(model.sourceRow(0), 0);
        jobs.release();
        QTRY_VERIFY(!model.arranging());
        QCOMPARE(model.sourceRow(0), 4999);
        QCOMPARE(kept.row(), 4999 - 17);
        QCOMPARE(kept.data().toString(), QString("item17"));
        model.sort(-1, Qt::AscendingOrder); // the file's order costs nothing
        QVERIFY(!model.arranging());
        QCOMPARE(kept.row(), 17);
    }

    void aFilterWhileItIsSortedGetsBoth() {
        HeldJobs jobs;
        ManyRows model(5000);
        model.setJobs(&jobs);
        jobs.hold();
        model.setFilter(FilterQuery::parse("n<20"));
        model.sort(0, Qt::DescendingOrder);
        jobs.release();
        QTRY_VERIFY(!model.arranging());
        QCOMPARE(model.rowCount(), 20);
        QCOMPARE(model.sourceRow(0), 19);
        // And the other way round, each known before the other.
        model.setFilter(FilterQuery::parse("n<30"));
        QTRY_VERIFY(!model.arranging());
        QCOMPARE(model.rowCount(), 30);
        QCOMPARE(model.sourceRow(0), 29);
        model.sort(0, Qt::AscendingOrder);
        QTRY_VERIFY(!model.arranging());
        QCOMPARE(model.rowCount(), 30);
        QCOMPARE(model.sourceRow(0), 0);
    }

    void rowsThatGoMeanwhileLeaveNothing() {
        HeldJobs jobs;
        ManyRows model(5000);
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setJobs(&jobs);
        jobs.hold();
        model.setFilter(FilterQuery::parse("n>=4990"));
        model.setRows(0);
        QVERIFY(!model.arranging());
        QCOMPARE(model.rowCount(), 0);
        jobs.release();
        QTRY_VERIFY(jobs.idle());
        QCOMPARE(model.rowCount(), 0);
        // Others come: nothing that the filter keeps out is shown, not even for a moment.
        QSignalSpy shown(&model, &QAbstractItemModel::modelReset);
        connect(&model, &QAbstractItemModel::modelReset, this, [&model] { QVERIFY(model.rowCount() == 0 || model.sourceRow(0) == 4990); });
        model.setRows(6000);
        QVERIFY(model.arranging());
        QTRY_COMPARE(model.rowCount(), 1010);
        QCOMPARE(shown.size(), 2);
    }

    void fewRowsAreFilteredAtOnce() {
        HeldJobs jobs;
        ManyRows model(TableModel::few);
        model.setJobs(&jobs);
        jobs.hold();
        model.setFilter(FilterQuery::parse("n<3"));
        QVERIFY(!model.arranging());
        QCOMPARE(model.rowCount(), 3);
    }

    void thePageSaysThatItLooksAndThatItWasStopped() {
        HeldJobs jobs;
        ManyRows model(5000);
        model.setJobs(&jobs);
        Selection selection;
        TablePage page("many", &model, &selection, nullptr);
        const auto says = [&page](const QString& what) {
            const auto labels = page.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) { return label->text().contains(what); });
        };
        jobs.hold();
        QTest::keyClicks(page.filterEdit(), "n<20");
        QTest::keyClick(page.filterEdit(), Qt::Key_Return);
        QVERIFY(model.arranging());
        QVERIFY(says("Looking"));
        jobs.cancel(jobs.in("table"));
        QVERIFY(!model.arranging());
        QVERIFY(says("Stopped"));
        QTest::keyClick(page.filterEdit(), Qt::Key_Return); // again
        jobs.release();
        QTRY_COMPARE(model.rowCount(), 20);
        QVERIFY(says("20"));
    }

    void manyRowsAreCopiedByAJob() {
        HeldJobs jobs;
        ManyRows model(5000);
        model.setJobs(&jobs);
        Selection selection;
        TablePage page("many", &model, &selection, nullptr);
        model.sort(0, Qt::DescendingOrder);
        QTRY_VERIFY(!model.arranging());
        QGuiApplication::clipboard()->setText("before");
        jobs.hold();
        page.view()->selectionModel()->setCurrentIndex(model.index(0, 0), QItemSelectionModel::NoUpdate); // as when it gets the focus
        QTest::keyClick(page.view(), Qt::Key_A, Qt::ControlModifier);
        QTest::keyClick(page.view(), Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QGuiApplication::clipboard()->text(), QString("before"));
        jobs.release();
        QTRY_VERIFY(jobs.idle());
        const QStringList lines = QGuiApplication::clipboard()->text().split(QLatin1Char('\n'));
        QCOMPARE(lines.size(), 5002); // titles, rows, and nothing behind the last line's end
        QCOMPARE(lines[0], QString("N\tName"));
        QCOMPARE(lines[1], QString("4999\titem4999")); // in the table's order
        QCOMPARE(lines[5000], QString("0\titem0"));
    }

    void aModelMayGoWhileItIsFiltered() {
        HeldJobs jobs;
        auto model = std::make_unique<ManyRows>(5000);
        model->setJobs(&jobs);
        jobs.hold();
        model->setFilter(FilterQuery::parse("n<20"));
        model.reset();
        jobs.release();
        QTRY_VERIFY(jobs.idle());
    }
};

QTEST_MAIN(TableJobsTest)
#include "test_table_jobs.moc"
