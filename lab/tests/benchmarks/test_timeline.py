"""The timeline benchmark: what it makes up, what it holds to be true, and that the tools find it."""

import json
import re
from datetime import UTC
from itertools import combinations
from random import Random

import pytest

from benchmarks.timeline import gold
from benchmarks.timeline import run as runs
from benchmarks.timeline.__main__ import main
from benchmarks.timeline.facts import Calendar, Fact, Line
from benchmarks.timeline.graphs import SHAPES, GraphSettings, timeline
from benchmarks.timeline.planner import UNKNOWN, answer
from benchmarks.timeline.questions import TYPES, asked
from benchmarks.timeline.reading import Pattern, Unreadable, Wanted, read
from benchmarks.timeline.run import Options, fingerprint
from benchmarks.timeline.single import OneRetrieval
from benchmarks.timeline.statements import sentence, statements
from recollect import Memory
from recollect.methods.remem.tools import Toolkit
from recollect.retain.facts import split_bounds
from recollect.text.time_expressions.iso import parse_iso_date

YEARS, MONTHS = Calendar(unit="year"), Calendar(unit="month")


def fact(subject, start, end, relation="R1", object_="E0"):
    return Fact(subject=subject, relation=relation, object=object_, start=start, end=end)


OFFICE = Line(relation="R1", entity="E0", known="object")
FACTS = (
    fact("E3", 1960, 1965),
    fact("E1", 1950, 1955),
    fact("E2", 1955, 1958),
    fact("E1", 1970, None),
    fact("E4", 1940, 1990, relation="R2"),
    fact("E1", 1957, 1957, relation="R3", object_="E9"),
)


class TestGold:
    def test_who_was_there_at_a_time_both_ends_included(self):
        assert gold.at_time(OFFICE, 1952, FACTS) == "E1"
        assert gold.at_time(OFFICE, 1958, FACTS) == "E2"
        assert gold.at_time(OFFICE, 1955, FACTS) is None, "two were"
        assert gold.at_time(OFFICE, 1959, FACTS) is None, "none was"
        assert gold.at_time(OFFICE, 2019, FACTS) == "E1", "and still is"
        assert gold.at_time(Line(relation="R3", entity="E1", known="subject"), 1957, FACTS) == "E9"

    def test_when_something_began_and_ended_that_was_once(self):
        assert gold.edge_of(("E2", "R1", "E0"), "start", FACTS) == 1955
        assert gold.edge_of(("E2", "R1", "E0"), "end", FACTS) == 1958
        assert gold.edge_of(("E1", "R1", "E0"), "start", FACTS) is None, "it was twice"
        assert gold.edge_of(("E7", "R1", "E0"), "start", FACTS) is None, "it never was"

    def test_who_was_there_when_something_else_happened(self):
        assert gold.at_edge(OFFICE, ("E1", "R3", "E9"), "end", FACTS) == "E2"
        assert gold.at_edge(OFFICE, ("E4", "R2", "E0"), "start", FACTS) is None

    def test_neighbours(self):
        assert gold.neighbour(OFFICE, "E2", "before", FACTS) == "E1"
        assert gold.neighbour(OFFICE, "E2", "after", FACTS) == "E3"
        assert gold.neighbour(OFFICE, "E3", "after", FACTS) == "E1"
        assert gold.neighbour(OFFICE, "E1", "before", FACTS) is None, "it was there twice"

    def test_a_neighbour_has_to_be_the_same_by_order_and_by_what_was_over(self):
        overlapping = (fact("E1", 1950, 1953), fact("E2", 1952, 1961), fact("E3", 1960, 1965))
        assert gold.neighbour(OFFICE, "E3", "before", overlapping) is None, "E2 began before, E1 was over"
        assert gold.neighbour(OFFICE, "E1", "after", overlapping) is None
        at_once = (fact("E1", 1950, 1960), fact("E2", 1955, 1960), fact("E3", 1960, 1965))
        assert gold.neighbour(OFFICE, "E3", "before", at_once) is None, "both ended when it began"
        same_start = (fact("E1", 1950, 1951), fact("E2", 1960, 1960), fact("E3", 1960, 1965))
        assert gold.neighbour(OFFICE, "E3", "before", same_start) is None

    def test_places(self):
        assert [gold.placed(OFFICE, place, FACTS) for place in (1, 2, 3)] == ["E1", "E2", "E3"]
        assert gold.placed(OFFICE, 4, FACTS) is None, "the fourth time is no fourth entity"
        assert gold.placed(OFFICE, 5, FACTS) is None
        assert gold.placed(OFFICE, gold.LAST, FACTS) == "E1"
        tied = (fact("E1", 1950, 1955), fact("E2", 1950, 1953), fact("E3", 1951, 1952))
        assert gold.placed(OFFICE, 1, tied) is None
        assert gold.placed(OFFICE, gold.LAST, tied) is None, "what began last was not over last"

    def test_numbers_with_the_bounds_and_without(self):
        def number(first, last, inclusive, counted="entities"):
            return gold.number(OFFICE, first, last, FACTS, inclusive=inclusive, counted=counted)

        assert number(1955, 1960, True) == 3
        assert number(1955, 1960, False) == 1
        assert number(1950, 2000, True) == 3
        assert number(1950, 2000, True, "times") == 4
        assert number(1966, 1969, True) == 0

    def test_how_long_it_lasted(self):
        assert gold.lasted(("E2", "R1", "E0"), 1, FACTS) == 3
        assert gold.lasted(("E1", "R1", "E0"), 1, FACTS) == 5
        assert gold.lasted(("E1", "R1", "E0"), gold.LAST, FACTS) is None, "it still is"
        assert gold.lasted(("E1", "R1", "E0"), 3, FACTS) is None
        assert gold.lasted(("E1", "R3", "E9"), 1, FACTS) is None, "a point in time lasts nothing"

    def test_order(self):
        assert gold.in_order(OFFICE, FACTS) == ["E1", "E2", "E3", "E1"]
        assert gold.in_order(OFFICE, FACTS, within=(1958, 1960)) == ["E2", "E3"]
        assert gold.in_order(OFFICE, FACTS, within=(1959, 1960)) is None, "one is no order"
        assert gold.in_order(OFFICE, [fact("E1", 1950, 1955), fact("E2", 1950, 1951)]) is None, "two began at once"

    def test_it_knows_nothing_of_recollect(self):
        with open(gold.__file__, encoding="utf-8") as source:
            assert not re.search(r"^\s*(?:from|import) recollect", source.read(), re.MULTILINE)


class TestTimelines:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("precision", ["year", "month"])
    def test_a_graph_is_about_as_large_as_asked_and_its_times_are_in_order(self, shape, precision):
        settings = GraphSettings(precision=precision)
        for seed in range(10):
            made = timeline(shape, settings, Random(seed))
            assert 150 <= len(made.facts) <= 370
            span = made.calendar.span(1900, 2020)
            for one in made.facts:
                assert one.subject != one.object
                assert one.start in span
                assert one.end is None or (one.start <= one.end and one.end in span)

    @pytest.mark.parametrize("shape", SHAPES)
    def test_the_same_is_not_so_twice_at_once(self, shape):
        for seed in range(5):
            facts = timeline(shape, GraphSettings(facts=900), Random(seed)).facts
            for one, other in combinations(facts, 2):
                if one.names == other.names:
                    assert one.until < other.start or other.until < one.start

    def test_shapes_are_what_they_are_called(self):
        def tied(shape, seed):
            return {
                frozenset((one.subject, one.object)) for one in timeline(shape, GraphSettings(), Random(seed)).facts
            }

        for seed in range(5):
            assert len(frozenset.intersection(*tied("star", seed))) == 1, "one is in every pair"
            names = frozenset.union(*tied("complete", seed))
            assert len(tied("complete", seed)) == len(names) * (len(names) - 1) // 2

    def test_offices_have_points_in_time_and_what_still_goes_on(self):
        facts = timeline("offices", GraphSettings(), Random(1)).facts
        assert any(one.end is None for one in facts)
        assert any(one.end == one.start for one in facts)

    def test_facts_tell_no_order(self):
        facts = timeline("complete", GraphSettings(), Random(1)).facts
        assert [one.start for one in facts] != sorted(one.start for one in facts)
        assert [one.subject for one in statements(facts, YEARS)] == [one.subject for one in facts]

    def test_statements_are_as_exact_as_the_calendar(self):
        given = statements((fact("E92", 1980, 1984), fact("E92", 1980, None)), YEARS)
        assert split_bounds(given[0].occurred) == (parse_iso_date("1980", UTC), parse_iso_date("1984", UTC))
        assert split_bounds(given[1].occurred) == (parse_iso_date("1980", UTC), None)
        (month,) = statements([fact("E92", 1980 * 12 + 2, 1980 * 12 + 2)], MONTHS)
        assert split_bounds(month.occurred) == (parse_iso_date("1980-03", UTC),) * 2

    def test_sentences(self):
        assert sentence(fact("E92", 1980, 1984), YEARS) == "E92 was the R1 of E0 from 1980 to 1984."
        assert sentence(fact("E92", 1980, 1980), YEARS) == "E92 was the R1 of E0 in 1980."
        assert sentence(fact("E92", 1980, None), YEARS) == "E92 was the R1 of E0 since 1980."
        months = fact("E92", 1980 * 12 + 2, 1984 * 12 + 5)
        assert sentence(months, MONTHS) == "E92 was the R1 of E0 from March 1980 to June 1984."
        assert MONTHS.written(1980 * 12 + 2) == "1980-03"


class TestQuestions:
    def test_types_have_equal_shares_in_every_shape(self):
        made = list(asked(280, 1, GraphSettings()))
        counts = {}
        for one in made:
            for question in one.questions:
                key = one.timeline.shape, question.type
                counts[key] = counts.get(key, 0) + 1
        assert counts == {(shape, type_): 5 for shape in SHAPES for type_ in TYPES}

    def test_the_seed_tells_all(self):
        def checksum(seed, count=40):
            return fingerprint(asked(count, seed, GraphSettings()))

        assert checksum(1) == checksum(1)
        assert checksum(1) != checksum(2)
        fewer, more = (list(asked(count, 1, GraphSettings())) for count in (20, 40))
        assert more[:4] == fewer

    def test_a_question_is_not_put_where_no_graph_has_one(self):
        with pytest.raises(ValueError, match="has all these types: before_after"):
            list(asked(1, 1, GraphSettings(facts=1)))

    @pytest.mark.parametrize("precision", ["year", "month"])
    def test_every_wording_is_read_as_what_it_is(self, precision):
        kinds = dict(zip(TYPES, Wanted, strict=True))
        for one in asked(400, 7, GraphSettings(precision=precision)):
            for question in one.questions:
                request = read(question.text)
                assert request.wanted is kinds[question.type], question.text
                whole = request.wanted in (Wanted.TIME, Wanted.LASTED)
                assert (request.pattern.subject is None) + (request.pattern.object is None) == (0 if whole else 1)

    def test_slots(self):
        request = read("When E5 ceased to be the R2 of E6, E94 was the R82 of which entity?")
        assert request.event == Pattern(predicate="was the R2 of", subject="E5", object="E6")
        assert request.pattern == Pattern(predicate="was the R82 of", subject="E94")
        assert request.edge == "end"
        counted = read(
            "Of how many different entities was E1 the R3 between May 1952 and June 1957? "
            "What ended in May 1952 or began in June 1957 does not count."
        )
        assert (counted.times, counted.inclusive, counted.each_once) == (("1952-05", "1957-06"), False, True)

    @pytest.mark.parametrize("text", ["Who was it?", "How many were the R1?", "E1 was the R3 of E4."])
    def test_what_asks_for_nothing_known_is_not_read(self, text):
        with pytest.raises(Unreadable):
            read(text)


async def bank_of(memory, facts, calendar=YEARS):
    bank = await memory.bank("tiny")
    await bank.add_facts(statements(facts, calendar))
    return bank


def mistaking(meant, done):
    """The tool, taking one word for another."""
    right = Toolkit.find_entity_contexts

    async def wrong(self, **arguments):
        return await right(self, **{name: done if said == meant else said for name, said in arguments.items()})

    return wrong


class TestPlanner:
    async def ask(self, question, facts=FACTS, calendar=YEARS):
        async with Memory.open(":memory:", recipe=runs.RECIPE, model="none") as memory:
            return await answer(question, (await bank_of(memory, facts, calendar)).tools())

    @pytest.mark.parametrize(
        ("question", "told", "calls"),
        [
            ("Immediately before E2, which entity was the R1 of E0?", "E1", 2),
            ("Right after E3, which entity was the R1 of E0?", "E1", 2),
            ("Which entity was the R1 of E0 in 1958?", "E2", 1),
            ("When did E2 stop being the R1 of E0?", "1958", 1),
            ("Which entity was the third to be the R1 of E0?", "E3", 1),
            ("Which entity was the last to be the R1 of E0?", "E1", 1),
            ("Which entity was the R1 of E0 at the time when E1 started being the R3 of E9?", "E2", 2),
            ("How many different entities were the R1 of E0 between 1950 and 1970? All count.", "3", 1),
            ("How many times was any entity the R1 of E0 between 1950 and 1970? All count.", "4", 1),
            ("For how many years was E1 the R1 of E0 the 1st time?", "5", 1),
            ("List every entity that was the R1 of E0, the latest beginning first.", "E1, E3, E2, E1", 1),
        ],
    )
    async def test_each_type_over_a_timeline_written_by_hand(self, question, told, calls):
        found = await self.ask(question)
        assert (found.answer, found.calls) == (told, calls)

    @pytest.mark.parametrize(
        ("meant", "done", "question", "right"),
        [
            ("le", "lt", "Which entity was the R1 of E0 in 1960?", "E3"),
            ("ge", "gt", "Which entity was the R1 of E0 in 1958?", "E2"),
            ("le", "lt", "Immediately before E2, which entity was the R1 of E0?", "E1"),
            ("desc", "asc", "Immediately before E3, which entity was the R1 of E0?", "E2"),
            ("asc", "desc", "Right after E2, which entity was the R1 of E0?", "E3"),
            ("ge", "le", "Which entity was the R1 of E0 when E1 became the R3 of E9?", "E2"),
            ("asc", "desc", "Which entity was the second to be the R1 of E0?", "E2"),
            ("lt", "le", "How many different entities were the R1 of E0 from 1955 to 1960? It does not count.", "1"),
            ("gt", "ge", "How many different entities were the R1 of E0 from 1958 to 1962? It does not count.", "1"),
            ("count_unique_subjects", "count", "How many entities were the R1 of E0 from 1950 to 1970?", "3"),
            ("asc", "desc", "List every entity that was the R1 of E0.", "E1, E2, E3, E1"),
        ],
    )
    async def test_a_tool_that_takes_one_word_for_another_gives_a_wrong_answer(
        self, monkeypatch, meant, done, question, right
    ):
        assert (await self.ask(question)).answer == right
        monkeypatch.setattr(Toolkit, "find_entity_contexts", mistaking(meant, done))
        assert (await self.ask(question)).answer != right

    @pytest.mark.parametrize(
        "question",
        ["Why?", "Which entity was the R1 of E0 in 1900?", "When did E1 stop being the R8 of E0?"],
    )
    async def test_what_cannot_be_read_or_is_not_there_is_said_to_be_unknown(self, question):
        assert (await self.ask(question)).answer == UNKNOWN

    async def test_a_timeline_longer_than_a_page_is_told_whole(self):
        facts = [fact(f"E{number}", 1900 + number, 1901 + number) for number in range(1, 120)]
        told = await self.ask("List every entity that was the R1 of E0, in the order in which they began.", facts)
        assert told.answer == ", ".join(one.subject for one in facts)
        assert told.calls == 3

    async def test_one_retrieval_knows_ten_facts_and_no_more(self):
        facts = [fact(f"E{number}", 1900 + number, 1901 + number) for number in range(1, 40)]
        question = "How many times was any entity the R1 of E0 between 1900 and 1990? All count."
        async with Memory.open(":memory:", recipe=runs.RECIPE, model="none") as memory:
            bank = await bank_of(memory, facts)
            assert (await answer(question, bank.tools())).answer == "39"
            assert (await answer(question, OneRetrieval(bank.tools(), question))).answer == "10"

    async def test_one_retrieval_answers_as_the_tools_do_where_ten_facts_are_all(self):
        async with Memory.open(":memory:", recipe=runs.RECIPE, model="none") as memory:
            bank = await bank_of(memory, [one for one in FACTS if one.relation == "R1"])
            for question in (
                "Immediately before E2, which entity was the R1 of E0?",
                "Right after E3, which entity was the R1 of E0?",
                "Which entity was the last to be the R1 of E0?",
                "How many different entities were the R1 of E0 between 1955 and 1960? It does not count.",
                "List every entity that was the R1 of E0, in the order in which they began.",
            ):
                single = await answer(question, OneRetrieval(bank.tools(), question))
                assert single.answer == (await answer(question, bank.tools())).answer != UNKNOWN


def options(questions=40, **changed):
    return Options(questions=questions, seed=3, graphs=GraphSettings(facts=120, **changed), load=0.0)


class TestRuns:
    @pytest.mark.parametrize("precision", ["year", "month"])
    async def test_forty_questions_are_answered_right(self, precision):
        report = await runs.run(options(precision=precision))
        assert [row for row in report.rows if not row.right] == []
        assert len(report.rows) == 40
        assert report.triples == report.facts > 800
        assert sum(row.right_at_once for row in report.rows) < 40

    async def test_it_tells_when_the_tools_take_one_operator_for_another(self, monkeypatch):
        monkeypatch.setattr(Toolkit, "find_entity_contexts", mistaking("le", "lt"))
        report = await runs.run(options())
        missed = {row.type for row in report.rows if not row.right}
        assert "event_at_time_t" in missed
        assert "event_at_what_time" not in missed, "which compares no times"

    def test_one_json_object_and_nothing_else(self, capsys, tmp_path):
        out = tmp_path / "new" / "timeline.json"
        main(["--questions", "8", "--facts", "110", "--json", "--out", str(out)])
        report = json.loads(capsys.readouterr().out)
        assert report == json.loads(out.read_text())
        assert report["exact_match"] == {**dict.fromkeys(TYPES, 1.0), "all": 1.0}
        assert report["misses"] == []
        assert report["questions"] == 8
        assert report["one_retrieval"]["exact_match"].keys() == report["exact_match"].keys()
        assert report["provenance"]["settings"]["graphs"]["facts"] == 110
        assert len(report["provenance"]["dataset"]["sha256"]) == 64

    def test_the_table_has_a_line_a_type_and_one_for_all(self, capsys):
        main(["--questions", "8", "--facts", "110"])
        header, *lines = capsys.readouterr().out.strip().splitlines()
        assert header.split() == ["type", "questions", "exact", "match", "one", "retrieval", "calls"]
        assert [line.split()[0] for line in lines] == [*TYPES, "all"]

    def test_a_graph_is_not_too_small_to_ask_about(self, capsys):
        with pytest.raises(SystemExit):
            main(["--facts", "5"])
        assert "--facts must be 100 to 1000" in capsys.readouterr().err
