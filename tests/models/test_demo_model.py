from __future__ import annotations

import json
import re

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.tools import ToolDefinition
from tests.models.recording import RecordingSink

from planwerk.messages.events import LLMEvent
from planwerk.messages.prompts import assistant_message, system_prompt, user_prompt
from planwerk.models import Answering, Predicting
from planwerk.models.demo.facts import changes
from planwerk.models.demo.language import Language, is_small_talk, language_of, topic_of
from planwerk.models.demo.model import DemoModel
from planwerk.models.demo.phrases import PHRASES
from planwerk.models.resolved import ResolvedModel
from planwerk.testing.virtual_clock import virtual_time

DEMO = ResolvedModel.of(DemoModel(), location="demo")


async def ask(*messages: str | ModelMessage, tools: tuple[ToolDefinition, ...] = ()) -> LLMEvent:
    history = [user_prompt(message) if isinstance(message, str) else message for message in messages]
    return await Answering(DEMO).answer(history, tools=tools)


QUESTIONS: dict[Language, str] = {
    "en": "What is the capital of France?",
    "de": "Was ist die Hauptstadt von Frankreich?",
    "fr": "Quelle est la capitale de la France ?",
    "it": "Qual è la capitale della Francia?",
}


@pytest.mark.parametrize("language", QUESTIONS)
async def test_it_answers_in_the_language_of_the_question_and_says_what_it_is(language: Language) -> None:
    event = await ask(QUESTIONS[language])

    assert language_of(QUESTIONS[language]) == language
    assert PHRASES["nature"][language] in event.text
    assert QUESTIONS[language] in event.text


async def test_the_same_question_gets_the_same_answer() -> None:
    assert (await ask("Explain photosynthesis")).text == (await ask("Explain photosynthesis")).text


async def test_an_answer_streams_word_by_word_and_costs_nothing() -> None:
    sink = RecordingSink()

    event = await Answering(DEMO, sink).answer([user_prompt("Hello!")])

    assert len(sink.deltas) > 10
    assert "".join(sink.deltas) == event.text
    assert event.cost == 0
    assert event.usage.input_tokens > 0
    assert event.usage.output_tokens > 10
    assert event.model == "demo:planwerk"


async def test_a_pace_lets_people_see_it_stream() -> None:
    paced = ResolvedModel.of(DemoModel(pace_seconds=0.5), location="demo")
    with virtual_time() as clock:
        began = clock.time()

        event = await Answering(paced).answer([user_prompt("Hello!")])

        assert clock.time() - began >= 0.5 * len(event.text.split())


async def test_lists_tables_code_and_long_answers_can_be_seen() -> None:
    answers = {
        question: (await ask(question)).text for question in ("Show me a table", "Show me code", "Tell me a long story")
    }

    assert "|---|" in answers["Show me a table"]
    assert "```python" in answers["Show me code"]
    assert len(answers["Tell me a long story"].split()) > 800
    lists = [(await ask(f"Explain topic {number}")).text for number in range(6)]
    assert any("\n- **" in text for text in lists)
    assert not all("\n- **" in text for text in lists)


@pytest.mark.parametrize(
    ("message", "small"),
    [
        ("Hello!", True),
        ("hi there, how are you?", True),
        ("Danke schön!", True),
        ("Merci beaucoup", True),
        ("ciao", True),
        ("👋", False),
        ("Hello, what is a lease?", False),
        ("Hidden costs?", False),
        ("", False),
    ],
)
def test_greetings_and_thanks_are_small_talk_and_questions_are_not(message: str, small: bool) -> None:
    assert is_small_talk(message) is small


async def test_thanks_and_goodbyes_have_answers_of_their_own() -> None:
    assert (await ask("Vielen Dank")).text == PHRASES["thanks"]["de"]
    assert (await ask("Au revoir")).text == PHRASES["parting"]["fr"]


async def test_a_question_about_itself_is_answered_from_the_description() -> None:
    head = system_prompt("You are the assistant.\nName: Handbook helper\nDescription: Answers from the handbook.")

    text = (await ask(head, "Who are you?")).text

    assert "> Name: Handbook helper" in text
    assert "> Description: Answers from the handbook." in text


async def test_it_remembers_what_was_asked_before() -> None:
    text = (await ask("Where is Oslo?", assistant_message("North."), "What did I ask you before?")).text

    assert "*Where is Oslo?*" in text


GIVEN = """<data title="Handbook">
[s3f9a1c] Refunds take 14 days. They go to the card.
[sabcdef] Vacation is 25 days per year. Ask your manager.
</data>"""


async def test_retrieved_passages_are_quoted_with_their_citation_ids_the_nearest_first() -> None:
    text = (await ask(GIVEN, "How many days of vacation do I have?")).text

    assert "> Vacation is 25 days per year. [sabcdef]" in text
    assert text.index("[sabcdef]") < text.index("[s3f9a1c]")


async def test_citation_ids_as_attributes_are_found_too() -> None:
    given = '<data title="Docs"><passage id="s3f9a1c" source="a.md">Refunds take 14 days.</passage></data>'

    assert "> Refunds take 14 days. [s3f9a1c]" in (await ask(given, "When are refunds paid?")).text


async def test_material_without_ids_is_named_by_its_title_and_no_id_is_invented() -> None:
    text = (await ask('<data title="Memories">\nLikes tea.\n</data>', "What do I like?")).text

    assert "- **Memories**: Likes tea." in text
    assert not re.search(r"\[s[0-9a-f]{6}\]", text)


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Write a report about our sales in May", "# Our sales in May"),
        ("Schreib bitte einen Brief über den Mietvertrag", "# Den Mietvertrag"),
        ("Rédige une lettre sur le contrat", "# Le contrat"),
        ("Scrivi un documento su Mario", "# Mario"),
    ],
)
async def test_a_document_that_is_asked_for_is_drafted(question: str, title: str) -> None:
    text = (await ask(question)).text

    assert text.startswith(title)
    assert "## " in text
    assert "- [ ] " in text


SEARCH = ToolDefinition(
    name="search_knowledge",
    description="Search the handbook for passages.",
    parameters_json_schema={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
ADD = ToolDefinition(
    name="add",
    description="Add two numbers.",
    parameters_json_schema={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
)
CREATE = ToolDefinition(
    name="create_artifact",
    description="Create a document.",
    parameters_json_schema={
        "type": "object",
        "properties": {"title": {"type": "string"}, "content": {"type": "string"}},
        "required": ["title", "content"],
    },
)


@pytest.mark.parametrize(
    ("question", "tool", "arguments"),
    [
        (
            "What does the handbook say on refunds?",
            "search_knowledge",
            {"query": "What does the handbook say on refunds?"},
        ),
        ("Add 3 and 4.5", "add", {"a": 3, "b": 4.5}),
        ("Please use add", "add", {"a": 1, "b": 1}),
    ],
)
async def test_a_tool_that_fits_the_question_is_called(question: str, tool: str, arguments: dict[str, object]) -> None:
    event = await ask(question, tools=(SEARCH, ADD, CREATE))

    (call,) = event.response.tool_calls
    assert call.tool_name == tool
    assert json.loads(call.args_as_json_str()) == arguments


async def test_a_document_is_drafted_with_the_tool_for_it() -> None:
    event = await ask("Draft a plan for the move to Oslo", tools=(SEARCH, ADD, CREATE))

    (call,) = event.response.tool_calls
    arguments = json.loads(call.args_as_json_str())
    assert call.tool_name == "create_artifact"
    assert arguments["content"].startswith("# The move to Oslo")


async def test_what_a_tool_said_is_reported_and_it_is_not_called_again() -> None:
    first = await ask("Add 3 and 4", tools=(ADD,))
    (call,) = first.response.tool_calls
    result = ModelRequest(parts=[ToolReturnPart("add", 7, call.tool_call_id)])

    second = await ask("Add 3 and 4", first.response, result, tools=(ADD,))

    assert second.response.tool_calls == []
    assert "**add**" in second.text
    assert "> 7" in second.text


async def test_a_tool_that_does_not_fit_is_left_alone() -> None:
    assert (await ask("Sing a song", tools=(ADD,))).response.tool_calls == []


def task(purpose: str, message: str, *, before: str = "", answer: str = "") -> list[ModelMessage]:
    prompt = f"<conversation>\n{before}\n</conversation>\n\n" if before else ""
    prompt += f"<message>\n{message}\n</message>"
    prompt += f"\n\n<answer>\n{answer}\n</answer>" if answer else ""
    return [system_prompt(f"Do the task {purpose}."), user_prompt(prompt)]


@pytest.mark.parametrize(
    ("message", "label"),
    [
        ("Who are you?", "identity"),
        ("Was kannst du?", "abilities"),
        ("Comment fonctionnes-tu ?", "behaviour"),
        ("Grazie!", "small_talk"),
        ("Who are you going to vote for in the town of Springfield?", "identity"),
        ("What is a lease?", "normal"),
    ],
)
async def test_the_gate_gets_its_label(message: str, label: str) -> None:
    assert await Predicting(DEMO).text(task("gate", message), purpose="gate") == label


async def test_titles_follow_ups_and_condensed_questions_are_made_by_rule() -> None:
    predicting = Predicting(DEMO)

    title = await predicting.text(task("title", "Please plan a trip to Oslo in May."), purpose="title")
    questions = await predicting.text(task("follow_ups", "Was ist Planwerk?", answer="Das ist …"), purpose="follow_ups")
    none = await predicting.text(task("follow_ups", "Hallo!", answer="Hallo!"), purpose="follow_ups")
    asked = task("condense", "And how long does it take?", before="Person: How do I get a refund?\nAssistant: Ask.")
    condensed = await predicting.text(asked, purpose="condense")

    assert title == "Plan a trip to Oslo in May"
    assert len(questions.splitlines()) == 3
    assert all(question.endswith("?") and "Planwerk" in question for question in questions.splitlines())
    assert none == "-"
    assert condensed == "And how long does it take (Get a refund)?"


async def test_a_purpose_it_has_no_rule_for_is_answered_like_a_question() -> None:
    assert "demo model" in await Predicting(DEMO).text([user_prompt("Explain this")], purpose="something new")


@pytest.mark.parametrize("key", PHRASES)
def test_every_phrase_exists_in_every_language_with_the_same_values(key: str) -> None:
    phrases = PHRASES[key]

    assert set(phrases) == {"en", "de", "fr", "it"}
    places = {language: set(re.findall(r"(?<!\{)\{(\w+)\}", text)) for language, text in phrases.items()}
    assert len(set(map(frozenset, places.values()))) == 1


def test_a_topic_is_short_and_bare() -> None:
    assert (
        topic_of('  Please tell me "everything" about *Oslo*, now!\nAnd more') == "Tell me everything about Oslo, now"
    )
    assert topic_of("") == ""


@pytest.mark.parametrize(
    ("known", "message", "expected"),
    [
        ("-", "My name is Ada. What is a lease?", [("add", None, "My name is Ada.")]),
        (
            "-",
            "Ich wohne in Bern und arbeite als Ärztin.",
            [("add", None, "Ich wohne in Bern und arbeite als Ärztin.")],
        ),
        ("-", "Je travaille à Lyon.", [("add", None, "Je travaille à Lyon.")]),
        ("-", "Mi chiamo Anna.", [("add", None, "Mi chiamo Anna.")]),
        ("-", "What is the capital of France?", []),
        ("-", "I need a summary of the report.", []),
        ("1. I like tea.\n2. I drive to work.", "I never drive to work.", [("update", 2, "I never drive to work.")]),
        ("1. My name is Ada.", "My name is Ben.", [("update", 1, "My name is Ben.")]),
        ("1. I like tea.", "I like cats.", [("add", None, "I like cats.")]),
        ("1. I like tea.\n2. I drive to work.", "Please forget that I drive.", [("delete", 2, "")]),
    ],
)
def test_it_remembers_what_a_person_says_of_herself(
    known: str, message: str, expected: list[tuple[str, int | None, str]]
) -> None:
    found = changes(f"<facts>\n{known}\n</facts>\n\n<message>\n{message}\n</message>\n\n<answer>\nI see.\n</answer>")

    assert [(change["action"], change["memory"], change["text"]) for change in found["changes"]] == expected
    assert found["forget"] == ("forget" in message)
