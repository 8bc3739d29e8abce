#include <QSignalSpy>
#include <QtTest>

#include "views/common/selected_set.h"
#include "views/common/selection.h"

using namespace megascope;

class SelectionTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { qRegisterMetaType<Pick>(); }

    void selectingTellsEverybodyOnce() {
        Selection selection;
        QSignalSpy changed(&selection, &Selection::changed);
        selection.select(Pick::of(OprId(3u)));
        selection.select(Pick::of(OprId(3u)));
        QCOMPARE(changed.size(), 1);
        QVERIFY(selection.current() == Pick::of(OprId(3u)));
    }

    void operatorAndVarOfTheSameNumberDiffer() {
        Selection selection;
        selection.select(Pick::of(OprId(3u)));
        QSignalSpy changed(&selection, &Selection::changed);
        selection.select(Pick::of(VarId(3u)));
        QCOMPARE(changed.size(), 1);
    }

    void backAndForwardWalkTheHistory() {
        Selection selection;
        for (std::uint32_t i = 0; i < 3; ++i) selection.select(Pick::of(OprId(i)));
        QVERIFY(!selection.canGoForward());
        selection.back();
        QVERIFY(selection.current() == Pick::of(OprId(1u)));
        selection.back();
        QVERIFY(selection.current() == Pick::of(OprId(0u)));
        QVERIFY(!selection.canGoBack());
        selection.back();
        QVERIFY(selection.current() == Pick::of(OprId(0u)));
        selection.forward();
        QVERIFY(selection.current() == Pick::of(OprId(1u)));
    }

    void aNewSelectionForgetsWhatLayAhead() {
        Selection selection;
        for (std::uint32_t i = 0; i < 3; ++i) selection.select(Pick::of(OprId(i)));
        selection.back();
        selection.select(Pick::of(VarId(9u)));
        QVERIFY(!selection.canGoForward());
        selection.back();
        QVERIFY(selection.current() == Pick::of(OprId(1u)));
    }

    void backAfterClearingRestoresTheLast() {
        Selection selection;
        selection.select(Pick::of(OprId(0u)));
        selection.select(Pick::of(OprId(1u)));
        selection.clear();
        QVERIFY(selection.current().empty());
        selection.back();
        QVERIFY(selection.current() == Pick::of(OprId(1u)));
    }

    void historyIsBounded() {
        Selection selection;
        for (std::uint32_t i = 0; i < Selection::historyLimit + 50; ++i) selection.select(Pick::of(OprId(i)));
        std::size_t steps = 0;
        while (selection.canGoBack()) {
            selection.back();
            ++steps;
        }
        QCOMPARE(steps, Selection::historyLimit - 1);
    }

    void severalAreTwoOrMore() {
        Selection selection;
        SelectedSet set(&selection);
        QSignalSpy changed(&set, &SelectedSet::changed);
        const auto id = [](std::uint32_t i) { return OprId(i); };
        set.set({id(5)});
        QVERIFY(set.oprs().empty() && selection.current() == Pick::of(id(5)));
        QCOMPARE(changed.size(), 0);
        set.add({id(9), id(2), id(9)});
        QCOMPARE(set.oprs(), (std::vector<OprId>{id(2), id(5), id(9)}));
        QVERIFY(selection.current() == Pick::of(id(5))); // it is one of them
        selection.select(Pick::of(id(9)));
        QCOMPARE(set.oprs().size(), std::size_t(3));
        set.toggle({id(5)});
        QCOMPARE(set.oprs(), (std::vector<OprId>{id(2), id(9)}));
        set.toggle({id(2)});
        QVERIFY(set.oprs().empty() && selection.current() == Pick::of(id(9)));
    }

    void anotherSelectionEndsThem() {
        Selection selection;
        SelectedSet set(&selection);
        selection.select(Pick::of(OprId(1U)));
        set.set({OprId(3U), OprId(4U)});
        QVERIFY(selection.current().empty()); // it was not among them
        QCOMPARE(set.oprs().size(), std::size_t(2));
        selection.select(Pick::of(OprId(7U)));
        QVERIFY(set.oprs().empty());
        set.set({OprId(3U), OprId(4U)});
        selection.clear();
        QCOMPARE(set.oprs().size(), std::size_t(2)); // it was clear already
        selection.select(Pick::of(OprId(3U)));
        selection.clear();
        QVERIFY(set.oprs().empty());
    }

    void resetForgetsSelectionHoverAndHistory() {
        Selection selection;
        selection.select(Pick::of(OprId(0u)));
        selection.select(Pick::of(OprId(1u)));
        selection.hover(Pick::of(VarId(1u)));
        QSignalSpy hover(&selection, &Selection::hoverChanged);
        selection.reset();
        QVERIFY(selection.current().empty());
        QVERIFY(selection.hovered().empty());
        QVERIFY(!selection.canGoBack());
        QCOMPARE(hover.size(), 1);
    }
};

QTEST_GUILESS_MAIN(SelectionTest)
#include "test_selection.moc"
