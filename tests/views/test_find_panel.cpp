#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QSignalSpy>
#include <QtTest>

#include "tests/views/held_jobs.h"
#include "tests/views/sample_model.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_view.h"

using namespace megascope;

// Everything is typed: what a key starts while jobs are slow.

class FindPanelTest : public QObject {
    Q_OBJECT
private:
    /// A graph with the panel over it. While `held`, no search gets a thread.
    struct Bench {
        explicit Bench(const SampleModel& sample) : jobs(std::make_unique<HeldJobs>()), view(std::make_unique<GraphView>(jobs.get())), panel(new FindPanel(view.get(), jobs.get())) {
            view->resize(900, 700);
            view->show();
            view->setGraph(sample.facts->graph, nullptr);
            panel->setFacts(sample.facts);
            panel->popUp();
        }
        ~Bench() { view.reset(); } // before the runner
        void hold() const { jobs->hold(); }
        void release() const { jobs->release(); }
        [[nodiscard]] JobId search() const { return jobs->in("graph search"); }
        [[nodiscard]] bool searchStarted() const { return search().valid(); }
        void type(const char* words) const { QTest::keyClicks(panel->edit(), QLatin1String(words)); }
        [[nodiscard]] QString sentence() const { return panel->findChild<QLabel*>()->text(); }
        [[nodiscard]] QListView* list() const { return panel->findChild<QListView*>(); }

        std::unique_ptr<HeldJobs> jobs;
        std::unique_ptr<GraphView> view;
        FindPanel* panel;
    };
    [[nodiscard]] std::vector<OprId> ofType(std::string_view part) const {
        const Graph& graph = *sample_.facts->graph;
        std::vector<OprId> oprs;
        for (const Opr& opr : graph.oprs())
            if (graph.type_text(opr.id).find(part) != std::string::npos) oprs.push_back(opr.id);
        return oprs;
    }

private slots:
    void initTestCase() { sample_ = openSample(); }

    void typingNeverWaitsAndSaysThatItIsSearching() {
        Bench bench(sample_);
        bench.hold();
        bench.type("type:conv");
        QCOMPARE(bench.panel->edit()->text(), QString("type:conv"));
        QVERIFY(bench.panel->searching());
        QVERIFY(bench.sentence().contains("Searching"));
        QTRY_VERIFY(bench.searchStarted());
        QVERIFY(bench.panel->found().empty());
        bench.release();
        QTRY_VERIFY(!bench.panel->searching());
        QCOMPARE(bench.panel->found(), ofType("Conv"));
        QVERIFY(bench.sentence().startsWith(QString::number(ofType("Conv").size())));
    }

    void enterRightAfterTypingTakesTheHitOfWhatWasTyped() {
        Bench bench(sample_);
        bench.type("type:conv");
        QTRY_COMPARE(bench.panel->found(), ofType("Conv"));
        bench.hold();
        bench.panel->edit()->selectAll();
        bench.type("type:pooling");
        QTest::keyClick(bench.panel->edit(), Qt::Key_Return);
        // The hits of the query before are still listed: none of them may be taken.
        QTRY_VERIFY(bench.searchStarted());
        QVERIFY(!bench.list()->isEnabled());
        QCOMPARE(bench.view->selectedOpr(), OprId());
        QSignalSpy selected(bench.view.get(), &GraphView::oprSelected);
        bench.release();
        QTRY_VERIFY(!bench.panel->searching());
        QVERIFY(bench.list()->isEnabled());
        QCOMPARE(bench.view->selectedOpr(), ofType("Pooling").front());
        QCOMPARE(selected.size(), 1);
    }

    void severalKeysAfterTypingAreDoneInTheirOrder() {
        Bench bench(sample_);
        bench.hold();
        bench.type("type:conv");
        QTest::keyClick(bench.panel->edit(), Qt::Key_Return);
        QTest::keyClick(bench.panel->edit(), Qt::Key_Return);
        QTest::keyClick(bench.panel->edit(), Qt::Key_Down);
        QTest::keyClick(bench.panel->edit(), Qt::Key_Return, Qt::ShiftModifier);
        bench.release();
        QTRY_VERIFY(!bench.panel->searching());
        QCOMPARE(bench.view->selectedOpr(), ofType("Conv")[1]); // 0, 1, 2 and back
    }

    void whatASupersededQueryFoundIsNeverShown() {
        Bench bench(sample_);
        bench.hold();
        QSignalSpy shown(bench.list()->model(), &QAbstractItemModel::modelReset);
        bench.type("type:conv");
        QTest::keyClick(bench.panel->edit(), Qt::Key_Return);
        QTRY_VERIFY(bench.searchStarted());
        bench.panel->edit()->selectAll();
        bench.type("type:pooling");
        QTRY_VERIFY(bench.searchStarted());
        bench.release();
        QTRY_VERIFY(bench.jobs->idle() && !bench.panel->searching());
        QCOMPARE(bench.panel->found(), ofType("Pooling"));
        QCOMPARE(shown.size(), 1);
        QCOMPARE(bench.view->selectedOpr(), OprId()); // Enter was meant for the other query
    }

    void emptyingTheLineEndsTheSearch() {
        Bench bench(sample_);
        bench.hold();
        bench.type("conv");
        QTRY_VERIFY(bench.searchStarted());
        QTest::keyClick(bench.panel->edit(), Qt::Key_A, Qt::ControlModifier);
        QTest::keyClick(bench.panel->edit(), Qt::Key_Delete);
        QTRY_VERIFY(!bench.panel->searching());
        QVERIFY(bench.sentence().isEmpty());
        bench.release();
        QTRY_VERIFY(bench.jobs->idle());
        QVERIFY(bench.panel->found().empty());
    }

    void anInvalidQueryIsNamedWithoutASearch() {
        Bench bench(sample_);
        bench.type("type:pooling");
        QTRY_VERIFY(!bench.panel->searching());
        QVERIFY(!bench.panel->found().empty());
        bench.hold();
        bench.panel->edit()->selectAll();
        bench.type("time>soon");
        QTRY_VERIFY(!bench.panel->searching());
        QVERIFY2(bench.sentence().contains("soon") && bench.sentence().contains("not a number"), qPrintable(bench.sentence()));
        QVERIFY(bench.panel->found().empty());
        bench.panel->edit()->selectAll();
        bench.type("/conv(/");
        QTest::keyClick(bench.panel->edit(), Qt::Key_Return); // and takes nothing
        QVERIFY(!bench.panel->searching());
        QVERIFY2(bench.sentence().contains("conv(") && bench.sentence().contains("not a regular expression"), qPrintable(bench.sentence()));
        QCOMPARE(bench.view->selectedOpr(), OprId());
    }

    void anotherGraphWhileSearchingIsSearchedInstead() {
        Bench bench(sample_);
        const SampleModel same = openSample();
        bench.hold();
        bench.type("type:pooling");
        QTest::keyClick(bench.panel->edit(), Qt::Key_Return);
        QTRY_VERIFY(bench.searchStarted());
        bench.view->setGraph(nullptr, nullptr);
        bench.panel->setFacts(nullptr);
        QVERIFY(!bench.panel->searching());
        QVERIFY(bench.panel->isHidden());
        bench.release();
        QTRY_VERIFY(bench.jobs->idle());
        QVERIFY(bench.panel->found().empty());
        bench.view->setGraph(same.facts->graph, nullptr);
        bench.panel->setFacts(same.facts);
        bench.panel->popUp(); // the line still says what to look for
        QTRY_VERIFY(!bench.panel->searching());
        QCOMPARE(bench.panel->found(), ofType("Pooling"));
        QCOMPARE(bench.view->selectedOpr(), OprId());
    }

    void aSearchThatIsCancelledSaysSo() {
        Bench bench(sample_);
        bench.hold();
        bench.type("type:pooling");
        QTRY_VERIFY(bench.searchStarted());
        bench.jobs->cancel(bench.search());
        QVERIFY(!bench.panel->searching());
        QVERIFY2(bench.sentence().contains("stopped"), qPrintable(bench.sentence()));
        QVERIFY(bench.panel->found().empty());
    }

    void aPanelMayGoWhileItSearches() {
        auto bench = std::make_unique<Bench>(sample_);
        bench->hold();
        bench->type("type:pooling");
        QTRY_VERIFY(bench->searchStarted());
        bench->view.reset();
        bench->release();
        QTRY_VERIFY(bench->jobs->idle());
    }

private:
    SampleModel sample_;
};

QTEST_MAIN(FindPanelTest)
#include "test_find_panel.moc"
