#include <QtTest>

#include <vector>

#include "profile/rank_test.h"

using namespace megascope;

/// Expected values are worked by hand; the comments say how.
class RankTestTest : public QObject {
    Q_OBJECT
private slots:
    void countsAllAssignmentsOfSmallSamples_data() {
        QTest::addColumn<QList<double>>("a");
        QTest::addColumn<QList<double>>("b");
        QTest::addColumn<double>("u");
        QTest::addColumn<double>("p");
        // Of the 6 over 3 = 20 assignments only this one and its mirror image are as far out.
        QTest::newRow("apart, 3 and 3") << QList<double>{1, 2, 3} << QList<double>{4, 5, 6} << 0.0 << 0.1;
        QTest::newRow("apart, 2 and 3") << QList<double>{1, 2} << QList<double>{3, 4, 5} << 0.0 << 0.2;
        // a beats b in the pair (3, 2) alone. The 10 assignments have U = 0 … 6 in 1, 1, 2, 2, 2, 1, 1 ways; 0, 1, 5, 6 are as far out.
        QTest::newRow("one pair the other way") << QList<double>{1, 3} << QList<double>{2, 4, 5} << 1.0 << 0.4;
        // Midranks 1 3 3 3 5: sums of three are 7 (3 ways), 9 (4 ways), 11 (3 ways); U is 1, 3, 5 and the mean 3.
        QTest::newRow("ties") << QList<double>{1, 2, 2} << QList<double>{2, 3} << 1.0 << 0.6;
        QTest::newRow("all equal") << QList<double>{7, 7} << QList<double>{7, 7, 7} << 3.0 << 1.0;
        // 10 over 5 = 252 assignments.
        QTest::newRow("apart, 5 and 5") << QList<double>{5, 1, 3, 2, 4} << QList<double>{9, 8, 7, 6, 10} << 0.0 << 2.0 / 252;
    }
    void countsAllAssignmentsOfSmallSamples() {
        QFETCH(QList<double>, a);
        QFETCH(QList<double>, b);
        QFETCH(double, u);
        QFETCH(double, p);
        const auto test = rank_test({a.data(), std::size_t(a.size())}, {b.data(), std::size_t(b.size())});
        QVERIFY(test);
        QVERIFY(test->exact);
        QCOMPARE(test->u, u);
        QVERIFY2(std::abs(test->p - p) < 1e-12, qPrintable(QString::number(test->p)));
        // The other way round it is the same question.
        const auto mirrored = rank_test({b.data(), std::size_t(b.size())}, {a.data(), std::size_t(a.size())});
        QCOMPARE(mirrored->u, double(a.size() * b.size()) - u);
        QVERIFY(std::abs(mirrored->p - p) < 1e-12);
    }

    // 12 and 12 values apart: mean 72, variance 12 · 12 · 25 / 12 = 300, z = 71.5 / √300.
    void approximatesLargeSamples() {
        std::vector<double> a, b;
        for (int i = 0; i < 12; ++i) {
            a.push_back(i);
            b.push_back(i + 12);
        }
        const auto test = rank_test(a, b);
        QVERIFY(!test->exact);
        QCOMPARE(test->u, 0.0);
        QVERIFY2(std::abs(test->p - 3.6580e-5) < 1e-8, qPrintable(QString::number(test->p)));
        QCOMPARE(test->smallest_p, test->p);
    }

    // 12 zeros against 6 zeros and 6 ones: midranks 9.5 and 21.5, U = 114 − 78 = 36, Σ(t³ − t) = 5814 + 210,
    // variance = 12 · (25 − 6024 / 552) = 169.0435, z = 35.5 / 13.0017.
    void correctsForTies() {
        const std::vector<double> a(12, 0.0);
        std::vector<double> b(6, 0.0);
        b.resize(12, 1.0);
        const auto test = rank_test(a, b);
        QCOMPARE(test->u, 36.0);
        QVERIFY2(std::abs(test->p - 0.0063254) < 1e-6, qPrintable(QString::number(test->p, 'g', 9)));
    }

    void saysWhatSampleSizesCanShow() {
        const std::vector<double> one = {1};
        const std::vector<double> two = {2};
        QCOMPARE(rank_test(one, two)->smallest_p, 1.0); // 2 over 1 = 2 assignments, both as far out
        const std::vector<double> three = {1, 2, 3};
        const std::vector<double> other = {3, 4, 5};
        QCOMPARE(rank_test(three, other)->smallest_p, 0.1);
        QVERIFY(!rank_test({}, two));
    }

    void medians() {
        QCOMPARE(median_of(std::vector<double>{3, 1, 2}), 2.0);
        QCOMPARE(median_of(std::vector<double>{4, 1, 2, 3}), 2.5);
        QCOMPARE(median_of(std::vector<double>{5}), 5.0);
    }
};

QTEST_APPLESS_MAIN(RankTestTest)
#include "test_rank_test.moc"
