"""What the task model writes is read with care: labels, titles, questions, follow-ups (C1.1, C1.3, CAP-03)."""

from __future__ import annotations

import pytest

from planwerk.capabilities.conversation.condensing import read_condensed
from planwerk.capabilities.conversation.follow_ups import read_questions
from planwerk.capabilities.conversation.gate import GateLabel, read_label
from planwerk.capabilities.conversation.titles import title_from

MESSAGE = "Plan a trip to Oslo in May"


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("identity", GateLabel.IDENTITY),
        ("**Abilities**", GateLabel.ABILITIES),
        ("ability", GateLabel.ABILITIES),
        ('"behavior."', GateLabel.BEHAVIOUR),
        ("Small talk", GateLabel.SMALL_TALK),
        ("small-talk\n", GateLabel.SMALL_TALK),
        ("SMALL_TALK", GateLabel.SMALL_TALK),
        ("The label is: small talk.", GateLabel.SMALL_TALK),
        ('{"label": "identity"}', GateLabel.IDENTITY),
        ("```\nnormal\n```", GateLabel.NORMAL),
        ("<think>It greets, so small_talk?</think>small_talk", GateLabel.SMALL_TALK),
    ],
)
def test_a_label_is_read_whatever_surrounds_it(answer: str, label: GateLabel) -> None:
    assert read_label(answer) is label


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I am an assistant, and happy to help!",
        "identity or abilities",
        "not small talk, normal",
        "The person asks about the identity of the sender.",
        "<think>identity",
    ],
)
def test_an_answer_that_is_not_one_label_is_normal(answer: str) -> None:
    assert read_label(answer) is GateLabel.NORMAL


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ('<think>User wants a trip\n</think>\n\n"Trip to Oslo"\n', "Trip to Oslo"),
        ("Title: **Trip to Oslo**", "Trip to Oslo"),
        ("**Title:** Trip to Oslo.", "Trip to Oslo"),
        ("# Trip to Oslo\n\nA trip in May.", "Trip to Oslo"),
        ("Titel: „Reise nach Oslo“", "Reise nach Oslo"),
        ("Titre : « Voyage à l’île d’Yeu »", "Voyage à l’île d’Yeu"),
        ("<title>Trip to Oslo</title>", "Trip to Oslo"),
        ('```json\n{"title": "Trip to Oslo"}\n```', "Trip to Oslo"),
        ("- Trip to   Oslo", "Trip to Oslo"),
        ("snake_case in Python", "snake_case in Python"),
        ("planning</think>Trip to Oslo", "Trip to Oslo"),
        ("ok \ud83d done", "ok \ufffd done"),
    ],
)
def test_a_title_is_one_line_without_tags_quotes_and_markup(answer: str, title: str) -> None:
    assert title_from(answer, MESSAGE) == title


@pytest.mark.parametrize("answer", ["", "<think>User wants a", "\n \n", '""', "**", "{}", "word " * 40])
def test_without_a_title_the_first_words_of_the_message_are_taken(answer: str) -> None:
    assert title_from(answer, MESSAGE) == MESSAGE


def test_the_fallback_has_neither_tags_nor_quotes_nor_line_breaks() -> None:
    message = '<b>Plan</b> a "trip"\nto Oslo and to all the other places that I have ever heard of'

    assert title_from("", message) == "Plan a trip to Oslo and to all the other places…"


def test_there_is_no_title_for_nothing() -> None:
    assert title_from("", " \n") == ""


@pytest.mark.parametrize(
    "answer",
    [
        "What does Pro cost?\nHow do I upgrade?\nCan I cancel?",
        "Here are three questions:\n1. What does Pro cost?\n2) How do I upgrade?\n3. Can I cancel?\n4. And then?",
        "- What does Pro cost?\n* **How do I upgrade?**\n• “Can I cancel?”",
        '["What does Pro cost?", "How do I upgrade?", "Can I cancel?"]',
        '```json\n{"questions": ["What does Pro cost?", "How do I upgrade?", "Can I cancel?"]}\n```',
        "<think>three</think>What does Pro cost?\nwhat does pro cost?\nHow do I upgrade?\nCan I cancel?",
    ],
)
def test_three_follow_up_questions_are_read_in_whatever_form_they_come(answer: str) -> None:
    assert read_questions(answer) == ("What does Pro cost?", "How do I upgrade?", "Can I cancel?")


@pytest.mark.parametrize("answer", ["", "-", "None", "I cannot think of any.", "word " * 60 + "?", "[1, 2]", "null"])
def test_what_is_no_question_is_not_suggested(answer: str) -> None:
    assert read_questions(answer) == ()


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("What does the Pro plan cost?", "What does the Pro plan cost?"),
        ('Standalone question: "What does the Pro plan cost?"', "What does the Pro plan cost?"),
        ("**Frage:** „Was kostet Pro?“", "Was kostet Pro?"),
        ("<think>the second is Pro</think>\nWhat does Pro cost?", "What does Pro cost?"),
        ('What does "Pro" cost?', 'What does "Pro" cost?'),
        (" \n", ""),
        ("<think>never closed", ""),
    ],
)
def test_a_condensed_question_is_read_without_what_surrounds_it(answer: str, question: str) -> None:
    assert read_condensed(answer) == question
